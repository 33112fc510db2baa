"""A run that has ended although no agent worked: the test fills its journal and its store."""

import asyncio
import subprocess
from collections.abc import Iterator
from contextlib import closing, contextmanager, nullcontext
from dataclasses import dataclass
from pathlib import Path

from trued.engine.engine import Engine
from trued.engine.inputs import Inputs
from trued.engine.run_store import RunStore
from trued.model import Contract, Goal, Grade, Judged, ManualCheck, Requirement, RunRecord, Settings, Verdict
from trued.workspace.git.store import Store

RUN = "r-people"


@dataclass
class Place:
    """An ended run in a journal. The requirement `look` has to be judged by a person."""

    engine: Engine
    repository: Path
    commits: list[str]

    def record(self) -> RunRecord:
        return self.engine.store.journal.run(RUN)

    def step(self, key: str, value: str) -> None:
        async def step() -> str:
            return value

        asyncio.run(self.engine.store.journal.of(RUN).once(key, "", step))

    def finish(self, number: int, commit: str, *, owned: tuple[str, ...] = ()) -> None:
        grades = {"look": Grade.UNPROVEN, "fast": Grade.PROVEN, "wrong": Grade.REFUTED}
        judged = [
            Judged(id=name, text=name, grade=grade, why=(f"{name} it is",), holds=name != "wrong", lacks=LACKS[name])
            for name, grade in grades.items()
        ]
        verdict = Verdict(subject="plan", commit=commit, requirements=tuple(judged[: 3 if number == 1 else 2]))
        self.step(f"finish#{number}", verdict.model_copy(update={"owned": owned}).model_dump_json())
        self.engine.store.journal.update(self.record().model_copy(update={"state": "waiting"}))

    def look(self) -> Judged:
        verdict = self.engine.store.verdict(RUN)
        assert verdict
        return verdict.requirements[0]


LACKS = {"look": "attest", "fast": "", "wrong": ""}


def git(folder: Path, *words: str) -> str:
    who = ("-c", "user.name=user", "-c", "user.email=user@example.invalid", "-c", "init.defaultBranch=main")
    return subprocess.run(["git", *who, *words], cwd=folder, check=True, capture_output=True, text=True).stdout.strip()


@contextmanager
def ended_run(folder: Path, *, hub: str = "") -> Iterator[Place]:
    """An ended run with private state in `folder/state` and a repository beside it; `hub`: keep its journal there."""
    repository, home = folder / "repo", folder / "state"
    repository.mkdir()
    git(repository, "init", "-q")
    commits = []
    for name, text in (("a.py", "1"), ("MEMORY.md", "log"), ("a.py", "2"), ("b.py", "3"), ("a.py", "1")):
        (repository / name).write_text(text)
        git(repository, "add", ".")
        git(repository, "commit", "-qm", name)
        commits.append(git(repository, "rev-parse", "HEAD"))
    store = Store(repository, home, RUN).folder
    store.parent.mkdir(parents=True)
    git(repository, "clone", "-q", "--bare", ".", str(store))
    with closing(Engine(RunStore(home, {"TRUED_HUB": hub} if hub else {}))) as engine:
        asked = [Requirement(id=name, text=name, checks=_checks(name)) for name in ("look", "fast", "wrong", "unseen")]
        contract = Contract(base=commits[0], requirements=tuple(asked))
        record = RunRecord(
            id=RUN,
            workflow="purple",
            title="t",
            repository=str(repository),
            base=commits[0],
            branch=f"trued/{RUN}",
            state="waiting",
        )
        inputs = Inputs(
            settings=Settings(),
            roles={},
            goal=Goal(text="t"),
            level="none",
            requirements=None,
            requirements_file="",
            instructions="",
            version="",
        )
        engine.store.journal.add(record, inputs.model_dump_json())
        here = Place(engine, repository, commits)
        # a hub accepts steps only from the driver
        with engine.store.journal.claim(RUN) if hub else nullcontext():
            here.step("seal#1", contract.model_dump_json())
            here.finish(1, commits[0])
            yield here


def _checks(name: str) -> tuple[ManualCheck, ...]:
    return (ManualCheck(steps=("open it", "look")),) if name == "look" else ()
