"""Searches for the reason `known_by_exit_code_only`."""

from trued.model import CommandCheck
from trued.proof.unguarded.change.by_requirement import by_requirement
from trued.proof.unguarded.change.tried_change import TriedChange


async def known_by_exit_code_only(tried: TriedChange) -> dict[str, list[str]]:
    """Catches changed code that sets the exit code of the command which tests it, so that failing tests seem to pass.

    Returns requirement → changed code that no check was seen to run, if some existing tests run in a plain command, of
    which the engine knows only the exit code. {} if all existing tests are counted one by one.
    """
    checks = [check for suite in tried.contract.suites for check in suite.checks]
    if not any(isinstance(check, CommandCheck) for check in checks):
        return {}
    return await by_requirement(tried, await tried.unwatched.by_checks())
