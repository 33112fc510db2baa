"""Regression checks of every run: the base's own tests, and the base's own tools that the user's words ask for."""

import posixpath
from collections.abc import Collection, Mapping

from trued.inputs.requirements.guard_phrases import guard_kind, named_command, without_number
from trued.model import EXISTING_TESTS, Check, CommandCheck, Requirement, Requirements, TestsCheck
from trued.proof.hashes import check_hash
from trued.proof.text.command_parser import RunnerCall
from trued.protocols import Workspace
from trued.run.examination.suites import OwnTools, own_tools

VERBOSITY = ("-q", "-qq", "-v", "-vv", "--quiet", "--verbose", "-x", "--exitfirst")  # flags that select no tests


async def with_existing_tests(
    workspace: Workspace, requirements_of_user: Requirements, *, sealed: bool = False
) -> tuple[Requirements, list[str]]:
    """The requirements together with the base's own tests, and the hashes of the checks that can refute but never
    prove.

    The tests are not a requirement: they have no grade, and if they fail they refute every requirement.

    `sealed`: whether the requirements come from a contract, or a person adds them to a contract. Then a requirement
    that an agent wrote without a check gets no check here. The person accepted only its words, and the agent could have
    chosen words that lead to a weak check.
    """
    tools = await own_tools(workspace, workspace.base)
    on_base = await workspace.blobs(workspace.base)
    settled = {
        requirement.id
        for requirement in requirements_of_user.requirements
        if sealed and requirement.author and not requirement.checks
    }
    with_runners = [
        requirement if requirement.id in settled else _with_named_runner(requirement, tools, on_base)
        for requirement in requirements_of_user.requirements
    ]
    requirements = tuple(
        requirement if requirement.id in settled else _with_base_tools(requirement, tools.checks)
        for requirement in with_runners
    )
    # Two kinds of kept checks are guards, although the user named them: the base's own suite, and a command if the
    # requirement's whole sentence says that the command succeeds. All other checks of the user may prove.
    hashes_of_user = {
        check_hash(check)
        for requirement in requirements_of_user.requirements
        for check in requirement.checks
        if not (requirement.keep and (_suites_like(check, tools) or check == _command_of_sentence(requirement)))
    }
    with_tests = requirements_of_user.model_copy(
        update={
            "requirements": requirements,
            # Also a suite that a requirement names: it still guards the code that other requirements change.
            "suites": tuple(_suite(check, number) for number, check in enumerate(tools.suites, 1)),
            "unguarded": tools.not_run,
        }
    )
    kept_checks = [requirement.checks for requirement in with_runners if requirement.keep]
    names = {check_hash(check) for checks in (*tools.checks.values(), *kept_checks) for check in checks}
    hashes = [check_hash(check) for requirement in (*requirements, *with_tests.suites) for check in requirement.checks]
    return with_tests, [name for name in dict.fromkeys(hashes) if name in names and name not in hashes_of_user]


def _suite(check: Check, number: int) -> Requirement:
    name = EXISTING_TESTS if number == 1 else f"{EXISTING_TESTS} {number}"
    return Requirement(id=name, text="the base's own tests still pass", keep=True, checks=(check,))


def _with_named_runner(requirement: Requirement, tools: OwnTools, on_base: Collection[str]) -> Requirement:
    """If the requirement's sentence names a test command ("`pytest -q` passes"), give the requirement a check that
    counts the command's tests. (A command check would see only an exit code, and would not run in the environment of
    tests.) If the command runs the base's whole suite, the requirement gets the suite's own check. Other requirements
    are returned unchanged.

    The check is a guard (`keep`), unless the command names test files that the base does not have: the implementer
    writes these files, so what their tests show is only `self-tested`.
    """
    command_check = _command_of_sentence(requirement)
    if not command_check or requirement.parts or requirement.checks not in ((), (command_check,)):
        return requirement
    command = command_check.command
    call = tools.runner(command)
    words = [word for word in call.arguments if "/" in word or word.endswith((".py", ".js", ".ts"))] if call else []
    if call is None or call.before:
        return requirement
    if not all(_is_there(posixpath.join(call.folder, word), on_base) for word in words):
        return requirement.model_copy(update={"checks": (TestsCheck(command=command),), "keep": False})
    same = _suites_like(TestsCheck(command=command), tools)
    return requirement.model_copy(update={"keep": True, "checks": tuple(same) or (TestsCheck(command=command),)})


def _command_of_sentence(requirement: Requirement) -> CommandCheck | None:
    command = named_command(without_number(requirement.text))
    return CommandCheck(command=command) if command else None


def _is_there(word: str, on_base: Collection[str]) -> bool:
    path = posixpath.normpath(word.partition("::")[0].rstrip("/").removesuffix("/..."))
    return path in ("", ".", "...") or path in on_base or any(file.startswith(f"{path}/") for file in on_base)


def _suites_like(check: Check, tools: OwnTools) -> list[Check]:
    """The base's suites that the check runs in full. The commands of check and suite may differ in verbosity flags."""
    if not isinstance(check, TestsCheck) or check.files or check.from_ or check.report or check.e2e:
        return []
    call = tools.runner(check.command)
    return [suite for suite in tools.suites if call and isinstance(suite, TestsCheck) and _same_run(call, suite, tools)]


def _same_run(call: RunnerCall, check: TestsCheck, tools: OwnTools) -> bool:
    """Whether the command runs the whole suite `check`, ignoring verbosity flags."""
    suite = tools.runner(check.command)
    return suite is not None and _what_is_run(call) == _what_is_run(suite)


def _what_is_run(call: RunnerCall) -> tuple[object, ...]:
    words = tuple(word for word in call.arguments if word not in VERBOSITY)
    return call.runner, call.folder, words, dict(call.variables), call.before


def _with_base_tools(requirement: Requirement, tools: Mapping[str, tuple[Check, ...]]) -> Requirement:
    """If the requirement's sentence asks to keep tests, build, lint, types or dependencies as they are, give it the
    base's own checks for them, as guards. Other requirements are returned unchanged."""
    if requirement.checks or requirement.parts:
        return requirement
    kind = "tests" if requirement.keep else guard_kind(without_number(requirement.text))
    return requirement.model_copy(update={"keep": True, "checks": tools[kind]}) if kind in tools else requirement
