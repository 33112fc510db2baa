"""python -m expenses COMMAND FILE …"""

import sys

from expenses.book import load


def shown(command: str, path: str, *words: str) -> str:
    if command == "list":
        return "\n".join(map(str, load(path)))
    raise SystemExit(f"there is no command {command}")


if __name__ == "__main__":
    print(shown(*sys.argv[1:]))
