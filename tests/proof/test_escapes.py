"""Ways to cheat the proof that were found by trying: each is closed, and honest work still passes."""

import os
import shutil
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.proof.trial import Change, Trial, bare_interpreter, git, is_success, only
from trued.errors import CannotJudge
from trued.model import CallCase, CommandCheck, Finding, Grade, Requirement
from trued.proof.room.files_in_room import file_digest, plant_file, replace_files
from trued.proof.room.frozen_files import files_to_freeze
from trued.proof.room.interpreter import find_interpreter
from trued.proof.runners.counting import file_text
from trued.proof.verdict.failed_cases import AGAIN

GOOD = "def slug(t):\n    return t.lower().replace(' ', '-')\n"
TODO = "def slug(t):\n    raise NotImplementedError\n"
TEST = "from kit.slug import slug\n\n\ndef test_a():\n    assert slug('A b') == 'a-b'\n"
TESTS = {"kind": "tests", "command": "python -m pytest -q"}
EXAMPLES = {"kind": "examples", "cases": [{"call": "kit.slug:slug", "args": ["SECRET x"], "returns": "secret-x"}]}
BASE: dict[str, str | None] = {"kit/__init__.py": "", "kit/slug.py": TODO, "tests/test_slug.py": TEST}


def required(*checks: dict[str, Any], **more: Any) -> list[dict[str, Any]]:
    return [{"id": "slug", "text": "slug works", "checks": list(checks), **more}]


async def grade(
    place: Path, base: dict[str, str | None], change: Change, *checks: dict[str, Any], **more: Any
) -> Grade:
    return only(await Trial(place, base, required(*checks, **more)).verdict(change)).grade


# -- nothing but the checkout ------------------------------------------------------------------------------------------


@pytest.mark.spec("LAW-4")
async def test_an_editable_install_does_not_show_the_users_working_tree(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tree = tmp_path / "tree"
    tree.mkdir()
    (tree / "newmod.py").write_text("def f():\n    return 42\n")
    active = bare_interpreter(tmp_path / "venv")
    site = next((active / "lib").glob("python3*")) / "site-packages"
    (site / "__editable__.proj.pth").write_text(f"{tree}\n")
    monkeypatch.setenv("VIRTUAL_ENV", str(active))
    interpreter = await find_interpreter()
    assert not any(tree.is_relative_to(one) for one in interpreter.readable)
    cases = {"kind": "examples", "cases": [{"call": "newmod:f", "returns": 42}]}
    assert await grade(tmp_path / "trial", BASE, {"other.py": ""}, cases) is Grade.REFUTED


@pytest.mark.spec("LAW-3", "LAW-4")
async def test_green_is_taken_with_the_interpreter_of_red(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    trial = Trial(tmp_path / "trial", BASE, required(EXAMPLES))
    contract = await trial.seal()
    assert sys.version.split()[0] in contract.interpreter
    monkeypatch.setenv("VIRTUAL_ENV", str(bare_interpreter(tmp_path / "other")))
    with pytest.raises(CannotJudge, match=r"checks ran on the base with .*activate the same environment"):
        await trial.prove(contract, await trial.head({"kit/slug.py": GOOD}))


# -- what leaves the engine --------------------------------------------------------------------------------------------


@pytest.mark.spec("LAW-7")
async def test_a_missing_module_names_no_held_out_input(tmp_path: Path) -> None:
    raising = "def slug(t):\n    raise ModuleNotFoundError(name='leak_' + t.split()[0])\n"
    verdict = await Trial(tmp_path, BASE, required(EXAMPLES)).verdict({"kit/slug.py": raising})
    assert only(verdict).grade is Grade.REFUTED
    assert "SECRET" not in str([verdict.gaps, only(verdict).why, verdict.undecided])


@pytest.mark.spec("LAW-7")
@pytest.mark.slow
async def test_a_visible_test_cannot_print_what_held_out_cases_left_in_the_room(tmp_path: Path) -> None:
    book = f"import pathlib\n\n{GOOD}\n\ngood = slug\nBOOK = pathlib.Path(__file__).with_name('book.txt')\n\n\n"
    book += "def slug(t):\n    if t == 'A b' and BOOK.exists():\n        raise RuntimeError(BOOK.read_text())\n"
    book += "    if t != 'A b':\n        BOOK.write_text(t)\n    return good(t)\n"
    verdict = await Trial(tmp_path, BASE, required(EXAMPLES, TESTS)).verdict({"kit/slug.py": book})
    assert only(verdict).grade is Grade.REFUTED
    # the gap does not name the test, because the head could choose which one fails
    assert any(AGAIN in one.what for one in verdict.gaps)
    assert "SECRET" not in str([verdict.gaps, only(verdict).why])
    plain = "def slug(t):\n    raise RuntimeError('told in full')\n"
    honest = await Trial(tmp_path / "b", BASE, required(EXAMPLES, TESTS)).verdict({"kit/slug.py": plain})
    assert "told in full" in str(honest.gaps), "the first time, before any held-out case"


@pytest.mark.slow
@pytest.mark.spec("LAW-2", "LAW-8")
async def test_a_heads_own_words_do_not_make_it_unjudged(tmp_path: Path) -> None:
    app = {"kit/__main__.py": "import sys\nsys.exit(\"No module named 'numpy'\")\n"}
    case = {"kind": "examples", "cases": [{"run": ["python", "-m", "kit"], "stdout": "42\n"}]}
    assert await grade(tmp_path / "a", BASE, app, case) is Grade.REFUTED
    base = {**BASE, "check.sh": "sh m.sh\n"}
    check = {"kind": "command", "command": "sh check.sh", "files": ["check.sh"]}
    assert await grade(tmp_path / "b", base, {"m.sh": "exit 127\n"}, check) is Grade.REFUTED
    trial = Trial(tmp_path / "c", BASE, required(EXAMPLES))
    needs = "def slug(t):\n    if t == 'zz':\n        import numpy_that_nobody_has\n    return good(t)\n"
    lacking = {"kit/slug.py": f"{GOOD}\n\ngood = slug\n\n\n{needs}"}
    objection = Finding(what="zz", requirement="slug", case=CallCase(call="kit.slug:slug", args=("zz",), returns="zz"))
    verdict = await trial.prove(await trial.seal(), await trial.head(lacking), objection)
    assert only(verdict).grade is Grade.REFUTED


# -- what judges comes from the base -----------------------------------------------------------------------------------


@pytest.mark.spec("LAW-4", "LAW-6")
async def test_what_the_head_adds_among_tests_is_not_in_the_room(tmp_path: Path) -> None:
    shadow: Change = {"tests/kit/__init__.py": "", "tests/kit/slug.py": GOOD}
    trial = Trial(tmp_path, BASE, required(TESTS))
    contract = await trial.seal()
    verdict = await trial.prove(contract, await trial.head(shadow))
    assert only(verdict).grade is Grade.REFUTED
    assert any(one.startswith("tests/kit/slug.py: added by the change") for one in verdict.undecided)
    both = {"kit/slug.py": GOOD, "tests/test_more.py": "def test_b():\n    assert 0\n"}
    assert only(await trial.prove(contract, await trial.head(both))).grade is Grade.TESTED


@pytest.mark.slow
@pytest.mark.spec("LAW-4")
@pytest.mark.parametrize("configured", [True, False])
async def test_a_file_is_frozen_by_what_was_collected_from_it(tmp_path: Path, configured: bool) -> None:
    base: dict[str, str | None] = {"kit/__init__.py": "", "kit/slug.py": TODO, "checks/check_slug.py": TEST}
    command = "python -m pytest -q checks/check_slug.py"
    if configured:
        base["pytest.ini"], command = "[pytest]\npython_files = check_*.py\n", "pytest"
    trial = Trial(tmp_path, base, required({"kind": "tests", "command": command}))
    contract = await trial.seal()
    assert "checks/check_slug.py" in contract.frozen
    rewritten = await trial.head({"checks/check_slug.py": "def test_a():\n    pass\n"})
    assert only(await trial.prove(contract, rewritten)).grade is Grade.REFUTED
    assert only(await trial.prove(contract, await trial.head({"kit/slug.py": GOOD}))).grade is Grade.TESTED


@pytest.mark.slow
async def test_doctests_in_modules_are_not_counted_and_freeze_nothing(tmp_path: Path) -> None:
    told = '"""\n>>> 1 + 1\n3\n"""\n'
    base = {**BASE, "kit/slug.py": told + TODO, "kit/broken.py": "import kit.nowhere\n"}
    trial = Trial(tmp_path, base, required({"kind": "tests", "command": "pytest --doctest-modules"}))
    contract = await trial.seal()
    assert set(contract.frozen) == {"tests/test_slug.py"}
    verdict = await trial.prove(contract, await trial.head({"kit/slug.py": told + GOOD}))
    assert only(verdict).grade is Grade.TESTED, only(verdict).why
    assert any("doctests in modules were not counted" in one for one in verdict.undecided)


@pytest.mark.slow
async def test_a_product_module_that_is_named_like_a_test_is_the_heads(tmp_path: Path) -> None:
    base = {**BASE, "stats/__init__.py": "", "stats/t_test.py": "def t_test(a, b):\n    raise NotImplementedError\n"}
    work: Change = {
        "kit/slug.py": GOOD,
        "stats/t_test.py": "from .ab_test import less\n\n\ndef t_test(a, b):\n    return less(a, b)\n",
        "stats/ab_test.py": "def less(a, b):\n    return a - b\n",
    }
    cases = {"kind": "examples", "cases": [{"call": "stats.t_test:t_test", "args": [2, 1], "returns": 1}]}
    command = {"kind": "command", "command": "python -c 'import stats.t_test'"}
    assert await grade(tmp_path, base, work, TESTS, cases, command) is Grade.PROVEN


@pytest.mark.spec("LAW-4", "LAW-6")
@pytest.mark.parametrize("keep", [True, False])
@pytest.mark.slow
async def test_a_frozen_file_of_any_kind_is_put_back_before_each_check(tmp_path: Path, keep: bool) -> None:
    base = {**BASE, "kit/slug.py": GOOD + "# TODO\n", "check.sh": "! grep -q TODO kit/slug.py\n"}
    command = {"kind": "command", "command": "sh check.sh", "files": ["check.sh"]}
    writing = "import pathlib\npathlib.Path('check.sh').write_text('exit 0')\n" + GOOD + "# TODO\n"
    trial = Trial(tmp_path, base, required(TESTS, command, keep=keep))
    contract = await trial.seal()
    assert only(await trial.prove(contract, await trial.head({"kit/slug.py": writing}))).grade is Grade.REFUTED
    honest = only(await trial.prove(contract, await trial.head({"kit/slug.py": GOOD})))
    assert honest.holds, honest.why


@pytest.mark.spec("LAW-4")
async def test_no_module_of_the_head_gets_into_a_commands_own_tools(tmp_path: Path) -> None:
    lint = "import sys, json\nsys.exit('print' in open(sys.argv[1]).read())\n"
    base = {"Makefile": "lint:\n\tpython3 tools/lint.py m.py\n", "tools/lint.py": lint, "m.py": "print(1)\n"}
    command = {"kind": "command", "command": "make lint", "files": ["Makefile", "tools/lint.py"]}
    trial = Trial(tmp_path, base, required(command))
    contract = await trial.seal()
    for name in ("sitecustomize.py", "sitecustomize/__init__.py", "json.py", "tools/usercustomize.py"):
        verdict = await trial.prove(contract, await trial.head({name: "import os\nos._exit(0)\n"}))
        assert only(verdict).grade is Grade.REFUTED, name
    assert only(await trial.prove(contract, await trial.head({"m.py": "x = 1\n"}))).grade is Grade.TESTED


@pytest.mark.slow
@pytest.mark.spec("LAW-4")
async def test_a_command_without_files_is_driven_by_the_bases_build_file(tmp_path: Path) -> None:
    base = {**BASE, "Makefile": 'test:\n\tpython3 -c \'from kit.slug import slug; assert slug("A") == "a"\'\n'}
    trial = Trial(tmp_path, base, required({"kind": "command", "command": "make test"}))
    contract = await trial.seal()
    for name in ("Makefile", "GNUmakefile"):
        assert only(await trial.prove(contract, await trial.head({name: "test:\n\ttrue\n"}))).grade is Grade.REFUTED
    assert only(await trial.prove(contract, await trial.head({"kit/slug.py": GOOD}))).grade is Grade.TESTED


@pytest.mark.parametrize(
    ("command", "expected"),
    [
        ("make x && ./ci/run", {"Makefile", "GNUmakefile", "makefile", "ci/run"}),
        ("A=1 bash -e ci/run | cat", {"ci/run"}),
        ("ruff check m.py", set()),
        ("npm test", {".npmrc"}),
        ("echo 'unclosed", set()),
    ],
)
def test_drivers_are_read_from_the_command_line(command: str, expected: set[str]) -> None:
    blobs = dict.fromkeys(("Makefile", "ci/run", "m.py", "package.json"), "b")
    assert (
        set(files_to_freeze([Requirement(id="r", text="x", checks=(CommandCheck(command=command),))], blobs))
        == expected
    )


# -- what counts -------------------------------------------------------------------------------------------------------


@pytest.mark.spec("LAW-5")
@pytest.mark.slow
async def test_junk_and_thrown_away_changes_are_no_kept_work(tmp_path: Path) -> None:
    base = {**BASE, "kit/slug.py": GOOD, "check.sh": "exit 0\n"}
    command = {"kind": "command", "command": "sh check.sh", "files": ["check.sh"]}
    trial = Trial(tmp_path, base, required(TESTS, command, keep=True))
    contract = await trial.seal()
    changes: list[Change] = [{"junk.txt": "x"}, {"tests/test_slug.py": TEST + "\n"}, {"check.sh": "exit 0\n\n"}]
    for change in changes:
        assert only(await trial.prove(contract, await trial.head(change))).grade is Grade.UNPROVEN
    kept = await trial.prove(contract, await trial.head({"kit/slug.py": GOOD + "\n"}))
    assert (only(kept).grade, kept.holds) == (Grade.TESTED, True)


@pytest.mark.spec("LAW-6")
@pytest.mark.slow
async def test_a_skip_that_the_head_raises_is_no_pass(tmp_path: Path) -> None:
    marked = "import pytest\n\n\n@pytest.mark.skip\ndef test_marked():\n    pass\n\n\ndef test_x():\n    slug('x')\n"
    base: dict[str, str | None] = {"kit/__init__.py": "", "tests/test_slug.py": TEST + "\n\n" + marked}
    skipping = (
        "import unittest\n\n\ndef slug(t):\n    if t == 'x':\n        return t\n    raise unittest.SkipTest('no')\n"
    )
    trial = Trial(tmp_path, base, required(TESTS))
    contract = await trial.seal()
    assert only(await trial.prove(contract, await trial.head({"kit/slug.py": skipping}))).grade is Grade.REFUTED
    assert only(await trial.prove(contract, await trial.head({"kit/slug.py": GOOD}))).grade is Grade.TESTED


# -- the engine's own hands --------------------------------------------------------------------------------------------


def test_a_pipe_in_the_place_of_a_file_is_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    assert file_digest(tmp_path / "pipe") == "no file"
    (tmp_path / "link").symlink_to(tmp_path / "pipe")
    assert file_digest(tmp_path / "link").startswith("link ")


def test_the_engine_plants_nothing_through_a_link(tmp_path: Path) -> None:
    outside, room = tmp_path / "outside", tmp_path / "room"
    outside.mkdir()
    room.mkdir()
    (room / "sub").symlink_to(outside)
    with plant_file(room, "sub/.x.ini", "text") as place:
        assert not list(outside.iterdir())
        assert place.read_text() == "text"


def swapped_for_link(place: Path, target: Path) -> None:
    """Put a link where a file or folder was, as a test that runs in the room can."""
    place.rename(place.with_name("moved"))
    place.symlink_to(target)


@pytest.mark.parametrize("taken", ["sub/x.test.js", "sub"])
def test_the_engine_restores_nothing_through_a_link_that_a_run_left(tmp_path: Path, taken: str) -> None:
    outside, room = tmp_path / "outside", tmp_path / "room"
    for folder in (outside, room / "sub"):
        folder.mkdir(parents=True)
    (outside / "x.test.js").write_text("the user's own")
    (room / "sub" / "x.test.js").write_text("original")
    with replace_files(room, {"sub/x.test.js": "changed"}):
        swapped_for_link(room / taken, outside / "x.test.js" if taken != "sub" else outside)
    assert (outside / "x.test.js").read_text() == "the user's own"
    assert (room / "sub" / "x.test.js").read_text() == "original"
    assert not (room / taken).is_symlink()


def test_the_engine_replaces_no_file_through_a_link(tmp_path: Path) -> None:
    room = tmp_path / "room"
    room.mkdir()
    (tmp_path / "own.js").write_text("the user's own")
    (room / "x.test.js").symlink_to(tmp_path / "own.js")
    with replace_files(room, {"x.test.js": "changed"}):
        assert (room / "x.test.js").read_text() == "changed"
        assert (tmp_path / "own.js").read_text() == "the user's own"
    assert (room / "x.test.js").readlink() == tmp_path / "own.js"
    assert file_text(room, "x.test.js") == "", "a link that leads out of the room is not read, either"


def test_replaced_files_come_back_with_their_mode_also_if_a_run_removed_them(tmp_path: Path) -> None:
    (tmp_path / "room" / "sub").mkdir(parents=True)
    place = tmp_path / "room" / "sub" / "x.test.js"
    place.write_text("original")
    place.chmod(0o755)
    (tmp_path / "room" / "same.test.js").symlink_to("sub/x.test.js")
    assert file_text(tmp_path / "room", "same.test.js") == "original"
    with replace_files(tmp_path / "room", {"sub/x.test.js": "changed"}):
        assert place.read_text() == "changed"
        shutil.rmtree(place.parent)
    assert (place.read_text(), place.stat().st_mode & 0o777) == ("original", 0o755)


def test_a_pipe_in_the_place_of_a_test_file_is_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "x.test.js")
    assert file_text(tmp_path, "x.test.js") == ""


def test_the_engine_removes_nothing_through_a_link_that_a_run_left(tmp_path: Path) -> None:
    outside, room = tmp_path / "outside", tmp_path / "room"
    for folder in (outside, room / "sub"):
        folder.mkdir(parents=True)
    (outside / "planted").write_text("the user's own")
    with plant_file(room, "sub/planted", "text"):
        swapped_for_link(room / "sub", outside)
    assert (outside / "planted").read_text() == "the user's own"


@pytest.mark.slow
async def test_an_objection_does_not_set_its_own_time(tmp_path: Path) -> None:
    trial = Trial(tmp_path, BASE, required(EXAMPLES))
    case = CallCase(call="kit.slug:slug", args=("a",), returns="a", within_s=1e9)
    objection = Finding(what="a", requirement="slug", case=case)
    verdict = await trial.prove(await trial.seal(), await trial.head({"kit/slug.py": GOOD}), objection)
    assert is_success(verdict), only(verdict).why
    assert git(trial.base, "status", "--porcelain") == ""
