"""The documentation speaks of what is there."""

import json
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest
from pydantic import ValidationError

from tests.cli.conftest import clean_environment, git
from trued.agents.adapters import load_agent, scripted
from trued.engine.agent_selection import PREFERRED
from trued.inputs.settings.loader import SHARED, USERS_OWN
from trued.model import Reply
from trued.workflows.descriptor import load
from trued.workflows.registry import descriptors

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


def test_the_overview_leads_to_every_guide_page_with_a_line_about_each() -> None:
    rows = re.findall(r"^\| \[[^\]]+\]\(([^)]+)\) \| (\S.*) \|$", (ROOT / "docs" / "index.md").read_text(), re.M)
    pages = {f"guide/{page.name}" for page in GUIDE.glob("*.md")} | {"glossary.md", "architecture.md"}
    assert pages - {page for page, _ in rows} == set()


class ScriptedExample:
    """One example of the page about scripted agents: its files in a folder, and its command in a repository there."""

    def __init__(self, section: str, folder: Path) -> None:
        page = (GUIDE / "scripted-agents.md").read_text()
        text = page.partition(f"\n## {section}\n")[2].partition("\n## ")[0]
        self.files = dict(re.findall(r"^`([\w.]+)`:\n\n```\w+\n(.*?)^```$", text, re.M | re.S))
        (self.command,) = re.findall(r"^\$ trued (.*)$", text, re.M)
        self.folder, self.repository = folder, folder / "repository"
        self.repository.mkdir()
        for name, content in self.files.items():
            (folder / name).write_text(content)
        git(self.repository, "init", "-q")
        git(self.repository, "commit", "-q", "--allow-empty", "-m", "first")

    def run(self, *more: str) -> subprocess.CompletedProcess[str]:
        return self.trued(*shlex.split(self.command), *more)

    def trued(self, *words: str) -> subprocess.CompletedProcess[str]:
        places = {"TRUED_HOME": str(self.folder / "state"), "HOME": str(self.folder / "home")}
        return subprocess.run(
            [sys.executable, "-m", "trued", *words],
            cwd=self.repository,
            env={**clean_environment(), **places},
            capture_output=True,
            text=True,
            timeout=300,
            check=False,
        )


@pytest.mark.slow
def test_the_example_of_a_scripted_agent_works_as_it_stands(tmp_path: Path) -> None:
    example = ScriptedExample("An example", tmp_path)
    assert list(example.files) == ["PLAN.md", "requirements.yaml", "agents.py"]
    honest = example.run()
    assert honest.returncode == 0, honest.stderr
    assert honest.stderr.count("answered chunk 1A/purple-team-a") == 2  # the lie of the first round was found
    hasty = example.run("--agent", "purple-team-b=scripted:../agents.py#hasty")
    assert hasty.returncode == 5, hasty.stderr
    assert "no time for a review" in hasty.stderr


@pytest.mark.slow
@pytest.mark.spec("DAY-11")
def test_the_example_of_a_scripted_solo_and_examiner_works_as_it_stands(tmp_path: Path) -> None:
    example = ScriptedExample("A sentence, and an examiner", tmp_path)
    done = example.run()
    assert done.returncode == 3, done.stderr
    (run,) = json.loads(example.trued("ls", "--json").stdout)
    assert run["grade"] == "examined"
    approved = example.trued("approve", run["id"], "--as", "Bea", "--reason", "I read them")
    assert approved.returncode == 0, approved.stderr
    assert json.loads(example.trued("ls", "--json").stdout)[0]["grade"] == "proven"


@pytest.mark.spec("AGT-1")
def test_the_variables_that_lead_an_agent_to_another_endpoint_are_on_its_page() -> None:
    section = (GUIDE / "agents.md").read_text().partition("### Another endpoint")[2].partition("\n## ")[0]
    rows = dict(re.findall(r"^\| `(\w+)` \| (.*) \|$", section, re.M))
    for name in PREFERRED:
        named = {one for one in load_agent(name).login.along if one.endswith("BASE_URL")}
        assert named == set(re.findall(r"`(\w+BASE_URL)`", rows[name])), name


def test_the_reply_of_solo_speaks_of_no_team() -> None:
    page = (GUIDE / "replies.md").read_text()
    assert "Team" not in page.partition("\n## `solo`\n")[2].partition("\n## ")[0]


def test_everything_that_a_scripted_agent_is_given_is_explained() -> None:
    page = (GUIDE / "scripted-agents.md").read_text()
    told = {name for row in re.findall(r"^\| (`.*?) \|", page, re.M) for name in re.findall(r"`(\w+)`", row)}
    assert told == {*scripted.SHOWN, "turn", "resumed", "usage"}


def test_the_page_of_replies_is_made_from_the_replies_of_today() -> None:
    done = subprocess.run(
        [sys.executable, ROOT / "tools" / "replies_page.py", "--check"],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 0, done.stderr


def test_every_reply_on_its_page_is_valid_as_it_stands() -> None:
    page = (GUIDE / "replies.md").read_text()
    shown = dict[str, list[str]]()
    for section in re.split(r"^### ", page, flags=re.M)[1:]:
        for role in section.partition("\n")[0].split(", "):
            shown.setdefault(role, []).extend(re.findall(r"```json\n(.*)\n```", section))
    for one in descriptors():
        for role, replies in load(one.replies).items() if one.replies else ():
            for reply in replies:
                assert any(_fits(reply, text) for text in shown[role]), (role, reply)


def _fits(reply: type[Reply], text: str) -> bool:
    try:
        reply.model_validate_json(text)
    except ValidationError:
        return False
    return True
