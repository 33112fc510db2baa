"""`verify` judges any two commits in private, and leaves nothing behind."""

import fcntl
import json
import os
import re
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from tests.engine.two_commits import DOUBLE, ONE, REQUIREMENTS, WRONG, committed, git, project
from trued.engine.inputs import Request
from trued.engine.start import prepare_inputs
from trued.engine.verify import PLACES, VerifyRequest, VerifyResult, hold_lock, seal_contract, verify, verify_against
from trued.errors import BadInput, Untrusted
from trued.model import Grade, Requirement, Requirements
from trued.model.events import JournalEvent
from trued.reporting.views.ledger import ledger

MANUAL = Requirements(requirements=(Requirement(id="chart", text="the chart looks right"),))


@pytest.fixture
def asked(tmp_path: Path) -> Path:
    file = tmp_path / "asked.yaml"
    file.write_text(REQUIREMENTS)
    return file


def quiet(event: JournalEvent) -> None:
    """Ignore the event."""


async def verdict(tmp_path: Path, base: str, head: str, **more: object) -> VerifyResult:
    request = VerifyRequest.model_validate({"base": base, "head": head, "here": tmp_path, **more})
    return await verify(request, home=tmp_path / "state", environ=os.environ, tell=quiet)


def everything(folder: Path) -> dict[str, tuple[bytes, int]]:
    """Each file below a folder, also in .git, with its bytes and time."""
    files = [path for path in folder.rglob("*") if path.is_file() and not path.is_symlink()]
    return {str(path): (path.read_bytes(), path.stat().st_mtime_ns) for path in files}


@pytest.mark.spec("USE-5")
async def test_the_very_first_verification_makes_a_state_folder_for_this_user_alone(tmp_path: Path) -> None:
    project(tmp_path / "repo")
    before = os.umask(0o022)
    try:
        await verdict(tmp_path, f"{tmp_path / 'repo'}@HEAD~1", str(tmp_path / "repo"), requirements=MANUAL)
    finally:
        os.umask(before)
    assert (tmp_path / "state").stat().st_mode & 0o777 == 0o700


WITH_FILES = """requirements:
  - id: tested
    text: its tests pass
    checks:
      - {{kind: {kind}, command: "python -m pytest -q tests", files: [{file}]}}
"""


@pytest.mark.many(1)
@pytest.mark.parametrize("kind", ["tests", "command"])
@pytest.mark.parametrize(
    ("file", "refused"),
    [
        ("tests/test_tinny.py", True),
        ("tests/test_tiny.py", False),
        ("tests", False),
        ("./tests/", False),
        ("tests/test_gone.py", False),  # only the base has it
        ("tests/test_added.py", False),  # only the head has it
    ],
)
async def test_a_path_that_neither_commit_has_is_refused_with_a_sentence_and_not_judged(
    tmp_path: Path, kind: str, file: str, refused: bool
) -> None:
    repo, asked = tmp_path / "repo", tmp_path / "asked.yaml"
    test = "def test_it():\n    assert True\n"
    committed(repo, {"tiny.py": ONE, "tests/test_tiny.py": test, "tests/test_gone.py": test})
    committed(repo, {"tests/test_gone.py": None, "tests/test_added.py": test})
    asked.write_text(WITH_FILES.format(kind=kind, file=file))
    if not refused:
        done = await verdict(repo, "HEAD~1", "HEAD", requirements_file=asked)
        assert done.verdict.requirements
        return
    with pytest.raises(BadInput) as raised:
        await verdict(repo, "HEAD~1", "HEAD", requirements_file=asked)
    said = str(raised.value)
    assert raised.value.code == 2
    assert all(part in said for part in ("asked.yaml:2", file, "did you mean tests/test_tiny.py?"))


@pytest.mark.spec("USE-5", "LAW-9")
async def test_a_head_is_proven_against_its_base_and_nothing_is_written_or_left(tmp_path: Path, asked: Path) -> None:
    repo, own = tmp_path / "repo", tmp_path / "home"
    base, head = project(repo)
    own.mkdir()
    before, mounts = everything(repo), Path("/proc/self/mounts").read_text()
    told: list[str] = []
    request = VerifyRequest(base="HEAD~1", head="HEAD", requirements_file=asked, here=repo)
    environ = {**os.environ, "HOME": str(own)}
    done = await verify(request, home=tmp_path / "state", environ=environ, tell=lambda event: told.append(event.KIND))
    assert (done.verdict.grade, done.code, done.outcome.state) == (Grade.PROVEN, 0, "done")
    assert (done.contract.base, done.verdict.commit) == (base, head)
    assert told[0] == "sealing"
    assert "judged" in told
    assert everything(repo) == before, "neither repository is written"
    assert list((tmp_path / "state" / PLACES).iterdir()) == [], "store, rooms and lock are gone"
    assert list(own.iterdir()) == []
    assert Path("/proc/self/mounts").read_text() == mounts
    state = str(tmp_path).encode()
    left = [
        one
        for one in Path("/proc").glob("[0-9]*/cmdline")
        if one.parent.name != str(os.getpid()) and _names(one, state)
    ]
    assert left == [], "no process of the verification is left"


def _names(cmdline: Path, words: bytes) -> bool:
    try:
        return words in cmdline.read_bytes()
    except OSError:
        return False


@pytest.mark.slow
@pytest.mark.spec("USE-5")
async def test_base_and_head_may_be_two_repositories_of_any_kind(tmp_path: Path, asked: Path) -> None:
    project(tmp_path / "base")
    git(tmp_path, "clone", "-q", "--bare", "base", "bare.git")
    committed(tmp_path / "copy", {"tiny.py": DOUBLE}, "an unrelated history")
    git(tmp_path, "clone", "-q", "--depth=1", f"file://{tmp_path}/base", "shallow")
    for base, head in (("bare.git@main~1", "copy"), ("base@main~1", "shallow")):
        done = await verdict(tmp_path, base, head, requirements_file=asked)
        assert done.verdict.grade is Grade.PROVEN, done.verdict.requirements
        assert any("nothing shows" in said or "shallow" in said for said in done.verdict.undecided)


async def test_repositories_of_two_kinds_of_hashes_are_refused(tmp_path: Path, asked: Path) -> None:
    project(tmp_path / "base")
    (tmp_path / "other").mkdir()
    git(tmp_path / "other", "init", "-q", "--object-format=sha256")
    committed(tmp_path / "other", {"tiny.py": DOUBLE})
    with pytest.raises(BadInput, match="use different hashes"):
        await verdict(tmp_path, "base", "other", requirements_file=asked)
    done = await verdict(tmp_path, "other", "other", requirements=MANUAL)
    assert done.code == 1


@pytest.mark.spec("LAW-7")
async def test_examples_in_a_commits_history_are_visible_and_give_tested_at_most(tmp_path: Path, asked: Path) -> None:
    repo = tmp_path / "repo"
    project(repo, WRONG)
    committed(repo, {"doc/copy.txt": REQUIREMENTS})
    committed(repo, {"doc/copy.txt": None, "tiny.py": DOUBLE})
    done = await verdict(tmp_path, "repo@HEAD~3", "repo", requirements_file=asked)
    assert (done.verdict.grade, done.code) == (Grade.TESTED, 3)
    assert "history of base or head holds the requirements file" in done.verdict.requirements[0].why[1]
    lowered = await verdict(tmp_path, "repo@HEAD~3", "repo", requirements_file=asked, accept="tested")
    assert lowered.code == 0
    assert "the bar was lowered to tested" in lowered.outcome.why


@pytest.mark.spec("LAW-7")
async def test_a_new_version_of_a_file_that_history_knows_is_visible(tmp_path: Path) -> None:
    repo = tmp_path / "repo"
    project(repo)
    committed(repo, {"asked.yaml": REQUIREMENTS})
    (repo / "asked.yaml").write_text(f"# mended\n{REQUIREMENTS}")
    done = await verdict(repo, "HEAD~2", "HEAD", requirements_file=repo / "asked.yaml")
    assert done.verdict.grade is Grade.TESTED
    assert "an earlier asked.yaml" in done.contract.held_out_why
    assert any("is in a working tree" in said for said in done.verdict.undecided)


@pytest.mark.spec("LAW-2", "LAW-8")
async def test_each_way_to_fall_short_has_its_exit_code_and_reason(tmp_path: Path, asked: Path) -> None:
    project(tmp_path / "repo", WRONG)
    wrong = await verdict(tmp_path, "repo@HEAD~1", "repo", requirements_file=asked)
    assert (wrong.verdict.grade, wrong.code) == (Grade.REFUTED, 1)
    same = await verdict(tmp_path, "repo", "repo", requirements=MANUAL)
    assert (same.verdict.grade, same.code) == (Grade.UNPROVEN, 1)
    assert any("the diff is empty" in why for why in same.outcome.why)
    alone = await verdict(tmp_path, "repo@HEAD~1", "repo", requirements=MANUAL)
    assert (alone.verdict.grade, alone.code, alone.outcome.lacking) == (Grade.UNPROVEN, 3, ("chart",))


@pytest.mark.spec("LAW-8")
async def test_what_lacks_a_third_party_module_on_both_sides_could_not_be_judged(tmp_path: Path, asked: Path) -> None:
    committed(tmp_path / "repo", {"tiny.py": "import no_such_package_anywhere\n"})
    committed(tmp_path / "repo", {"tiny.py": f"import no_such_package_anywhere\n{DOUBLE}"})
    done = await verdict(tmp_path, "repo@HEAD~1", "repo", requirements_file=asked)
    assert (done.verdict.grade, done.code) == (Grade.UNJUDGED, 6)
    (row,) = ledger(done.verdict, done.contract, over=True)["requirements"]
    assert [one["name"] for one in row["missing"]] == ["no_such_package_anywhere"]


@pytest.mark.slow
@pytest.mark.spec("LAW-3")
async def test_a_contract_is_sealed_once_and_judges_every_head_after_that(tmp_path: Path, asked: Path) -> None:
    base, _ = project(tmp_path / "repo", WRONG)
    committed(tmp_path / "repo", {"tiny.py": DOUBLE})
    request = VerifyRequest(base=f"repo@{base}", head="", requirements_file=asked, here=tmp_path)
    contract = await seal_contract(request, home=tmp_path / "state", tell=quiet)
    grades = []
    for head in ("repo@main~1", "repo@main"):
        done = await verify_against(contract, head, request, home=tmp_path / "state", environ={}, tell=quiet)
        grades.append(done.verdict.grade)
    assert grades == [Grade.REFUTED, Grade.PROVEN]
    moved = request.model_copy(update={"base": "repo@main"})
    with pytest.raises(BadInput, match="was sealed on"):
        await verify_against(contract, "repo@main", moved, home=tmp_path / "state", environ={}, tell=quiet)
    committed(tmp_path / "repo", {"leaked.yaml": REQUIREMENTS})
    leaked = await verify_against(contract, "repo", request, home=tmp_path / "state", environ={}, tell=quiet)
    assert leaked.verdict.grade is Grade.TESTED, "what the head's history shows is held out no more"


@pytest.mark.spec("LAW-4", "USE-6")
async def test_nothing_in_the_heads_git_folder_is_run_or_believed(tmp_path: Path, asked: Path) -> None:
    base, _ = project(tmp_path / "base", WRONG)
    git(tmp_path, "clone", "-q", "base", "head")
    head, trap = tmp_path / "head", tmp_path / "trap"
    for key in (
        "core.fsmonitor",
        "filter.evil.smudge",
        "filter.evil.clean",
        "uploadpack.packObjectsHook",
        "core.pager",
    ):
        git(head, "config", key, f"touch '{trap}'; cat")
    git(head, "config", "core.hooksPath", "hooks")
    (head / ".git" / "info" / "attributes").write_text("* filter=evil\n")
    honest = committed(tmp_path / "copy", {"tiny.py": DOUBLE})
    git(head, "fetch", "-q", str(tmp_path / "copy"), "main")
    git(head, "replace", "HEAD", honest)
    trap.unlink(missing_ok=True)  # the test's own git commands triggered it
    (head / "tiny.py").write_text(DOUBLE)
    done = await verdict(tmp_path, f"base@{base}", "head", requirements_file=asked)
    assert done.verdict.grade is Grade.REFUTED, "neither the replaced commit nor the uncommitted file counts"
    assert not trap.exists()


async def test_what_a_killed_verification_left_is_swept_by_the_next(tmp_path: Path) -> None:
    project(tmp_path / "repo")
    places = tmp_path / "state" / PLACES
    (places / "dead" / "stores").mkdir(parents=True)
    (places / "dead.lock").touch()
    (places / "alive").mkdir()
    with (places / "alive.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        await verdict(tmp_path, "repo@HEAD~1", "repo", requirements=MANUAL)
    assert sorted(path.name for path in places.iterdir()) == ["alive", "alive.lock"]


# -- requirements that are found ---------------------------------------------------------------------------------------

TESTS = "from tiny import one\n\n\ndef test_one():\n    assert one() == 1\n"


@pytest.mark.slow
@pytest.mark.spec("LAW-12", "USE-5")
async def test_found_requirements_are_unproven_without_checks_and_guarded_by_the_bases_tests(tmp_path: Path) -> None:
    repo = tmp_path / "repo"
    committed(repo, {"tiny.py": ONE, "test_tiny.py": TESTS, "specs/001-old/spec.md": "- **FR-001**: it is one\n"})
    git(repo, "checkout", "-q", "-b", "feature")
    committed(repo, {"tiny.py": DOUBLE, "specs/002-new/spec.md": "# New\n\n- **FR-001**: double(x) doubles\n"})
    done = await verdict(repo, "", "")
    found = {one.id: one for one in done.verdict.requirements}
    expected = {"FR-001": "unproven", "002-new.FR-001": "unproven"}
    assert {name: str(one.grade) for name, one in found.items()} == expected
    assert [one.holds for one in done.verdict.suites] == [True]
    assert found["002-new.FR-001"].text == "**FR-001**: double(x) doubles"
    assert found["002-new.FR-001"].source == "specs/002-new/spec.md:3"
    assert done.code == 3
    advice = "--requirements specs/002-new/spec.md"
    assert any("specs/001-old/spec.md" in said and advice in said for said in done.verdict.undecided)
    for part in ("specs/002-new", "specs/002-new/spec.md"):  # only the user narrows
        named = await verdict(repo, "", "", requirements_file=repo / part)
        assert [one.text for one in named.verdict.requirements] == ["**FR-001**: double(x) doubles"]
    committed(repo, {"tiny.py": DOUBLE.replace("return 1", "return 0"), "test_tiny.py": None})
    broken = await verdict(repo, "", "")
    assert (broken.verdict.grade, broken.code) == (Grade.REFUTED, 1)


@pytest.mark.spec("LAW-3", "LAW-12")
async def test_a_head_neither_drops_nor_rewrites_found_requirements_nor_checks_itself(tmp_path: Path) -> None:
    repo = tmp_path / "repo"
    fence = "\n  ```trued\n  - {kind: examples, cases: [{call: 'tiny:double', args: [4], returns: 8}]}\n  ```\n"
    committed(repo, {"tiny.py": ONE, "CHECKLIST.md": f"- [ ] it doubles\n{fence}- [ ] it is documented\n"})
    own = "\n  ```trued\n  - {kind: examples, cases: [{call: 'tiny:one', returns: 1}]}\n  ```\n"
    committed(repo, {"tiny.py": WRONG, "CHECKLIST.md": f"- [x] it is fine\n{own}", "trued.requirements.json": "{}"})
    done = await verdict(repo, "HEAD~1", "")
    grades = {one.text: str(one.grade) for one in done.verdict.requirements}
    assert grades == {"it doubles": "refuted", "it is documented": "unproven", "it is fine": "unproven"}
    assert any("are left out" in said for said in done.verdict.undecided)


BOTH = {
    "CHECKLIST.md": "- [ ] double(x) raises a TypeError for lists\n",
    "ACCEPTANCE.md": "- [ ] No new dependencies.\n",
}
OWN_FILES = {
    ".trued/requirements/a.json": '{"requirements": [{"id": "a", "text": "double(x) raises a TypeError for lists"}]}',
    ".trued/requirements/b.json": '{"requirements": [{"id": "new", "text": "No new dependencies."}]}',
}
SPECS = {
    "specs/001-a/spec.md": "- **FR-001**: double(x) raises a TypeError for lists\n",
    "specs/002-b/spec.md": "## Functional Requirements\n\n- No new dependencies.\n",
}


@pytest.mark.spec("LAW-3", "LAW-12")
@pytest.mark.many(2)
@pytest.mark.parametrize(
    ("base", "head"),
    [
        (BOTH, {"ACCEPTANCE.md": BOTH["ACCEPTANCE.md"] + "\n"}),
        (BOTH, {"docs/DONE.md": "Done.\n"}),
        ({"CHECKLIST.md": BOTH["CHECKLIST.md"]}, {"docs/DONE.md": "Done.\n"}),
        (OWN_FILES, {".trued/requirements/b.json": OWN_FILES[".trued/requirements/b.json"] + "\n"}),
        (SPECS, {"specs/003-c/spec.md": "# C\n"}),
        # a file of the base without requirements hides no list in another format
        ({**BOTH, "specs/000-notes/spec.md": "# Notes\n"}, {"specs/001-a/spec.md": "- **FR-001**: all tests pass\n"}),
        (SPECS, {"specs/002-b/spec.md": SPECS["specs/002-b/spec.md"] + "\n"}),
    ],
)
async def test_the_head_does_not_choose_by_which_requirements_of_the_base_it_is_judged(
    tmp_path: Path, base: dict[str, str], head: dict[str, str]
) -> None:
    repo = tmp_path / "repo"
    committed(repo, {"tiny.py": ONE, **base})
    committed(repo, {"tiny.py": WRONG, **head})
    done = await verdict(repo, "HEAD~1", "", accept="tested")
    lists = [one for one in done.verdict.requirements if one.text.endswith("double(x) raises a TypeError for lists")]
    assert [str(one.grade) for one in lists] == ["unproven"]
    assert done.code != 0


@pytest.mark.spec("LAW-3", "LAW-12")
async def test_a_markdown_file_that_the_user_names_keeps_what_it_said_on_the_base(tmp_path: Path) -> None:
    repo = tmp_path / "repo"
    lists = BOTH["CHECKLIST.md"]
    committed(repo, {"tiny.py": ONE, "CHECKLIST.md": lists})
    committed(repo, {"tiny.py": WRONG, "CHECKLIST.md": BOTH["ACCEPTANCE.md"]})
    done = await verdict(repo, "HEAD~1", "", requirements_file=repo / "CHECKLIST.md")
    assert {one.text for one in done.verdict.requirements} == {"No new dependencies.", lists[6:-1]}
    assert any("1 requirement of its text on the base" in said for said in done.verdict.undecided)
    (repo / "CHECKLIST.md").write_text("- [ ] double(x) doubles\n")  # the user's own words, in no commit
    done = await verdict(repo, "HEAD~1", "", requirements_file=repo / "CHECKLIST.md")
    assert [one.text for one in done.verdict.requirements] == ["double(x) doubles"]


async def test_a_folder_with_requirements_is_one_of_the_repository(tmp_path: Path) -> None:
    repo = tmp_path / "repo"
    committed(repo, {"tiny.py": ONE, **SPECS, "src/a.py": ""})
    committed(repo, {"tiny.py": DOUBLE})
    for folder, said in ((tmp_path, "outside of the repositories"), (repo / "src", "no file below src/")):
        with pytest.raises(BadInput, match=said):
            await verdict(repo, "HEAD~1", "", requirements_file=folder)


@pytest.mark.spec("USE-6")
async def test_an_environment_that_is_found_is_the_users_to_trust(tmp_path: Path) -> None:
    repo = tmp_path / "repo"
    own = f"environment: {{prepare: ['touch /tmp/x']}}\n{REQUIREMENTS}"
    committed(repo, {"tiny.py": ONE, "trued.requirements.yaml": own})
    committed(repo, {"tiny.py": DOUBLE})
    with pytest.raises(Untrusted, match=r"trued\.requirements\.yaml.*--requirements"):
        await verdict(repo, "HEAD~1", "")


SET_UP = [
    {"environment": {"prepare": ["touch /tmp/x"]}},
    {"environment": {"variables": {"MODE": "x"}}},
    {"serve": {"command": ["./serve"]}},
]


@pytest.mark.spec("USE-6")
@pytest.mark.many(2)
@pytest.mark.parametrize("second", [{}, {".trued/requirements/b.json": OWN_FILES[".trued/requirements/b.json"]}])
@pytest.mark.parametrize("what", SET_UP)
async def test_what_one_of_several_requirements_files_sets_up_is_the_users_to_trust_too(
    tmp_path: Path, what: dict[str, object], second: dict[str, str]
) -> None:
    first = {"requirements": [{"id": "a", "text": "double(x) doubles"}], **what}
    repo = tmp_path / "repo"
    committed(repo, {"tiny.py": ONE, ".trued/requirements/a.json": json.dumps(first), **second})
    committed(repo, {"tiny.py": DOUBLE})
    with pytest.raises(Untrusted, match="--requirements"):
        await verdict(repo, "HEAD~1", "")


@pytest.mark.spec("USE-6")
async def test_what_the_heads_own_requirements_set_up_is_left_out_with_a_remark(tmp_path: Path) -> None:
    repo = tmp_path / "repo"
    committed(repo, {"tiny.py": ONE})
    asked = {"requirements": [{"id": "a", "text": "double(x) doubles"}], "serve": {"command": ["./serve"]}}
    committed(repo, {"tiny.py": DOUBLE, "trued.requirements.json": json.dumps(asked)})
    done = await verdict(repo, "HEAD~1", "")
    assert done.contract.serve is None
    assert any("for an environment or a server are left out" in said for said in done.verdict.undecided)


ONE_IS_ONE = "from tiny import one\n\n\ndef test_one():\n    assert one() == 1\n"


@pytest.mark.spec("LAW-3", "LAW-11")
async def test_what_found_requirements_supersede_is_said_and_what_the_head_adds_counts_for_nothing(
    tmp_path: Path,
) -> None:
    repo, test = tmp_path / "repo", "test_tiny.py::test_one"
    every: dict[str, object] = {"id": "all", "text": "All tests pass."}
    asked = {"requirements": [every]}
    committed(repo, {"tiny.py": ONE, "test_tiny.py": ONE_IS_ONE, "trued.requirements.json": json.dumps(asked)})
    every["supersedes"] = [test]
    committed(repo, {"tiny.py": "def one():\n    return 2\n", "trued.requirements.json": json.dumps(asked)})
    done = await verdict(repo, "HEAD~1", "")
    assert done.verdict.grade is Grade.REFUTED
    assert any("only you can" in said for said in done.verdict.undecided)
    committed(repo, {"tiny.py": "def one():\n    return 3\n"})
    later = await verdict(repo, "HEAD~1", "")
    assert any(f"supersede existing tests: {test}" in said for said in later.verdict.undecided)


@pytest.mark.slow
@pytest.mark.spec("LAW-7")
async def test_files_beside_a_requirements_file_in_the_repository_are_left_out_with_a_remark(tmp_path: Path) -> None:
    repo = tmp_path / "repo"
    tests = {"kind": "tests", "from": "held", "files": ["test_double.py"]}
    asked = {"requirements": [{"id": "a", "text": "double(x) doubles", "checks": [tests]}]}
    files = {".trued/requirements/a.json": json.dumps(asked), ".trued/requirements/held/test_double.py": OWN}
    committed(repo, {"tiny.py": ONE, **files})
    committed(repo, {"tiny.py": DOUBLE})
    left_out = await verdict(repo, "HEAD~1", "")
    assert left_out.verdict.grade is Grade.UNPROVEN
    assert any("--requirements FILE" in said for said in left_out.verdict.undecided)
    passed = await verdict(repo, "HEAD~1", "", requirements_file=repo / ".trued/requirements/a.json")
    assert passed.verdict.grade is Grade.TESTED
    assert not any("--requirements FILE" in said for said in passed.verdict.undecided)


OWN = "from tiny import double\n\n\ndef test_double():\n    assert double(4) == 8\n"


OWN_LATE = "import tiny\n\n\ndef test_double():\n    assert tiny.double(4) == 8\n"


@pytest.mark.spec("USE-5", "LAW-2", "LAW-8")
@pytest.mark.many(2)
@pytest.mark.parametrize(
    ("head", "grade", "code"),
    [
        ({"tiny.py": DOUBLE, "test_double.py": OWN}, Grade.SELF_TESTED, 3),
        ({"tiny.py": DOUBLE, "test_tiny.py": f"{TESTS}\n\n{OWN}"}, Grade.SELF_TESTED, 3),
        ({"tiny.py": DOUBLE}, Grade.UNPROVEN, 3),
        ({"tiny.py": DOUBLE, "test_double.py": "def test_double():\n    assert True\n"}, Grade.UNPROVEN, 3),
        ({"tiny.py": WRONG, "test_double.py": OWN}, Grade.REFUTED, 1),
        ({"tiny.py": DOUBLE.replace("return 1", "return 0"), "test_tiny.py": None}, Grade.REFUTED, 1),
        ({"tiny.py": DOUBLE.replace("return 1", "return 0"), "test_double.py": OWN}, Grade.REFUTED, 1),
        ({}, Grade.UNPROVEN, 1),
    ],
    ids=["new test", "longer test", "no test", "green already", "fails", "test deleted", "breaks another", "nothing"],
)
async def test_of_a_change_of_which_nothing_was_asked_its_own_tests_show_what_they_show(
    head: dict[str, str | None], grade: Grade, code: int, tmp_path: Path
) -> None:
    repo = tmp_path / "repo"
    committed(repo, {"tiny.py": ONE, "test_tiny.py": TESTS})
    committed(repo, head)
    done = await verdict(repo, "HEAD~1", "")
    assert (done.verdict.grade, done.code) == (grade, code), done.verdict.requirements
    assert done.verdict.undecided[0].startswith("no requirements were given")


@pytest.mark.spec("USE-5", "LAW-8")
@pytest.mark.parametrize(("work", "grade"), [(DOUBLE, Grade.SELF_TESTED), (WRONG, Grade.REFUTED)])
async def test_tests_that_a_change_adds_to_the_bases_test_module_are_its_own(
    work: str, grade: Grade, tmp_path: Path
) -> None:
    committed(tmp_path / "repo", {"tiny.py": ONE, "test.py": TESTS})
    committed(tmp_path / "repo", {"tiny.py": work, "test.py": f"{TESTS}\n\n{OWN}"})
    (judged,) = (await verdict(tmp_path / "repo", "HEAD~1", "")).verdict.requirements
    assert judged.grade is grade, judged.why


FLAKY = (
    "import pathlib\n\nimport tiny\n\nPLACE = pathlib.Path('/tmp/seen')\n\n\ndef test_flaky():\n"
    "    known = PLACE.exists()\n    PLACE.touch()\n    assert known\n"
)


@pytest.mark.spec("USE-5", "LAW-5", "LAW-8")
@pytest.mark.parametrize(
    ("red", "head", "grade", "named"),
    [
        (OWN_LATE, {"tiny.py": DOUBLE}, Grade.SELF_TESTED, True),
        (OWN_LATE, {"tiny.py": WRONG}, Grade.UNPROVEN, False),
        (OWN_LATE, {"test_late.py": "def test_double():\n    pass\n"}, Grade.UNPROVEN, False),
        (OWN_LATE, {"tiny.py": DOUBLE, "test_own.py": "def test_no():\n    assert 0\n"}, Grade.REFUTED, False),
        (OWN_LATE, {"tiny.py": DOUBLE.replace("return 1", "return 0")}, Grade.REFUTED, True),
        (FLAKY, {"tiny.py": DOUBLE}, Grade.UNPROVEN, False),
        (OWN_LATE, {"tiny.py": DOUBLE, "requirements.txt": "no-such-package-anywhere\n"}, Grade.UNPROVEN, False),
    ],
    ids=["fixed", "not fixed", "emptied", "an own test fails", "breaks one", "chance", "another package"],
)
async def test_a_red_test_of_the_base_that_a_change_turns_shows_as_much_as_a_test_of_its_own(
    red: str, head: dict[str, str | None], grade: Grade, *, named: bool, tmp_path: Path
) -> None:
    committed(tmp_path / "repo", {"tiny.py": ONE, "test_tiny.py": TESTS, "test_late.py": red})
    committed(tmp_path / "repo", head)
    (judged,) = (await verdict(tmp_path / "repo", "HEAD~1", "")).verdict.requirements
    assert judged.grade is grade, judged.why
    assert any("test_late.py::test_double" in reason for reason in judged.why) is named, judged.why


@pytest.mark.spec("USE-5", "LAW-2")
async def test_own_tests_that_cannot_be_run_are_not_said_to_be_missing(tmp_path: Path) -> None:
    script = "import test from 'node:test';\ntest('one', () => {});\n"
    package = '{"type": "module", "scripts": {"test": "no-such-linter && node --test"}}'
    committed(tmp_path / "repo", {"package.json": package, "one.js": "", "one.test.js": script})
    committed(
        tmp_path / "repo", {"one.js": "export const one = 1;\n", "one.test.js": f"{script}test('two', () => {{}});\n"}
    )
    (judged,) = (await verdict(tmp_path / "repo", "HEAD~1", "")).verdict.requirements
    assert judged.grade is Grade.UNJUDGED, judged.why
    assert "no-such-linter" in judged.why[0]


JOB = "def job():\n    return 1\n"
JOBS: dict[str, str | None] = {
    "api/requirements.txt": "",
    "api/tiny.py": ONE,
    "api/test_tiny.py": TESTS,
    "worker/requirements.txt": "",
    "worker/jobs.py": JOB,
    "worker/test_jobs.py": "from jobs import job\n\n\ndef test_job():\n    assert job() == 1\n",
    "web/package.json": '{"type": "module", "scripts": {"test": "node --test"}}',
    "web/half.js": "export const half = (x) => x / 2;\n",
    "web/half.test.js": "import test from 'node:test';\nimport './half.js';\ntest('loads', () => {});\n",
}
LATE = "from jobs import late\n\n\ndef test_late():\n    assert late() == 2\n"
WEB = (
    "import test from 'node:test';\nimport assert from 'node:assert';\nimport { third } from './third.js';\n"
    "test('third', () => assert.equal(third(9), 3));\n"
)
API: dict[str, str | None] = {"api/tiny.py": DOUBLE, "api/test_double.py": OWN}
WORKER: dict[str, str | None] = {"worker/jobs.py": f"{JOB}\n\ndef late():\n    return 2\n", "worker/test_late.py": LATE}
WEB_TOO: dict[str, str | None] = {"web/third.js": "export const third = (x) => x / 3;\n", "web/third.test.js": WEB}


@pytest.mark.spec("USE-5", "LAW-8")
@pytest.mark.many(1)
@pytest.mark.parametrize(
    ("head", "grade"),
    [
        ({**API, **WORKER, **WEB_TOO}, Grade.SELF_TESTED),
        (API, Grade.SELF_TESTED),
        ({**API, **WEB_TOO, "web/third.js": "export const third = (x) => x;\n"}, Grade.REFUTED),
        ({**API, **WORKER, "api/tiny.py": WRONG}, Grade.REFUTED),
    ],
    ids=["all three", "one of two in Python", "the script's test fails", "one of two in Python fails"],
)
async def test_each_project_runs_the_changes_tests_that_lie_in_it(
    head: dict[str, str | None], grade: Grade, tmp_path: Path
) -> None:
    committed(tmp_path / "repo", JOBS)
    committed(tmp_path / "repo", head)
    (judged,) = (await verdict(tmp_path / "repo", "HEAD~1", "")).verdict.requirements
    assert judged.grade is grade, judged.why


INSIDE = "def test_double():\n    from tiny import double\n\n    assert double(4) == 8\n"
KNOWN = "def test_known():\n    assert one() == 7\n"
FRAGILE = (
    "import os\n\nfrom tiny import one\n\n\n"
    "def test_user():\n    assert os.environ.get('USER', 'root') != 'daemon'\n\n\n"
    "def test_first():\n    globals()['seen'] = one()\n\n\ndef test_second():\n    assert 'seen' in globals()\n"
)


MORE = f"{TESTS}\n\n{KNOWN}"


@pytest.mark.many(1)
@pytest.mark.spec("LAW-6")
@pytest.mark.parametrize(
    ("before", "work", "tests", "grade", "uncounted"),
    [
        pytest.param(MORE, DOUBLE, f"{MORE}\n\n{INSIDE}", "self-tested", 1, id="failing"),
        pytest.param(
            MORE, DOUBLE, f"{MORE}\n\n{OWN}", "self-tested", 1, id="failing, in a file that imports new names"
        ),
        pytest.param(FRAGILE, DOUBLE, f"{FRAGILE}\n\n{OWN}", "self-tested", 2, id="order and user"),
        pytest.param(MORE, WRONG, f"{MORE}\n\n{OWN}", "refuted", 1, id="new one fails"),
        pytest.param(MORE, DOUBLE, f"{MORE.replace('== 1', '== 2')}\n\n{OWN}", "refuted", 1, id="edited to fail"),
        pytest.param(
            FRAGILE,
            DOUBLE,
            f"{FRAGILE.replace(' in glob', ' not in glob')}\n\n{OWN}",
            "refuted",
            1,
            id="edited to fail in the other order",
        ),
        pytest.param(TESTS, DOUBLE, f"{MORE}\n\n{OWN}", "refuted", 0, id="new, and failing on both"),
    ],
)
async def test_a_test_that_the_base_has_and_that_fails_there_too_refutes_no_change_of_its_file(
    before: str, work: str, tests: str, grade: str, uncounted: int, tmp_path: Path
) -> None:
    committed(tmp_path / "repo", {"tiny.py": ONE, "test_tiny.py": before})
    committed(tmp_path / "repo", {"tiny.py": work, "test_tiny.py": tests})
    done = await verdict(tmp_path / "repo", "HEAD~1", "")
    (judged,) = done.verdict.requirements
    assert judged.grade == grade, judged.why
    assert [one[:8] for one in judged.why if "not counted" in one] == {0: [], 1: ["1 test f"], 2: ["2 tests "]}[
        uncounted
    ]


PRICE = "def fmt(cents):\n    return f'{cents / 100}'\n"
COMMA = "def fmt(cents):\n    return f'{cents / 100:,}'\n"
PRICES = "from money import fmt\n\n\ndef test_many():\n    assert fmt(123456) == '1234.56'\n"
SEPARATE = """requirements:
  - id: comma
    text: fmt separates thousands
    supersedes: {}
    checks: [{{kind: examples, cases: [{{call: "money:fmt", args: [123456], returns: "1,234.56"}}]}}]
"""


@pytest.mark.spec("LAW-6", "LAW-11")
@pytest.mark.parametrize(
    ("supersedes", "tests", "grade", "said"),
    [
        ("[]", PRICES.replace("'1234", "'1,234"), "refuted", 'supersedes: ["test_money.py::test_many"]'),
        ("[]", PRICES, "refuted", ""),  # nobody meant the test to change
        ("[test_many]", PRICES, "refuted", "has this name: did you mean test_money.py::test_many?"),
        ('["test_money.py::test_mny"]', PRICES, "refuted", "has this name: did you mean test_money.py::test_many?"),
        ('["test_money.py::test_many"]', PRICES, "proven", ""),
        ("[test_money.py]", PRICES, "proven", ""),
    ],
)
@pytest.mark.many(3)
async def test_what_a_requirement_supersedes_is_suggested_and_has_to_exist(
    supersedes: str, tests: str, grade: str, said: str, tmp_path: Path
) -> None:
    committed(tmp_path / "repo", {"money.py": PRICE, "test_money.py": PRICES})
    committed(tmp_path / "repo", {"money.py": COMMA, "test_money.py": tests})
    (tmp_path / "asked.yaml").write_text(SEPARATE.format(supersedes))
    done = await verdict(tmp_path / "repo", "HEAD~1", "", requirements_file=tmp_path / "asked.yaml")
    (judged,) = done.verdict.requirements
    assert judged.grade == grade, judged.why
    words = [one for one in (*judged.why, *done.verdict.undecided) if "supersedes" in one]
    assert [said in one for one in words] == ([True] if said else []), words


@pytest.mark.spec("LAW-11")
@pytest.mark.slow
async def test_tests_that_the_base_has_gained_since_the_work_began_are_named_as_such(tmp_path: Path) -> None:
    repo = tmp_path / "repo"
    base = committed(repo, {"tiny.py": ONE, "test_tiny.py": TESTS})
    git(repo, "checkout", "-q", "-b", "work")
    committed(repo, {"tiny.py": DOUBLE})
    git(repo, "checkout", "-q", "main")
    test = "from four import four\n\n\ndef test_four():\n    assert four() == 4\n"
    committed(repo, {"four.py": "def four():\n    return 4\n", "test_four.py": test})
    (tmp_path / "asked.yaml").write_text(REQUIREMENTS)
    more = {"requirements_file": tmp_path / "asked.yaml"}
    done = await verdict(repo, "main", "work", **more)
    (judged,) = done.verdict.requirements
    assert (judged.grade, judged.why[1]) == (
        Grade.REFUTED, f"main has commits that the head lacks: rebase, or use --base {base[:12]}"
    )  # fmt: skip
    (suite,) = done.verdict.suites
    assert suite.why[1] == judged.why[1]
    assert judged.basis == "existing tests"
    assert not any("the change edits" in one for one in (*judged.why, *done.verdict.undecided))
    git(repo, "checkout", "-q", "work")
    committed(repo, {"tiny.py": WRONG})  # refuted by the requirement's own cases: to rebase does not help
    wrong = (await verdict(repo, "main", "work", **more)).verdict
    assert wrong.requirements[0].grade is Grade.REFUTED
    assert not any("rebase" in one for one in wrong.requirements[0].why)
    assert "rebase" in wrong.suites[0].why[1]
    git(repo, "reset", "-q", "--hard", "HEAD~1")
    assert (await verdict(repo, base, "work", **more)).verdict.grade is Grade.PROVEN
    git(repo, "checkout", "-q", "work")  # whoever breaks a test is not told to rebase
    committed(repo, {"tiny.py": DOUBLE.replace("return 1", "return 0")})
    (broken,) = (await verdict(repo, base, "work", **more)).verdict.requirements
    assert broken.grade is Grade.REFUTED
    assert not any("rebase" in one for one in broken.why)


@pytest.mark.slow
async def test_a_command_that_must_keep_passing_is_held_by_existing_tests_that_run_the_change(tmp_path: Path) -> None:
    """Nobody sees which files a command runs. Existing tests that run a changed file show that the work is guarded."""
    check = "import pathlib, sys\n\nsys.exit('TODO' in pathlib.Path('tiny.py').read_text())\n"
    tests = "from tiny import double\n\n\ndef test_double():\n    assert double(2) == 4\n"
    good = "def double(number):\n    return 2 * number\n"
    base: dict[str, str | None] = {
        "tiny.py": good,
        "lint.py": check,
        "tests/test_tiny.py": tests,
        "pytest.ini": "[pytest]\npythonpath = .\n",
    }
    start = committed(tmp_path / "repo", base)
    kept = (
        "requirements:\n  - {id: tidy, text: tidy up, keep: true, checks: [{kind: command, command: python lint.py}]}\n"
    )
    (tmp_path / "kept.yaml").write_text(kept)
    for files, grade in (
        ({"tiny.py": good.replace("2 * number", "number + number")}, Grade.TESTED),
        ({"tiny.py": good.replace("2 * number", "3 * number")}, Grade.REFUTED),
        ({"tiny.py": good + "# TODO\n"}, Grade.REFUTED),
        ({"README.md": "tiny\n"}, Grade.UNPROVEN),
    ):
        head = committed(tmp_path / "repo", {"tiny.py": good, **files})
        done = await verdict(tmp_path, start, head, requirements_file=tmp_path / "kept.yaml", here=tmp_path / "repo")
        assert done.verdict.requirements[0].grade is grade, (files, done.verdict.requirements[0].why)


async def test_a_markdown_file_of_the_user_is_read_like_a_found_one(tmp_path: Path) -> None:
    project(tmp_path / "repo")
    (tmp_path / "wishes.md").write_text("- [ ] it doubles\n\n  ```trued\n  - kind: examples\n    cases:\n"
                                        "      - {call: 'tiny:double', args: [4], returns: 8}\n  ```\n")  # fmt: skip
    done = await verdict(tmp_path, "repo@HEAD~1", "repo", requirements_file=tmp_path / "wishes.md")
    assert (done.verdict.grade, done.code) == (Grade.PROVEN, 0)


@pytest.mark.spec("LAW-7")
def test_a_run_knows_a_copy_of_its_requirements_by_either_end_of_line(tmp_path: Path, asked: Path) -> None:
    (tmp_path / "repo").mkdir()
    (tmp_path / "repo" / "copy.yaml").write_bytes(REQUIREMENTS.replace("\n", "\r\n").encode())
    committed(tmp_path / "repo", {})
    copied = git(tmp_path / "repo", "rev-parse", "HEAD:copy.yaml")
    flags = {"agents": {"*": "command:true"}}
    request = Request(goal="Double it", repository=tmp_path / "repo", requirements=asked, flags=flags)
    inputs = prepare_inputs(request, tmp_path / "state", {"HOME": str(tmp_path)}, any_agent=True)
    assert copied in inputs.requirements_blobs


def test_a_lock_that_was_removed_as_a_leftover_before_it_was_held_is_made_again(tmp_path: Path) -> None:
    path = tmp_path / "a.lock"
    with ThreadPoolExecutor(1) as pool, path.open("w") as remover:
        fcntl.flock(remover, fcntl.LOCK_EX)
        holding = pool.submit(hold_lock, path)
        waiter = re.compile(rf"-> FLOCK .*:{os.fstat(remover.fileno()).st_ino} ")
        deadline = time.monotonic() + 60
        while not waiter.search(Path("/proc/locks").read_text()):
            assert time.monotonic() < deadline
            assert not holding.done()
            time.sleep(0.01)
        path.unlink()
        fcntl.flock(remover, fcntl.LOCK_UN)
        with holding.result(60) as held:
            assert os.path.samestat(os.fstat(held.fileno()), path.stat())
            with path.open("r+") as other, pytest.raises(BlockingIOError):
                fcntl.flock(other, fcntl.LOCK_EX | fcntl.LOCK_NB)


@pytest.mark.many(1)
@pytest.mark.parametrize(
    ("path", "manifest"),
    [
        ("pyproject.toml", '[project]\nname = "textkit"\nversion = "1"\ndependencies = []\n'),
        ("pyproject.toml", '[project]\nname = "textkit"\n[project.optional-dependencies]\nall = ["textkit[dev]"]\n'),
        ("setup.py", 'import setuptools\nsetuptools.setup(name="textkit", packages=["textkit"])\n'),
    ],
)
@pytest.mark.spec("LAW-5")
async def test_the_package_that_a_manifest_describes_is_the_projects_own_to_build(
    tmp_path: Path, path: str, manifest: str
) -> None:
    """A manifest that names the project declares no dependency of this name."""
    test = "from textkit.slug import slug\n\n\ndef test_slug():\n    assert slug('A b') == 'a-b'\n"
    committed(tmp_path / "repo", {path: manifest, "tests/test_slug.py": test}, "base")
    code = "def slug(text):\n    return text.lower().replace(' ', '-')\n"
    main = "if __name__ == '__main__':\n    print(slug('A b'))\n"
    committed(tmp_path / "repo", {"textkit/__init__.py": "", "textkit/slug.py": f"{code}\n\n{main}"})
    (tmp_path / "asked.yaml").write_text(
        """requirements:
  - id: by-tests
    text: slug makes a slug
    checks: [{kind: tests, command: python -m pytest -q, files: [tests/test_slug.py]}]
  - id: by-program
    text: the program prints a slug
    checks: [{kind: examples, cases: [{run: [python, -m, textkit.slug], stdout: "a-b\\n"}]}]
"""
    )
    done = await verdict(tmp_path, "repo@HEAD~1", "repo", requirements_file=tmp_path / "asked.yaml")
    grades = {judged.id: judged.grade for judged in done.verdict.requirements}
    assert grades == {"by-tests": Grade.TESTED, "by-program": Grade.PROVEN}, done.verdict.requirements


KEPT = """requirements:
  - id: one
    text: one() works as before
    keep: true
    checks:
      - kind: examples
        cases: [{call: "tiny:one", returns: 1}, {call: "tiny:one", args: [2], returns: 2}]
"""


@pytest.mark.slow
@pytest.mark.spec("LAW-2", "LAW-5")
async def test_a_case_to_keep_that_fails_on_base_and_head_is_never_met(tmp_path: Path) -> None:
    asked = tmp_path / "kept.yaml"
    asked.write_text(KEPT)
    committed(tmp_path / "repo", {"tiny.py": ONE, "test_tiny.py": TESTS})
    committed(tmp_path / "repo", {"tiny.py": f"{ONE}\n\n# tidied up\n"})
    lied = await verdict(tmp_path, "repo@HEAD~1", "repo", requirements_file=asked, accept="tested")
    assert (lied.verdict.grade, lied.code) == (Grade.UNPROVEN, 3)
    assert any("fails on the base" in why and "case 2" in why for why in lied.verdict.requirements[0].why)
    asked.write_text(KEPT.replace("args: [2], returns: 2", "returns: 1"))
    honest = await verdict(tmp_path, "repo@HEAD~1", "repo", requirements_file=asked)
    assert (honest.verdict.grade, honest.code) == (Grade.PROVEN, 0)
