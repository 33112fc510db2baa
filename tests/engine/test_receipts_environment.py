"""A receipt of a project with dependencies is proven again with the versions that it records, if available."""

import functools
import http.server
import os
import threading
import zipfile
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

from tests.proof.trial import Trial, bare_interpreter, git, lay, quiet
from trued.engine import receipts
from trued.engine.receipts import ReceiptCheck, ReceiptRequest
from trued.engine.verify import VerifyRequest, verify
from trued.errors import CannotJudge
from trued.model import Grade
from trued.proof.receipts.bundle import Bundle
from trued.proof.room.environment import choose_environment, recorded_versions

ASKED = """
requirements:
  - id: double
    text: double(x) is x twice
    checks:
      - kind: examples
        cases:
          - {call: "kit:double", args: [4], returns: 8}
          - {call: "kit:double", args: ["ab"], returns: "abab"}
"""
MANIFEST = '[project]\nname = "kit"\nversion = "1"\ndependencies = ["numbers-of-ours>=1"]\n'
CODE = "import numbers_of_ours\n\n\ndef old(x):\n    return numbers_of_ours.one(x)\n"
DOUBLE = "\n\ndef double(x):\n    return x + numbers_of_ours.one(x)\n"


def wheel(shelf: Path, version: str, code: str) -> None:
    """Put a package into a folder that is used as a registry."""
    name = f"numbers_of_ours-{version}"
    with zipfile.ZipFile(shelf / f"{name}-py3-none-any.whl", "w") as archive:
        archive.writestr("numbers_of_ours.py", code)
        about = f"Metadata-Version: 2.1\nName: numbers-of-ours\nVersion: {version}\n"
        archive.writestr(f"{name}.dist-info/METADATA", about)
        kind = "Wheel-Version: 1.0\nGenerator: t\nRoot-Is-Purelib: true\nTag: py3-none-any\n"
        archive.writestr(f"{name}.dist-info/WHEEL", kind)
        archive.writestr(f"{name}.dist-info/RECORD", "")


class World:
    """A repository with a dependency, the folder that it is installed from, and a receipt."""

    def __init__(self, place: Path) -> None:
        self.place = place
        self.receipt, self.bundle = place / "receipt.json", place / "bundle"
        self.repo = place / "repo"
        self.shelf = place / "registry" / "numbers-of-ours"
        self.shelf.mkdir(parents=True)
        wheel(self.shelf, "1.0", "def one(x):\n    return x\n")

    async def prove(self, base: Mapping[str, str], head: Mapping[str, str], asked: str = ASKED) -> Grade:
        self.repo.mkdir()
        lay(self.repo, base)
        git(self.repo, "init", "-q")
        git(self.repo, "add", "-A")
        git(self.repo, "commit", "-qm", "base")
        start = git(self.repo, "rev-parse", "HEAD")
        lay(self.repo, head)
        git(self.repo, "commit", "-qam", "work")
        file = self.place / "asked.yaml"
        file.write_text(asked)
        request = VerifyRequest(base=start, head="HEAD", requirements_file=file, here=self.repo)
        home = self.place / "home"
        done = await verify(request, home=home, environ=os.environ, tell=quiet)
        keeping = ReceiptRequest(receipt=self.receipt, bundle=self.bundle, asked=file, unsigned=True)
        await receipts.write_receipt(done.contract, done.verdict, keeping, repository=self.repo, home=home)
        return done.verdict.grade

    async def again(self, home: Path | None = None) -> ReceiptCheck:
        return await receipts.check_receipt(
            self.receipt,
            bundle=self.bundle,
            repository=self.repo,
            home=home or self.place / "home",
            tell=quiet,
        )

    @property
    def sealed(self) -> Bundle:
        return receipts.read_bundle(self.bundle)


@pytest.fixture
def world(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[World]:
    made = World(tmp_path)
    monkeypatch.setenv("VIRTUAL_ENV", str(bare_interpreter(tmp_path / "bare")))
    handler = functools.partial(Quiet, directory=str(made.shelf.parent))
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        for name in ("PIP_INDEX_URL", "UV_INDEX_URL", "UV_DEFAULT_INDEX"):
            monkeypatch.setenv(name, f"http://127.0.0.1:{server.server_port}/")
        yield made
        server.shutdown()


@pytest.mark.slow
@pytest.mark.spec("LAW-10")
async def test_a_receipt_of_a_project_with_a_dependency_is_proven_again_with_what_it_records(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert await world.prove({"pyproject.toml": MANIFEST, "kit.py": CODE}, {"kit.py": CODE + DOUBLE}) is Grade.PROVEN
    assert recorded_versions(world.sealed.contract)["numbers-of-ours"] == "1.0"
    found = await world.again()  # a minute later, on the same machine
    assert (found.code, found.again) == (0, ()), found.said
    wheel(world.shelf, "2.0", "def one(x):\n    return None\n")  # the version that the manifest now installs
    found = await world.again(world.place / "fresh")
    assert (found.code, found.again) == (0, ()), found.said
    other = bare_interpreter(world.place / "other")
    site = next(other.glob("lib/python*/site-packages"))
    with zipfile.ZipFile(world.shelf / "numbers_of_ours-2.0-py3-none-any.whl") as archive:
        archive.extractall(site)
    monkeypatch.setenv("VIRTUAL_ENV", str(other))  # the caller's environment now has another version
    found = await world.again()
    assert (found.code, found.again) == (0, ()), found.said


@pytest.mark.spec("LAW-10", "USE-7")
async def test_another_python_than_the_recorded_one_is_said_in_one_sentence(world: World) -> None:
    trial = Trial(world.place / "t", {"pyproject.toml": MANIFEST, "kit.py": CODE}, [])
    trial.workspace.environments = world.place / "kept"
    await trial.workspace.begin()
    with pytest.raises(CannotJudge, match=r"base with Python 2\.7 .* this Python 3\.\d+ .*: activate a Python 2\.7"):
        await choose_environment(
            trial.workspace, trial.workspace.base, (), {"python": "2.7.18", "numbers-of-ours": "1.0"}
        )


class Quiet(http.server.SimpleHTTPRequestHandler):
    def log_message(self, format: str, *args: object) -> None:
        """Log nothing."""
