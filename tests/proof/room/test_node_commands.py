"""Commands of Node projects are driven by the base's programs and scripts: no head brings its own `node`."""

import json
import shutil
from pathlib import Path

import pytest

from tests.proof.trial import Change, Trial, lay, only
from trued.model import Grade

pytestmark = pytest.mark.skipif(not shutil.which("npm"), reason="npm is not installed")

LINT = {"scripts": {"lint": "node scripts/lint.js"}}
BASE = {
    "package.json": json.dumps(LINT),
    "scripts/words.js": "exports.forbidden = ['eval('];\n",
    "scripts/lint.js": "const fs = require('fs');\nconst { forbidden } = require('./words');\n"
    "const text = fs.readFileSync('tiny.js', 'utf8');\n"
    "process.exit(forbidden.some((word) => text.includes(word)) ? 1 : 0);\n",
    "tiny.js": "exports.one = () => 1;\n",
}
DIRTY = {"tiny.js": "exports.one = () => eval('1');\n"}
CLEAN = {"tiny.js": "exports.one = () => 2 - 1;\n"}
# A manifest that is also a valid shell script: started as a program, it always exits with 0.
PROGRAM = '{\n"name" : "evil",\n"version" : "1.0.0",\n"bin" : {"node":"package.json"},\n"true" : "1"\n}\n'
DECLARED = {
    "package.json": json.dumps({**LINT, "dependencies": {"evil": "file:vendor/evil"}}),
    "vendor/evil/package.json": PROGRAM,
}


def linked(folder: Path) -> None:
    """Make `node_modules` a link: no path below it begins with `node_modules`."""
    lay(folder, {**DIRTY, "kept/.bin/node": "#!/bin/sh\nexit 0\n"})
    (folder / "kept/.bin/node").chmod(0o755)
    (folder / "node_modules").symlink_to("kept")


def linked_programs(folder: Path) -> None:
    """Make `node_modules/.bin` a link."""
    lay(folder, {**DIRTY, "kept/node": "#!/bin/sh\nexit 0\n", "node_modules/some/package.json": "{}"})
    (folder / "kept/node").chmod(0o755)
    (folder / "node_modules/.bin").symlink_to("../kept")


LIARS: dict[str, Change] = {
    "a declared package's program": {**DIRTY, **DECLARED},
    "a link in the place of packages": linked,
    "a link in the place of programs": linked_programs,
    "a module of the script's": {**DIRTY, "scripts/words.js": "exports.forbidden = [];\n"},
    "a package beside the script": {**DIRTY, "scripts/node_modules/fs/index.js": "", "scripts/words/index.js": ""},
}


async def judged(place: Path, head: Change) -> tuple[Grade, str]:
    checks = [{"kind": "command", "command": "npm run --silent lint"}]
    trial = Trial(place / "t", BASE, [{"id": "lint", "text": "the linter stays clean", "keep": True, "checks": checks}])
    trial.workspace.kept = trial.workspace.environments = place / "kept"
    found = only(await trial.verdict(head))
    return found.grade, " ".join(found.why)


@pytest.mark.slow
@pytest.mark.spec("LAW-4", "DAY-2")
@pytest.mark.parametrize("head", LIARS.values(), ids=LIARS.keys())
async def test_no_head_brings_what_runs_a_command(tmp_path: Path, head: Change) -> None:
    grade, why = await judged(tmp_path, head)
    assert grade is Grade.REFUTED, why


@pytest.mark.slow
@pytest.mark.spec("LAW-6", "DAY-2")
async def test_honest_work_that_declares_packages_and_extends_the_script_is_tested(tmp_path: Path) -> None:
    trial = Trial(tmp_path / "t", BASE, [{"id": "lint", "text": "the linter stays clean"}])
    trial.workspace.kept = trial.workspace.environments = tmp_path / "kept"
    contract = await trial.seal_with_existing_tests()
    more = {"scripts/words.js": "exports.forbidden = ['eval(', 'with ('];\n"}
    found = only(await trial.prove(contract, await trial.head({**CLEAN, **more, **DECLARED})))
    assert (found.grade, found.holds) == (Grade.TESTED, True), found.why
