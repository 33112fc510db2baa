"""The reading list, from a request to a reviewed feature: a whole run of `pipeline` with scripted agents."""

from pathlib import Path

import pytest

from tests.cli.conftest import git
from tests.examples.places import Place, begun
from trued.workflows.pipeline.decision_tables import CRITICS, RESEARCH, REVIEWERS, VERIFIERS

FOLDER = "docs/feature/readers-want-take-their-list-along"


def piped(place: Place, *more: str) -> tuple[int, str]:
    words = ("../request.md", "-w", "pipeline", "--requirements", str(place.requirements), "--yes")
    done = place.trued("run", *words, "--agent", f"scripted:{place.agents}", *more)
    return done.returncode, done.stdout + done.stderr


@pytest.mark.slow
@pytest.mark.spec("PIPE-1", "PIPE-5", "PIPE-6", "PIPE-8", "PIPE-11", "PIPE-14")
def test_a_design_is_revised_two_implementers_meet_and_what_all_verifiers_overlook_is_mended(tmp_path: Path) -> None:
    place = begun("reading", tmp_path)
    base = git(place.repository, "rev-parse", "main")
    code, said = piped(place)
    assert code == 0, said
    (run,) = place.data("ls")
    assert (run["workflow"], run["grade"], run["state"]) == ("pipeline", "proven", "done")
    assert [(one["cluster"], one["result"]) for one in place.events("decided")] == [
        ("research", "DONE"),
        ("critique", "NEEDS_REVISION"),  # ct-security, of the first design
        ("critique", "DONE"),
        ("verification", "NEEDS_REVISION"),  # by the engine's own run: all verifiers were pleased
        ("verification", "DONE"),
        ("review", "DONE"),
    ]
    (overruled,) = place.events("decided")[3]["why"]
    assert overruled == "v-tests: NEEDS_REVISION, fail (by the engine's own run; v-tests said DONE)"
    assert [one["tasks"] for one in place.events("wave")] == [["T01", "T02"], ["T03"], ["T01"]]
    (conflict,) = place.events("conflict")
    assert (conflict["part"], conflict["files"]) == ("wave 1 T02", ["reading/__main__.py"])
    assert [one["part"] for one in place.events("merged")] == ["wave 1 T01", "wave 1 T02", "wave 2 T03", "wave 3 T01"]
    assert [one["grade"] for one in place.events("proven")] == ["refuted", "proven", "proven"]
    documents_are_there(place, run["branch"])
    assert git(place.repository, "rev-parse", "main") == base
    main = place.file(run["branch"], "reading/__main__.py")
    assert all(words in main for words in ("return markdown(books)", "return sheet(books)"))
    assert "<<<<<<<" not in main


def documents_are_there(place: Place, branch: str) -> None:
    names = git(place.repository, "ls-tree", "-r", "--name-only", branch, FOLDER).split()
    there = {name.removeprefix(f"{FOLDER}/") for name in names}
    agents = {*RESEARCH, "spec", "designer", *CRITICS, "planner", *VERIFIERS, *REVIEWERS}
    agents |= {"implementer-T01", "implementer-T02", "documentation-writer-T03"}
    assert {f"memory/{name}.mem.md" for name in agents} <= there
    assert {"initial-request.md", "feature.md", "design.md", "plan.md", "memory.md", "tasks/T01.md"} <= there
    assert {
        "research/impact.md",
        "ct-review/ct-security.md",
        "verification/v-tests.md",
        "review/r-security.md",
    } <= there
    assert "The `csv` module quotes" in place.file(branch, f"{FOLDER}/design.md")
    assert "Status: DONE" in place.file(branch, f"{FOLDER}/memory/v-tests.mem.md")
    tried = place.file(branch, f"{FOLDER}/verification/v-feature.md")
    assert "- **Invisible Cities** by Italo Calvino (1972)" in tried


@pytest.mark.slow
@pytest.mark.spec("USE-8", "LAW-12")
def test_one_agent_alone_is_held_to_the_same_file_and_is_done_after_it_was_told_a_gap(tmp_path: Path) -> None:
    place = begun("reading", tmp_path)
    words = ("../request.md", "-w", "solo", "--requirements", str(place.requirements), "--yes")
    done = place.trued("run", *words, "--agent", f"scripted:{place.agents}")
    assert done.returncode == 0, done.stdout + done.stderr
    shown = place.data("show")
    assert (shown["grade"], [one["key"] for one in shown["calls"]]) == ("proven", ["solo#1", "solo#2"])
