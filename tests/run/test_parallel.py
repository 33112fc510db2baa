"""Parts of a run that work concurrently are merged in the order of the calls; after a conflict, the agent is asked
again."""

import asyncio
import os
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import ExitStack, asynccontextmanager, closing
from pathlib import Path
from typing import Any, TypeAlias

import pytest

from tests.workflows.conftest import Ground, events
from trued.agents.adapters.scripted import ScriptedRuntime
from trued.engine.engine import Engine
from trued.engine.run_store import RunStore
from trued.model import Reply, Task
from trued.run.branch import EDIT_LIMIT, Edit
from trued.run.parallel import has_conflict_markers
from trued.run.run import Run
from trued.wire import Order

GOAL = "double(x) returns twice its argument"
Act: TypeAlias = Callable[[Order], Awaitable[dict[str, Any]]]


@pytest.fixture
def ground(tmp_path: Path) -> Any:
    with ExitStack() as stack:
        made = Ground(tmp_path, stack)
        cases = [{"call": "tiny:double", "args": [21], "returns": 42}]
        made.require(
            [{"id": "double", "text": GOAL, "covers": [GOAL], "checks": [{"kind": "examples", "cases": cases}]}]
        )
        yield made


async def engine_and_run(ground: Ground, act: Act) -> tuple[Engine, str, Callable[[], Run]]:
    engine = ground.stack.enter_context(closing(Engine(RunStore(ground.home, {}), runtime=ScriptedRuntime(act))))
    record = await ground.run(engine, GOAL, workflow="solo", plan_only=True)
    inputs = engine.store.inputs(record.id)

    def run() -> Run:
        return engine.open_run(record, inputs)

    return engine, record.id, run


@asynccontextmanager
async def asked(run: Run, name: str) -> AsyncIterator[Any]:
    part = run.part(f"task {name}")
    session = part.session("solo", Reply, publishes=False)
    yield part, session, Task(id=name, title=name)
    await session.close()


@pytest.mark.spec("RUN-9", "PIPE-11", "TEAM-14")
async def test_the_same_lines_edited_twice_go_back_to_the_later_one_with_both_sides(ground: Ground) -> None:
    async def act(order: Order) -> dict[str, Any]:
        file, mine = Path(order.folder) / "words.txt", "red\n" if "task a" in order.key else "blue\n"
        await asyncio.sleep(0.2 if "task a" in order.key else 0)  # task b ends first, and is merged second
        if "conflict" in order.brief.lower():
            assert "red" in order.brief
            assert "blue" in order.brief
            assert "<<<<<<<" in file.read_text()
            hidden = "".join(f"# {line}\n" for line in file.read_text().splitlines())  # marks in comments count, too
            mine = "red\nblue\n" if order.key.endswith("#3") else hidden
        file.write_text(mine)
        return {}

    engine, name, again = await engine_and_run(ground, act)
    for run in (again(), again()):  # the second is a replay with the same result
        async with asked(run, "a") as (one, first, a), asked(run, "b") as (two, second, b):
            await run.parallel.gather({"a": first.ask(a), "b": second.ask(b)})
            assert await run.parallel.merge(one.branch) is None
            conflict = await run.parallel.merge(two.branch)
            assert conflict
            assert [(both.path, both.ours, both.theirs) for both in conflict.files] == [
                ("words.txt", "red\n", "blue\n")
            ]
            assert await run.branch.read("words.txt") == "red\n"
            await second.ask(b, conflict=conflict.files)
            still = await run.parallel.merge(two.branch)
            assert still
            await second.ask(b, conflict=still.files)
            assert await run.parallel.merge(two.branch) is None
        assert await run.branch.read("words.txt") == "red\nblue\n"
    record = engine.store.journal.run(name)
    assert [len(events(engine, record, kind)) for kind in ("conflict", "merged")] == [2, 2]


OURS, THEIRS = "a" * 40, "b" * 40
BOTH = f"one\n<<<<<<< {OURS}\nred\n=======\nblue\n>>>>>>> {THEIRS}\ntwo\n"
HEADED = f"Colours\n=======\n\n{BOTH}"


@pytest.mark.spec("PIPE-11")
@pytest.mark.parametrize(
    ("now", "shown", "left"),
    [
        ("one\nred\nblue\ntwo\n", BOTH, False),
        (BOTH, BOTH, True),
        ("".join(f"# {line}\n" for line in BOTH.splitlines()), BOTH, True),
        ("".join(f"    {line}\r\n" for line in BOTH.splitlines()), BOTH, True),
        (f"<!-- <<<<<< {OURS} -->\nred\nblue\n", BOTH, True),  # six signs, but with the label
        (f"red\nblue\n>>>>>>> {THEIRS}:old.txt\n", None, True),  # in a file without a conflict
        ("red\n=======\nblue\n", BOTH, True),
        ("red\n// =======\nblue\n", BOTH, True),
        ("<<<<<<< mine\nred\nblue\n", BOTH, True),
        ("red\nblue\n/* >>>>>>> */\n", BOTH, True),
        ("Colours\n=======\n\nred\nblue\n", HEADED, False),
        ("Colours\n=======\n\nred\n=======\nblue\n", HEADED, True),
        ("<<<<<<< mine\n=======\n>>>>>>> yours\nred\n", f"<<<<<<< mine\n=======\n>>>>>>> yours\n{BOTH}", False),
        ("a ======= b\nx = 1 <<<<<<< 2\n========\nred\n", BOTH, False),
        (f"merged {OURS} and {THEIRS}\n", BOTH, False),  # labels without signs are plain text
        pytest.param("= " * 300_000 + "x\n" + "<" * 600_000 + OURS[1:], BOTH, False, id="lines without an end"),
        (None, BOTH, False),
    ],
)
def test_a_mark_is_left_however_it_is_dressed_and_what_was_no_mark_before_is_none_now(
    now: str | None, shown: str | None, left: bool
) -> None:
    assert has_conflict_markers(now, shown, (OURS, THEIRS)) is left


@pytest.mark.slow
@pytest.mark.spec("PIPE-11")
async def test_what_is_no_text_by_name_or_content_goes_back_too_and_a_side_that_was_given_up_is_said(
    ground: Ground,
) -> None:
    odd, shown = os.fsdecode(b"caf\xe9.txt"), "caf\\xe9.txt"

    async def act(order: Order) -> dict[str, Any]:
        folder, mine = Path(order.folder), b"red\n" if "task a" in order.key else b"blue\n"
        if "conflict" not in order.brief.lower():
            (folder / odd).write_bytes(mine)
            (folder / "logo.bin").write_bytes(b"\0" + mine)
            (folder / f"{mine.decode().strip()}.txt").write_bytes(mine)
            if mine == b"red\n":
                (folder / "place").mkdir()
                (folder / "place" / "x").write_bytes(mine)
            else:
                (folder / "place").write_bytes(mine)
        elif order.key.endswith("#3"):
            (folder / odd).write_bytes(b"red\nblue\n")
            next(folder.glob("place~*")).rename(folder / "place" / "y")
            (folder / "red.txt").unlink()  # the other side's file, merged without conflict
        return {}

    engine, name, again = await engine_and_run(ground, act)
    run = again()
    async with asked(run, "a") as (one, first, a), asked(run, "b") as (two, second, b):
        await run.parallel.gather({"a": first.ask(a), "b": second.ask(b)})
        assert await run.parallel.merge(one.branch) is None
        conflict = await run.parallel.merge(two.branch)
        assert conflict
        beside = next(both for both in conflict.files if both.path.startswith("place~"))
        assert (beside.ours, beside.theirs) == (None, "blue\n")
        rest = [(both.path, both.ours, both.theirs) for both in conflict.files if both != beside]
        assert rest == [(shown, "red\n", "blue\n"), ("logo.bin", "(not a text)", "(not a text)")]
        await second.ask(b, conflict=conflict.files)
        still = await run.parallel.merge(two.branch)
        assert still
        assert {both.path for both in still.files} == {shown, beside.path}
        await second.ask(b, conflict=still.files)
        assert await run.parallel.merge(two.branch) is None
    assert await run.branch.read(shown) == "red\nblue\n"
    merged = events(engine, engine.store.journal.run(name), "merged")[-1]
    assert merged.data["given_up"] == ["logo.bin", "red.txt"]
    assert [said for each in run.steps.state.proof.unverified.values() for said in each] == [
        f"{path}: two versions were to be merged: one was kept unchanged, the other dropped (task b)"
        for path in ("logo.bin", "red.txt")
    ]


@pytest.mark.spec("PIPE-11")
async def test_work_on_different_files_is_merged_whoever_was_first(ground: Ground) -> None:
    async def act(order: Order) -> dict[str, Any]:
        name = order.key.split("/")[0].removeprefix("task ")
        await asyncio.sleep({"a": 0.3, "b": 0.1}.get(name, 0))
        (Path(order.folder) / f"{name}.txt").write_text(name)
        return {}

    _, _, again = await engine_and_run(ground, act)
    run = again()
    before = run.branch.head
    parts = {name: run.part(f"task {name}") for name in "abc"}
    task = Task(id="x", title="x")
    await run.parallel.gather({name: part.ask("solo", task, Reply) for name, part in parts.items()})
    for part in parts.values():
        assert await run.parallel.merge(part.branch) is None
    assert set(await run.context.workspace.changed_files(before, run.branch.head)) == {"a.txt", "b.txt", "c.txt"}


@pytest.mark.spec("TEAM-3")
async def test_a_persons_edit_is_heard_once_and_never_written_over(ground: Ground) -> None:
    async def act(_: Order) -> dict[str, Any]:
        return {}

    engine, name, again = await engine_and_run(ground, act)
    path, files = ".trued/team/backlog.md", engine.store.folder(name) / "files"
    run = again()
    run.branch.own(".trued/team/")
    assert await run.branch.read_edit(path) is None
    await run.branch.write({path: "one\n"}, "docs: one", editable=(path,))
    assert (files / "backlog.md").read_text() == "one\n"
    assert await run.branch.read_edit(path) is None
    (files / "backlog.md").write_text("one, and more\n")

    run = again()  # after a kill: the edit has not been read yet
    run.branch.own(".trued/team/")
    assert await run.branch.read_edit(path) is None
    await run.branch.write({path: "one\n"}, "docs: one", editable=(path,))
    assert await run.branch.read_edit(path) is None
    assert (files / "backlog.md").read_text() == "one, and more\n"
    edit = await run.branch.read_edit(path)
    assert isinstance(edit, Edit)
    assert (edit.before, edit.after) == ("one\n", "one, and more\n")
    assert await run.branch.read_edit(path) is None
    await run.branch.write({path: "two\n"}, "docs: two", editable=(path,))
    assert (files / "backlog.md").read_text() == "two\n"


@pytest.mark.spec("TEAM-3", "USE-6")
async def test_an_edit_with_half_a_private_key_in_it_is_heard_without_it_and_a_huge_one_is_said(ground: Ground) -> None:
    async def act(_: Order) -> dict[str, Any]:
        return {}

    engine, name, again = await engine_and_run(ground, act)
    path, run = ".trued/team/backlog.md", again()
    run.branch.own(".trued/team/")
    await run.branch.write({path: "one\n"}, "docs: one", editable=(path,))
    pasted = "one\n-----BEGIN RSA " + "PRIVATE KEY-----\nMIIEpAIBAAKCAQEA\n"
    (engine.store.folder(name) / "files" / "backlog.md").write_text(pasted)
    edit = await run.branch.read_edit(path)
    assert edit
    assert edit.after.startswith("one\n")
    assert "MIIE" not in edit.after
    place = engine.store.folder(name) / "files" / "backlog.md"
    place.write_text("x" * (EDIT_LIMIT + 1))
    assert await run.branch.read_edit(path) is None
    assert any(one.kind == "edit not understood" for one in engine.store.journal.events(name))
    await run.branch.write({path: "two\n"}, "docs: two", editable=(path,))
    assert place.stat().st_size > EDIT_LIMIT, "a person's words are not written over"
