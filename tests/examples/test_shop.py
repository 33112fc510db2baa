"""The loyalty ticket, from its words to a pull request: whole runs of `ticket` with scripted agents and Chromium."""

import json
from pathlib import Path
from typing import Any

import pytest
from ruamel.yaml import YAML

from tests.cli.conftest import git
from tests.examples.places import Place, begun

BRANCH = "fix/SHOP-1883-product-cards-promise-loyalty-points-and"
LATE = "/collections/tea?shown=7"


def run(place: Place, *more: str) -> tuple[int, str]:
    words = ("../ticket.md", "--requirements", str(place.requirements), "--yes")
    done = place.trued("run", *words, "--agent", f"scripted:{place.agents}", *more)
    return done.returncode, done.stdout + done.stderr


def events(place: Place, kind: str) -> list[dict[str, Any]]:
    return [one["data"] for one in place.lines("logs") if one["kind"] == kind]


def short(place: Place) -> None:
    """The ticket and the requirements with the page alone that goes wrong: pages take their time."""
    ticket = place.folder / "ticket.md"
    lines = ticket.read_text().splitlines(keepends=True)
    ticket.write_text("".join(one for one in lines if not one.startswith("- The page") or LATE in one))
    asked = YAML(typ="safe").load(place.requirements)
    asked["requirements"] = [one for one in asked["requirements"] if one["id"] == "later-cards"]
    place.requirements.write_text(json.dumps(asked))  # JSON is YAML, too


@pytest.mark.slow
@pytest.mark.spec("TIC-3", "TIC-4", "TIC-5", "TIC-6", "TIC-8", "TIC-9")
def test_cards_that_come_later_are_missed_found_in_the_browser_mended_and_proven(tmp_path: Path) -> None:
    place = begun("shop", tmp_path)
    base = git(place.repository, "rev-parse", "main")
    code, said = run(place)
    assert code == 0, said
    (record,) = place.data("ls")
    assert (record["workflow"], record["grade"], record["branch"]) == ("ticket", "proven", BRANCH)
    keys = [one["key"] for one in place.data("show")["calls"]]
    assert [key.rpartition("/")[2] for key in keys] == [
        "impl-agent#1",
        "verify-agent#1",
        "fix-agent#1",
        "verify-agent#1",
        "pr-agent#1",
    ]
    first, second = events(place, "round")
    found = {(one["location"], one["expected"], one["actual"]) for one in first["issues"]}
    assert (LATE, "Earn 240 points", "+ loyalty points") in found
    assert second["issues"] == []
    changed = git(place.repository, "diff", "--name-only", base, BRANCH).split()
    assert changed == ["assets/loyalty.js", "assets/points.js", "pages.js", "test/points.test.js"]
    assert git(place.repository, "rev-parse", "main") == base
    (offered,) = events(place, "offered")
    told = Path(offered["url"])
    text = told.read_text()
    assert "graded **proven**" in text
    assert "7 fixed, 0 still there, 0 new" in text
    pictures = {one.name for one in (told.parent / "pictures").iterdir()}
    assert any("collections-tea-shown-7-before" in name for name in pictures)
    assert any("collections-tea-shown-7-after" in name for name in pictures)


@pytest.mark.nightly
@pytest.mark.spec("TIC-8")
def test_without_a_fix_that_mends_there_is_no_pull_request(tmp_path: Path) -> None:
    place = begun("shop", tmp_path)
    place.agents.write_text(place.agents.read_text().replace("MENDS = True", "MENDS = False"))
    short(place)
    code, said = run(place)
    assert code == 1, said
    assert events(place, "offered") == []
    assert len(events(place, "no progress")) == 1
    assert git(place.repository, "branch", "--list", BRANCH).strip() == BRANCH
