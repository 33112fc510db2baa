"""Searches for the reason `tests_need_base_version`."""

from trued.proof.unguarded.change.tried_change import TriedChange


async def tests_need_base_version(tried: TriedChange) -> tuple[list[str], list[str]]:
    """Catches a mistake in a file that looks like a part of the tests, but belongs to the product: existing tests ran
    with the base's version of the file, so they passed. This search runs existing tests again.

    Returns the existing tests that fail with the head's version of such files, and these files. Both are empty if all
    pass. This lowers a requirement further than other searches: to `unproven`, with a gap for agents.
    """
    files = await tried.files.replaced_product()
    failing = await tried.trial.tests_failing_with({}, kept=files) if files else []
    return failing, files if failing else []
