"""Runs examples checks: calls, command lines and HTTP exchanges. The project's code runs in separate processes, and the
answers are compared in the engine's process.
"""

import json
from dataclasses import dataclass, field

from trued.model import CallCase, Case, ExamplesCheck, HttpCase, Outcomes, RunCase, Tried, is_node
from trued.proof.checks.function_calls import call_flaw, call_function
from trued.proof.checks.http import request_flaw, start_server, try_exchange, wait_until_up, why_not_up
from trued.proof.checks.http_client import HttpClient
from trued.proof.checks.program_calls import line_flaw, run_command_line
from trued.proof.room import node
from trued.proof.room.bench import Bench, CaseSelection, Fact, cap_output, keepable_text
from trued.proof.room.files_in_room import footprint
from trued.protocols import CommandResult
from trued.support.plurals import counted

BOUND_S = 30.0  # the longest time limit of a case that an agent wrote
# The sentence names no file, because a head could choose the names.
LEFT = "examples left files in the checkout, where later examples can read them"
NO_SERVER = "it needs a server, and the contract has none"

_NamedCases = list[tuple[str, Case]]


def case_id(position: int) -> str:
    """The id of the case at this place of its check: `case 1` for the first."""
    return f"case {position + 1}"


@dataclass(slots=True)
class _Results:
    """The results of the cases so far."""

    tried: list[Tried] = field(default_factory=list)
    rans: list[CommandResult] = field(default_factory=list)
    files: set[str] = field(default_factory=set)


async def run_examples(check: ExamplesCheck, bench: Bench, selection: CaseSelection) -> Fact:
    """Run the selected cases once in this room, one after the other."""
    every = [(case_id(position), case) for position, case in enumerate(check.cases)]
    chosen = [name_and_case for name_and_case in every if selection.ids is None or name_and_case[0] in selection.ids]
    calls_and_lines = [name_and_case for name_and_case in chosen if not isinstance(name_and_case[1], HttpCase)]
    results = _Results()
    is_watched = selection.ids is not None and not selection.second and len(calls_and_lines) > 1
    before = footprint(bench.room) if is_watched else frozenset()
    for name, case in reversed(calls_and_lines) if selection.second else calls_and_lines:
        if why := case_flaw(case):
            results.tried.append(_malformed(name, why))
        else:
            await _run_case(name, case, bench, results, _conduct_on_base(name, selection))
    has_left_files = is_watched and footprint(bench.room) != before
    if len(calls_and_lines) < len(chosen):
        await _run_exchanges(every, {name for name, _ in chosen}, bench, results)
    return Fact(
        tried=tuple(results.tried),
        command=f"{counted(len(chosen), 'case')} by {_runners_in_words(chosen, bench)}",
        exit_code=results.rans[0].exit_code if results.rans else None,
        output=cap_output(*(stream for ran in results.rans for stream in (ran.stdout, ran.stderr))),
        seconds=sum(ran.seconds for ran in results.rans),
        isolation=results.rans[0].isolation if results.rans else "",
        ran=bench.inside(results.files),
        versions=_versions(chosen),
        notes=(LEFT,) if has_left_files else (),
    )


def _malformed(name: str, why: str) -> Tried:
    return Tried(id=name, outcome=Outcomes.BROKEN, kind="malformed", detail=keepable_text(why))


def _conduct_on_base(name: str, selection: CaseSelection) -> frozenset[str] | None:
    return None if selection.conduct is None else selection.conduct.get(name, frozenset())


async def _run_case(
    name: str, case: Case, bench: Bench, results: _Results, conduct_on_base: frozenset[str] | None
) -> None:
    if isinstance(case, CallCase):
        result = await call_function(name, case, bench, conduct_on_base)
        tried, ran = result.tried, result.ran
        results.files.update(result.files)
    else:
        assert isinstance(case, RunCase)  # noqa: S101  (`_run_exchanges` runs all HTTP exchanges together)
        tried, ran = await run_command_line(name, case, bench, conduct_on_base)
    results.tried.append(tried)
    results.rans += [ran] if ran else []


async def _run_exchanges(every: _NamedCases, selected_ids: set[str], bench: Bench, results: _Results) -> None:
    """Run all HTTP exchanges in order, because each may depend on earlier ones. Add the results of the exchanges with
    selected ids to `results`."""
    cases = [(name, case) for name, case in every if isinstance(case, HttpCase)]
    flaws = {name: case_flaw(case) if bench.serve else NO_SERVER for name, case in cases}
    results.tried += [_malformed(name, why) for name, why in flaws.items() if why and name in selected_ids]
    sound = [(name, case) for name, case in cases if not flaws[name]]
    if not sound or bench.serve is None:
        return
    within_s = bench.serve.ready.within_s + sum(case.within_s for _, case in sound) + 30.0
    exchanges: list[Tried] = []
    async with start_server(bench, within_s) as serving:
        with HttpClient(serving, second=bench.second) as client:
            why = await wait_until_up(serving, bench.serve.ready, client)
            if not why:
                exchanges = [await try_exchange(name, case, client) for name, case in sound]
        ran = await serving.end()
    if why:
        outcome, kind, detail = why_not_up(why, bench, ran)
        exchanges = [
            Tried(id=name, outcome=outcome, kind=keepable_text(kind), detail=keepable_text(detail)) for name, _ in sound
        ]
    results.tried += [tried for tried in exchanges if tried.id in selected_ids]
    results.rans.append(ran)


def _runners_in_words(cases: _NamedCases, bench: Bench) -> str:
    serve = bench.serve if any(isinstance(case, HttpCase) for _, case in cases) else None
    python = any(not _is_in_node(case) and not isinstance(case, HttpCase) for _, case in cases)
    programs = [bench.interpreter.path if python else "", "node" if _versions(cases) else ""]
    return " and ".join(filter(None, [*programs, f"`{' '.join(serve.command)}`" if serve else ""]))


def _is_in_node(case: Case) -> bool:
    return isinstance(case, CallCase) and is_node(case.call)


def _versions(cases: _NamedCases) -> dict[str, str]:
    used = any(_is_in_node(case) or (isinstance(case, RunCase) and case.run[:1] == ("node",)) for _, case in cases)
    node_program = node.find_node() if used else None
    return {"node": node_program.version} if node_program else {}


def with_time_limit(case: Case) -> Case:
    """The case with a time limit of at most `BOUND_S` seconds. Cases that an agent wrote get this limit."""
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
    listed = [json.dumps(argument, ensure_ascii=False) for argument in case.args]
    listed += [f"{key}={json.dumps(value, ensure_ascii=False)}" for key, value in case.kwargs.items()]
    expected = f"raises {case.raises}" if case.raises else f"returns {json.dumps(case.returns, ensure_ascii=False)}"
    return f"{case.call}({', '.join(listed)}) {expected}"
