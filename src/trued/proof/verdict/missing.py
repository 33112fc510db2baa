"""Names what an environment lacks, how to provide it, and which missing packages excuse a change. Does no I/O.

Agents may read the name of a missing thing, because the head cannot choose the name freely: a case is unjudged only if
the base lacks the same thing, or if a manifest of the head declares the thing. If a head reports that anything else is
missing, the case has failed (`case_status.on_head`).
"""

import posixpath
import re
from collections.abc import Collection, Iterable, Mapping, Sequence

from trued.model import (
    BrowserCheck,
    CallCase,
    Check,
    CommandCheck,
    Contract,
    Evidence,
    ExamplesCheck,
    MissingFromEnvironment,
    Outcomes,
    RunCase,
    TestsCheck,
    Tried,
    is_node,
)
from trued.proof.checks.examples import case_id
from trued.proof.checks.http import FIXED_PORT
from trued.proof.hashes import check_hash
from trued.proof.room.bench import WHOLE_CHECK
from trued.proof.room.browser_stage import CHROMIUM_KIND, DRIVER_KIND
from trued.proof.room.chromium import ADVICE, DRIVER_ADVICE, NO_CHROMIUM, NO_DRIVER
from trued.proof.room.declared_packages import PROVIDED_BY, TOOLS, AddedPackages, package_name, provides_module
from trued.proof.room.go_cache import USES_GO
from trued.proof.room.node_modules import USES_NODE
from trued.proof.text.program_names import is_python
from trued.proof.text.python_imports import modules_asked
from trued.proof.verdict.case_status import FRAMING, IMPORT
from trued.proof.verdict.failed_cases import NO_WORK
from trued.support.plurals import few

TRY_AGAIN = "verify or resume again"
NEWER_NODE = "install Node 22.18 or newer"
MOST_NAMED = 5  # at most this many packages are named in a sentence
LONGEST = 300  # at most this many characters of what an installer or a preparation printed are quoted

_LIMIT = f"raise its limit, or {TRY_AGAIN} on an idle machine"
_AS_ON_BASE = {
    "time": ("it takes too long on the base", _LIMIT),
    "memory": ("it takes too much memory on the base", _LIMIT),
    FRAMING: (
        "the answer is not valid HTTP, and on the base it is wrong in the same way",
        "repair the server's answers",
    ),
}


def missing_part(check: Check, result: Tried, *, may_quote_held_out: bool = False) -> MissingFromEnvironment:
    """What kept this case from being judged. `may_quote_held_out`: the output of the checks may quote something held
    out, so the output is not repeated here, where agents may read it."""
    kind, name = result.failure, result.named
    if result.missing_module:
        return _missing_go_module(name) if _is_go(check) else _missing_module(name, node=_is_node(check))
    if kind == "path" and name:
        folder, module = posixpath.split(name)
        what = f"{_command(check)} does not find the project's own module {module}"
        fix = f'say where modules are: `environment: {{path: ["{folder or "."}"]}}`'
        return MissingFromEnvironment(name=module, what=what, fix=fix)
    if result.kind == DRIVER_KIND and _opens_pages(check):
        return MissingFromEnvironment(name=name, what=NO_DRIVER, fix=DRIVER_ADVICE)
    if result.kind == CHROMIUM_KIND:
        # Evidence of earlier versions has this kind also if playwright is missing. Then the result's detail says so.
        what = result.detail.removesuffix(f": {ADVICE}") or NO_CHROMIUM
        return MissingFromEnvironment(name=name, what=what, fix=ADVICE)
    if kind == "program" and name:
        # Keep these words: stored runs have asked people with them, and would ask again if the words changed.
        what, fix = program_not_installed(name), _fix_of_tool(name) or f"install {name} on this machine"
        return MissingFromEnvironment(name=name, what=what, fix=fix)
    if kind == "version" and name:
        what = result.detail or f"this version of {name} is too old"
        return MissingFromEnvironment(name=name, what=what, fix=NEWER_NODE)
    output = " ".join(result.detail.split())[:LONGEST]
    if kind == "prepare":
        first_line = result.detail.partition("\n")[0][:LONGEST]  # what follows differs between runs
        what = f"the preparation fails on the base, too{f': {first_line}' if first_line else ''}"
        return MissingFromEnvironment(name="prepare", what=what, fix="correct `environment: {prepare: […]}`")
    if kind == IMPORT:
        what = f"its module cannot be imported here, and neither can the base's: {output.removeprefix('raised ')}"
        return MissingFromEnvironment(name=IMPORT, what=what, fix=_fix_of_import(output, node=_is_node(check)))
    if kind == "time" and FIXED_PORT in result.detail:
        what = "the server does not answer at the port that it is given"
        return MissingFromEnvironment(name="port", what=what, fix=FIXED_PORT)
    if kind in _AS_ON_BASE:
        what, fix = _AS_ON_BASE[kind]
        return MissingFromEnvironment(name=kind, what=what, fix=fix)
    if result.id == WHOLE_CHECK and result.outcome is not Outcomes.UNJUDGED:
        what = f"{NO_WORK}{f': {output}' if output and not may_quote_held_out else ''}"
        return MissingFromEnvironment(name=_command(check), what=what, fix="correct the check, or the base")
    # A page's browser can quote the page; for every other check, the engine's own words say what broke.
    is_quotable = kind == "environment" and not (may_quote_held_out and isinstance(check, BrowserCheck))
    what = f"the environment of the checks broke{f': {output}' if output and is_quotable else ''}"
    return MissingFromEnvironment(name=kind or "environment", what=what, fix=TRY_AGAIN)


def _fix_of_import(error: str, *, node: bool) -> str:
    """How to repair an import that raises this error on the base."""
    if variable := re.search(r"\bKeyError: '([A-Za-z_]\w*)'$", error):
        return f"if it is a variable: `environment: {{variables: {{{variable[1]}: …}}}}`"
    build = "npm run build" if node else "python -m pip install -e ."
    return (
        f'if it must be built or installed first: `environment: {{prepare: ["{build}"]}}`; '
        "if it reads a variable: `environment: {variables: {NAME: …}}`"
    )


def missing_on_base(contract: Contract, declared: Collection[str]) -> dict[str, tuple[MissingFromEnvironment, ...]]:
    """Requirement → what this machine lacks, as shown by the runs on the base before any work starts.

    A module counts only if a package that the base declares (`declared`) would provide it. Adding or declaring any
    other module may be part of the task.
    """
    missing: dict[str, tuple[MissingFromEnvironment, ...]] = {}
    for requirement in contract.every:
        checks = {check_hash(check): check for check in requirement.checks}
        facts = [fact for fact in contract.base_facts if fact.requirement == requirement.id and fact.check in checks]
        parts = [
            missing_part(checks[fact.check], result)
            for fact in facts
            for result in fact.tried
            if result.outcome is Outcomes.UNJUDGED and _is_of_machine(result, declared)
        ]
        if parts:
            missing[requirement.id] = each_once(parts)
    return missing


def machine_lacks(check: Check, evidence: Iterable[Evidence]) -> tuple[MissingFromEnvironment, ...]:
    """What this machine lacks for a check, as shown by the check's runs on the base, and how to provide it. The result
    quotes no output. Missing modules are left out, because they may be ones that the task has to add."""
    return each_once(
        missing_part(check, result.model_copy(update={"detail": ""}))
        for fact in evidence
        for result in fact.tried
        if result.outcome is Outcomes.UNJUDGED and _is_of_machine(result, ())
    )


def _is_of_machine(result: Tried, declared: Collection[str]) -> bool:
    """Whether this result shows that the machine lacks something; a module counts if a package in `declared` would
    provide it."""
    if result.failure == "module":
        return any(provides_module(package, result.missing_module) for package in declared)
    return result.failure in ("program", "version", "prepare", "environment", "path")


def _missing_module(name: str, *, node: bool) -> MissingFromEnvironment:
    """A Python module or Node package that no installed package provides."""
    if node:
        what, fix = (
            f"the package {name} is not installed",
            f"declare it: `npm install {name}` writes it to package.json",
        )
        return MissingFromEnvironment(name=name, what=what, fix=fix)
    package = PROVIDED_BY.get(name.split(".")[0], name.split(".")[0])
    fix = (
        _fix_of_tool(package)
        or f"declare `{package}` in requirements.txt or pyproject.toml, or: `environment: {{packages: [{package}]}}`"
    )
    return MissingFromEnvironment(name=name, what=module_not_installed(name), fix=fix)


def module_not_installed(name: str) -> str:
    return f"the module {name} is not installed"


def program_not_installed(name: str) -> str:
    return f"the program {name} is not installed"


def _fix_of_tool(tool: str) -> str:
    """How to have this tool installed for checks; "" if it is none of the `TOOLS`. A declaration in the head's
    manifests would not be enough, because the tool may judge the work."""
    return f"have it installed: `environment: {{packages: [{tool}]}}`" if tool in TOOLS else ""


def _missing_go_module(name: str) -> MissingFromEnvironment:
    fix = f"declare it: `go get {name}` writes it to go.mod; `go mod vendor` brings it where checks have no network"
    return MissingFromEnvironment(name=name, what=f"the module {name} is not available", fix=fix)


def not_installed(package: str, why: str) -> MissingFromEnvironment:
    """A package that the head declares and that could not be installed for its checks."""
    what = (
        f"the package {package}, which the change declares, could not be installed: {' '.join(why.split())[:LONGEST]}"
    )
    fix = f"let pip reach a registry that has it (pip's own settings are used), then {TRY_AGAIN}"
    return MissingFromEnvironment(name=package, what=what, fix=fix)


def missing_submodule(path: str) -> MissingFromEnvironment:
    """A submodule that the head moves to a commit that this machine does not have."""
    what = f"the submodule {path} is not on this machine at the commit that the change names"
    return MissingFromEnvironment(name=path, what=what, fix="`git submodule update --init` fetches it")


def other_versions(unused: Mapping[str, str]) -> MissingFromEnvironment:
    """Packages of which the head's checks used another version than the head declares. `unused`: the head's declaration
    → the version that was used."""
    versions = dict.fromkeys(f"{package_name(declaration)} {version}" for declaration, version in unused.items())
    used = few(list(versions), MOST_NAMED)
    what = f"its checks used {used}, and the change declares {few(list(unused), MOST_NAMED)}"
    quoted = [f'"{declaration}"' for declaration in [*unused][:MOST_NAMED]]
    listed = ", ".join([*quoted, *(["…"] if len(unused) > MOST_NAMED else [])])
    return MissingFromEnvironment(name=used, what=what, fix=f"to use it: `environment: {{packages: [{listed}]}}`")


def awaited_packages(
    added: AddedPackages, evidence: Iterable[Evidence], checks: Mapping[str, Check]
) -> dict[str, MissingFromEnvironment]:
    """Kind of failure → the package that the head declares, but that could not be installed for these checks.

    `checks`: hash → check. A kind of failure is left out if it also occurs in a project that does not declare the
    package."""
    awaited, undeclared = dict[str, MissingFromEnvironment](), set[str]()
    for fact in (fact for fact in evidence if fact.check in checks):
        for result in fact.tried:
            for kind, module in missing_modules([result]).items():
                places = _places_in_node(checks[fact.check], result.id)
                why = added.why_awaited(module, places) if places is not None else ""
                package = module if why else added.awaits(module)
                if package:
                    awaited[kind] = not_installed(package, why or added.unavailable[package])
                else:
                    undeclared.add(kind)
    return {kind: missing for kind, missing in awaited.items() if kind not in undeclared}


def _places_in_node(check: Check, case: str) -> list[str] | None:
    """The files and folders that the texts of this case or its check name; None if the case does not use Node."""
    words: Sequence[str] = ()
    if isinstance(check, TestsCheck | CommandCheck):
        if not _is_node(check):
            return None
        words = [case.partition("::")[0]] if "::" in case else [*re.split(r"[\s=]+", check.command), *check.files]
    for position, one in enumerate(check.cases if isinstance(check, ExamplesCheck) else ()):
        if case_id(position) == case and isinstance(one, CallCase | RunCase):
            words = [one.call.partition(":")[0]] if isinstance(one, CallCase) else one.run
            if is_python(words[0]) or (isinstance(one, CallCase) and not is_node(one.call)):
                return None
    return [posixpath.normpath(word) for word in words]


def lacked_by_base(
    evidence: Iterable[Evidence], texts: Iterable[str], installed: Collection[str]
) -> dict[str, MissingFromEnvironment]:
    """Kind of failure → the third-party Python module that the base's own code imports and the machine lacks.

    A head's test may import or claim to lack anything. So a module counts only if base files (`texts`) import it and no
    `installed` package provides it.
    """
    absent = {
        kind: module
        for kind, module in missing_modules(result for fact in evidence for result in fact.tried).items()
        if not any(provides_module(package, module) for package in installed)
    }
    imported = set[str]().union(*map(modules_asked, texts)) if absent else set[str]()
    return {
        kind: _missing_module(module, node=False) for kind, module in absent.items() if module.split(".")[0] in imported
    }


def missing_modules(results: Iterable[Tried]) -> dict[str, str]:
    """Kind of failure → the missing module because of which something could not be judged."""
    unjudged = [result for result in results if result.outcome is Outcomes.UNJUDGED]
    return {result.kind: result.missing_module for result in unjudged if result.missing_module}


def undeclared_imports(texts: Mapping[str, str], known: Collection[str], packages: Collection[str]) -> list[str]:
    """Sentences about modules that changed Python files import and that neither the project nor a package provides.

    The sentences depend only on the commit, not on which case failed, so an implementer may read them.
    """
    importers: dict[str, str] = {}  # module → the first file that imports it
    for path, text in sorted(texts.items()):
        for module in sorted(modules_asked(text)) if path.endswith(".py") else ():
            if module not in known and not any(provides_module(package, module) for package in packages):
                importers.setdefault(module, path)
    fix = "add it to requirements.txt or pyproject.toml"
    return [f"{path} imports {module}, which no manifest declares: {fix}" for module, path in importers.items()]


def unknown_packages(added: AddedPackages) -> list[str]:
    """Sentences about packages that the head declares and that no registry has."""
    return [f"the change declares {name}, which no registry has: correct its name or version" for name in added.unknown]


def each_once(parts: Iterable[MissingFromEnvironment]) -> tuple[MissingFromEnvironment, ...]:
    return tuple(dict.fromkeys(parts))


def _opens_pages(check: Check) -> bool:
    return isinstance(check, BrowserCheck | TestsCheck)


def _command(check: Check) -> str:
    return check.command if isinstance(check, TestsCheck | CommandCheck) else check.kind


def _is_go(check: Check) -> bool:
    if isinstance(check, TestsCheck | CommandCheck):
        return bool(USES_GO.search(check.command))
    cases = check.cases if isinstance(check, ExamplesCheck) else ()
    return any(isinstance(case, RunCase) and case.run[:1] == ("go",) for case in cases)


def _is_node(check: Check) -> bool:
    if isinstance(check, TestsCheck | CommandCheck):
        return bool(USES_NODE.search(check.command))
    return isinstance(check, ExamplesCheck) and any(
        isinstance(case, CallCase) and is_node(case.call) for case in check.cases
    )
