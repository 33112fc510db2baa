"""Seals a contract before any work starts: freezes tests and their settings, and runs every check on the base."""

import posixpath
import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from difflib import get_close_matches
from pathlib import PurePosixPath
from typing import Any

from trued.model import (
    Author,
    CallCase,
    Check,
    CommandCheck,
    Contract,
    Evidence,
    ExamplesCheck,
    FactNote,
    Outcomes,
    Requirement,
    Requirements,
    TestsCheck,
    Tried,
)
from trued.model.events.proof import EnvironmentBuilding, EnvironmentBuilt
from trued.proof.base_runs import facts_of_base
from trued.proof.checks.tests import package_scripts
from trued.proof.hashes import check_hash
from trued.proof.reach.own_checks import own_checks
from trued.proof.reach.uncollected_tests import uncollected_tests
from trued.proof.room.bench import WHOLE_CHECK
from trued.proof.room.environment import (
    caller_interpreter,
    choose_environment,
    has_recorded_versions,
    lacks_packages,
    started_tools,
)
from trued.proof.room.frozen_files import (
    CONFIGURED,
    collected_files,
    files_to_freeze,
    has_tests,
    is_configuration,
    is_named_like_a_test,
    is_shared_setting,
    plugin_modules,
)
from trued.proof.room.package_json import NAME as PACKAGE_JSON
from trued.proof.room.package_json import is_package_json
from trued.proof.room.project_folders import import_roots
from trued.proof.room.runner_modules import named_as_product, named_in_commands, named_in_settings, only_loaded_by
from trued.proof.run_check import distinct_checks
from trued.proof.text.command_parser import package_folder, recognise_runner, starts_package_script
from trued.proof.text.commit_texts import MOST_FILES, texts_at
from trued.proof.text.languages import SCRIPTS, is_script
from trued.proof.verdict.case_status import Base, on_base
from trued.proof.verdict.judge import is_superseded
from trued.protocols import Emit, Workspace

NO_SUCH_TEST = "no test of the base has this name"
MOST_WHY = 200  # at most this many characters of the reason why a suite could not be run are quoted
PREPARED = "the preparation has network access and may run the change's code; what it downloads is not checked"


@dataclass(frozen=True, slots=True)
class SealTerms:
    """What only the caller of `seal` knows: who can read the cases, who wrote the checks, how high grades can be, and
    what is taken over from an earlier contract or proof."""

    held_out: bool  # whether implementers cannot read the cases
    why: str = ""  # why the cases are not held out
    authors: Mapping[str, Author] = field(default_factory=dict)  # check → who wrote it, if not the user
    guards: Sequence[str] = ()  # hashes of checks that can refute, but never prove
    caps: Mapping[str, tuple[str, ...]] = field(default_factory=dict)  # requirement → why it is at most `examined`
    undecided: Sequence[str] = ()  # notes for the verdict
    unserved: str = ""  # why no server was found for pages that the requirements name
    recorded: Mapping[str, str] = field(default_factory=dict)  # versions that were installed at an earlier proof
    known: Sequence[Evidence] = ()  # earlier results on the base, of checks that have not changed since
    project_roots: tuple[str, ...] | None = None  # import roots of an earlier contract; None: find them on the base

    @classmethod
    def of(cls, contract: Contract) -> "SealTerms":
        """The terms of a sealed contract, to seal it again on the same base. The results on the base are left out,
        because the checks run again."""
        return cls(
            contract.held_out,
            contract.held_out_why,
            authors=contract.authors,
            guards=contract.guards,
            caps=contract.caps,
            undecided=[FactNote(note) if note in contract.reported else note for note in contract.undecided],
            unserved=contract.unserved,
            project_roots=None if contract.environment.path else contract.project_roots,
        )


def requirements_of(contract: Contract) -> Requirements:
    """The requirements of a sealed contract, with everything that was sealed together with them, to seal them again."""
    return Requirements(**_in_both(contract))


def _in_both(source: Requirements | Contract) -> dict[str, Any]:
    """Field → value, for the fields that requirements and their contract have in common."""
    return {name: getattr(source, name) for name in Requirements.model_fields if name in Contract.model_fields}


async def seal(
    workspace: Workspace,
    requirements: Requirements,
    terms: SealTerms,
    *,
    tell: Emit,
) -> Contract:
    """Seal the requirements and run every check on the base. Returns the contract, without guards that guard nothing.
    No agent may be running."""
    contract = await _seal_with_all_guards(workspace, requirements, terms, tell)
    guards = dict.fromkeys((*contract.guards, *distinct_checks(contract.suites)))
    idle = [name for name in guards if not _guards_something(contract, name)]
    return without_guards(contract, idle) if idle else contract


def without_guards(contract: Contract, guards: Sequence[str]) -> Contract:
    """The contract without these guards, which do not pass on the base, cannot be run, or are superseded as a whole. A
    guard that is also a check of a requirement stays, because it may pass on the head.

    A suite that could not be run is recorded in `unguarded`, because code that only this suite reaches stays
    unverified. A suite in which no test passes is recorded in `unguarded`, too, because it may only lack something on
    this machine. If the runner of a recorded suite reported single tests, the suite also becomes a red suite. A
    requirement with a red suite among its own checks is not met until all tests of the suite pass on the head.
    """
    suites = [check_hash(check) for suite in contract.suites for check in suite.checks]
    never_green = [name for name in suites if name in contract.guards and not _green_cases(contract, name)]
    unusable = [name for name in guards if _could_not_run(contract, name) or name in never_green]
    notes = [
        f"{_command_of(contract, name)}: {_why_idle(contract, name)}, so it guards nothing"
        for name in guards
        if name not in unusable and name in contract.guards
    ]
    not_run = [(name, f"{_command_of(contract, name)}: {_why_not_run(contract, name)}") for name in unusable]
    unguarded = [why for name, why in not_run if name in suites]
    notes += [why for name, why in not_run if name not in suites]
    known_red = {check_hash(check) for suite in contract.red_suites for check in suite.checks}
    newly_red = [name for name in unusable if name not in known_red and _reports_single_tests(contract, name)]
    own_checks = {check_hash(check) for requirement in contract.requirements for check in requirement.checks}
    gone = {*guards} - own_checks
    return contract.model_copy(
        update={
            "suites": tuple(suite for suite in contract.suites if check_hash(suite.checks[0]) not in guards),
            "unguarded": tuple(dict.fromkeys((*contract.unguarded, *unguarded))),
            "red_suites": (
                *contract.red_suites,
                *(suite for suite in contract.suites if check_hash(suite.checks[0]) in newly_red),
            ),
            "guards": tuple(name for name in contract.guards if name not in gone),
            "undecided": tuple(dict.fromkeys((*contract.undecided, *notes))),
            "base_facts": tuple(fact for fact in contract.base_facts if fact.check not in gone),
        }
    )


def _guards_something(contract: Contract, name: str) -> bool:
    superseded = [test for requirement in contract.requirements for test in requirement.supersedes]
    return any(not any(is_superseded(case, test) for test in superseded) for case in _green_cases(contract, name))


def _green_cases(contract: Contract, name: str) -> list[str]:
    states = on_base([fact for fact in contract.base_facts if fact.check == name])
    return [case for case, state in states.items() if state is Base.GUARD]


def _why_idle(contract: Contract, name: str) -> str:
    if _green_cases(contract, name):
        return "all its tests that pass on the base are superseded"
    return "it does not pass on the base"


def _could_not_run(contract: Contract, name: str) -> bool:
    """Whether no single test could be judged on the base: for example, the runner, a package or a service is missing,
    the tests took too long, or there were none."""
    results = [result for fact in contract.base_facts if fact.check == name for result in fact.tried]
    return all(result.id == WHOLE_CHECK or result.outcome is Outcomes.UNJUDGED for result in results)


def _reports_single_tests(contract: Contract, name: str) -> bool:
    """Whether the runner reported single tests or test files on the base. Only suites of such runners are kept in
    `red_suites`, because otherwise nobody sees which tests pass on the head."""
    return any(result.id != WHOLE_CHECK for fact in contract.base_facts if fact.check == name for result in fact.tried)


def _why_not_run(contract: Contract, name: str) -> str:
    results = [result for fact in contract.base_facts if fact.check == name for result in fact.tried]
    if not _could_not_run(contract, name):
        errors = {_error_of_failed_test(result) for result in results if result.outcome is Outcomes.FAILED}
        shared = f" ({errors.pop()[:MOST_WHY]})" if len(errors) == 1 and any(errors) else ""
        return f"no test passes on the base{shared}"
    why = next(
        (_why_test_not_run(result)[:MOST_WHY] or result.kind for result in results if result.detail or result.kind), ""
    )
    return f"could not be run on the base{f' ({why})' if why else ''}"


def _why_test_not_run(result: Tried) -> str:
    """The reason why this test was not run, on one line, with paths relative to the project. Of pytest's output, only
    the error itself and its file are kept."""
    file = result.id.partition("::")[0]
    text = result.detail
    if file != WHOLE_CHECK and (room := re.search(rf"[^\s'\"]*/(?={re.escape(file)})", text)):
        text = text.replace(room.group(), "")
    errors = _errors_of_pytest(text)
    return " ".join(f"{file}: {' '.join(errors)}".split()) if errors else " ".join(text.split())


def _error_of_failed_test(result: Tried) -> str:
    """The error of a failed test on one line, without the place where it was raised; "" if the runner shows none. What
    a whole command printed first is no error: it may be anything."""
    errors = _errors_of_pytest(result.detail)
    if not errors and "::" not in result.id:
        return ""
    return " ".join(" ".join(errors or result.detail.splitlines()[:1]).split())


def _errors_of_pytest(text: str) -> list[str]:
    return re.findall(r"^E[ \t]+(\S.*)$", text, re.MULTILINE)


def _command_of(contract: Contract, name: str) -> str:
    checks = [check for requirement in contract.every for check in requirement.checks if check_hash(check) == name]
    return next((check.command for check in checks if isinstance(check, CommandCheck | TestsCheck)), name[:12])


async def _seal_with_all_guards(
    workspace: Workspace, requirements: Requirements, terms: SealTerms, tell: Emit
) -> Contract:
    blobs = await workspace.blobs(workspace.base)
    run_here = (*requirements.requirements, *requirements.suites)
    with_red_suites = (*run_here, *requirements.red_suites)
    packages = await _packages_of_checks(workspace, with_red_suites)
    scripts = [text for several in packages.values() for text in several.values()]
    contract = Contract(
        base=workspace.base,
        **_in_both(requirements),
        project_roots=_project_roots(requirements, terms, blobs),
        frozen=files_to_freeze(with_red_suites, blobs, scripts)
        | await _every_test_file(workspace, with_red_suites, blobs)
        | await _plugin_files(workspace, with_red_suites, blobs)
        | await _runner_modules(workspace, with_red_suites, blobs, scripts),
        held_out=terms.held_out,
        held_out_why=terms.why,
        authors=dict(terms.authors),
        guards=tuple(terms.guards),
        caps=dict(terms.caps),
        unserved="" if requirements.serve else terms.unserved,
    )
    contract = _with_notes(contract, terms.undecided)
    contract = _with_notes(contract, [PREPARED] if requirements.environment.prepare else [])
    contract, facts = (
        await _choose_interpreter_and_run(workspace, contract, tell, terms)
        if distinct_checks(run_here)
        else (contract, ())
    )
    ids = [result.id for fact in facts if fact.kind == "tests" for result in fact.tried]
    frozen = dict(sorted((contract.frozen | collected_files(ids, blobs)).items()))
    contract = contract.model_copy(update={"base_facts": facts, "frozen": frozen})
    uncollected = await _tests_without_check(workspace, contract, ids, packages)
    # After an amendment, the contract has the notes of the earlier one, but the user may have corrected the names.
    notes = [note for note in contract.undecided if NO_SUCH_TEST not in note]
    notes += _notes_on_unknown_names(contract, list(dict.fromkeys(ids)))
    return contract.model_copy(update={"uncollected": tuple(uncollected), "undecided": tuple(notes)})


def _with_notes(contract: Contract, notes: Iterable[str]) -> Contract:
    """The contract with these notes added. A note that the contract already has, because it is sealed again, is not
    added twice."""
    new = [note for note in notes if note not in contract.undecided]
    facts = [note for note in new if isinstance(note, FactNote)]
    return contract.model_copy(
        update={"undecided": (*contract.undecided, *new), "reported": (*contract.reported, *facts)}
    )


async def _packages_of_checks(
    workspace: Workspace, requirements: Iterable[Requirement]
) -> dict[str, Mapping[str, str]]:
    """Folder → the scripts of its package.json, for the top and for each folder in which a check starts."""
    checks = [
        check
        for requirement in requirements
        for check in requirement.checks
        if isinstance(check, CommandCheck | TestsCheck)
    ]
    folders = {"", *(package_folder(check.command) for check in checks)}
    manifests = {
        folder: await workspace.read(workspace.base, posixpath.join(folder, PACKAGE_JSON)) for folder in sorted(folders)
    }
    return {folder: package_scripts(text) for folder, text in manifests.items()}


def _project_roots(requirements: Requirements, terms: SealTerms, blobs: Collection[str]) -> tuple[str, ...]:
    """The import roots of the base's project folders. Empty if the user names the folders from which checks import."""
    if requirements.environment.path:
        return ()
    return import_roots(blobs) if terms.project_roots is None else terms.project_roots


def _notes_on_unknown_names(contract: Contract, ids: Sequence[str]) -> list[str]:
    """Sentences about tests that a requirement supersedes by name, although the base has no test of that name. [] if no
    test ran."""
    tests = [test for test in ids if test != WHOLE_CHECK]
    return [
        f"{requirement.id} supersedes {name}, but {NO_SUCH_TEST}{_suggested_name(name, tests)}"
        for requirement in contract.requirements
        for name in requirement.supersedes
        if tests and not any(is_superseded(case, name) for case in tests)
    ]


def _suggested_name(name: str, tests: Sequence[str]) -> str:
    """`: did you mean …?`, with a test whose id ends with this name, or else with the test of the most similar name; ""
    if there is neither."""
    alike = [*(test for test in tests if test.endswith(f"::{name}")), *get_close_matches(name, tests, n=1)]
    return f": did you mean {alike[0]}?" if alike else ""


async def _tests_without_check(
    workspace: Workspace, contract: Contract, ids: Sequence[str], packages: Mapping[str, Mapping[str, str]]
) -> list[str]:
    """The tests of the base that no check collects, and the base's own checks that no command runs (see `own_checks`).

    Tests that a `command` check may run are left out, because nobody sees which tests a command runs. With a command
    like `npm test`, these are all tests in JavaScript and TypeScript; with any other command, all tests. Tests in a
    language of which no suite could be run are left out, too.
    """
    suites = [check for suite in (*contract.suites, *contract.red_suites) for check in suite.checks]
    commands = [check.command for check in suites if isinstance(check, CommandCheck)]
    own = await own_checks(workspace, contract.base, [*map(_command_line, suites), *_commands_of_user(contract)])
    named = {why.partition(":")[0] for why in contract.unguarded}
    beside = [place for place in own.beside if place not in named]
    if not all(map(starts_package_script, commands)):
        return beside
    suite_runs = [(_could_not_run(contract, check_hash(check)), _endings(check, packages)) for check in suites]
    idle = {end for failed, ends in suite_runs if failed for end in ends}
    idle -= {end for failed, ends in suite_runs if not failed for end in ends}
    tests = await uncollected_tests(workspace, contract.base, ids, idle | {*(SCRIPTS if commands else ())}, beside)
    return [test for test in tests if test not in own.run]


def _commands_of_user(contract: Contract) -> Iterator[str]:
    """The command lines of the user's own checks. Agents' command lines are left out: one might run a test and ignore
    its result."""
    for requirement in contract.requirements:
        for check in () if requirement.author else requirement.checks:
            if check_hash(check) not in contract.authors:
                yield _command_line(check)


def _command_line(check: Check) -> str:
    return check.command if isinstance(check, CommandCheck | TestsCheck) else ""


def _endings(check: Check, packages: Mapping[str, Mapping[str, str]]) -> tuple[str, ...]:
    """The endings of the files whose tests this suite runs."""
    if not isinstance(check, TestsCheck):
        return ()
    folder = package_folder(check.command)
    call = recognise_runner(check.command, packages.get(folder, {}), of=folder)
    return {"pytest": (".py",), "unittest": (".py",), "go": (".go",)}.get(call.runner, SCRIPTS) if call else ()


async def _every_test_file(
    workspace: Workspace, requirements: tuple[Requirement, ...], blobs: Mapping[str, str]
) -> dict[str, str]:
    """Path → blob of all files that are tests by name and content, wherever they are; {} if no check is a command. All
    of these files are frozen, because nobody knows which files a command runs."""
    if not any(isinstance(check, CommandCheck) for requirement in requirements for check in requirement.checks):
        return {}
    named = [path for path in blobs if is_named_like_a_test(path)]
    texts = await workspace.read_all(workspace.base, named)
    return {path: blobs[path] for path in named if has_tests(path, texts.get(path, b""))}


async def _plugin_files(
    workspace: Workspace, requirements: tuple[Requirement, ...], blobs: Mapping[str, str]
) -> dict[str, str]:
    if not any(isinstance(check, TestsCheck) for requirement in requirements for check in requirement.checks):
        return {}
    paths = [path for path in blobs if PurePosixPath(path).name in (*CONFIGURED, "conftest.py")]
    contents = await workspace.read_all(workspace.base, paths)
    return plugin_modules({path: content.decode("utf-8", "replace") for path, content in contents.items()}, blobs)


async def _runner_modules(
    workspace: Workspace, requirements: tuple[Requirement, ...], blobs: Mapping[str, str], scripts: Collection[str]
) -> dict[str, str]:
    """Path → blob of the project's JavaScript and TypeScript files that settings or command lines of test runners load,
    directly or through each other. Files that may belong to the product are left out."""
    checks = [check for requirement in requirements for check in requirement.checks]
    commands = [*(check.command for check in checks if isinstance(check, TestsCheck)), *scripts]
    if not any(isinstance(check, TestsCheck) for check in checks) or not any(map(is_script, blobs)):
        return {}
    settings = named_in_commands(commands, blobs)
    read = settings | {path for path in blobs if is_configuration(path) or is_package_json(path)}
    read |= {path for path in blobs if is_shared_setting(path, files_to_freeze(requirements, blobs, scripts))}
    texts = await texts_at(workspace, workspace.base, read)
    modules = {module for path, text in texts.items() for module in named_in_settings(path, text, blobs)} | settings
    modules = {path for path in modules if is_script(path)} - {path for path in read if path not in settings}
    if not modules:
        return {}
    others = [path for path in blobs if is_script(path) and path not in modules and path not in read]
    loaded = await texts_at(workspace, workspace.base, [*modules, *others[:MOST_FILES]])
    product = {
        module for path, text in texts.items() if is_package_json(path) for module in named_as_product(text, blobs)
    }
    cases = [case for check in checks if isinstance(check, ExamplesCheck) for case in check.cases]
    product |= {case.call.rpartition(":")[0] for case in cases if isinstance(case, CallCase)}
    return {path: blobs[path] for path in sorted(only_loaded_by(modules, loaded, product, blobs))}


async def _choose_interpreter_and_run(
    workspace: Workspace, contract: Contract, tell: Emit, terms: SealTerms
) -> tuple[Contract, tuple[Evidence, ...]]:
    """Run the checks on the base with the caller's interpreter. If it lacks packages, or if earlier results come from
    another interpreter or other versions, run the checks with an interpreter that has everything the base declares.
    Returns the contract with the chosen interpreter, and the results."""
    packages, facts = contract.environment.packages, tuple[Evidence, ...]()
    known, recorded = terms.known, terms.recorded
    caller = await caller_interpreter(packages)
    if caller and recorded and not await has_recorded_versions(workspace, contract.base, packages, caller, recorded):
        caller = None
    if caller and not any(fact.interpreter != caller.description for fact in known):
        contract = contract.model_copy(update={"interpreter": caller.identity})
        facts = await facts_of_base(workspace, contract, caller, tell, known)
        if not lacks_packages(facts):
            return contract, facts
    chosen = await choose_environment(
        workspace,
        contract.base,
        packages,
        recorded,
        lambda missing: tell(EnvironmentBuilding(packages=missing)),
        started_tools(contract),
    )
    if chosen.notes:
        tell(EnvironmentBuilt(said=tuple(chosen.notes), why=chosen.why))
    contract = _with_notes(contract, chosen.notes).model_copy(update={"interpreter": chosen.interpreter.identity})
    if facts and caller and chosen.interpreter.identity == caller.identity:
        return contract, facts
    same = [fact for fact in known if fact.interpreter == chosen.interpreter.description]
    return contract, await facts_of_base(workspace, contract, chosen.interpreter, tell, same)
