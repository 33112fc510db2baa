"""What the user names with `--requirements` counts as it is on the base, if it is in the repository."""

from pathlib import Path

import pytest

from tests.engine.test_verify import verdict
from tests.engine.two_commits import DOUBLE, ONE, REQUIREMENTS, WRONG, committed
from trued.engine.verify import VerifyResult

EASY = """requirements:
  - id: easy
    text: one() returns 1
    checks: [{kind: examples, cases: [{call: "tiny:one", returns: 1}]}]
"""
FILE = "acceptance.yaml"
OWN_TEST = "from tiny import double\n\n\ndef test_double():\n    assert double(5) == 10\n"
WITH_FOLDER = """requirements:
  - id: double
    text: double(x) returns twice its argument
    checks: [{kind: tests, from: wanted/, files: [test_double.py]}]
"""


def grades(done: VerifyResult) -> dict[str, str]:
    return {one.id: str(one.grade) for one in done.verdict.requirements}


def replaced_by_link(repo: Path, name: str, target: str) -> None:
    """The head replaces a file or folder by a link."""
    place = repo / name
    moved = {str(path.relative_to(repo)): None for path in [place, *place.rglob("*")] if path.is_file()}
    committed(repo, moved)
    if place.is_dir():
        for folder in sorted((path for path in [place, *place.rglob("*")] if path.is_dir()), reverse=True):
            folder.rmdir()
    place.symlink_to(target)
    committed(repo, {})


@pytest.mark.many(1)
@pytest.mark.spec("LAW-3", "LAW-12")
@pytest.mark.parametrize("head", [EASY, REQUIREMENTS.replace("x: 42", "").replace("returns: 10", "returns: 42")])
async def test_a_file_with_checks_that_the_head_weakens_keeps_what_it_said_on_the_base(
    tmp_path: Path, head: str
) -> None:
    repo = tmp_path / "repo"
    base = committed(repo, {"tiny.py": ONE, FILE: REQUIREMENTS})
    committed(repo, {"tiny.py": WRONG, FILE: head})
    done = await verdict(repo, base, "", requirements_file=repo / FILE, accept="tested")
    assert (grades(done)["double"], done.code) == ("refuted", 1)
    assert any(f"the head changed {FILE}" in said for said in done.verdict.undecided)


@pytest.mark.many(1)
@pytest.mark.spec("LAW-3", "LAW-12")
@pytest.mark.parametrize("target", ["easy.yaml", "outside"])
async def test_a_file_that_the_head_replaces_by_a_link_counts_as_on_the_base(tmp_path: Path, target: str) -> None:
    repo = tmp_path / "repo"
    (tmp_path / "outside.yaml").write_text(EASY)
    base = committed(repo, {"tiny.py": ONE, FILE: REQUIREMENTS, "easy.yaml": EASY})
    replaced_by_link(repo, FILE, str(tmp_path / "outside.yaml") if target == "outside" else target)
    committed(repo, {"tiny.py": WRONG})
    done = await verdict(repo, base, "", requirements_file=repo / FILE, accept="tested")
    assert (grades(done)["double"], done.code) == ("refuted", 1)
    assert not done.contract.held_out


@pytest.mark.spec("LAW-3", "LAW-12")
async def test_a_folder_that_the_head_replaces_by_a_link_counts_as_on_the_base(tmp_path: Path) -> None:
    repo = tmp_path / "repo"
    hard, easy = "- **FR-001**: double(x) doubles\n", "- **FR-001**: `python -c 1` succeeds\n"
    base = committed(repo, {"tiny.py": ONE, "specs/001/spec.md": hard, "specs/002/spec.md": easy})
    replaced_by_link(repo, "specs/001", "002")
    committed(repo, {"tiny.py": WRONG})
    done = await verdict(repo, base, "", requirements_file=repo / "specs/001", accept="tested")
    assert [one.text for one in done.verdict.requirements] == ["**FR-001**: double(x) doubles"]
    assert done.code != 0


@pytest.mark.many(1)
@pytest.mark.spec("LAW-3", "LAW-4")
@pytest.mark.parametrize("way", ["changed", "linked"])
async def test_the_test_files_that_a_file_in_the_repository_takes_along_are_those_of_the_base(
    tmp_path: Path, way: str
) -> None:
    repo = tmp_path / "repo"
    base = committed(repo, {"tiny.py": ONE, FILE: WITH_FOLDER, "wanted/test_double.py": OWN_TEST})
    easier = OWN_TEST.replace("== 10", "== 42")
    if way == "changed":
        committed(repo, {"tiny.py": WRONG, "wanted/test_double.py": easier})
    else:
        (tmp_path / "easier").mkdir()
        (tmp_path / "easier" / "test_double.py").write_text(easier)
        replaced_by_link(repo, "wanted", str(tmp_path / "easier"))
        committed(repo, {"tiny.py": WRONG})
    done = await verdict(repo, base, "", requirements_file=repo / FILE, accept="tested")
    assert (grades(done), done.code) == ({"double": "refuted"}, 1)


@pytest.mark.slow
@pytest.mark.spec("LAW-3")
async def test_the_head_neither_sets_up_the_environment_nor_supersedes_tests_in_a_file_of_the_base(
    tmp_path: Path,
) -> None:
    repo = tmp_path / "repo"
    tests = "from tiny import one\n\n\ndef test_one():\n    assert one() == 1\n"
    base = committed(repo, {"tiny.py": ONE, "test_tiny.py": tests, FILE: REQUIREMENTS})
    superseding = "  - {id: other, text: one() may return anything, supersedes: [test_tiny.py]}\n"
    broken = DOUBLE.replace("return 1", "return 0")
    committed(
        repo, {"tiny.py": broken, FILE: f"environment: {{variables: {{EASY: '1'}}}}\n{REQUIREMENTS}{superseding}"}
    )
    done = await verdict(repo, base, "", requirements_file=repo / FILE, accept="tested")
    assert grades(done) == {"double": "refuted", "other": "refuted"}
    assert not done.contract.environment.variables
    said = "\n".join(done.verdict.undecided)
    assert "supersede existing tests" in said
    assert "environment or the server" in said


# -- honest twins ------------------------------------------------------------------------------------------------------


@pytest.mark.slow
async def test_a_file_that_the_head_leaves_alone_or_extends_is_judged_as_before(tmp_path: Path) -> None:
    repo = tmp_path / "repo"
    base = committed(repo, {"tiny.py": ONE, FILE: REQUIREMENTS})
    committed(repo, {"tiny.py": DOUBLE})
    done = await verdict(repo, base, "", requirements_file=repo / FILE, accept="tested")
    assert (grades(done), done.code) == ({"double": "tested"}, 0)
    case = '{call: "tiny:double", args: [0], returns: 0}'
    more = f"  - {{id: more, text: double(0) is 0, checks: [{{kind: examples, cases: [{case}]}}]}}\n"
    committed(repo, {FILE: f"{REQUIREMENTS}{more}"})
    done = await verdict(repo, base, "", requirements_file=repo / FILE, accept="tested")
    assert (grades(done), done.code) == ({"double": "tested", "more": "tested"}, 0)


async def test_uncommitted_changes_of_a_file_are_the_users_own_and_said(tmp_path: Path) -> None:
    repo = tmp_path / "repo"
    base = committed(repo, {"tiny.py": ONE, FILE: EASY.replace("returns: 1}", "returns: 2}")})
    committed(repo, {"tiny.py": DOUBLE})
    (repo / FILE).write_text(REQUIREMENTS)
    done = await verdict(repo, base, "", requirements_file=repo / FILE, accept="tested")
    assert (grades(done), done.code) == ({"double": "tested"}, 0)
    assert any("has uncommitted changes" in said and "without 1 requirement" in said for said in done.verdict.undecided)


@pytest.mark.slow
async def test_links_of_the_base_and_links_of_the_user_lead_where_they_did(tmp_path: Path) -> None:
    repo = tmp_path / "repo"
    committed(repo, {"tiny.py": ONE, "docs/wanted.yaml": REQUIREMENTS})
    (repo / FILE).symlink_to("docs/wanted.yaml")
    (tmp_path / "mine.yaml").symlink_to(repo / FILE)
    base = committed(repo, {})
    committed(repo, {"tiny.py": DOUBLE})
    for file in (repo / FILE, tmp_path / "mine.yaml"):
        done = await verdict(repo, base, "", requirements_file=file, accept="tested")
        assert (grades(done), done.code) == ({"double": "tested"}, 0)
    committed(repo, {"tiny.py": WRONG, "docs/wanted.yaml": EASY})
    for file in (repo / FILE, tmp_path / "mine.yaml"):
        done = await verdict(repo, base, "", requirements_file=file, accept="tested")
        assert (grades(done)["double"], done.code) == ("refuted", 1)


async def test_a_file_that_the_base_lacks_counts_as_the_head_has_it_and_is_visible(tmp_path: Path) -> None:
    repo = tmp_path / "repo"
    base = committed(repo, {"tiny.py": ONE})
    committed(repo, {"tiny.py": DOUBLE, FILE: REQUIREMENTS})
    done = await verdict(repo, base, "", requirements_file=repo / FILE)
    assert (grades(done), done.code) == ({"double": "tested"}, 3)
    assert any("no requirements that can be read on the base" in said for said in done.verdict.undecided)
