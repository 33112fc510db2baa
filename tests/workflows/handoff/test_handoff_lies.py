"""Coders that lie in every way that we know of: the feature list stays true, and each lie is recorded by its name."""

import json
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from tests.workflows.conftest import events
from tests.workflows.hands import Act, Coders, Hands, built, feature, named, shown_by_tests

LIST = "feature_list.json"


NOTHING: dict[str, Any] = {"files": [], "tests": [], "tests_passing": 0, "tests_total": 0}


def edits(folder: Path) -> dict[str, Any]:
    """A coder that edits its own entry in the list: passed, with easier steps and another command."""
    whole = json.loads((folder / LIST).read_text())
    whole["features"][0] |= {"passes": True, "steps": ["nothing"], "test_command": "true"}
    (folder / LIST).write_text(json.dumps(whole))
    return NOTHING


def replaces(folder: Path) -> dict[str, Any]:
    """A coder that replaces the other features in the list."""
    whole = json.loads((folder / LIST).read_text())
    whole["features"][1:] = [{"id": "free", "description": "done already", "passes": True}]
    (folder / LIST).write_text(json.dumps(whole))
    return {**NOTHING, "passes": False}


def deletes(folder: Path) -> dict[str, Any]:
    (folder / LIST).unlink()
    return {**NOTHING, "tests_passing": 20, "tests_total": 20}


def garbles(folder: Path) -> dict[str, Any]:
    (folder / LIST).write_text("{{{ all done")
    return {**NOTHING, "tests": ["tests/test_all.py::test_everything"]}


def hides(folder: Path) -> dict[str, Any]:
    """A coder whose work is in a folder that git ignores."""
    (folder / ".gitignore").write_text("cache/\n")
    (folder / "cache").mkdir()
    built(folder / "cache", "double")
    return {"files": ["cache/tiny.py"], "tests": ["cache/tests/test_double.py"]}


def rewrites_the_note(folder: Path) -> None:
    """An honest coder that writes "ALL DONE" into the engine's part of the progress file."""
    note = folder / "progress.txt"
    head, line, below = note.read_text().partition("--- DO NOT EDIT")
    note.write_text(head.replace("STATUS:", "STATUS: ALL DONE") + line + below + "\nmind the gap\n")
    (folder / ".gitignore").unlink()


# The coders of `double`, in order: what each does, and words in the recorded evidence → failure mode.
LIES: list[tuple[Act, dict[str, str]]] = [
    (edits, {"passes of double was written: false → true": "meddling"}),
    (edits, {"steps of double was edited": "meddling", "test_command of double was edited": "meddling"}),
    (replaces, {"feature triple was removed": "meddling", 'a feature was added: "free"': "meddling"}),
    (deletes, {"the file was deleted": "meddling", "says that 20 of 20 tests pass": "premature victory"}),
    (garbles, {"the file was made unreadable": "meddling", "names the test tests/test_all.py": "premature victory"}),
    (garbles, {"says that the feature passes; it does not hold": "premature victory"}),
    (hides, {"says that it changed cache/tiny.py, which is not in the commit": "premature victory"}),
]
ACTS = list(dict.fromkeys(act for act, _ in LIES))


@pytest.mark.slow
@pytest.mark.spec("HAND-3", "HAND-5", "HAND-6", "HAND-9", "HAND-11")
async def test_whatever_a_coder_tries_the_list_stays_true_and_the_try_is_on_record(
    tmp_path: Path, stack: ExitStack
) -> None:
    ground = Hands(tmp_path, stack, [shown_by_tests("double"), feature("triple")])
    coders = Coders(double=[*ACTS, rewrites_the_note])
    coders.commands["feature double/coder#1"] = ("pip install leftpad", "python -m pytest -q")
    engine = ground.played(coders)
    record = await ground.handed(engine, rounds=len(ACTS) + 1)
    assert (record.state, record.code) == ("done", 0)
    assert len(coders.asked) == len(ACTS) + 2
    told = {kind: named(engine, record, kind) for kind in ("meddling", "premature victory", "guesswork")}
    wanted = {words: kind for _, tries in LIES for words, kind in tries.items()}
    assert not [words for words, kind in wanted.items() if not any(words in one for one in told[kind])]
    assert told["guesswork"] == ["an installer that init.sh does not contain: pip install leftpad"]
    assert ground.untrue(engine, record) == []
    assert ground.passing(record.branch) == ["double", "triple"]
    listed = ground.features(record.branch).features
    assert [one.steps for one in listed] == [("double(2) is 4",), ("triple(2) is 6",)]
    assert (listed[0].tests_passing, listed[0].tests_total, listed[0].coverage) == (1, 1, 100.0)
    note = ground.file(record, "progress.txt")
    assert "mind the gap" in note
    assert "ALL DONE" not in note
    assert ground.git("diff", "--stat", record.base, "main") == ""
    briefs = [one.brief for one in coders.orders]
    assert all("feature_list.json" in one for one in briefs)
    assert "changes to feature_list.json were undone" in briefs[1]


def breaks(folder: Path) -> None:
    """A coder that builds `triple` and breaks `double`."""
    code = folder / "tiny.py"
    code.write_text(code.read_text().replace("return 2 * x", "return 2"))


def builds_all(folder: Path) -> dict[str, Any]:
    built(folder, "triple", "fourfold")
    return {}


@pytest.mark.slow
@pytest.mark.spec("HAND-7", "HAND-10", "HAND-11", "HAND-5", "DAY-7")
async def test_what_breaks_a_finished_feature_is_thrown_away_and_three_at_once_is_a_one_shot_attempt(
    tmp_path: Path, stack: ExitStack
) -> None:
    ground = Hands(tmp_path, stack, [feature("double"), feature("triple"), feature("fourfold")])
    coders = Coders(triple=[breaks, builds_all])
    engine = ground.played(coders)
    record = await ground.handed(engine)
    assert (record.state, record.code) == ("done", 0)
    assert coders.asked == ["feature double/coder#1", "feature triple/coder#1", "feature triple/coder#2"]
    again = coders.orders[2].brief
    assert "double was finished, and this work breaks it" in again
    assert named(engine, record, "one-shot attempt") == ["its commit also turns green: fourfold"]
    (broken,) = events(engine, record, "finished feature broken")
    assert broken.data["feature"] == "triple"
    assert "double was finished, and this work breaks it" in str(broken.data["broken"])
    assert "says that the feature passes" in named(engine, record, "premature victory")[0]
    assert ground.untrue(engine, record) == []
    assert ground.passing(record.branch) == ["double", "triple", "fourfold"]
    work = ground.git(
        "log", "--format=%an|%s|%(trailers:key=Feature,valueonly,separator=%x2C)", f"main..{record.branch}"
    )
    assert [line for line in work.splitlines() if line.startswith("coder")] == [
        "coder|feat: triple(x) returns three times its argument|triple",
        "coder|feat: double(x) returns twice its argument|double",
    ]
    assert "return 2\n" not in ground.git("log", "-p", "--format=", record.branch, "--", "tiny.py")


def rewrites_tests(folder: Path) -> None:
    """A coder that builds its feature, breaks old code, and rewrites the base's test so that it passes."""
    (folder / "old.py").write_text("def old():\n    return 2\n")
    (folder / "tests" / "test_old.py").write_text("def test_old():\n    assert True\n")


@pytest.mark.slow
@pytest.mark.spec("HAND-3", "HAND-7")
async def test_tests_of_the_base_that_a_coder_bends_are_run_as_they_were(tmp_path: Path, stack: ExitStack) -> None:
    ground = Hands(tmp_path, stack, [feature("double")])
    ground.write("old.py", "def old():\n    return 1\n")
    (ground.repository / "tests").mkdir()
    ground.write("tests/test_old.py", "from old import old\n\n\ndef test_old():\n    assert old() == 1\n")
    ground.commit()

    def mends(folder: Path) -> None:
        (folder / "old.py").write_text("def old():\n    return 1\n")

    coders = Coders(double=[rewrites_tests, mends])
    engine = ground.played(coders)
    record = await ground.handed(engine)
    assert (record.state, record.code) == ("done", 0)
    assert len(coders.asked) == 2
    assert "test_old" in coders.orders[1].brief
    assert "says that the feature passes" in named(engine, record, "premature victory")[0]
    assert events(engine, record, "sealed file edited")
    assert ground.untrue(engine, record) == []
