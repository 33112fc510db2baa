#!/usr/bin/env bash
# Copies the project into a new repository, and everything else beside it: start.sh [FOLDER]
set -eu
here="$(cd "$(dirname "$0")" && pwd)"
place="${1:-reading-list}"
if [ -e "$place" ]; then
  echo "$place is there already; name another folder: start.sh FOLDER" >&2
  exit 1
fi
mkdir -p "$place"
cp -R "$here/project" "$place/reading"
cp "$here/request.md" "$here/requirements.yaml" "$here/agents.py" "$place/"
cd "$place/reading"
git init -q -b main
git add .
git -c user.name="Reader" -c user.email=reader@example.org commit -q -m "feat: a reading list"
echo "$PWD"
