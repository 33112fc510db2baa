"""The example of a browser test that a handoff adds to a project."""

import json
from importlib.resources import files

EXAMPLE = "tests/e2e/test_example.py"
USUAL_START = "python app.py"


def e2e_example(start: str = "") -> str:
    """The text of the example. `start`: the command that starts the app; if it is not known yet (""), the example shows
    a usual command."""
    text = files(__package__).joinpath("e2e_example.txt").read_text(encoding="utf-8")
    return text.replace("START_COMMAND", json.dumps(start or USUAL_START, ensure_ascii=False))
