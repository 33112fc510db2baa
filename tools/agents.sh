#!/usr/bin/env bash
# Real agent programs for `make test-agents`, pinned, in .cache/agents: installed once each, by ordinary npm.
# `tools/agents.sh claude codex` installs only those. What to start is .cache/agents/bin/NAME: the program itself where
# npm has only a wrapper before it, since a wrapper that is killed leaves the program running.
set -euo pipefail
cd "$(dirname "$0")/.."
place=.cache/agents
known="claude codex gemini opencode qwen"

say() { printf '%s\n' "$*" >&2; }

package() { # each the newest that runs on Node 20, on x64 and on arm64
  case $1 in
    claude) echo @anthropic-ai/claude-code@2.1.197 ;;
    codex) echo @openai/codex@0.166.0 ;;
    gemini) echo @google/gemini-cli@0.61.0 ;;
    opencode) echo opencode-ai@1.18.18 ;;
    qwen) echo @qwen-code/qwen-code@0.15.10 ;;
    *) say "no agent is called $1; there are: $known"; exit 2 ;;
  esac
}

program() { # of agent $1, seen from its folder $2
  local native=("$2"/node_modules/@openai/codex-linux-*/vendor/*/bin/codex)
  if [ "$1" = codex ] && [ -x "${native[0]}" ]; then echo "${native[0]}"; else echo "$2/node_modules/.bin/$1"; fi
}

install() {
  local name=$1 wanted fresh=$place/.fresh-$1.$$
  wanted=$(package "$name")
  if [ "$(cat "$place/$name/.stamp" 2>/dev/null)" = "$wanted" ] && [ -x "$place/bin/$name" ]; then return; fi
  say "installing $wanted into $place/$name …"
  mkdir -p "$place/bin" "$fresh"
  npm install --prefix "$fresh" --no-audit --no-fund --no-save --loglevel=error "$wanted" >&2
  env -i HOME="$PWD/$fresh/home" PATH="$PATH" "$(program "$name" "$fresh")" --version >/dev/null || { say "$wanted does not start here"; exit 1; }
  rm -rf "$fresh/home"
  printf %s "$wanted" >"$fresh/.stamp"
  rm -rf "${place:?}/$name"
  mv "$fresh" "$place/$name"
  ln -sfn "$PWD/$(program "$name" "$place/$name")" "$place/bin/$name"
}

command -v npm >/dev/null || { say "the real agents need Node 20 or later with npm on the PATH"; exit 2; }
for name in "${@:-$known}"; do
  for one in $name; do install "$one"; done
done
