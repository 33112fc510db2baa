"""The command line: python -m textkit COMMAND."""

import sys

from textkit.space import squeeze


def main(arguments: list[str]) -> int:
    if len(arguments) == 2 and arguments[0] == "squeeze":
        print(squeeze(arguments[1]))
        return 0
    print("usage: python -m textkit squeeze TEXT", file=sys.stderr)
    return 2


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
