#!/usr/bin/env bash
# Copies the project into a new repository, and your own requirements beside it: start.sh [FOLDER]
set -eu
here="$(cd "$(dirname "$0")" && pwd)"
place="${1:-tea-shop}"
if [ -e "$place" ]; then
  echo "$place is there already; name another folder: start.sh FOLDER" >&2
  exit 1
fi
mkdir -p "$place"
cp -R "$here/project" "$place/shop"
cp "$here/ticket.md" "$here/expected.png" "$here/requirements.yaml" "$here/agents.py" "$place/"
cd "$place/shop"
git init -q -b main
git add .
git -c user.name="Tea shop" -c user.email=shop@example.org commit -q -m "feat: a small tea shop"
echo "$PWD"
