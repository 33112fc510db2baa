"""Finds packages that code of a change imports, that are installed where its checks run, and that no manifest of the
change declares.

A check finds such a package by chance: only developers need it, or somebody has installed it by hand. A user who
installs the project as its manifests say does not have it.
"""

import ast
import posixpath
import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from importlib import metadata
from pathlib import PurePosixPath
from typing import Any, TypeGuard

from trued.model import CallCase, Contract, ExamplesCheck, RunCase
from trued.proof.dependencies.check import manifest_texts, own_packages, text_of
from trued.proof.dependencies.development_files import DevelopmentFiles, is_for_developers
from trued.proof.dependencies.own_modules import OwnModules, own_imports
from trued.proof.dependencies.package_consumers import (
    FOR_DEVELOPERS,
    NODE,
    PYTHON,
    Consumers,
    Reach,
    folder_of_manifest,
)
from trued.proof.dependencies.package_manifests import has_literal_requirements, is_package_manifest, own_name
from trued.proof.dependencies.script_headers import own_manifests
from trued.proof.dependencies.source_imports import read_source
from trued.proof.room.declared_packages import holds, package_name, parse_requirement, provides_module
from trued.proof.room.frozen_files import is_test
from trued.proof.room.node_modules import node_modules
from trued.proof.room.project_folders import names_in
from trued.proof.text.languages import is_script
from trued.proof.text.package_names import normal_package_name
from trued.proof.text.python_imports import UNREADABLE, nodes_in
from trued.proof.text.script_aliases import ScriptAliases, is_settings
from trued.protocols import Workspace
from trued.support.lazy_regex import lazy_regex
from trued.support.tables import ini_tables, parse_toml, table_at

# Files that say in another form what is installed beside the project. Each word of such a file may name a package.
_OTHER_MANIFESTS = lazy_regex(
    r"(?:.*[.-])?(?:Dockerfile|Containerfile)(?:\..*)?|(?:environment|conda)[\w.-]*\.ya?ml|init\.sh|pixi\.toml|.*\.nix"
)
_NAME, _WORD = lazy_regex(r"[A-Za-z0-9][\w.-]*"), lazy_regex(r"\w+")
_STARTS_PYTHON = lazy_regex(r"#!.*\bpython[\d.]*(?:\s|$)")  # the first line of a program
_PYTHON_NAME = "program.py"  # as which every program of Python is read, also one without an ending
# Keys of the places in main manifests where packages for users are declared.
_PLACES = {"pyproject.toml": "dependencies", "setup.cfg": "install_requires", "setup.py": "install_requires"}


@dataclass(frozen=True, slots=True)
class UndeclaredImport:
    """An import of an installed package that no manifest declares for the people who use the file."""

    path: str
    line: int
    module: str
    package: str
    manifest: str  # the one that should declare it
    is_for_developers: bool = False  # a manifest declares it, but only for developers

    def __str__(self) -> str:
        declares = "only developers get by its manifests" if self.is_for_developers else "no manifest declares"
        name = PurePosixPath(self.manifest).name
        place = "dependencies" if name == "package.json" else _PLACES.get(name)
        line = f'`"{self.package}"` to `{place}` in' if place else f"the line `{self.package}` to"
        return f"{self.path}:{self.line} imports {self.module}, which {declares} (add {line} {self.manifest})"


async def undeclared_packages(
    workspace: Workspace, contract: Contract, commit: str, changed: Collection[str], installed: "InstalledPackages"
) -> list[UndeclaredImport]:
    """The imports of undeclared packages in the Python code of this commit. These imports count:

    - in changed files, unless code of the base for the same people has such an import, too, and the base does not
      declare the package either;
    - in all files, if the base declares the package for their users, and the commit does not.

    Left out are imports that the code can do without, tests, and other files for developers that no case starts. If
    there is no manifest, nothing is declared, and the result is empty.
    """
    base, on_commit = contract.base, await workspace.blobs(commit)
    before, after = [await _manifests(workspace, contract, version, installed) for version in (base, commit)]
    manifests = after if after.serve_users else before
    if not manifests.serve_users:
        return []
    lost = before.names(Reach.EXTRA) - after.names(Reach.EXTRA)
    modules_of_lost = installed.modules_of(lost)
    code = {path for path in on_commit if _may_be_python(path) and not is_test(path)}
    touched = code.intersection(changed)
    contents = await workspace.read_all(commit, sorted(code if modules_of_lost else touched))
    texts = {path: text for path, content in contents.items() if _is_python(path, text := text_of(content))}
    own_modules = OwnModules(
        contract.environment.path,
        await workspace.blobs(base),
        on_commit,
        contract.project_roots,
        ScriptAliases({}),
    )
    development = DevelopmentFiles({path: texts[path] for path in touched if path in texts})
    started = frozenset(_words_of_cases(contract))
    found = list[UndeclaredImport]()
    for path, text in texts.items():
        is_developers = development.contains(path, manifests.folder_of(path))
        if (is_developers and not _is_started(path, started)) or (
            path not in touched and modules_of_lost.isdisjoint(_WORD.findall(text))
        ):
            continue
        source = read_source(_PYTHON_NAME, text)
        folder = posixpath.dirname(path)
        # A module of a package does not find the modules beside it by their names alone.
        beside = names_in(folder or ".", on_commit) if f"{folder}/__init__.py" not in on_commit else frozenset[str]()
        foreign = source.imports - source.guarded - own_modules.beside(path) - installed.standard - beside
        foreign -= _asked_for_in_functions(text) if foreign else set()
        declared = after.declared_for(path, everybody=is_developers) if foreign else None
        elsewhere = foreign & _chosen_by_condition(text) if declared is not None else set[str]()
        declared_elsewhere = after.declared_for(path, everybody=is_developers, anywhere=True) if elsewhere else declared
        for module in sorted(foreign) if declared is not None else ():
            packages = installed.providing(module, source.parts.get(module, ()))
            known = (declared_elsewhere if module in elsewhere else declared) or set()
            known = known | _words(own_manifests(text))
            if not packages or packages & known or any(provides_module(name, module) for name in known):
                continue
            was_declared = packages & (before.declared_for(path) or set())
            if path in touched or was_declared:
                name, only = min(was_declared or packages), bool(packages & after.names(Reach.DEVELOPERS))
                manifest = manifests.nearest(path)
                found.append(UndeclaredImport(path, _line_of(module, text), module, name, manifest, only))
    known_on_base = await _known_on_base(workspace, base, {one.module for one in found}, before, installed)
    return [one for one in found if (before.folder_of(one.path), one.package) not in known_on_base]


async def _known_on_base(
    workspace: Workspace, base: str, modules: Collection[str], manifests: "_Manifests", installed: "InstalledPackages"
) -> set[tuple[str, str]]:
    """Folder and package of each import of these modules by the base's product in that folder, if the base does not
    declare the package."""
    known = set[tuple[str, str]]()
    code = [path for path in await workspace.blobs(base) if _may_be_python(path) and not is_test(path)]
    for path, content in (await workspace.read_all(base, code if modules else [])).items():
        text, folder = text_of(content), manifests.folder_of(path)
        if (
            not _is_python(path, text)
            or is_for_developers(path, folder)
            or set(modules).isdisjoint(_WORD.findall(text))
        ):
            continue
        source, elsewhere = read_source(_PYTHON_NAME, text), _chosen_by_condition(text)
        by_place = [manifests.declared_for(path, anywhere=anywhere) or set() for anywhere in (False, True)]
        for module in (source.imports - source.guarded).intersection(modules):
            packages = installed.providing(module, source.parts.get(module, ()))
            is_declared = packages & by_place[module in elsewhere]
            known |= {(folder, package) for package in packages} if not is_declared else set()
    return known


def _may_be_python(path: str) -> bool:
    """Whether the file is Python by its name, or has no ending, as a program may."""
    return path.endswith(".py") or not PurePosixPath(path).suffix


def _is_python(path: str, text: str) -> bool:
    """Whether the file is Python by its name, or by the program that its first line names."""
    return path.endswith(".py") or bool(_STARTS_PYTHON.match(text))


async def undeclared_in_node(
    workspace: Workspace, contract: Contract, commit: str, changed: Collection[str]
) -> list[UndeclaredImport]:
    """The same for scripts and the packages in the `node_modules` that the engine has made: those that lie there only
    because another package needs them, or because the base declares them. Whom a package.json installs a package for
    does not matter, because bundlers pack packages for developers, too."""
    folders = (await node_modules(workspace, contract, commit)).folders
    if not folders:
        return []
    before, after = [Consumers(await manifest_texts(workspace, version)) for version in (contract.base, commit)]
    on_commit = await workspace.blobs(commit)
    scripts = [path for path in on_commit if is_script(path) and not is_test(path) and not is_for_developers(path)]
    contents = await workspace.read_all(commit, scripts if _names(before) - _names(after) else {*scripts} & {*changed})
    settings = await workspace.read_all(commit, filter(is_settings, on_commit) if contents else ())
    aliases = ScriptAliases({path: text_of(content) for path, content in settings.items()})
    linked = (await own_packages(workspace, contract.base, commit)).linked()
    found = list[UndeclaredImport]()
    for path, text in sorted((path, text_of(content)) for path, content in contents.items()):
        source = read_source(path, text)
        project = next((str(above) for above in PurePosixPath(path).parents if _in_node(str(above)) in folders), None)
        names = source.imports - source.types - own_imports(path, source, aliases, on_commit) - linked
        for name in sorted(names) if project is not None else ():
            is_there = (folders[_in_node(project or "")] / name / "package.json").is_file()
            folder = posixpath.dirname(path)
            was_declared = name in before.packages(NODE, folder, Reach.DEVELOPERS)
            if not is_there or name in after.packages(NODE, folder, Reach.DEVELOPERS) or _is_tried(name, text):
                continue
            if path in changed or was_declared:
                line = text[: max(text.find(name), 0)].count("\n") + 1
                manifest = posixpath.join(_in_node(project or ""), "package.json")
                found.append(UndeclaredImport(path, line, name, name, manifest))
    on_base = [path for path in await workspace.blobs(contract.base) if is_script(path) and not is_for_developers(path)]
    known = set[str]()
    for path, content in (await workspace.read_all(contract.base, on_base if found else ())).items():
        declared = before.packages(NODE, posixpath.dirname(path), Reach.DEVELOPERS)
        source = read_source(path, text_of(content))
        known |= source.imports - source.types - declared
    return [one for one in found if one.module not in known]


def _names(consumers: Consumers) -> set[str]:
    """The packages that any package.json declares."""
    return {package for (sort, _), packages in consumers.declared.items() if sort == NODE for package in packages}


def _in_node(folder: str) -> str:
    return "" if folder == "." else folder


def _is_tried(name: str, text: str) -> bool:
    """Whether a script can do without this package: it requires it in a `try`."""
    return bool(re.search(rf"\btry\s*\{{[^{{}}]*(?:require|import)\s*\(\s*[\"']{re.escape(name)}[\"'/]", text))


def _words_of_cases(contract: Contract) -> Iterator[str]:
    """The modules and words by which cases and the server may name what they start."""
    yield from contract.serve.command if contract.serve else ()
    checks = [check for requirement in contract.every for check in requirement.checks]
    for case in (case for check in checks if isinstance(check, ExamplesCheck) for case in check.cases):
        if isinstance(case, CallCase):
            yield case.call.partition(":")[0]
        elif isinstance(case, RunCase):
            yield from case.run


def _is_started(path: str, words: Collection[str]) -> bool:
    """Whether one of these words names this file, by its path or as a module."""
    module = path.removesuffix(".py").removesuffix("/__main__").replace("/", ".")
    return any(posixpath.normpath(word) == path or word == module for word in words)


def _line_of(module: str, text: str) -> int:
    """The line of the first import of this module."""
    statements = [node for node in nodes_in(text) if isinstance(node, ast.stmt)]
    return min((statement.lineno for statement in statements if module in _imported_by(statement)), default=1)


def _imported_by(node: ast.AST) -> set[str]:
    """The top-level modules that this statement imports; none if it is no import."""
    names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
    names += [node.module or ""] if isinstance(node, ast.ImportFrom) and not node.level else []
    return {name.split(".")[0] for name in names}


def _asked_for_in_functions(text: str) -> set[str]:
    """The modules that only functions import, each time in a `try` that handles a failed import. Whoever calls such a
    function without the package learns what to install."""
    nodes = nodes_in(text)
    functions = [node for node in nodes if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)]
    handling = [inner for node in functions for inner in ast.walk(node) if _handles_failed_import(inner)]
    return _imported_only_below(nodes, (statement for node in handling for statement in node.body))


def _chosen_by_condition(text: str) -> set[str]:
    """The modules that are imported only below an `if`, or where another import has failed. A package that is declared
    for other systems may be meant for them there."""
    nodes = nodes_in(text)
    branches = [branch for node in nodes if isinstance(node, ast.If) for branch in (*node.body, *node.orelse)]
    handlers = [handler for node in nodes if _handles_failed_import(node) for handler in node.handlers]
    return _imported_only_below(nodes, (*branches, *handlers))


def _imported_only_below(nodes: Collection[ast.AST], statements: Iterable[ast.AST]) -> set[str]:
    """The modules that these nodes of a program import below these statements, and nowhere else."""
    inside = {id(inner) for statement in statements for inner in ast.walk(statement)}
    below, elsewhere = set[str](), set[str]()
    for node in nodes:
        (below if id(node) in inside else elsewhere).update(_imported_by(node))
    return below - elsewhere


def _handles_failed_import(node: ast.AST) -> TypeGuard[ast.Try]:
    handlers = node.handlers if isinstance(node, ast.Try) else []
    names = [inner for handler in handlers if handler.type for inner in ast.walk(handler.type)]
    return any(isinstance(name, ast.Name) and name.id in ("ImportError", "ModuleNotFoundError") for name in names)


def _words(texts: Iterable[str]) -> set[str]:
    """The words of these texts, written like names of packages."""
    return {normal_package_name(word) for text in texts for word in _NAME.findall(text)}


# -- what is installed -------------------------------------------------------------------------------------------------


class InstalledPackages:
    """The packages in the environment in which checks run, as their installers have recorded them. Nothing is run."""

    def __init__(self, folders: Iterable[str], standard: frozenset[str], surroundings: Mapping[str, str]) -> None:
        """`folders`: where packages lie. `standard`: the modules of Python itself. `surroundings`: what markers can ask
        about the environment."""
        self.standard, self.surroundings = standard, surroundings
        self._folders = [*folders]

    @cached_property
    def _packages(self) -> "dict[str, metadata.Distribution]":
        found = metadata.distributions(path=self._folders)
        return {normal_package_name(str(distribution.metadata["Name"])): distribution for distribution in found}

    @cached_property
    def _modules(self) -> dict[str, frozenset[str]]:
        """Package → its modules, as paths of one or two parts: `a`, `a/b`. A folder without `__init__.py`, which
        several packages may share, counts only with its parts."""
        return {name: frozenset(_modules_of(distribution)) for name, distribution in self._packages.items()}

    def modules_of(self, packages: Collection[str]) -> set[str]:
        """The top-level modules of these packages."""
        return {module.partition("/")[0] for name in packages for module in self._modules.get(name, ())}

    def providing(self, module: str, parts: Collection[str]) -> set[str]:
        """The packages that have this top-level module. If several packages share it, those with one of its `parts`
        that code imports."""
        wanted = {module, *(f"{module}/{part}" for part in parts if part)}
        packages = {name for name, modules in self._modules.items() if wanted & modules}
        return packages or {name for name in self._packages if module in self.modules_of([name])}

    def brought_with(self, declared: Iterable[str]) -> set[str]:
        """These packages (`name`, or `name[extra]`), and all that are installed with them because they need them."""
        waiting = [*declared]
        for wanted in waiting:  # grows: what a package needs may need others
            package, _, extra = wanted.removesuffix("]").partition("[")
            requires = self._packages[package].requires if package in self._packages else None
            for requirement in filter(None, map(parse_requirement, requires or ())):
                if requirement.marker and not requirement.marker.evaluate({**self.surroundings, "extra": extra}):
                    continue
                name = normal_package_name(requirement.name)
                needed = [name, *(f"{name}[{normal_package_name(more)}]" for more in requirement.extras)]
                waiting += [one for one in needed if one not in waiting]
        return {*waiting}


def _modules_of(distribution: metadata.Distribution) -> Iterator[str]:
    if distribution.files is None:  # some systems record only the names
        yield from (distribution.read_text("top_level.txt") or "").split()
    for file in distribution.files or ():
        names = [part.partition(".")[0] for part in PurePosixPath(str(file)).parts[:2]]
        if PurePosixPath(str(file)).suffix in (".py", ".so", ".pyd") and "" not in names:
            yield names[0] if len(names) == 1 or names[1] == "__init__" else "/".join(names)


# -- what is declared --------------------------------------------------------------------------------------------------


class _Manifests:
    """What a commit declares for Python, and the contract for its checks."""

    def __init__(
        self,
        texts: Mapping[str, str],
        folders_of_code: Collection[str],
        given: Collection[str],
        installed: InstalledPackages,
    ) -> None:
        """`texts`: path → text of manifests, and of other files that say what is installed. `folders_of_code`: the
        folders that have Python code in them or below them. `given`: packages that are declared elsewhere. `installed`:
        the environment for which a condition must hold."""
        self._installed = installed
        others = [path for path in texts if _OTHER_MANIFESTS.fullmatch(PurePosixPath(path).name)]
        self._texts = {path: text for path, text in texts.items() if path not in others}
        self._consumers, self._folders_of_code = Consumers(self._texts), folders_of_code
        own = {own_name(path, text) for path, text in self._texts.items()}
        self._given = {*given, *own, *_words(texts[path] for path in others)}
        self.serve_users = frozenset(  # manifests that declare packages for users, if only none
            path for path, text in self._texts.items() if _serves_users(path, text)
        )

    def names(self, least: Reach) -> set[str]:
        """The packages that any manifest declares for these people, or that are declared elsewhere."""
        return self._given | {
            package
            for (sort, _), packages in self._consumers.declared.items()
            for package, declarations in packages.items()
            if sort == PYTHON
            and any(declaration.reach >= least and self._holds(declaration.condition) for declaration in declarations)
        }

    def _holds(self, condition: str) -> bool:
        return holds(condition, self._installed.surroundings)

    def folder_of(self, path: str) -> str:
        return self._consumers.folder_of(path if path.endswith(".py") else f"{path}.py")

    def _governing(self, path: str) -> list[str]:
        """The manifests for the users of this file: those in its folder and above, or else every manifest. Manifests in
        folders without code, such as `docker`, always count."""
        above = {str(folder) for folder in PurePosixPath(path).parents}
        folders = {manifest: folder_of_manifest(manifest) for manifest in self.serve_users}
        near = [manifest for manifest, folder in folders.items() if folder in above]
        return near + [
            one for one in folders if one not in near and (not near or folders[one] not in self._folders_of_code)
        ]

    def nearest(self, path: str) -> str:
        """The manifest that should declare what this file imports."""
        depth = {one: len(PurePosixPath(folder_of_manifest(one)).parts) for one in self._governing(path)}
        return max(sorted(depth), key=lambda one: (depth[one], PurePosixPath(one).name in _PLACES), default="")

    def declared_for(self, path: str, *, everybody: bool = False, anywhere: bool = False) -> set[str] | None:
        """The packages that the users of this file get by its manifests, or that `everybody` who works on the project
        gets, with all that these packages need. Declarations under a condition that does not hold here count only if
        people `anywhere` count. None if a manifest cannot be read, so that nobody knows."""
        governing = self._governing(path)
        if not all(self._is_readable(manifest) for manifest in governing):
            return None
        names = self.names(Reach.DEVELOPERS) if everybody else {*self._given}
        needed = Reach.DEVELOPERS if everybody else Reach.EXTRA
        for manifest in governing:
            conditions = () if anywhere else (self._holds,)
            names |= self._consumers.packages(PYTHON, folder_of_manifest(manifest), needed, *conditions)
        return self._installed.brought_with(names)

    def _is_readable(self, manifest: str) -> bool:
        """Whether the engine finds all packages that this manifest declares."""
        name, text = PurePosixPath(manifest).name, self._texts[manifest]
        beside = [other for other in self._texts if posixpath.dirname(other) == posixpath.dirname(manifest)]
        if name == "setup.py":
            with suppress(*UNREADABLE):
                reads_list = any(
                    PurePosixPath(other).name in text for other in beside if other.endswith((".txt", ".in"))
                )
                return has_literal_requirements(text) or reads_list
            return False
        if name != "pyproject.toml":
            return True
        data = parse_toml(text)
        dynamic = table_at(data, "project").get("dynamic")
        is_elsewhere = isinstance(dynamic, list) and "dependencies" in dynamic
        others = [other for other in beside if other != manifest and other in self.serve_users]
        return data is not None and (not is_elsewhere or bool(others) or bool(_setuptools_lists(data)))


def _setuptools_lists(data: Mapping[str, Any]) -> object:
    """Where setuptools finds the dependencies that this pyproject.toml does not list."""
    return table_at(data, "tool", "setuptools", "dynamic").get("dependencies")


def _serves_users(path: str, text: str) -> bool:
    """Whether this manifest is the place where packages for the users of the project are declared."""
    name = PurePosixPath(path).name
    if name == "pyproject.toml":
        data = parse_toml(text)
        return data is None or bool({"poetry", "flit"} & table_at(data, "tool").keys()) or "project" in data
    if name == "setup.cfg":
        return not {"options", "metadata"}.isdisjoint(ini_tables(text))
    if name in ("setup.py", "Pipfile"):
        return True
    return is_package_manifest(path) and path.endswith((".txt", ".in")) and not FOR_DEVELOPERS.search(path)


async def _manifests(workspace: Workspace, contract: Contract, commit: str, installed: InstalledPackages) -> _Manifests:
    blobs = await workspace.blobs(commit)
    others = [path for path in blobs if _OTHER_MANIFESTS.fullmatch(PurePosixPath(path).name)]
    texts = {path: text for path, text in (await manifest_texts(workspace, commit)).items() if not is_test(path)}
    texts |= {path: text_of(content) for path, content in (await workspace.read_all(commit, others)).items()}
    code = {str(folder) for path in blobs if path.endswith(".py") for folder in PurePosixPath(path).parents}
    environment = contract.environment
    given = {*map(package_name, environment.packages), *_words(environment.prepare)}
    return _Manifests(texts, code, given, installed)
