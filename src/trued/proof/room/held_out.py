"""Tells what a contract holds out (checks with data or test files that no implementer may know), and which of the
contract's own test files each check sees."""

import base64
import hashlib
from collections.abc import Collection, Mapping

from trued.model import BrowserCheck, Check, CommandCheck, Contract, ExamplesCheck, TestsCheck
from trued.proof.room.frozen_files import is_below

DATA = (ExamplesCheck, BrowserCheck)  # checks whose results are compared in the engine's process, not in the head's


def is_hidden_data(check: Check) -> bool:
    """Whether the check has data to hide from implementers: cases, or a page that is not marked as visible. The data is
    in fact hidden only if the contract is held out, which this function does not check."""
    return isinstance(check, DATA) and not (isinstance(check, BrowserCheck) and check.visible)


def is_held_out(contract: Contract, check: Check) -> bool:
    """Whether the check uses something that no implementer may know: its cases or page, or test files that came with
    the contract."""
    return contract.held_out and (is_hidden_data(check) or bool(hidden_files(contract, check)))


def files_by_folder(contract: Contract) -> dict[str, frozenset[str]]:
    """`from` folder → the contract's files that belong to the checks with this `from`.

    Those are the files that these checks list. If one of these checks lists none, all further files that no check with
    another `from` lists belong to them, too.
    """
    checks = [
        check
        for requirement in contract.requirements
        for check in requirement.checks
        if isinstance(check, TestsCheck) and check.from_
    ]
    files_of_folders: dict[str, frozenset[str]] = {}
    for name in {check.from_ for check in checks}:
        other_lists = [check.files for check in checks if check.from_ != name]
        files_of_others = {
            path for path in contract.carried if any(is_below(path, file) for files in other_lists for file in files)
        }
        own_lists = [check.files for check in checks if check.from_ == name]
        own_files = {
            path for path in contract.carried if any(is_below(path, file) for files in own_lists for file in files)
        }
        files_of_folders[name] = frozenset(
            own_files if all(own_lists) else {*own_files, *(contract.carried.keys() - files_of_others)}
        )
    return files_of_folders


def files_named_by(check: Check, carried: Collection[str], by_folder: Mapping[str, frozenset[str]]) -> frozenset[str]:
    """The contract's own files that are in the room while this check runs: the files that it lists, or, if it lists
    none, all files of its `from` folder."""
    if not isinstance(check, TestsCheck | CommandCheck):
        return frozenset()
    if check.files:
        return frozenset(path for path in carried if any(is_below(path, file) for file in check.files))
    from_ = check.from_ if isinstance(check, TestsCheck) else ""
    return by_folder.get(from_, frozenset()) & frozenset(carried) if from_ else frozenset()


def hidden_files(contract: Contract, check: Check) -> frozenset[str]:
    """The check's files that came with the contract. Files that are also on the base are left out, because agents can
    read them."""
    named = files_named_by(check, contract.carried, files_by_folder(contract)) if contract.carried else frozenset[str]()
    return frozenset(path for path in named if not _is_on_base(contract, path))


def hidden_tests(contract: Contract) -> dict[str, bytes]:
    """Path → content of the contract's test files. Files that are also on the base are left out, because agents can
    read them."""
    files = {path: base64.b64decode(content) for path, content in contract.carried.items()}
    return {path: content for path, content in files.items() if not _is_on_base(contract, path)}


def _is_on_base(contract: Contract, path: str) -> bool:
    """Whether the base has this file with the same content. A file of the base with other content does not count."""
    blob = contract.frozen.get(path, "")
    content = base64.b64decode(contract.carried[path])
    data = b"blob %d\0%b" % (len(content), content)
    return blob != "" and blob in (hashlib.sha1(data).hexdigest(), hashlib.sha256(data).hexdigest())  # noqa: S324
