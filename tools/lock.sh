#!/usr/bin/env bash
# Resolves the dependency groups of pyproject.toml into files with hashes. No index is written: each machine uses its own.
set -euo pipefail
cd "$(dirname "$0")/.."
command -v uv >/dev/null || { echo "make lock needs uv: python3 -m pip install uv" >&2; exit 2; }

resolve() {
  uv pip compile --quiet --universal --python-version 3.11 --generate-hashes --no-emit-index-url --no-emit-find-links \
    --no-header --no-annotate --upgrade --output-file "requirements/$1.txt" "${@:2}"
}
resolve dev pyproject.toml --group dev
# what `make demo` needs: trued itself and its build backend, in the versions of dev.txt
resolve demo pyproject.toml --group build --constraint requirements/dev.txt
# the same for a worker of a hub, in a container
resolve hub pyproject.toml --extra hub --group build --constraint requirements/dev.txt
resolve docs --group docs
resolve bench --group bench
resolve uv - <<<"uv"
wc -l requirements/*.txt
