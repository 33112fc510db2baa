"""Regression checks of every run: the base's own tests, and the base's own tools that the user's words ask for."""

import posixpath
from collections.abc import Collection, Mapping

from trued.inputs.requirements.guard_phrases import guard_kind, named_command
from trued.model import EXISTING_TESTS, Check, CommandCheck, Requirement, Requirements, TestsCheck
from trued.proof.hashes import check_hash
from trued.proof.text.command_parser import RunnerCall
from trued.protocols import Workspace
from trued.run.examination.suites import OwnTools, own_tools

VERBOSITY = ("-q", "-qq", "-v", "-vv", "--quiet", "--verbose", "-x", "--exitfirst")  # flags that select no tests


async def with_existing_tests(workspace: Workspace, asked: Requirements) -> tuple[Requirements, list[str]]:
    """The requirements together with the base's own tests, and the hashes of the checks that can refute but never
    prove.

    The tests are not a requirement: they have no grade, and if they fail they refute every requirement.
    """
    tools = await own_tools(workspace, workspace.base)
    there = await workspace.blobs(workspace.base)
    named = [_with_named_runner(one, tools, there) for one in asked.requirements]
    requirements = tuple(_with_base_tools(one, tools.checks) for one in named)
    # What is kept by the very suite of the base shows as much as that suite does, whoever named the command.
    given = {
        check_hash(check)
        for one in asked.requirements
        for check in one.checks
        if not (one.keep and _suites_like(check, tools))
    }
    made = asked.model_copy(
        update={
            "requirements": requirements,
            # Also a suite that a requirement names: it still guards the code that other requirements change.
            "suites": tuple(_suite(check, number) for number, check in enumerate(tools.suites, 1)),
            "unguarded": tools.not_run,
        }
    )
    kept = [one.checks for one in named if one.keep]
    names = {check_hash(check) for every in (*tools.checks.values(), *kept) for check in every}
    found = [check_hash(check) for one in (*requirements, *made.suites) for check in one.checks]
    return made, [name for name in dict.fromkeys(found) if name in names and name not in given]


def _suite(check: Check, number: int) -> Requirement:
    name = EXISTING_TESTS if number == 1 else f"{EXISTING_TESTS} {number}"
    return Requirement(id=name, text="the base's own tests still pass", keep=True, checks=(check,))


def _with_named_runner(one: Requirement, tools: OwnTools, there: Collection[str]) -> Requirement:
    """If the requirement's sentence names a test command ("`pytest -q` passes"), give it a check that counts these
    tests. (A command check would see only an exit code, and would not run in the environment of tests.) If the command
    runs the base's whole suite, it gets the check of that suite. Other requirements are returned unchanged.

    The check is a guard (`keep`), unless the command names test files that the base does not have: the implementer
    writes those, so what they show is only `self-tested`.
    """
    command = named_command(one.text)
    named = (CommandCheck(command=command),)
    if not command or one.parts or one.checks not in ((), named):
        return one
    asked = tools.runner(command)
    words = [word for word in asked.arguments if "/" in word or word.endswith((".py", ".js", ".ts"))] if asked else []
    if asked is None or asked.before:
        return one
    if not all(_is_there(posixpath.join(asked.folder, word), there) for word in words):
        return one.model_copy(update={"checks": (TestsCheck(command=command),)})
    same = _suites_like(TestsCheck(command=command), tools)
    return one.model_copy(update={"keep": True, "checks": tuple(same) or (TestsCheck(command=command),)})


def _is_there(word: str, there: Collection[str]) -> bool:
    path = posixpath.normpath(word.partition("::")[0].rstrip("/").removesuffix("/..."))
    return path in ("", ".", "...") or path in there or any(one.startswith(f"{path}/") for one in there)


def _suites_like(check: Check, tools: OwnTools) -> list[Check]:
    """Of the base's suites, those that the check runs whole, by the same runner and after the same commands."""
    if not isinstance(check, TestsCheck) or check.files or check.from_ or check.report or check.e2e:
        return []
    asked = tools.runner(check.command)
    return [one for one in tools.suites if asked and isinstance(one, TestsCheck) and _same_run(asked, one, tools)]


def _same_run(asked: RunnerCall, check: TestsCheck, tools: OwnTools) -> bool:
    """Whether the command runs the whole suite, ignoring verbosity flags."""
    suite = tools.runner(check.command)
    return suite is not None and _what_is_run(asked) == _what_is_run(suite)


def _what_is_run(call: RunnerCall) -> tuple[object, ...]:
    words = tuple(word for word in call.arguments if word not in VERBOSITY)
    return call.runner, call.folder, words, dict(call.variables), call.before


def _with_base_tools(one: Requirement, tools: Mapping[str, tuple[Check, ...]]) -> Requirement:
    """If the requirement's sentence asks to keep tests, build, lint, types or dependencies as they are, give it the
    base's own checks for them, as guards. Other requirements are returned unchanged."""
    if one.checks or one.parts:
        return one
    kind = "tests" if one.keep else guard_kind(one.text)
    return one.model_copy(update={"keep": True, "checks": tools[kind]}) if kind in tools else one
