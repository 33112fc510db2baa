"""Old code that only idle tests reach is not guarded by them."""

from pathlib import Path

import pytest

from tests.proof.trial import Change
from tests.proof.unguarded.test_not_run_by_any_check import CORE, THREE, graded, grades
from trued.model import Grade


@pytest.mark.slow
@pytest.mark.spec("LAW-6", "LAW-11")
async def test_statements_that_mention_what_only_failing_tests_reach_are_named(tmp_path: Path) -> None:
    kit = "import core\n\nNAMES = []\n\n\ndef two():\n    return 2\n"
    test = "import core\nimport kit\n\n\ndef test_two():\n    assert kit.two() == 2\n\n\ndef test_rate():\n"
    test += "    assert core.rate(1) == 3\n"
    base = {"core.py": CORE, "kit.py": kit, "tests/test_kit.py": test}
    heads: dict[str, Change] = {
        "by name": {"kit.py": f"{kit}{THREE}\n\nsetattr(core, 'rate', lambda x: 0)\n"},
        "in a function": {"kit.py": f"{kit}{THREE}\n\ndef patch():\n    core.rate = None\n\n\npatch()\n"},
        "by module": {"kit.py": f"{kit}{THREE}\n\nsetattr(core, 'ra' + 'te', lambda x: 0)\n"},
        "something else": {"kit.py": f"{kit}{THREE}\n\nNAMES.append('three')\n"},
    }
    found = await graded(tmp_path, base, heads, unguarded=False)
    assert [*grades(found).values()] == [*[Grade.TESTED] * 3, Grade.PROVEN], found
    assert ["kit.py (rate)" in why for _, why in found.values()] == [True, True, False, False], found


@pytest.mark.slow
@pytest.mark.spec("LAW-6", "LAW-11")
async def test_what_only_idle_tests_run_is_not_guarded_by_what_guarding_tests_mention(tmp_path: Path) -> None:
    core = (
        "def kinds():\n    return ['total']\n\n\ndef total():\n    return late()\n\n\ndef late():\n    return 2\n\n\n"
    )
    core += "def slow():\n    return 2\n\n\ndef far():\n    return 2\n\n\ndef near():\n    return 2\n"
    contract_tests = "import core\n\n\nclass Contract:\n    def test_a(self):\n        assert core.near() == 2\n\n"
    contract_tests += "    def test_b(self):\n        assert core.far() == self.expected\n"
    tests = (
        "import core\nfrom tests.contract import Contract\n\n\ndef test_kinds():\n    assert core.kinds() == ['total']"
    )
    tests += "\n\n\ndef test_total():\n    assert core.total() == 3\n\n\nclass TestPg(Contract):\n    expected = 3\n\n"
    tests += "    def test_pg_only(self):\n        assert core.slow() == 3\n"
    base = {
        "core.py": core,
        "kit.py": "def two():\n    return 2\n",
        "tests/__init__.py": "",
        "tests/contract.py": contract_tests,
        "tests/test_core.py": tests,
    }

    def with_new(name: str) -> Change:
        old = core[core.index(f"def {name}()") :].split("\n\n\n")[0]
        new = old.replace("return ", "return 0 + " if name != "kinds" else "return [] + ")
        return {"kit.py": f"{base['kit.py']}{THREE}", "core.py": core.replace(old, new)}

    idle, guarded = ["total", "late", "slow", "far"], ["kinds", "near"]
    found = await graded(tmp_path, base, {name: with_new(name) for name in [*idle, *guarded]}, unguarded=False)
    expected = {**dict.fromkeys(idle, Grade.TESTED), **dict.fromkeys(guarded, Grade.PROVEN)}
    assert grades(found) == expected, found
