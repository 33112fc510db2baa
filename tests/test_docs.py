"""The documentation speaks of what is there."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

from trued.inputs.settings.loader import SHARED, USERS_OWN

ROOT = Path(__file__).parent.parent
GUIDE = ROOT / "docs" / "guide"
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", ROOT / "AGENTS.md", *sorted((ROOT / "docs").rglob("*.md"))]


def test_every_setting_is_explained() -> None:
    text = (GUIDE / "configuration.md").read_text()
    assert [key for key in (*SHARED, *USERS_OWN) if f"| `{key}` |" not in text] == []


@pytest.mark.spec("USE-2")
def test_the_guide_lists_exactly_the_commands_that_there_are() -> None:
    code = "from trued.cli import COMMANDS; print(*COMMANDS)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=True)
    rows = [
        line.split("|")[1] for line in (GUIDE / "command-line.md").read_text().splitlines() if line.startswith("| `")
    ]
    listed = {name for row in rows for name in re.findall(r"`trued ([a-z]+)", row)}
    assert listed == set(done.stdout.split())


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_links_lead_somewhere(page: Path) -> None:
    links = re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", page.read_text())
    assert [link for link in links if not (page.parent / link).exists()] == []


def test_make_knows_every_target_that_is_spoken_of() -> None:
    targets = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), re.M))
    spoken = {
        name for page in PAGES for name in re.findall(r"^    make ([a-z-]+)|`make ([a-z-]+)`", page.read_text(), re.M)
    }
    assert {one for pair in spoken for one in pair if one} <= targets


def test_the_site_leads_to_every_page() -> None:
    listed = (ROOT / "mkdocs.yml").read_text()
    pages = [str(page.relative_to(ROOT / "docs")) for page in PAGES if page.is_relative_to(ROOT / "docs")]
    assert [page for page in pages if page not in listed] == []
