"""A small language model plays a role: `command:python player.py GANG ADDRESS WAY`; GANG is the file gang.py.

It gets the order as JSON on stdin and works in the current folder. Whoever builds asks the model for the module and
saves what it wrote. The two ways differ in the reply:

- `shaped`: the reply has the asked-for shape, and every text in it is the model's.
- `raw`: the reply is what the model said, whatever it is.
"""

import json
import re
import runpy
import sys
import urllib.request
from pathlib import Path
from typing import Any

GANG = runpy.run_path(sys.argv[1])
BRIEF_LETTERS = 900  # of a brief's end: reading is what takes a model on two cores its time
TOKENS = 48  # enough to begin a reply, to break off in one, or to repeat itself
BUILD = "Write the Python function add(a, b) that returns the sum of a and b. Answer with one python code block."


def main() -> None:
    address, way = sys.argv[2:]
    order = GANG["Order"](json.load(sys.stdin))
    if order.works:
        Path("add.py").write_text(code_in(complete(address, BUILD)))
    said = complete(address, order.brief[-BRIEF_LETTERS:] + "\n\nAnswer as JSON.")
    print(said if way == "raw" else json.dumps(with_words(GANG["filled"](order.schema), said)))


def complete(address: str, text: str) -> str:
    """The model's answer to one message; always the same for the same message."""
    asked = {"messages": [{"role": "user", "content": text}], "max_tokens": TOKENS, "temperature": 0, "seed": 1}
    request = urllib.request.Request(
        f"{address}/chat/completions", json.dumps(asked).encode(), {"Content-Type": "application/json"}
    )
    with urllib.request.urlopen(request, timeout=300) as answer:
        return str(json.load(answer)["choices"][0]["message"]["content"])


def code_in(text: str) -> str:
    """The first code block, or all of the text."""
    found = re.search(r"```(?:python)?\n(.*?)(?:```|\Z)", text, re.DOTALL)
    return found[1] if found else text


def with_words(value: Any, words: str) -> Any:
    """The value with the model's words in every free text."""
    if isinstance(value, dict):
        return {name: with_words(one, words) for name, one in value.items()}
    if isinstance(value, list):
        return [with_words(one, words) for one in value]
    return words if value == GANG["SAID"] else value


if __name__ == "__main__":
    main()
