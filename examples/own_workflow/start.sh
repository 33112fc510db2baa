#!/usr/bin/env bash
# Copies the project into a new repository, and everything else beside it: start.sh [FOLDER]
set -eu
here="$(cd "$(dirname "$0")" && pwd)"
place="${1:-red-green}"
if [ -e "$place" ]; then
  echo "$place is there already; name another folder: start.sh FOLDER" >&2
  exit 1
fi
mkdir -p "$place"
cp -R "$here/project" "$place/textkit"
cp "$here/plan.md" "$here/requirements.yaml" "$here/agents.py" "$place/"
cd "$place/textkit"
git init -q -b main
git add .
git -c user.name="Author" -c user.email=author@example.org commit -q -m "feat: a text kit"
echo "$PWD"
