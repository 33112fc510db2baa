"""What on the base only tests use judges like a test, wherever it lies: altered, it caps the grade."""

import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from tests.proof.trial import Trial, only
from trued.model import Grade, Verdict
from trued.proof.unguarded.altered_helpers import with_new_definitions

ADD = "def add(a, b):\n    return a + b\n"
DOUBLE = "\n\ndef double(a):\n    return 2 * a\n"
WRONG = ADD.replace("+", "-") + DOUBLE
BASE: dict[str, str | None] = {
    "kit/__init__.py": "",
    "kit/core.py": ADD,
    "kit/testing.py": "def same(a, b):\n    assert a == b\n",
    "golden/sum.txt": "3\n",
    "tests/test_core.py": (
        "import pathlib\n\nfrom kit.core import add\nfrom kit.testing import same\n\n\n"
        "def test_add():\n    same(add(1, 2), 3)\n\n\n"
        "def test_golden():\n    same(add(1, 2), int(pathlib.Path('golden/sum.txt').read_text()))\n"
    ),
}
CASES = {"kind": "examples", "cases": [{"call": "kit.core:double", "args": [4], "returns": 8}]}
BLIND = "def same(a, b):\n    pass\n"


async def verdict(place: Path, base: dict[str, str | None], change: dict[str, str | None]) -> Verdict:
    asked: list[dict[str, Any]] = [{"id": "double", "text": "double(x) is twice x", "checks": [CASES]}]
    trial = Trial(place, base, asked)
    return await trial.prove(await trial.seal_with_existing_tests(), await trial.head(change))


@pytest.mark.slow
@pytest.mark.spec("LAW-4", "LAW-8")
@pytest.mark.parametrize(
    ("change", "grade"),
    [
        pytest.param(
            {"kit/core.py": WRONG, "kit/testing.py": BLIND, "golden/sum.txt": "-1\n"}, Grade.TESTED, id="blind"
        ),
        pytest.param({"kit/core.py": WRONG, "kit/testing/__init__.py": BLIND}, Grade.TESTED, id="in its place"),
        pytest.param({"kit/core.py": WRONG, "tests/test_core.py": None}, Grade.REFUTED, id="tests removed"),
        pytest.param({"kit/core.py": ADD + DOUBLE}, Grade.PROVEN, id="honest"),
        pytest.param(
            {"kit/core.py": ADD + DOUBLE, "kit/testing.py": "def same(a, b):\n    assert a == b, (a, b)\n"},
            Grade.PROVEN,
            id="a helper that explains more",
        ),
        pytest.param(
            {
                "kit/core.py": ADD + DOUBLE,
                "kit/testing.py": f"{BASE['kit/testing.py']}\n\ndef other(a):\n    assert a\n",
            },
            Grade.PROVEN,
            id="a helper that only grew",
        ),
    ],
)
async def test_who_blinds_existing_tests_is_not_above_tested(
    tmp_path: Path, change: dict[str, str | None], grade: Grade
) -> None:
    found = await verdict(tmp_path, BASE, change)
    assert only(found).grade is grade, only(found).why
    if grade is Grade.TESTED:
        assert "kit/testing.py" in only(found).why[0]
        assert "golden" not in only(found).why[0]  # the emptied helper reads no expected results
        assert "kit/core.py" not in only(found).why[0]  # the requirement names it


@pytest.mark.slow
@pytest.mark.spec("LAW-4", "LAW-8")
@pytest.mark.parametrize(
    ("helper", "imported"), [("checks.py", "checks"), ("twice.py", "twice"), ("testkit/__init__.py", "testkit")]
)
async def test_no_ordinary_word_makes_a_helper_the_product(tmp_path: Path, helper: str, imported: str) -> None:
    tests = str(BASE["tests/test_core.py"]).replace("kit.testing", imported)
    base = {**BASE, helper: BASE["kit/testing.py"], "tests/test_core.py": tests}
    del base["kit/testing.py"]
    found = await verdict(tmp_path, base, {"kit/core.py": WRONG, helper: BLIND})
    assert only(found).grade is Grade.TESTED, only(found).why
    assert helper in only(found).why[0]


GROWS = "\n\ndef add(a, b):\n    return a + b\n"
MIXIN = "\n\nclass Case:\n    pass\n"


@pytest.mark.slow
@pytest.mark.spec("LAW-4", "LAW-8")
@pytest.mark.parametrize(
    ("helper", "more", "imported"),
    [
        pytest.param("", GROWS, "from kit.testing import *", id="all names"),
        pytest.param("", GROWS, "import kit.testing\n\nadd = getattr(kit.testing, 'add', add)", id="by its name"),
        pytest.param(
            MIXIN,
            "    def setup_method(self):\n        global same\n        import tests.test_core as own\n"
            "        own.same = lambda a, b: None\n",
            "from kit.testing import Case\n\n\nclass TestMore(Case):\n    def test_more(self):\n        pass",
            id="what the runner calls",
        ),
    ],
)
async def test_a_helper_that_grows_does_not_blind_tests(tmp_path: Path, helper: str, more: str, imported: str) -> None:
    tests = str(BASE["tests/test_core.py"]).replace("\n\n\ndef test_add", f"\n{imported}\n\n\ndef test_add", 1)
    before = f"{BASE['kit/testing.py']}{helper}"
    base = {**BASE, "kit/testing.py": before, "tests/test_core.py": tests, "tests/__init__.py": ""}
    after = before.removesuffix("    pass\n") + more if helper else before + more
    found = await verdict(tmp_path, base, {"kit/core.py": WRONG, "kit/testing.py": after})
    assert only(found).grade <= Grade.TESTED, only(found).why


@pytest.mark.slow
@pytest.mark.spec("LAW-4", "LAW-8")
@pytest.mark.parametrize(
    "more", ["\nimport kit.patch\n", "\nfrom . import patch\n", "\nimport re; from . import inner\n"]
)
async def test_what_a_helper_newly_loads_does_not_blind_tests(tmp_path: Path, more: str) -> None:
    patch = "import kit.core\n\nkit.core.add.__code__ = (lambda a, b: a + b).__code__\n"
    change = {
        "kit/core.py": WRONG,
        "kit/testing.py": f"{BASE['kit/testing.py']}{more}",
        "kit/patch.py": patch,
        "kit/inner.py": "from kit import patch\n",
    }
    found = await verdict(tmp_path, BASE, {**change})
    assert only(found).grade <= Grade.TESTED, only(found).why


@pytest.mark.slow
@pytest.mark.spec("LAW-4", "LAW-6", "LAW-8")
async def test_a_changed_test_that_is_put_back_does_not_hide_what_a_helper_newly_loads(tmp_path: Path) -> None:
    change: dict[str, str | None] = {
        "kit/core.py": WRONG,
        "kit/testing.py": f"{BASE['kit/testing.py']}\nfrom . import patch\n",
        "kit/patch.py": "import kit.core\n\nkit.core.add.__code__ = (lambda a, b: a + b).__code__\n",
        "tests/test_core.py": f"import kit.patch\n{BASE['tests/test_core.py']}",
    }
    found = await verdict(tmp_path, BASE, change)
    assert only(found).grade <= Grade.TESTED, only(found).why


@pytest.mark.slow
@pytest.mark.spec("LAW-4", "LAW-8")
@pytest.mark.parametrize(("core", "helper", "grade"), [(WRONG, BLIND, Grade.TESTED), (ADD + DOUBLE, "", Grade.PROVEN)])
async def test_a_helper_below_a_root_of_its_own_is_found_and_honest_work_there_is_proven(
    tmp_path: Path, core: str, helper: str, grade: Grade
) -> None:
    def moved(files: Mapping[str, str | None]) -> dict[str, str | None]:
        return {f"lib/{path}" if path.startswith("kit/") else path: text for path, text in files.items()}

    base = {**moved(BASE), "pyproject.toml": '[tool.pytest.ini_options]\npythonpath = ["lib"]\n'}
    asked = [{"id": "double", "text": "double(x) is twice x", "checks": [CASES]}]
    trial = Trial(tmp_path, base, asked, path=["lib"])
    change = moved({"kit/core.py": core, **({"kit/testing.py": helper} if helper else {})})
    found = await trial.prove(await trial.seal_with_existing_tests(), await trial.head(change))
    assert only(found).grade is grade, only(found).why


@pytest.mark.slow
@pytest.mark.spec("LAW-4", "LAW-8")
async def test_two_helpers_that_blind_the_same_tests_are_found(tmp_path: Path) -> None:
    """With the base's version of only one of them, the other still hides the failure."""
    tests = f"import kit.more\n{BASE['tests/test_core.py']}"
    base = {**BASE, "kit/more.py": "", "tests/test_core.py": tests}
    patch = "import kit.core\n\nkit.core.add.__code__ = (lambda a, b: a + b).__code__\n"
    found = await verdict(tmp_path, base, {"kit/core.py": WRONG, "kit/testing.py": BLIND, "kit/more.py": patch})
    assert only(found).grade is Grade.TESTED, only(found).why
    assert all(one in only(found).why[0] for one in ("kit/testing.py", "kit/more.py"))


SIX = {f"kit/part{at}.py": f"def part{at}(a):\n    return a + {at}\n" for at in range(6)}
SIX_TESTS = "".join(
    f"\n\ndef test_part{at}():\n    from kit.part{at} import part{at}\n\n    same(part{at}(1), {at + 1})\n"
    for at in range(6)
)


def other_words(text: str) -> str:
    return text.replace("    return a + ", "    found = a\n    return found + ")


@pytest.mark.slow
@pytest.mark.spec("LAW-4", "LAW-8")
@pytest.mark.parametrize(
    ("parts", "change", "grade"),
    [
        pytest.param(2, {}, Grade.PROVEN, id="two rewritten"),
        pytest.param(6, {}, Grade.PROVEN, id="six rewritten"),
        pytest.param(
            6, {"kit/testing.py": BLIND, "kit/part3.py": "def part3(a):\n    return 0\n"}, Grade.TESTED, id="one"
        ),
        pytest.param(
            1,
            {
                "kit/testing.py": BLIND,
                "kit/more.py": "import kit.testing\n\nkit.testing.same = print\n",
                "kit/part0.py": "def part0(a):\n    return 0\n",
            },
            Grade.TESTED,
            id="two that hide a third",
        ),
    ],
)
async def test_several_parts_that_only_tests_use_can_be_rewritten_and_do_not_hide_each_other(
    tmp_path: Path, parts: int, change: dict[str, str | None], grade: Grade
) -> None:
    """For all the engine knows, each may be a helper or a part of the product: a mistake in one may be hidden by any
    others."""
    tests = f"import kit.more\n{BASE['tests/test_core.py']}{SIX_TESTS}"
    base: dict[str, str | None] = {**BASE, **SIX, "kit/more.py": "", "tests/test_core.py": tests}
    rewritten = {path: other_words(text) for path, text in [*SIX.items()][:parts]}
    found = await verdict(tmp_path, base, {"kit/core.py": ADD + DOUBLE, **rewritten, **change})
    assert only(found).grade is grade, only(found).why


@pytest.mark.slow
@pytest.mark.spec("LAW-4", "LAW-8")
async def test_more_changed_helpers_than_can_be_tried_lower_the_grade(tmp_path: Path) -> None:
    many = {f"kit/part{at}.py": f"def part{at}(a):\n    return a + {at}\n" for at in range(9)}
    uses = "".join(f"from kit.part{at} import part{at}\n" for at in range(9))
    base: dict[str, str | None] = {**BASE, **many, "tests/test_core.py": f"{uses}{BASE['tests/test_core.py']}"}
    rewritten = {path: other_words(text) for path, text in many.items()}
    found = await verdict(tmp_path, base, {"kit/core.py": ADD + DOUBLE, **rewritten})
    assert only(found).grade is Grade.TESTED, only(found).why


SCRIPTS = {
    "package.json": '{"type": "module", "scripts": {"test": "node --test"}, "imports": {"#same": "./kit/same.mjs"}}',
    "kit/core.mjs": "export const add = (a, b) => a + b;\n",
    "kit/same.mjs": "export const same = (a, b) => { if (a !== b) throw new Error('differ'); };\n",
    "core.test.mjs": "import { test } from 'node:test';\nimport { add } from './kit/core.mjs';\n"
    "import { same } from '#same';\ntest('add', () => { same(add(1, 2), 3); });\n",
}
SCRIPT_DONE = "export const double = (a) => 2 * a;\n"


@pytest.mark.slow
@pytest.mark.spec("LAW-4", "LAW-8")
@pytest.mark.parametrize(
    ("core", "helper", "grade"),
    [
        ("export const add = (a, b) => a - b;\n", "export const same = () => {};\n", Grade.TESTED),
        (SCRIPTS["kit/core.mjs"], SCRIPTS["kit/same.mjs"].replace("'differ'", "`${a}, not ${b}`"), Grade.PROVEN),
    ],
)
async def test_a_helper_that_tests_load_by_a_short_name_is_a_helper(
    tmp_path: Path, core: str, helper: str, grade: Grade
) -> None:
    if not shutil.which("node"):
        pytest.skip("Node.js is not installed")
    cases = {"kind": "examples", "cases": [{"call": "kit/core.mjs:double", "args": [4], "returns": 8}]}
    trial = Trial(tmp_path, SCRIPTS, [{"id": "double", "text": "double(x) is twice x", "checks": [cases]}])
    change = {"kit/core.mjs": f"{core}{SCRIPT_DONE}", "kit/same.mjs": helper}
    found = await trial.prove(await trial.seal_with_existing_tests(), await trial.head(change))
    assert only(found).grade is grade, only(found).why
    assert grade is not Grade.TESTED or "kit/same.mjs" in only(found).why[0]


@pytest.mark.slow
async def test_what_the_product_begins_to_use_and_what_replaces_a_test_cost_nothing(tmp_path: Path) -> None:
    base = {**BASE, "kit/money.py": "def cents(a):\n    return a\n"}
    base["tests/test_money.py"] = "from kit.money import cents\n\n\ndef test_cents():\n    assert cents(2) == 2\n"
    change: dict[str, str | None] = {
        "kit/core.py": f"from kit.money import euros\n\n\n{ADD}{DOUBLE}",
        "kit/money.py": f"{base['kit/money.py']}\n\ndef euros(a):\n    return a // 100\n",
    }
    found = await verdict(tmp_path, base, change)
    assert only(found).grade is Grade.PROVEN, only(found).why


SUM = "\n\ndef sum_of(a, b):\n    return a + b\n"
FROM = "\n\ndef sum_from(start, a, b):\n    return start + a + b\n"
API = "from kit.core import sum_of\n\n\ndef total(values):\n    return sum_of(*values)\n"
TESTS_API = "\n\ndef test_total():\n    from kit.api import total\n\n    same(total([1, 2]), 3)\n"


@pytest.mark.slow
@pytest.mark.spec("LAW-4", "LAW-8")
@pytest.mark.parametrize(
    ("words", "more", "grade"),
    [
        ("`total` takes a start", {}, Grade.PROVEN),
        ("total(values, start) begins with start", {}, Grade.PROVEN),
        ("sums take a start", {}, Grade.TESTED),  # for all the engine knows, kit/api.py is a helper of tests
        ("`total` takes a start", {"kit/testing.py": BLIND, "kit/core.py": WRONG + FROM}, Grade.TESTED),
    ],
)
async def test_what_defines_a_function_that_the_user_names_is_the_product(
    tmp_path: Path, words: str, more: dict[str, str], grade: Grade
) -> None:
    """With the base's version of kit/api.py, the existing tests fail, because another file has changed, too."""
    tests = f"{BASE['tests/test_core.py']}{TESTS_API}"
    base = {**BASE, "kit/core.py": ADD + SUM, "kit/api.py": API, "tests/test_core.py": tests}
    asked: list[dict[str, Any]] = [{"id": "double", "text": words, "checks": [CASES]}]
    trial = Trial(tmp_path, base, asked)
    change = {
        "kit/core.py": ADD + DOUBLE + FROM,
        "kit/api.py": API.replace("sum_of(*", "sum_from(start, *")
        .replace("sum_of", "sum_from")
        .replace("s):", "s, start=0):"),
    }
    found = await trial.prove(await trial.seal_with_existing_tests(), await trial.head({**change, **more}))
    assert only(found).grade is grade, only(found).why


@pytest.mark.slow
@pytest.mark.spec("LAW-4", "LAW-8")
async def test_a_helper_that_defines_the_same_name_as_the_product_is_a_helper(tmp_path: Path) -> None:
    tests = (
        str(BASE["tests/test_core.py"])
        .replace("import same", "import add as right, same")
        .replace(", 3)", ", right(1, 2))")
    )
    base = {**BASE, "kit/testing.py": f"{BASE['kit/testing.py']}\n\n{ADD}", "tests/test_core.py": tests}
    asked: list[dict[str, Any]] = [{"id": "double", "text": "double(x) is add(x, x)", "checks": [CASES]}]
    trial = Trial(tmp_path, base, asked)
    wrong = {"kit/core.py": WRONG, "kit/testing.py": f"{BLIND}\n\n{ADD}"}
    found = await trial.prove(await trial.seal_with_existing_tests(), await trial.head({**wrong}))
    assert only(found).grade is Grade.TESTED, only(found).why


ORACLE = "\n\ndef double(a):\n    return a + a\n"


@pytest.mark.slow
@pytest.mark.spec("LAW-4", "LAW-8")
@pytest.mark.parametrize("words", ["`double` is twice x", "double(x) is twice x"])
async def test_a_helper_that_defines_what_the_product_shall_get_is_a_helper(tmp_path: Path, words: str) -> None:
    base = {**BASE, "kit/testing.py": f"{BASE['kit/testing.py']}{ORACLE}"}
    asked: list[dict[str, Any]] = [{"id": "double", "text": words, "checks": [CASES]}]
    trial = Trial(tmp_path, base, asked)
    change: dict[str, str | None] = {"kit/core.py": WRONG, "kit/testing.py": f"{BLIND}{ORACLE}"}
    found = await trial.prove(await trial.seal_with_existing_tests(), await trial.head(change))
    assert only(found).grade is Grade.TESTED, only(found).why


@pytest.mark.slow
@pytest.mark.spec("LAW-4", "LAW-8")
async def test_two_helpers_that_load_the_same_patch_do_not_hide_each_other(tmp_path: Path) -> None:
    tests = f"import kit.more\n{BASE['tests/test_core.py']}"
    base = {**BASE, "kit/more.py": "", "tests/test_core.py": tests}
    change: dict[str, str | None] = {
        "kit/core.py": WRONG,
        "kit/testing.py": f"{BASE['kit/testing.py']}\nfrom . import patch\n",
        "kit/more.py": "from . import patch\n",
        "kit/patch.py": "import kit.core\n\nkit.core.add.__code__ = (lambda a, b: a + b).__code__\n",
    }
    found = await verdict(tmp_path, base, change)
    assert only(found).grade <= Grade.TESTED, only(found).why


OTHER = "\n\ndef other(a):\n    return a\n"
PATCH = "\nimport kit.core\n\nPATCHED = setattr(kit.core, 'add', lambda a, b: a + b)\n"


@pytest.mark.slow
@pytest.mark.spec("LAW-4", "LAW-8")
@pytest.mark.parametrize(
    ("core", "helper", "grade"),
    [
        pytest.param(ADD + DOUBLE, "def same(a, b):\n    assert a == b, (a, b)\n", Grade.PROVEN, id="honest"),
        pytest.param(WRONG, BLIND, Grade.TESTED, id="blind"),
        pytest.param(WRONG, f"{BLIND}{PATCH}", Grade.TESTED, id="blind, and patched by a new definition"),
    ],
)
async def test_what_the_product_takes_newly_from_a_changed_helper_neither_costs_nor_hides_anything(
    tmp_path: Path, core: str, helper: str, grade: Grade
) -> None:
    """With the base's version of the helper alone, the product could not be imported."""
    change: dict[str, str | None] = {
        "kit/core.py": f"{core}\n\ndef more(a):\n    from kit.testing import other\n\n    return other(a)\n",
        "kit/app.py": "from kit.testing import other\n",
        "kit/__init__.py": "from kit import app\n",
        "kit/testing.py": f"{helper}{OTHER}",
    }
    found = await verdict(tmp_path, BASE, change)
    assert only(found).grade is grade, only(found).why


@pytest.mark.parametrize(
    ("before", "after", "found"),
    [
        ("def a(): pass\n", "import re\n\ndef a(): return 1\n\ndef b(): return re\n", ["import re", "def b"]),
        ("def a(): pass\n", "from __future__ import annotations\n\ndef a(): return 1\n", []),
        ("def a(): pass\n", "def a(): return 1\n\na = None\n\nprint(1)\n", []),
        ("def a(): pass\n", "def a(): return (\n", []),
    ],
)
def test_only_what_defines_new_names_is_added_to_a_helper(before: str, after: str, found: list[str]) -> None:
    text = with_new_definitions(before, after)
    assert [
        one for one in ("import re", "def b", "return 1", "print", "a = None", "__future__") if one in text
    ] == found
    assert not text or text.startswith(before)


@pytest.mark.slow
async def test_changed_expected_results_are_found_by_themselves(tmp_path: Path) -> None:
    base = {**BASE, "tests/test_core.py": str(BASE["tests/test_core.py"]).replace("same(add(1, 2), 3)", "pass")}
    found = await verdict(tmp_path, base, {"kit/core.py": WRONG, "golden/sum.txt": "-1\n"})
    assert only(found).grade is Grade.TESTED, only(found).why
    assert "golden/sum.txt" in only(found).why[0]


@pytest.mark.slow
async def test_what_the_product_uses_too_is_the_product(tmp_path: Path) -> None:
    base = {**BASE, "kit/app.py": "from kit.testing import same\n"}
    found = await verdict(tmp_path, base, {"kit/core.py": ADD + DOUBLE, "kit/testing.py": f"X = 1\n{BLIND}"})
    assert only(found).grade is Grade.PROVEN, only(found).why


LISTING = (
    BASE["tests/test_core.py"].replace(
        "int(pathlib.Path('golden/sum.txt').read_text())",
        "min(int(one.read_text()) for one in pathlib.Path('golden').glob('*.txt'))",
    )
    if BASE["tests/test_core.py"]
    else ""
)
DEEP: dict[str, str | None] = {
    **BASE,
    "kit/testing.py": "from kit.equal import equal\n\n\ndef same(a, b):\n    assert equal(a, b)\n",
    "kit/equal.py": "def equal(a, b):\n    return a == b\n",
}


@pytest.mark.slow
@pytest.mark.spec("LAW-4", "LAW-8")
@pytest.mark.parametrize(
    ("base", "change", "grade"),
    [
        pytest.param(
            {
                **BASE,
                "kit/testing.py": BLIND,
                "tests/test_core.py": LISTING.replace("same(add", "assert (add")
                .replace("2), 3)", "2) == 3)")
                .replace("2), min(", "2) == min("),
            },
            {"kit/core.py": ADD.replace("+", "-") + DOUBLE, "golden/sum.txt": "-1\n"},
            Grade.REFUTED,
            id="another test notices it",
        ),
        pytest.param(
            {**BASE, "tests/test_core.py": LISTING.replace("def test_add", "def untested")},
            {"kit/core.py": WRONG, "golden/sum.txt": "-1\n"},
            Grade.TESTED,
            id="expected results, found by their folder",
        ),
        pytest.param(
            {**BASE, "tests/test_core.py": LISTING},
            {"kit/core.py": ADD + DOUBLE, "golden/more.txt": "4\n"},
            Grade.PROVEN,
            id="honest, with one more expected result",
        ),
        pytest.param(
            DEEP,
            {"kit/core.py": WRONG, "golden/sum.txt": "-1\n", "kit/equal.py": "def equal(a, b):\n    return True\n"},
            Grade.TESTED,
            id="a helper's helper",
        ),
        pytest.param(
            DEEP,
            {"kit/core.py": ADD + DOUBLE, "kit/equal.py": "def equal(a, b):\n    return bool(a == b)\n"},
            Grade.PROVEN,
            id="honest, with a better helper of a helper",
        ),
    ],
)
async def test_what_tests_use_through_folders_and_helpers_judges_too(
    tmp_path: Path, base: dict[str, str | None], change: dict[str, str | None], grade: Grade
) -> None:
    found = only(await verdict(tmp_path, base, change))
    assert found.grade is grade, found.why


SKIPPING: dict[str, str | None] = {
    **BASE,
    "tests/test_core.py": "import os\n\nfrom kit.core import add\n\n\ndef test_add():\n"
    "    if not os.path.exists('QUICK'):\n        assert add(1, 2) == 3\n",
}


@pytest.mark.slow
@pytest.mark.spec("LAW-4", "LAW-8")
@pytest.mark.parametrize(
    ("change", "grade"),
    [
        pytest.param({"kit/core.py": WRONG, "QUICK": "1\n"}, Grade.TESTED, id="a file for which tests look"),
        pytest.param({"kit/core.py": ADD + DOUBLE, "QUICK": "1\n"}, Grade.PROVEN, id="honest, with that file"),
        pytest.param({"kit/core.py": ADD + DOUBLE, "kit/more.py": "x = 1\n"}, Grade.PROVEN, id="honest, with another"),
    ],
)
async def test_a_new_file_that_only_tests_ask_for_judges(
    tmp_path: Path, change: dict[str, str | None], grade: Grade
) -> None:
    found = only(await verdict(tmp_path, SKIPPING, change))
    assert found.grade is grade, found.why


def reading(name: str, how: str = "") -> dict[str, str | None]:
    """A base whose test compares with the file `name`, which it reads by its name, or as `how` says."""
    reads = how or f"pathlib.Path('{name}').read_text()"
    return {
        "kit/__init__.py": "",
        "kit/core.py": ADD,
        name: "3\n",
        "tests/test_core.py": (
            "import os\nimport pathlib\n\nfrom kit.core import add\n\n\n"
            f"def test_golden():\n    assert add(1, 2) == int({reads})\n"
        ),
    }


TOP = "pathlib.Path(__file__).parent.parent"
EXPECTED: dict[str, dict[str, str | None]] = {
    "golden/sum.md": reading("golden/sum.md"),
    "golden/history.json": reading("golden/history.json"),
    "golden/chart.svg": reading("golden/chart.svg"),
    "golden/deps.lock": reading("golden/deps.lock"),
    "golden/LICENSE": {**reading("golden/LICENSE"), "pyproject.toml": '[project]\nname = "a"\nlicense = "LICENSE"\n'},
    "golden/requirements.txt": {
        **reading("golden/requirements.txt"),
        "requirements.txt": "",
        "kit/needs.py": "NEEDS = open('requirements.txt').read()\n",
    },
    "golden/after/package.json": {
        **reading("golden/after/package.json", "len(open('golden/after/package.json').read()) - 5"),
        "golden/after/package.json": '{"a": 3}',
    },
    "docs/sum.txt": reading("docs/sum.txt"),
    ".golden/sum.txt": reading(".golden/sum.txt"),
    "golden/basic/two.out": reading(
        "golden/basic/two.out",
        f"sorted(({TOP} / 'golden').rglob('*'))[-1].read_text()",
    ),
    "cases/2024/june.json": reading(
        "cases/2024/june.json",
        f"[open(os.path.join(at, one)).read() for at, _, has in os.walk({TOP} / 'cases') for one in has][0]",
    ),
    "golden/about.txt": {
        **reading("golden/about.txt"),
        "kit/more.py": '"""See golden/about.txt."""\n# golden/about.txt has the sums\ngolden = {"golden": 3}\n',
    },
}


@pytest.mark.slow
@pytest.mark.spec("LAW-4", "LAW-8")
@pytest.mark.parametrize("name", EXPECTED)
async def test_what_only_tests_read_judges_whatever_its_name(tmp_path: Path, name: str) -> None:
    found = only(
        await verdict(
            tmp_path,
            EXPECTED[name],
            {"kit/core.py": WRONG, name: "{ }\n" if "{" in str(EXPECTED[name][name]) else "-1\n"},
        )
    )
    assert found.grade is Grade.TESTED, found.why
    assert name in found.why[0]


@pytest.mark.slow
@pytest.mark.spec("LAW-4", "LAW-8")
async def test_documents_cost_nothing_even_if_tests_read_their_folder(tmp_path: Path) -> None:
    base: dict[str, str | None] = reading("docs/sum.txt", f"next(({TOP} / 'docs').glob('*.txt')).read_text()")
    documents = {f"docs/page{number}.md": "a\n" for number in range(12)}
    change: dict[str, str | None] = {
        **dict.fromkeys(documents, "b\n"),
        "README.md": "b\n",
        "LICENSE": "b\n",
        "kit/core.py": ADD + DOUBLE,
    }
    found = only(await verdict(tmp_path, {**base, **documents, "README.md": "a\n", "LICENSE": "a\n"}, change))
    assert found.grade is Grade.PROVEN, found.why


@pytest.mark.slow
@pytest.mark.spec("LAW-4", "LAW-8")
async def test_expected_results_may_change_with_a_test_that_the_requirement_supersedes(tmp_path: Path) -> None:
    core = {"kit/core.py": "def add(a, b):\n    return a + b + 1\n" + DOUBLE}
    asked = [
        {
            "id": "double",
            "text": "double(x) is twice x, and add adds one more",
            "checks": [CASES],
            "supersedes": ["tests/test_core.py::test_golden"],
        }
    ]
    trial = Trial(tmp_path, reading("golden/sum.md"), asked)
    contract = await trial.seal_with_existing_tests()
    found = only(await trial.prove(contract, await trial.head({**core, "golden/sum.md": "4\n"})))
    assert found.grade is Grade.PROVEN, found.why
