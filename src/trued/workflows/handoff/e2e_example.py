"""The example of a browser test that a handoff adds to a project."""

import re
from importlib.resources import files

PATH = "tests/e2e/test_example.py"
USUAL_START = "python app.py"


def e2e_example(start: str = "", port_env: str = "PORT", sees: str = "") -> tuple[str, str]:
    """Path and text of the example.

    `start`: the command that starts the app; if it is not known yet (""), the example shows a usual command.
    `port_env`: the environment variable that tells the app its port. `sees`: a text on the app's first page; "": any
    text.
    """
    port = port_env if port_env.isidentifier() else "PORT"
    text = files(__package__).joinpath("e2e_example.txt").read_text(encoding="utf-8")
    shown = _literal(sees) if sees else 're.compile(r"\\S")'
    made = text.format(start=_literal(start or USUAL_START), port_env=port, port_name=_literal(port), sees=shown)
    return PATH, made if sees else made.replace("import os\n", "import os\nimport re\n", 1)


def _literal(text: str) -> str:
    """The text as a Python string literal."""
    plain = re.sub(r"[\x00-\x1f\x7f]+", " ", text)
    return '"' + plain.replace("\\", "\\\\").replace('"', '\\"') + '"'
