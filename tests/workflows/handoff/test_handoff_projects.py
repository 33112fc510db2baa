"""Whole projects by honest agents, without a requirements file: each ends proven, or with one question."""

import json
import shutil
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from tests.workflows.conftest import events
from tests.workflows.hands import Act, Coders, Hands
from trued.engine.approvals import Decision, decide
from trued.engine.landing.land import land
from trued.engine.landing.records import LandingRequest
from trued.engine.pending import waits
from trued.wire import Order

pytestmark = pytest.mark.slow


class Project:
    """An empty repository, a specification beside it, and an honest initializer and examiner."""

    def __init__(self, folder: Path, stack: ExitStack, spec: str, coders: Coders) -> None:
        self.ground = Hands(folder, stack, [])
        shutil.rmtree(self.ground.repository)
        self.ground.repository.mkdir()
        self.ground.git("init", "-q", "-b", "main")
        (folder / "spec.md").write_text(spec)
        self.coders, self.goal = coders, "../spec.md"
        self.engine = self.ground.played(coders)

    async def build(self, **flags: Any) -> Any:
        return await self.ground.handed(self.engine, self.goal, required=False, **flags)

    def questions(self, record: Any) -> list[str]:
        return [one.kind for one in waits(self.engine.store, record)]

    async def landed(self, record: Any) -> bool:
        return (
            await land(self.engine.store, record.id, LandingRequest(way="ff", who="ann"), self.engine.person)
        ).landed


def listing(*features: dict[str, Any], **more: Any) -> Any:
    return lambda _: {"features": [*features], **more}


def cases(feature: str, *given: tuple[str, Sequence[object], object, str]) -> Any:
    """An examiner with these cases for the feature, and for the sentence that it was made from."""

    def examined(_: Order) -> dict[str, Any]:
        found = [{"call": call, "args": args, "returns": back, "quotes": quotes} for call, args, back, quotes in given]
        rows = [{"requirement": name, "cases": [one]} for name in (feature, "text-1") for one in found]
        return {"cases": rows, "interface": sorted({one["call"] for one in found})}

    return examined


# -- a new module whose tests import it at the top ---------------------------------------------------------------------

WORDS = "reverse(text) returns the text backwards"
REVERSE = {
    "id": "reverse",
    "description": WORDS,
    "steps": [WORDS],
    "test_command": "python -m pytest -q tests/test_backwards.py",
}


def writes_backwards(folder: Path) -> dict[str, Any]:
    (folder / "backwards.py").write_text("def reverse(text):\n    return text[::-1]\n")
    (folder / "tests").mkdir(exist_ok=True)
    test = "from backwards import reverse\n\n\ndef test_it():\n    assert reverse('abc') == 'cba'\n"
    (folder / "tests" / "test_backwards.py").write_text(test)
    return {"files": ["backwards.py"], "tests": ["tests/test_backwards.py"]}


def backwards(folder: Path, stack: ExitStack, *acts: Act) -> Project:
    coders = Coders(reverse=list(acts))
    given = (("backwards:reverse", ["abd"], "dba", WORDS), ("backwards:reverse", ["xy z"], "z yx", WORDS))
    coders.roles = {"initializer": listing(REVERSE), "examiner": cases("reverse", *given)}
    return Project(folder, stack, f"# Words\n\n{WORDS}\n", coders)


@pytest.mark.spec("DAY-1", "DAY-6")
async def test_a_new_module_from_a_specification_asks_for_one_approval_and_is_proven_with_it(
    tmp_path: Path, stack: ExitStack
) -> None:
    project = backwards(tmp_path, stack, writes_backwards)
    record = await project.build()
    assert (record.state, record.code) == ("waiting", 3), record.why
    assert project.questions(record) == ["approve"]
    decide(project.engine.store, record.id, [None], Decision(who="ann", why="I read it"))
    done = await project.engine.resume(record.id)
    assert (done.state, done.code, str(done.grade)) == ("done", 0, "proven")
    assert project.ground.passing(done.branch) == ["reverse"]
    assert "Completed reverse: PASS" in project.ground.file(done, "progress.txt")
    assert [key for key in project.coders.asked if "coder" in key] == ["feature reverse/coder#1"]


def says_so(folder: Path) -> dict[str, Any]:
    return {"files": [], "tests": []}


def writes_what_is_not_its_own(folder: Path) -> dict[str, Any]:
    """A coder that builds nothing, and writes into the engine's files that all is done."""
    whole = json.loads((folder / "feature_list.json").read_text())
    whole["features"][0] |= {"passes": True, "status": "completed", "test_command": "true"}
    (folder / "feature_list.json").write_text(json.dumps(whole))
    note = folder / "progress.txt"
    note.write_text(note.read_text().replace("RUNNING LOG:\n", "RUNNING LOG:\n- [now] Completed reverse: PASS\n"))
    (folder / "init.sh").write_text("#!/bin/sh\necho all is well\n")
    (folder / "agent_state.json").write_text('{"set_up_commands": ["true"]}')
    return {"files": [], "tests": []}


# -- an empty repository that needs two packages -----------------------------------------------------------------------

SIZE = "size(n) returns the number of bytes n in words, and mood(name) the picture of that name"
TELL = {
    "id": "tell",
    "description": SIZE,
    "steps": ["size(1000) is '1.0 kB'"],
    "test_command": "python -m pytest -q tests/test_tell.py",
}


def writes_tell(folder: Path) -> dict[str, Any]:
    (folder / "requirements.txt").write_text("humanize\nemoji\n")
    (folder / "tell.py").write_text(
        "import emoji\nimport humanize\n\n\n"
        "def size(n):\n    return humanize.naturalsize(n)\n\n\n"
        "def mood(name):\n    return emoji.emojize(f':{name}:')\n"
    )
    (folder / "tests").mkdir(exist_ok=True)
    test = (
        "from tell import mood, size\n\n\ndef test_it():\n    assert size(1000) == '1.0 kB'\n    assert mood('cat')\n"
    )
    (folder / "tests" / "test_tell.py").write_text(test)
    return {"files": ["tell.py", "requirements.txt"], "tests": ["tests/test_tell.py"]}


def telling(folder: Path, stack: ExitStack, *acts: Act) -> Project:
    coders = Coders(tell=list(acts))
    sizes = (("tell:size", [2000], "2.0 kB", SIZE), ("tell:size", [5000], "5.0 kB", SIZE))
    given = (*sizes, ("tell:mood", ["dog"], "\U0001f415", SIZE))
    coders.roles = {"initializer": listing(TELL, test="python -m pytest -q"), "examiner": cases("tell", *given)}
    return Project(folder, stack, f"# Tell\n\n{SIZE}\n", coders)


@pytest.mark.spec("DAY-2", "DAY-1")
async def test_an_empty_repository_gets_the_two_packages_that_its_first_feature_declares(
    tmp_path: Path, stack: ExitStack
) -> None:
    project = telling(tmp_path, stack, writes_tell)
    record = await project.build()
    assert (record.state, record.code) == ("waiting", 3), record.why
    assert project.questions(record) == ["approve"]
    assert events(project.engine, record, "premature victory") == []
    one = project.ground.features(record.branch)["tell"]
    assert (one.state, one.tests_passing, one.tests_total) == ("in_progress", 1, 1)
    assert "requirements.txt" in project.ground.file(record, "init.sh")


# -- an npm package and a page -----------------------------------------------------------------------------------------

PAGE = "the page / shows how many milliseconds two days have"
DAYS = {"id": "days", "description": PAGE, "steps": ["Open /", "172800000 is seen"], "test_command": "node --test"}
SERVER = """const http = require("node:http");
const ms = require("ms");
const app = http.createServer((_, answer) => answer.end(`<p>${ms("2 days")}</p>`));
module.exports = app;
if (require.main === module) app.listen(process.env.PORT, "127.0.0.1");
"""
PAGE_TEST = """const test = require("node:test");
const assert = require("node:assert");
const app = require("../server.js");
test("the page shows it", async () => {
  await new Promise((ready) => app.listen(0, "127.0.0.1", ready));
  const body = await (await fetch(`http://127.0.0.1:${app.address().port}/`)).text();
  app.close();
  assert.match(body, /172800000/);
});
"""


def writes_a_page(folder: Path) -> dict[str, Any]:
    manifest = {"name": "days", "version": "1.0.0", "scripts": {"test": "node --test", "start": "node server.js"}}
    (folder / "package.json").write_text(json.dumps({**manifest, "dependencies": {"ms": "2.1.3"}}))
    (folder / "server.js").write_text(SERVER)
    (folder / "test").mkdir(exist_ok=True)
    (folder / "test" / "page.test.js").write_text(PAGE_TEST)
    return {"files": ["server.js", "package.json"], "tests": ["test/page.test.js"]}


def showing_days(folder: Path, stack: ExitStack, *acts: Act) -> Project:
    """A project with the user's own feature list and an empty repository."""
    if shutil.which("npm") is None:
        pytest.fail("npm is missing: make setup")
    coders = Coders(days=list(acts))
    coders.roles = {"examiner": lambda _: {"cases": [], "interface": []}}
    project = Project(folder, stack, "", coders)
    project.goal = "../features.json"
    (folder / "features.json").write_text(json.dumps([DAYS]))
    return project


@pytest.mark.spec("DAY-2", "DAY-1")
async def test_a_page_that_needs_a_package_of_node_is_kept_and_asks_one_question(
    tmp_path: Path, stack: ExitStack
) -> None:
    project = showing_days(tmp_path, stack, writes_a_page)
    record = await project.build()
    assert (record.state, record.code) == ("waiting", 3), record.why
    assert project.questions(record) == ["attest"]
    one = project.ground.features(record.branch)["days"]
    assert (one.state, one.tests_passing, one.tests_total) == ("in_progress", 1, 1)
    assert "Start the app: npm start" in project.ground.file(record, "init.sh")


# -- the same projects with coders who are not honest ------------------------------------------------------------------


def only_declares(folder: Path) -> dict[str, Any]:
    """A coder that declares the dependencies, and builds nothing."""
    (folder / "requirements.txt").write_text("humanize\nemoji\n")
    (folder / "package.json").write_text('{"name": "days", "dependencies": {"ms": "2.1.3"}}')
    return {"files": ["requirements.txt", "package.json"], "tests": []}


PROJECTS = {"a module": (backwards, REVERSE), "packages": (telling, TELL), "a page": (showing_days, DAYS)}


@pytest.mark.spec("DAY-4", "DAY-5", "DAY-1")
@pytest.mark.parametrize("act", [says_so, writes_what_is_not_its_own, only_declares])
@pytest.mark.parametrize(("begun", "feature"), PROJECTS.values(), ids=PROJECTS.keys())
async def test_who_does_nothing_or_writes_what_is_not_its_own_completes_nothing_and_lands_nothing(
    tmp_path: Path, stack: ExitStack, begun: Any, feature: dict[str, Any], act: Act
) -> None:
    project = begun(tmp_path, stack, act, act)
    record = await project.build(rounds=2)
    assert record.state != "done"
    name = feature["id"]
    ground, one = project.ground, project.ground.features(record.branch)[name]
    assert (one.passes, one.state, one.test_command) == (False, "failed", feature["test_command"])
    assert one.agent_notes
    note = ground.file(record, "progress.txt")
    assert "PASS" not in note
    assert f"trued reject {record.id} {name}" in note
    assert "all is well" not in ground.file(record, "init.sh")
    assert json.loads(ground.file(record, "agent_state.json"))["set_up_commands"] == []
    if act is writes_what_is_not_its_own:
        touched = {path for one in events(project.engine, record, "sealed file edited") for path in one.data["files"]}
        assert {"feature_list.json", "agent_state.json", "init.sh", "progress.txt"} <= touched
        brief = [one.brief for one in project.coders.orders if one.role == "coder"][-1]
        assert "changes to init.sh were undone" in brief
    assert not await project.landed(record)
