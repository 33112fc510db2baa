"""A repository with an ended run on which no agent worked, for tests of what comes after a run."""

import json
import os
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing, contextmanager
from pathlib import Path
from typing import Any

from tests.engine.two_commits import DOUBLE, ONE, committed, git
from trued.engine.engine import Engine
from trued.engine.inputs import Request
from trued.engine.landing.land import land
from trued.engine.landing.records import LandingRequest, LandingResult
from trued.engine.run_store import RunStore
from trued.engine.start import new_record, prepare_inputs
from trued.engine.trust import files_to_trust
from trued.model import Author, Contract, Grade, Judged, Requirement, RunRecord, Verdict
from trued.proof.hashes import check_hash, contract_hash
from trued.run.context import Person
from trued.workspace.git.repository import open_repository

CASES = {
    "kind": "examples",
    "cases": [
        {"call": "tiny:double", "args": [21], "returns": 42},
        {"call": "tiny:double", "args": [5], "returns": 10},
    ],
}
EXAMPLES = [{"id": "double", "text": "double(x) returns twice its argument", "checks": [CASES]}]
MANUAL = [{"id": "looks", "text": "it looks right", "checks": [{"kind": "manual", "steps": ["look at it"]}]}]


class Landable:
    """One repository and one TRUED_HOME; `run` makes an ended run with a verdict on its last commit."""

    def __init__(self, folder: Path, stack: ExitStack) -> None:
        self.folder, self.stack = folder, stack
        self.repository, self.home = folder / "repo", folder / "home"
        self.base = committed(self.repository, {"tiny.py": ONE, "notes.md": "notes\n"}, "base")
        self.requirements = folder / "requirements.json"

    def git(self, *words: str, at: Path | None = None) -> str:
        return git(at or self.repository, *words)

    def committed(self, files: dict[str, str | None], message: str = "others") -> str:
        return committed(self.repository, files, message)

    def engine(self, person: Person | None = None) -> Engine:
        environ = {"HOME": str(self.folder), "PATH": os.environ["PATH"], "GIT_CONFIG_GLOBAL": "/dev/null"}
        more: dict[str, Any] = {"person": person} if person else {}
        return self.stack.enter_context(closing(Engine(RunStore(self.home, environ), **more)))

    async def run(
        self,
        files: dict[str, str | None] | None = None,
        *,
        requirements: list[dict[str, Any]] = EXAMPLES,
        state: str = "done",
        grade: Grade = Grade.PROVEN,
        trust: bool = False,
        examiner: str = "",
        **flags: Any,
    ) -> RunRecord:
        """Make a run: work on its own branch, and its journal. The user's branch stays as it is.

        `examiner`: the agent that wrote the cases; "" for the user.
        """
        self.requirements.write_text(json.dumps({"requirements": requirements}))
        engine = self.engine()
        request = Request(
            goal="double numbers",
            repository=self.repository,
            requirements=self.requirements,
            flags={"yes": True, "agents": {"*": "scripted:inside"}, **flags},
            trust=files_to_trust(self.repository).digest if trust else "",
        )
        inputs = prepare_inputs(request, self.home, engine.store.environ, any_agent=True)
        record = new_record(inputs, open_repository(self.repository), {one.id for one in engine.store.journal.runs()})
        head = self._worked(record, files or {"tiny.py": DOUBLE})
        asked = tuple(Requirement.model_validate(one) for one in requirements)
        checks = [check_hash(check) for one in asked for check in one.checks] if examiner else []
        authors = {name: Author(role="examiner", agent=examiner) for name in checks}
        contract = Contract(
            base=record.base, requirements=asked, held_out=True, held_out_why="in a test", authors=authors
        )
        judged = tuple(
            Judged(id=one.id, text=one.text, grade=grade, why=("in a test",), holds=True, rests_on="a test")
            for one in asked
        )
        verdict = Verdict(subject="plan", commit=head, requirements=judged)
        ended = record.model_copy(update={"head": head, "state": state, "grade": grade, "code": int(state != "done")})
        engine.store.journal.add(ended, inputs.model_dump_json())
        for key, value in {"seal#1": contract, "finish#1": verdict}.items():
            await engine.store.journal.of(ended.id).once(key, "", _giving(value.model_dump_json()))
        workspace = engine.store.workspace(ended, inputs)
        await workspace.begin()
        await workspace.store.bring(await workspace.store.source(), head, "head")
        return engine.store.journal.run(ended.id)

    def _worked(self, record: RunRecord, files: dict[str, str | None]) -> str:
        tree = self.folder / "working"
        self.git("worktree", "add", "-q", "-b", record.branch, str(tree), record.base)
        for name, content in files.items():
            (tree / name).parent.mkdir(parents=True, exist_ok=True)
            if content is None:
                (tree / name).unlink()
            else:
                (tree / name).write_text(content)
        self.git("add", "-A", at=tree)
        self.git("commit", "-q", "--allow-empty", "-m", "work", at=tree)
        head = self.git("rev-parse", "HEAD", at=tree)
        self.git("worktree", "remove", "--force", str(tree))
        return head

    async def land(self, record: RunRecord, *, person: Person | None = None, **wanted: Any) -> LandingResult:
        return await land(
            self.engine(person).store, record.id, LandingRequest(who="ann", **wanted), self.engine(person).person
        )

    def state(self) -> dict[str, str]:
        """Everything that a landing could change: refs, index, files."""
        files = {
            str(path.relative_to(self.repository)): path.read_text()
            for path in sorted(self.repository.rglob("*"))
            if path.is_file() and ".git" not in path.parts
        }
        return {**files, "refs": self.git("show-ref"), "index": self.git("ls-files", "-s")}


def _giving(value: str) -> Callable[[], Any]:
    async def step() -> str:
        return value

    return step


def contract_of(engine: Engine, record: RunRecord) -> str:
    contract = engine.store.contract(record.id)
    assert contract
    return contract_hash(contract)


@contextmanager
def landable_in(folder: Path) -> Iterator[Landable]:
    with ExitStack() as stack:
        yield Landable(folder, stack)
