"""Examples: calls, command lines and HTTP exchanges. The project's code runs in separate processes, and the engine
compares the answers in its own.
"""

import json
from dataclasses import dataclass, field

from trued.model import CallCase, Case, ExamplesCheck, HttpCase, Outcomes, RunCase, Tried, is_node
from trued.proof.checks.command_lines import line_flaw, run_command_line
from trued.proof.checks.function_calls import call_flaw, call_function
from trued.proof.checks.http import request_flaw, start_server, try_exchange, wait_until_up, why_not_up
from trued.proof.room import node
from trued.proof.room.bench import Bench, CaseSelection, Fact, cap_output, keepable_text
from trued.proof.room.clean_room import footprint
from trued.protocols import CommandResult
from trued.support.plurals import counted

BOUND_S = 30.0  # the longest time limit of a case that an agent wrote
# The sentence names no file, because a head could choose the names.
LEFT = "examples left files in the checkout, where later examples can read them"
NO_SERVER = "it needs a server, and the contract has none"

_Named = list[tuple[str, Case]]


def case_id(place: int) -> str:
    """The id of the case at this place of its check: `case 1` for the first."""
    return f"case {place + 1}"


@dataclass(slots=True)
class _Results:
    """The results of the cases so far."""

    tried: list[Tried] = field(default_factory=list)
    rans: list[CommandResult] = field(default_factory=list)
    files: set[str] = field(default_factory=set)


async def run_examples(check: ExamplesCheck, bench: Bench, wanted: CaseSelection) -> Fact:
    """Run the selected cases once in this room, one after the other."""
    every = [(case_id(place), case) for place, case in enumerate(check.cases)]
    chosen = [one for one in every if wanted.ids is None or one[0] in wanted.ids]
    alone = [one for one in chosen if not isinstance(one[1], HttpCase)]
    taken = _Results()
    looked = wanted.ids is not None and not wanted.second and len(alone) > 1
    before = footprint(bench.room) if looked else frozenset()
    for name, case in reversed(alone) if wanted.second else alone:
        if why := case_flaw(case):
            taken.tried.append(_malformed(name, why))
        else:
            await _run_case(name, case, bench, taken)
    left = looked and footprint(bench.room) != before
    if len(alone) < len(chosen):
        await _run_exchanges(every, {name for name, _ in chosen}, bench, taken)
    return Fact(
        tried=tuple(taken.tried),
        command=f"{counted(len(chosen), 'case')} by {_by(chosen, bench)}",
        exit_code=taken.rans[0].exit_code if taken.rans else None,
        output=cap_output(*(stream for ran in taken.rans for stream in (ran.stdout, ran.stderr))),
        seconds=sum(ran.seconds for ran in taken.rans),
        isolation=taken.rans[0].isolation if taken.rans else "",
        ran=bench.inside(taken.files),
        versions=_versions(chosen),
        notes=(LEFT,) if left else (),
    )


def _malformed(name: str, why: str) -> Tried:
    return Tried(id=name, outcome=Outcomes.BROKEN, kind="malformed", detail=keepable_text(why))


async def _run_case(name: str, case: Case, bench: Bench, taken: _Results) -> None:
    if isinstance(case, CallCase):
        made = await call_function(name, case, bench)
        tried, ran = made.tried, made.ran
        taken.files.update(made.files)
    else:
        assert isinstance(case, RunCase)  # noqa: S101  (exchanges are not run one by one)
        tried, ran = await run_command_line(name, case, bench)
    taken.tried.append(tried)
    taken.rans += [ran] if ran else []


async def _run_exchanges(every: _Named, wanted: set[str], bench: Bench, taken: _Results) -> None:
    """Run all HTTP exchanges in order, even if only some are wanted, because one may depend on those before it."""
    cases = [(name, case) for name, case in every if isinstance(case, HttpCase)]
    flaws = {name: case_flaw(case) if bench.serve else NO_SERVER for name, case in cases}
    taken.tried += [_malformed(name, why) for name, why in flaws.items() if why and name in wanted]
    sound = [(name, case) for name, case in cases if not flaws[name]]
    if not sound or bench.serve is None:
        return
    within_s = bench.serve.ready.within_s + sum(case.within_s for _, case in sound) + 30.0
    found: list[Tried] = []
    async with start_server(bench, within_s) as serving:
        why = await wait_until_up(serving, bench.serve.ready)
        if not why:
            found = [await try_exchange(name, case, serving, second=bench.second) for name, case in sound]
        ran = await serving.end()
    if why:
        outcome, kind, detail = why_not_up(why, bench, ran)
        found = [
            Tried(id=name, outcome=outcome, kind=keepable_text(kind), detail=keepable_text(detail)) for name, _ in sound
        ]
    taken.tried += [one for one in found if one.id in wanted]
    taken.rans.append(ran)


def _by(cases: _Named, bench: Bench) -> str:
    serve = bench.serve if any(isinstance(case, HttpCase) for _, case in cases) else None
    python = any(not _is_in_node(case) and not isinstance(case, HttpCase) for _, case in cases)
    names = [bench.interpreter.path if python else "", "node" if _versions(cases) else ""]
    return " and ".join(filter(None, [*names, f"`{' '.join(serve.command)}`" if serve else ""]))


def _is_in_node(case: Case) -> bool:
    return isinstance(case, CallCase) and is_node(case.call)


def _versions(cases: _Named) -> dict[str, str]:
    used = any(_is_in_node(case) or (isinstance(case, RunCase) and case.run[:1] == ("node",)) for _, case in cases)
    found = node.find_node() if used else None
    return {"node": found.version} if found else {}


def with_time_limit(case: Case) -> Case:
    """The same case with a time limit of at most `BOUND_S`. For cases that an agent wrote."""
    return case if 0 < case.within_s <= BOUND_S else case.model_copy(update={"within_s": BOUND_S})


def case_flaw(case: Case) -> str:
    """Why the case can never run, or "". Only the case itself is read, never an answer from the sandbox."""
    if not 0 < case.within_s < float("inf"):
        return "within_s must be a number of seconds above zero"
    if isinstance(case, HttpCase):
        return request_flaw(case)
    return call_flaw(case) if isinstance(case, CallCase) else line_flaw(case)


def case_in_words(case: Case) -> str:
    """A visible case in one line, for the implementer."""
    if isinstance(case, RunCase):
        return f"run {json.dumps(list(case.run))}"
    if isinstance(case, HttpCase):
        return f"{case.http.method} {case.http.path}"
    listed = [json.dumps(one, ensure_ascii=False) for one in case.args]
    listed += [f"{key}={json.dumps(value, ensure_ascii=False)}" for key, value in case.kwargs.items()]
    expected = f"raises {case.raises}" if case.raises else f"returns {json.dumps(case.returns, ensure_ascii=False)}"
    return f"{case.call}({', '.join(listed)}) {expected}"
