"""`python -m bench [NAME …]`: runs benchmarks one after another; exit code 1 when a target is missed."""

import importlib
import sys

NAMES = ("steps", "overhead", "help", "chunks")
LONG = (
    "proof",
    "proof_cost",
    "context",
    "tickets",
    "pipeline",
    "backlog",
    "report",
    "page",
    "hub",
)  # only when they are named; context needs real agents


def main() -> int:
    chosen = sys.argv[1:] or NAMES
    if unknown := set(chosen) - {*NAMES, *LONG}:
        there = ", ".join((*NAMES, *LONG))
        sys.stderr.write(f"there is no benchmark {', '.join(sorted(unknown))}; there are {there}\n")
        return 2
    return 0 if all([importlib.import_module(f"bench.{name}").main() for name in chosen]) else 1


if __name__ == "__main__":
    sys.exit(main())
