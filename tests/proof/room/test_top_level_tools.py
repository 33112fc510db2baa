"""Scripts at the top of a project: what they import is the product, or a part of the tool that judges it."""

from pathlib import Path

import pytest

from tests.proof.trial import Trial, only
from trued.model import Grade
from trued.proof.room.python_names import names_asked, names_defined

LOOKS = {
    "check.py": "import sys\nfrom pathlib import Path\n\nimport rules\n\n"
    "sys.exit(rules.broken(Path('tiny.py').read_text()))\n",
    "rules.py": "def broken(text):\n    return 'def double' not in text\n",
    "tiny.py": "def one():\n    return 1\n",
}
CALLS = {"check.py": "import sys\n\nimport tiny\n\nsys.exit(tiny.double(4) != 8)\n", "tiny.py": LOOKS["tiny.py"]}
WRONG = {**CALLS, "tiny.py": "def double(x):\n    return x\n"}
RIGHT = "def double(x):\n    return x + x\n"
PASSES = "`python check.py` passes."

LIARS = {
    "its rules are gutted": (LOOKS, {"rules.py": "def broken(text):\n    return False\n"}),
    "its rules are gutted, and have a name that is asked for": (
        LOOKS,
        {"rules.py": "def broken(text):\n    return False\n\n\ndef double(x):\n    return 0\n"},
    ),
    "a module stands before one that it imports": (LOOKS, {"pathlib.py": "raise SystemExit(0)\n"}),
}
HONEST = {
    "what it reads is changed": (LOOKS, {"tiny.py": RIGHT}, PASSES),
    "what it calls is written": (CALLS, {"tiny.py": RIGHT}, PASSES),
    "what it calls is corrected, and named": (WRONG, {"tiny.py": RIGHT}, "double(4) is 8: `python check.py` passes."),
    "what it calls is corrected, and others use it": (
        {**WRONG, "shop.py": "from tiny import double\n"},
        {"tiny.py": RIGHT},
        PASSES,
    ),
}


async def grade(place: Path, base: dict[str, str], head: dict[str, str], text: str = PASSES) -> tuple[Grade, str]:
    checks = [{"kind": "command", "command": "python check.py"}]
    found = only(await Trial(place, base, [{"id": "r", "text": text, "checks": checks}]).verdict(head))
    return found.grade, " ".join(found.why)


@pytest.mark.spec("LAW-8", "LAW-4")
@pytest.mark.parametrize(("base", "head"), LIARS.values(), ids=LIARS.keys())
async def test_whoever_guts_a_tool_at_the_top_has_only_tested_itself(
    base: dict[str, str], head: dict[str, str], tmp_path: Path
) -> None:
    found, why = await grade(tmp_path, base, head)
    assert found is Grade.SELF_TESTED, why


@pytest.mark.spec("LAW-8")
@pytest.mark.parametrize(("base", "head", "text"), HONEST.values(), ids=HONEST.keys())
async def test_honest_work_on_what_a_tool_at_the_top_looks_at_is_tested(
    base: dict[str, str], head: dict[str, str], text: str, tmp_path: Path
) -> None:
    found, why = await grade(tmp_path, base, head, text)
    assert found is Grade.TESTED, why


def test_names_are_read_as_python_binds_them() -> None:
    text = (
        "import os.path\nfrom a import b as c\n\nX: int = 1\n\nclass K:\n    inner = 2\n\n"
        "if X:\n    def f():\n        local = 3\n\nfor g, h in ():\n    pass\n"
    )
    assert names_defined(text) == {"os", "c", "X", "K", "f", "g", "h"}
    asking = "import rules as r\nfrom rules import one, two\nimport other\nr.three(other.four)\nfrom rules import *\n"
    assert names_asked(asking, "rules") == {"one", "two", "three"}
    assert names_asked("def (", "rules") == names_defined("def (") == set()
