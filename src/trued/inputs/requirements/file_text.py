"""Makes the text of requirements files: a scaffold for the user to fill in, or a file with the cases of a contract."""

import json
import shlex
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from trued.inputs.requirements.file import parse_requirements
from trued.model import Check, DependenciesCheck, ExamplesCheck, Requirement, Requirements, TestsCheck

CONFIRM = "Confirm that this is true"  # the step of a manual check for words that no other check covers
COVERED = 6  # a scaffold has examples for at most this many functions, and as many routes


def requirements_text(requirements: Requirements, heading: Sequence[str] = ()) -> str:
    """These requirements as YAML that `parse_requirements` reads back with the same checks. Raises BadInput if the text
    cannot be read back, for example because a requirement has no check. `heading`: lines for a comment at the top.
    """
    lines = [*(f"# {line}".rstrip() for line in heading)]
    if environment := _non_default_fields(requirements.environment):
        lines.append(f"environment: {_flow(environment)}")
    if requirements.serve:
        lines.append(f"serve: {_flow(_non_default_fields(requirements.serve))}")
    if requirements.interface:
        lines += ["interface:", *(f"  - {_flow(entry_point)}" for entry_point in requirements.interface)]
    lines.append("requirements:")
    for requirement in requirements.requirements:
        lines += _requirement(requirement)
    text = "\n".join(lines) + "\n"
    parse_requirements(text, "requirements.yaml")
    return text


def _requirement(requirement: Requirement) -> Iterator[str]:
    yield f"  - id: {_flow(requirement.id)}"
    yield f"    text: {_flow(requirement.text)}"
    if requirement.supersedes:
        yield f"    supersedes: {_flow(list(requirement.supersedes))}"
    yield "    checks:"
    for check in requirement.checks:
        yield from _check(check)


def _check(check: Check) -> Iterator[str]:
    if isinstance(check, ExamplesCheck):
        yield "      - kind: examples"
        yield "        cases:"
        yield from (f"          - {_flow(case.model_dump(mode='json', by_alias=True))}" for case in check.cases)
        return
    data = check.model_dump(mode="json", by_alias=True, exclude_defaults=True)
    yield f"      - {_flow({'kind': check.kind, **data})}"


def why_not_portable(check: Check) -> str:
    """Why a check cannot be written into a file; "" if it can."""
    if isinstance(check, TestsCheck) and check.from_:
        return "its tests came from a folder beside your own requirements file"
    if isinstance(check, DependenciesCheck):
        return "the engine recognises this sentence and checks it in every run whose goal or plan contains it"
    return ""


def _non_default_fields(value: Any) -> dict[str, Any]:
    """The fields of a value that differ from their default."""
    fields: dict[str, Any] = value.model_dump(mode="json", by_alias=True, exclude_defaults=True)
    return fields


def _flow(value: Any) -> str:
    """A value on one line, as JSON, which is valid YAML."""
    return json.dumps(value, ensure_ascii=False)


# -- a scaffold --------------------------------------------------------------------------------------------------------


def scaffold_text(
    requirements: Iterable[Requirement],
    *,
    tests: Sequence[str],
    start: str,
    entry_points: Sequence[str],
    unclear: Sequence[str] = (),
) -> str:
    """A requirements file to fill in: the user's words as requirements, each with a valid manual check, and examples as
    comments.

    `tests` and `start`: the projects' own commands, if they are known. `entry_points`: `module:function(arguments)` or
    `GET /path`. `unclear`: project folders whose modules are found only if the requirements file names the folder.
    """
    calls = [entry_point for entry_point in entry_points if ":" in entry_point.partition("(")[0]]
    routes = [entry_point for entry_point in entry_points if entry_point not in calls]
    lines = [
        "# What must be true at the end, in your words, and how each point is checked.",
        "# Keep this file outside the repository, where agents cannot read it. All checks: docs/guide/checks.md",
        "# Try it:  trued verify --base HEAD~1 --requirements THIS_FILE",
        "# Use it:  trued run GOAL --requirements THIS_FILE",
        "# A requirement covers the sentence of the goal that is its text. If you reword the text, name the sentence:",
        '#   covers: ["the sentence, word for word"]',
        "",
    ]
    if routes or start:
        command = json.dumps(_arguments(start) or ["python", "-m", "app"])
        lines += ["# How the server for http and browser checks is started (the port is in the variable PORT):"]
        lines += [f"# serve: {{command: {command}, port_env: PORT}}", ""]
    if unclear:
        lines += [
            "# Modules of these folders have names that another folder or Python has, too. Name the folder you mean:"
        ]
        lines += [f"# environment: {{path: {_flow(list(unclear))}}}", ""]
    lines.append("requirements:")
    for number, requirement in enumerate(requirements):
        lines += [f"  - id: {_flow(requirement.id)}", f"    text: {_flow(requirement.text)}", "    checks:"]
        lines += [f"      - {{kind: manual, steps: [{_flow(f'{CONFIRM}, then replace this step with a check')}]}}"]
        if number == 0:
            lines += [f"      # {text}" for text in _examples(calls, routes, tests)]
    return "\n".join(lines) + "\n"


def _arguments(command: str) -> list[str]:
    """The command as a list of arguments: its words, or a call of `sh` if it needs a shell."""
    try:
        words = shlex.split(command)
    except ValueError:
        words = []
    needs_shell = not words or any(mark in command for mark in "()&|;<>$`")
    return ["sh", "-c", command] if command and needs_shell else words


def _examples(calls: Sequence[str], routes: Sequence[str], tests: Sequence[str]) -> Iterator[str]:
    """Sample checks of the project's functions, routes and tests, for the user to uncomment and correct."""
    yield "- kind: examples            # data only; give at least two different results"
    yield "  cases:"
    for call in calls[:COVERED] or ("package.module:function(argument)",):
        name, _, parameters = call.partition("(")
        arguments = [part.strip() for part in parameters.rstrip(")").split(",") if part.strip()]
        yield f"    - {{call: {_flow(name)}, args: {_flow([f'<{part}>' for part in arguments])}, returns: <result>}}"
    for route in routes[:COVERED]:
        method, _, path = route.partition(" ")
        yield f"    - {{http: {{method: {method}, path: {_flow(path)}}}, status: 200, json: <result>}}"
    for test in tests:
        yield f"- {{kind: tests, command: {_flow(test)}, files: [<tests that must pass>]}}"
