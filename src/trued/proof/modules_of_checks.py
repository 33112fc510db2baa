"""Finds the modules that a requirement's checks may use on the base, by reading texts."""

from functools import partial

from trued.model import BrowserCheck, CallCase, CommandCheck, Contract, ExamplesCheck, Requirement, RunCase, TestsCheck
from trued.proof.hashes import check_hash
from trued.proof.reach.reachable_files import files_of_programs, reachable_files
from trued.proof.text.commit_texts import texts_at
from trued.proof.text.python_imports import imported_modules
from trued.protocols import Workspace


async def modules_of_checks(workspace: Workspace, contract: Contract, requirement: Requirement) -> frozenset[str]:
    """The top-level modules that the requirement's checks may import on the base, directly or through other files.

    These are the imports of all Python files of the base that the checks may reach. If it is unknown what they reach,
    every Python file of the base counts. The head's imports do not count, because the head may import anything.
    """
    known = await workspace.blobs(contract.base)
    read = partial(texts_at, workspace, contract.base)
    tests, commands = set[str](), list[tuple[str, ...]]()
    for check in requirement.checks:
        if isinstance(check, TestsCheck):
            facts = [fact for fact in contract.base_facts if fact.check == check_hash(check)]
            tests |= {result.id.partition("::")[0] for fact in facts for result in fact.tried} | {*check.files}
        elif isinstance(check, CommandCheck):
            commands.append((*check.command.split(),))
        elif isinstance(check, ExamplesCheck):
            commands += [("python", case.call) for case in check.cases if isinstance(case, CallCase)]
            commands += [case.run for case in check.cases if isinstance(case, RunCase)]
        needs_server = isinstance(check, ExamplesCheck) and any(
            not isinstance(case, CallCase | RunCase) for case in check.cases
        )
        if contract.serve and (needs_server or isinstance(check, BrowserCheck)):
            commands.append(contract.serve.command)
    reached = [
        await reachable_files(read, known, [path for path in tests if path in known]) if tests else frozenset[str]()
    ]
    reached.append(await files_of_programs(read, known, commands))
    files = {*known} if None in reached else {path for paths in reached for path in paths or ()}
    texts = await read([path for path in files if path.endswith(".py")])
    return frozenset(name.split(".")[0] for text in texts.values() for name in imported_modules(text))
