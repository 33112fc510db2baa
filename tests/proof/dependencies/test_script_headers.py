"""The head of a script can bring a package: the program of its first line may install some, and so may its manifest."""

import pytest

from tests.proof.dependencies.test_dependencies import BASE, Heads, each, read

UV = "#!/usr/bin/env -S uv run --with requests python\n"
OWN = "# /// script\n# dependencies = ['evil']\n# ///\n"
CODE = "print(1)\n"
SCRIPT = "console.log(1);\n"
WITH_SCRIPTS = {
    **BASE,
    "old.py": f"#!/usr/bin/env python3\n{CODE}",
    "uv.py": f"#!/usr/bin/env -S uv run --script\n{OWN}{CODE}",
    "old.cfg": "[a]\nb = 1\n",
    "polyglot.py": f"#!/bin/sh\n'''exec' python3 \"$0\" '''\n{CODE}",
}
INSTALLING: Heads = {
    "options of an installer": {"more.py": f"{UV}{CODE}"},
    "instead of the base's first line": {"old.py": f"{UV}{CODE}"},
    "an installer of programs": {"more.py": f"#!/usr/bin/env -S pipx run evil\n{CODE}"},
    "its short name": {"more.py": f"#!/usr/bin/env uvx\n{CODE}"},
    "a runner of packages": {"more.ts": f"#!/usr/bin/env -S npx tsx\n{SCRIPT}"},
    "a program that installs by itself": {"more.js": f"#!/usr/bin/env bun\n{SCRIPT}"},
    "by its path": {"more.py": f"#!/home/me/.local/bin/uv run\n{CODE}"},
    "after a blank": {"more.py": f"#! \t/usr/bin/env -S uv run -w evil python\n{CODE}"},
    "with the ends of lines of another system": {"more.py": f"{UV}{CODE}".replace("\n", "\r\n")},
    "after a mark of the encoding": {"more.py": f"\ufeff{UV}{CODE}"},
    "behind a form feed": {"more.py": f"#!/usr/bin/env -S python3\f-m pip install evil\n{CODE}"},
    "a module of Python": {"more.py": f"#!/usr/bin/env -S python3 -m evil\n{CODE}"},
    "a module of Python in one word": {"more.py": f"#!/usr/bin/python3 -mevil\n{CODE}"},
    "a loader of Node": {"more.js": f"#!/usr/bin/env -S node --import=evil\n{SCRIPT}"},
    "a loader of Node in two words": {"more.js": f"#!/usr/bin/env -S node --import evil\n{SCRIPT}"},
    "a variable": {"more.js": f"#!/usr/bin/env -S NODE_OPTIONS=--import=evil node\n{SCRIPT}"},
    "another option of env": {"more.py": f"#!/usr/bin/env -iS uv run\n{CODE}"},
    "words in one": {"more.py": f"#!/usr/bin/env --split-string=uv\\_run\n{CODE}"},
    "a program of the project": {"more.py": f"#!python3\n{CODE}"},
    "a program of the project by the system's folder": {"more.py": f"#!/proc/self/cwd/kit/python3\n{CODE}"},
    "env of the project": {"more.py": f"#!env python3\n{CODE}"},
    "in settings, where it is a comment": {"old.cfg": f"{UV}[a]\nb = 1\n"},
    "in a document": {"more.md": f"{UV}{CODE}"},
    "words that the base's program does not have": {
        "more.py": f"#!/usr/bin/env -S uv run --script --with evil\n{CODE}"
    },
    "another language of the whole": {"more.py": "#!/bin/sh\n'''exec' uvx evil '''\n"},
    "another language of the whole, as on the base": {"polyglot.py": "#!/bin/sh\n'''exec' uvx evil '''\n"},
    "another language of a document": {"more.md": "#!/bin/sh\nuvx evil\n"},
}
MANIFESTS: Heads = {
    "plain": {"more.py": f"{OWN}{CODE}"},
    "with the ends of lines of another system": {"more.py": f"{OWN}{CODE}".replace("\n", "\r\n")},
    "with those of an old one": {"more.py": f"{OWN}{CODE}".replace("\n", "\r")},
    "with mixed ones": {"more.py": f"{OWN}{CODE}".replace("script\n", "script\r\n")},
    "with form feeds": {"more.py": f"{OWN}{CODE}".replace("\n", "\f\n")},
    "after a form feed": {"more.py": f"\f{OWN}{CODE}"},
    "after a mark of the encoding": {"more.py": f"\ufeff{OWN}{CODE}"},
    "another package": {"uv.py": f"#!/usr/bin/env -S uv run --script\n{OWN.replace('evil', 'worse')}{CODE}"},
    "another package, at a later line": {
        "uv.py": f"#!/usr/bin/env -S uv run --script\n{OWN}{CODE}".replace("['evil']", "[\r\n# 'evil', 'worse']")
    },
    "in a file that is not called code": {"old.cfg": f"{OWN}[a]\nb = 1\n"},
    "without an end": {"more.py": f"# /// script\n# dependencies = ['evil']\n{CODE}"},
}
HONEST: Heads = {
    "Python's usual one": {"more.py": f"#!/usr/bin/env python3\n{CODE}"},
    "Python with an option": {"more.py": f"#!/usr/bin/python3 -u\n{CODE}"},
    "Python of a version": {"more.py": f"#!/usr/bin/env -S python3.12 -I -u\n{CODE}"},
    "the ends of lines of another system": {"more.py": f"#!/usr/bin/env python3\n{CODE}".replace("\n", "\r\n")},
    "a mark of the encoding": {"more.py": f"\ufeff{CODE}"},
    "Node's usual one": {"more.mjs": f"#!/usr/bin/env node\n{SCRIPT}"},
    "Node with an option": {"more.mjs": f"#!/usr/bin/env -S node --no-warnings\n{SCRIPT}"},
    "no first line any more": {"old.py": CODE},
    "the code below the base's": {"uv.py": f"#!/usr/bin/env -S uv run --script\n{OWN}print(2)\n"},
    "the base's with other ends of lines": {
        "uv.py": f"#!/usr/bin/env -S uv run --script\n{OWN}{CODE}".replace("\n", "\r\n")
    },
    "the same as in another script": {"more.py": f"#!/usr/bin/env -S uv run --script\n{CODE}"},
    "a document about it": {"more.md": f"# Start\n\n    {UV}\n```python\n{OWN}```\n"},
    "an attribute of Rust": {"lib.rs": "#![forbid(unsafe_code)]\npub fn one() -> i32 { 1 }\n"},
    "a comment with slashes": {"more.py": f"# ///////\n# one\n{CODE}"},
}
SHELL = {**BASE, "go.sh": "#!/bin/sh\npython tools/lint.py\n", "run": "echo one\n"}


@pytest.mark.spec("DAY-9", "LAW-11")
@each(INSTALLING)
async def test_a_first_line_that_may_install_a_package_is_unread(head: dict[str, str | None]) -> None:
    assert await read(head, WITH_SCRIPTS) == f"unread {next(iter(head))}"


@pytest.mark.spec("DAY-9", "LAW-11")
@each(MANIFESTS)
async def test_the_manifest_of_a_script_is_found_whatever_ends_its_lines(head: dict[str, str | None]) -> None:
    assert await read(head, WITH_SCRIPTS) == f"unread {next(iter(head))}"


@pytest.mark.spec("DAY-9")
@each(HONEST)
async def test_an_ordinary_script_stays_proven(head: dict[str, str | None]) -> None:
    assert await read(head, WITH_SCRIPTS) == "proven"


@pytest.mark.spec("DAY-9")
@pytest.mark.parametrize("line", ["#!/bin/bash\n", "#!/usr/bin/env bash\n", "#!/usr/bin/env -S bash -euo pipefail\n"])
async def test_a_shell_brings_nothing_by_itself(line: str) -> None:
    """What counts in a shell script is its words."""
    before = {**SHELL, "go.sh": f"{line}python tools/lint.py\n"}
    assert await read({"go.sh": f"{line}python app.py\n"}, before) == "proven"
    assert await read({"go.sh": f"{line}uvx evil\n"}, before) == "unread go.sh"
