set -euo pipefail
unset CDPATH VIRTUAL_ENV
cd -- "$(dirname -- "${BASH_SOURCE[0]:-$0}")"
script="$PWD/$(basename -- "${BASH_SOURCE[0]:-$0}")"
export PIP_DISABLE_PIP_VERSION_CHECK=1 PIP_NO_INPUT=1 PYTHONDONTWRITEBYTECODE=1 COREPACK_ENABLE_DOWNLOAD_PROMPT=0

say() { printf '%s\n' "$*"; }
fail() { printf 'init.sh: %s\n' "$*" >&2; exit 1; }
works() { "$1" --version >/dev/null 2>&1; }
need() { works "$1" || fail "$1 is missing: install $2 and run init.sh again"; }
