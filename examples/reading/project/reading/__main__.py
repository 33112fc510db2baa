"""python -m reading COMMAND FILE"""

import sys

from reading.books import load


def shown(command: str, path: str) -> str:
    books = load(path)
    if command == "list":
        return "\n".join(f"{one.title}, {one.author}" for one in books)
    raise SystemExit(f"there is no command {command}")


if __name__ == "__main__":
    print(shown(*sys.argv[1:3]))
