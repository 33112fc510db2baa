#!/usr/bin/env bash
# Copies the almost empty project into a new repository, and everything else beside it: start.sh [FOLDER]
set -eu
here="$(cd "$(dirname "$0")" && pwd)"
place="${1:-link-shortener}"
if [ -e "$place" ]; then
  echo "$place is there already; name another folder: start.sh FOLDER" >&2
  exit 1
fi
mkdir -p "$place"
cp -R "$here/project" "$place/links"
cp "$here/spec.md" "$here/feature_list.json" "$here/requirements.yaml" "$here/agents.py" "$place/"
cd "$place/links"
git init -q -b main
git add .
git -c user.name="Links" -c user.email=links@example.org commit -q -m "docs: an almost empty repository"
echo "$PWD"
