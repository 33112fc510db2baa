"""The server of a contract is found in the base's files and tried on the base, whatever the head says."""

import json
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from tests.proof.checks.test_http import BASE, asks
from tests.proof.trial import Trial, only, quiet
from trued.errors import BadInput
from trued.model import Environment, Grade
from trued.run.examination.start_command import find_server, with_server

NODE = """const { createServer } = require("node:http");
createServer((request, answer) => answer.end(require("./words.js"))).listen(process.env.PORT, "127.0.0.1");
"""
FLASK = """from flask import Flask
app = Flask(__name__)
@app.get("/")
def home():
    return "Shop"
"""


async def found(place: Path, files: dict[str, str | None], configured: str = "") -> Any:
    trial = Trial(place, files, [{"id": "a", "text": "b"}])
    await trial.workspace.begin()
    trial.workspace.environments = place / "state"
    return await find_server(trial.workspace, Environment(), configured=configured, emit=quiet)


@pytest.mark.spec("DAY-3")
async def test_the_first_start_command_that_answers_on_the_base_is_the_one(tmp_path: Path) -> None:
    files: dict[str, str | None] = {"Makefile": "serve:\n\tfalse\n", "index.html": "<p>Shop"}
    got = await found(tmp_path, files, configured="no-such-program --port $PORT")
    assert got.serve.command[:3] == ("python", "-m", "http.server")
    nothing = await found(tmp_path / "empty", {"README.md": "nothing yet"})
    assert nothing.serve is None
    assert nothing.why.startswith("no file of the base says how the project is started; write")


@pytest.mark.slow
@pytest.mark.spec("DAY-3", "LAW-4")
async def test_exchanges_need_no_serve_and_a_head_cannot_put_another_start_command_in_its_place(tmp_path: Path) -> None:
    manifest = {"scripts": {"start": "node server.js"}}
    base: dict[str, str | None] = {
        "package.json": json.dumps(manifest),
        "server.js": NODE,
        "words.js": 'module.exports = "old";',
    }
    trial = Trial(tmp_path, base, asks({"http": {"path": "/"}, "status": 200, "body": "Earn 40 points"}))
    await trial.workspace.begin()
    trial.asked = await with_server(trial.asked, partial(find_server, trial.workspace, Environment(), emit=quiet))
    assert trial.asked.serve
    assert trial.asked.serve.command == ("npm", "start")
    contract = await trial.seal()
    good = await trial.prove(contract, await trial.head({"words.js": 'module.exports = "Earn 40 points";'}))
    assert only(good).grade is Grade.PROVEN
    changed = json.dumps({"scripts": {"start": "node other.js"}})
    other = NODE.replace('require("./words.js")', '"Earn 40 points"')
    lie = await trial.prove(
        contract, await trial.head({"package.json": changed, "other.js": other, "words.js": base["words.js"]})
    )
    assert only(lie).grade is Grade.REFUTED


@pytest.mark.slow
@pytest.mark.spec("DAY-3", "DAY-2")
async def test_a_flask_application_is_started_by_flask_as_the_base_declares_it(tmp_path: Path) -> None:
    got = await found(tmp_path, {"app.py": FLASK, "requirements.txt": "flask\n"})
    assert got.why == ""
    assert got.serve.command[:5] == ("python", "-m", "flask", "--app", "app:app")


@pytest.mark.spec("DAY-3", "USE-7")
async def test_checks_that_need_a_server_where_none_is_found_are_refused_with_what_to_write(tmp_path: Path) -> None:
    files = {path: text for path, text in BASE.items() if "__main__" not in path}
    trial = Trial(tmp_path, files, asks({"http": {"path": "/"}, "status": 200}))
    await trial.workspace.begin()
    with pytest.raises(BadInput, match=r"requirement .* needs a server, and .*serve: \{command"):
        await with_server(trial.asked, partial(find_server, trial.workspace, Environment(), emit=quiet))
