#!/usr/bin/env bash
# Real agent programs for `make test-agents`, pinned, in .cache/agents: installed once, by ordinary npm.
set -euo pipefail
cd "$(dirname "$0")/.."
place=.cache/agents
claude=2.1.197 # the newest that runs on Node 20

say() { printf '%s\n' "$*" >&2; }

command -v npm >/dev/null || { say "the real agents need Node 20 or later with npm on the PATH"; exit 2; }
if [ "$(cat "$place/.stamp" 2>/dev/null)" != "claude-code $claude" ] || [ ! -x "$place/node_modules/.bin/claude" ]; then
  say "installing Claude Code $claude into $place …"
  rm -rf "$place"
  mkdir -p "$place"
  npm install --prefix "$place" --no-audit --no-fund --no-save --loglevel=error "@anthropic-ai/claude-code@$claude" >&2
  printf 'claude-code %s' "$claude" >"$place/.stamp"
fi
