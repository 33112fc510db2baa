"""Searches for the reason `tests_vanished`."""

import re
from collections import Counter
from collections.abc import Collection, Mapping
from fnmatch import fnmatchcase
from pathlib import PurePosixPath

from trued.proof.reach.uncollected_tests import DOCUMENTS_WITH_EXAMPLES, examples_of
from trued.proof.room.bench import WHOLE_CHECK
from trued.proof.room.frozen_files import CONFIGURED, configured_test_names, is_named_like_a_test
from trued.proof.text.commit_texts import decoded, is_unread
from trued.proof.text.test_names import missing_names, name_of_test, names_in
from trued.proof.unguarded.change.tried_change import TriedChange
from trued.proof.verdict.case_status import Base, on_base
from trued.protocols import Workspace
from trued.support.lazy_regex import lazy_regex

_NONE = Counter[str]()
_PARAMETERS = lazy_regex(r"[\[(].*", re.DOTALL)  # what follows the name of a test: `[1-2]`, `(int)[1]`


async def tests_vanished(tried: TriedChange) -> list[str]:
    """Catches a change that removes existing tests. In rooms these tests still run, because rooms take tests from the
    base. But once the head has landed, nothing guards what they tested.

    Returns the existing tests that pass on the base, that no requirement supersedes, and that the head no longer has. A
    test that the head moved to another file is found there by its name. It is not gone if it runs there.
    """
    trial, guarding = tried.trial, dict[str, None]()
    for name in {fact.check for fact in trial.base_facts if fact.kind == "tests"}:
        states = on_base([fact for fact in trial.base_facts if fact.check == name], trial.room.new_modules)
        guarding |= {test: None for test, state in states.items() if state is Base.GUARD}
    own_files = {*tried.contract.carried, WHOLE_CHECK}  # the user's, which no commit needs to have
    tests = [
        test for test in guarding if not tried.tests.is_superseded(test) and test.partition("::")[0] not in own_files
    ]
    return sorted(await _gone_from_head(tried, tests))


async def _gone_from_head(tried: TriedChange, test_ids: Collection[str]) -> list[str]:
    """Of these tests of the base, those that the head removed, or moved to a place where no test runs.

    The head's tests run only if a test was moved, or if a report names a test without its file."""
    known, here = await tried.sides.blobs()
    changed = {path for path, blob in known.items() if here.get(path) != blob}
    ids_by_file: dict[str, list[str]] = {}
    without_file = list[str]()
    for test_id in test_ids:
        path = test_id.partition("::")[0]
        if path in changed:
            ids_by_file.setdefault(path, []).append(test_id)
        elif path not in known:
            without_file.append(test_id)
    gone = list[str]()
    if changed and without_file:
        running = {_without_parameters(test_id) for test_id in await tried.trial.tests_run_as_committed()}
        gone = [test_id for test_id in without_file if _without_parameters(test_id) not in running]
    return [*gone, *(await _gone_from_files(tried, ids_by_file))]


def _without_parameters(test_id: str) -> str:
    return _PARAMETERS.sub("", test_id)


async def _gone_from_files(tried: TriedChange, ids_by_file: Mapping[str, list[str]]) -> list[str]:
    """`_gone_from_head` for tests of files that changed. `ids_by_file`: file → its tests."""
    if not ids_by_file:
        return []
    workspace, base, commit = tried.workspace, tried.sides.base, tried.sides.head
    known, here = await tried.sides.blobs()
    files = {PurePosixPath(path).name for path in ids_by_file}
    patterns = await _patterns(workspace, base)
    others = [
        path
        for path, blob in here.items()
        if known.get(path) != blob
        and (path in ids_by_file or is_named_like_a_test(path) or _is_named(path, files, patterns))
    ]
    before = await _names(workspace, base, {*ids_by_file, *(path for path in others if path in known)})
    after = await _names(workspace, commit, others, certain=True)
    named = {
        path: {test_id: name_of_test(test_id, before[path]) for test_id in ids} for path, ids in ids_by_file.items()
    }
    # A test counts once, whatever the number of its parameters.
    wanted = {
        path: Counter(name for _, name in {(test_id.split("[")[0], name) for test_id, name in names.items()} if name)
        for path, names in named.items()
    }
    missing = missing_names(wanted, before, after)
    vanished = [
        test_id for path, names in named.items() for test_id, name in names.items() if name in missing.get(path, ())
    ]
    # The names of some tests are in no text. Such a test is still there if its file is still there, if the other tests
    # of its file are now in other files, or if a new file has the content or the name of its file.
    moved = {path for path in others if path not in known}
    names, contents = {PurePosixPath(path).name for path in moved}, {here[path] for path in moved}
    unnamed = [
        path
        for path in named
        if path not in here
        and (path in missing or not wanted[path])
        and PurePosixPath(path).name not in names
        and known[path] not in contents
    ]
    vanished += [test_id for path in unnamed for test_id, name in named[path].items() if not name]
    elsewhere = {
        path: Counter(
            {
                name: count
                for name, count in names.items()
                if name not in missing.get(path, ()) and min(count, before[path][name]) > after.get(path, _NONE)[name]
            }
        )
        for path, names in wanted.items()
    }
    moved_whole = [path for path in named if path not in here and path not in unnamed and not wanted[path]]
    if not moved_whole and not any(elsewhere.values()):
        return vanished
    running = _by_file(await tried.trial.tests_run_as_committed(), after)
    idle = missing_names(elsewhere, before, {path: Counter(tests.values()) for path, tests in running.items()})
    vanished += [
        test_id for path, tests in named.items() for test_id, name in tests.items() if name in idle.get(path, ())
    ]
    alike = {PurePosixPath(path).name for path in running} | {here.get(path) for path in running}
    idle_files = [path for path in moved_whole if alike.isdisjoint((PurePosixPath(path).name, known[path]))]
    return [*vanished, *(test_id for path in idle_files for test_id in named[path])]


def _by_file(test_ids: Collection[str], names: Mapping[str, Counter[str]]) -> dict[str, dict[str, str]]:
    """File → id of each of its tests, without parameters → the name that the file's text has for this test."""
    found: dict[str, dict[str, str]] = {}
    for test_id in test_ids:
        path = test_id.partition("::")[0]
        found.setdefault(path, {})[test_id.split("[")[0]] = name_of_test(test_id, names.get(path, Counter()))
    return found


def _is_named(path: str, files: Collection[str], patterns: Collection[str]) -> bool:
    """Whether the file is named like one of these files with tests, or as the base's settings name test files."""
    pure = PurePosixPath(path)
    return pure.name in files or (
        pure.suffix == ".py"
        and any(fnmatchcase(f"/{path}", f"*/{one}") if "/" in one else fnmatchcase(pure.name, one) for one in patterns)
    )


async def _patterns(workspace: Workspace, base: str) -> list[str]:
    """The names that pytest's settings on the base give to test files."""
    paths = [path for path in await workspace.blobs(base) if PurePosixPath(path).name in CONFIGURED]
    texts = await workspace.read_all(base, paths)
    return [
        name for path, text in texts.items() for name in configured_test_names(path, text.decode("utf-8", "replace"))
    ]


async def _names(
    workspace: Workspace, commit: str, paths: Collection[str], *, certain: bool = False
) -> dict[str, Counter[str]]:
    """File → the names of its tests. With `certain`, no names are returned for a Python file that the engine can only
    partly read."""
    contents = await workspace.read_all(commit, [*paths])
    texts = {path: decoded(content) for path, content in contents.items()}
    return {
        # pytest names the examples of a document after the file
        path: Counter([PurePosixPath(path).name] if examples_of(path, text) else ())
        if path.endswith(DOCUMENTS_WITH_EXAMPLES)
        else _NONE
        if certain and path.endswith(".py") and is_unread(text)
        else names_in(path, text)
        for path, text in texts.items()
    }
