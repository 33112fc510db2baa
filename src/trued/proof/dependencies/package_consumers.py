"""Decides whom each package in a manifest reaches: all users, some of them, or only developers. Does no I/O.

A consumer is the code in one folder with manifests. A package in these manifests reaches everybody who installs the
code, only those who ask for an extra, or only those who develop the code.
"""

import ast
import configparser
import posixpath
import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from enum import IntEnum
from pathlib import PurePosixPath
from typing import Any

from trued.proof.dependencies.package_manifests import (
    NOT_PACKAGES,
    PIPENV_OWN,
    REQUIREMENTS,
    condition_of,
    entries_in,
    extras_of,
    is_package_manifest,
    lines_in,
    named_package,
    packages_in,
    references_in,
    setup_cfg_values,
    setup_keywords,
    table_in,
    texts_in,
)
from trued.support.lazy_regex import lazy_regex
from trued.support.tables import table_at

PYTHON, NODE = "python", "node"
_SORTS = {"package.json": NODE, "Cargo.toml": "cargo", "go.mod": "go", "Gemfile": "ruby"}
# Every other manifest is a list of packages.
_MAIN_MANIFESTS = ("pyproject.toml", "setup.cfg", "setup.py", "Pipfile", *_SORTS)
_FOLDERS_OF_LISTS = ("requirements", "reqs", "deps")  # folders with the lists of the folder above
FOR_DEVELOPERS = lazy_regex(
    r"(?:^|[-_./])(?:dev|devel|develop|development|tests?|testing|lint|linting|docs?|types?|typing|ci|bench|benchmarks?"
    r"|examples?|qa|format|style|checks?|coverage|constraints?|release|tools?)(?:[-_.]|$)",
    re.IGNORECASE,
)


class Reach(IntEnum):
    """Whom a declared package reaches, from few to many."""

    DEVELOPERS = 0
    BUILD = 1  # tools that build the package, which its users do not get
    EXTRA = 2  # those who ask for an extra
    ALL = 3


_REACHES_IN_NODE = {
    **dict.fromkeys(("dependencies", "optionalDependencies", "bundledDependencies", "bundleDependencies"), Reach.ALL),
    "peerDependencies": Reach.EXTRA,
}


@dataclass(frozen=True, slots=True)
class Declaration:
    """One declaration of a package: whom the package reaches, under which condition, and by which manifest."""

    reach: Reach
    condition: str
    manifest: str  # path


class Consumers:
    """The packages that the manifests of a commit declare, by sort of package (Python, Node, Cargo, …) and by
    folder."""

    def __init__(self, manifests: Mapping[str, str]) -> None:
        """`manifests`: path → text, with all lists to which manifests refer."""
        # (sort, folder) → package → its declarations; a folder with manifests is a key even if they declare nothing
        self.declared: dict[tuple[str, str], dict[str, set[Declaration]]] = {}
        entries = {path: list(_entries(path, text)) for path, text in manifests.items()}
        reaches = _reaches_of_lists(entries)
        for path, written_entries in entries.items():
            place = _SORTS.get(PurePosixPath(path).name, PYTHON), folder_of_manifest(path)
            packages = self.declared.setdefault(place, {})
            for entry, own_reach, condition in written_entries:
                if not references_in(path, entry):
                    declaration = Declaration(reaches.get(path, own_reach), condition, path)
                    packages.setdefault(entry, set()).add(declaration)

    def declared_for_more(self, base: "Consumers") -> Iterator[tuple[str, str]]:
        """Each package that reaches more people than on the base, or reaches them under another condition, with the
        manifest that declares it. What the base declares in a folder also counts for all folders below.

        Two kinds of packages are left out: those that reach only developers, and those whose declaration was moved here
        from a folder that no longer has a manifest.
        """
        for (sort, folder), packages in self.declared.items():
            for package, declarations in packages.items():
                for declaration in declarations:
                    reach = declaration.reach
                    known = base.conditions(sort, folder, package, reach)
                    is_new = reach > Reach.DEVELOPERS and known.isdisjoint(("", declaration.condition))
                    if is_new and not self._has_moved(sort, package, reach, base):
                        yield package, declaration.manifest

    def conditions(self, sort: str, folder: str, package: str, needed: Reach) -> set[str]:
        """The conditions of the declarations that give the package at least the reach `needed` in this folder."""
        return {
            declaration.condition
            for packages in self._above(sort, folder)
            for declaration in packages.get(package, ())
            if declaration.reach >= needed
        }

    def _has_moved(self, sort: str, package: str, reach: Reach, base: "Consumers") -> bool:
        """Whether the package had the same reach on the base, in a folder that no longer has a manifest."""
        return any(
            base_sort == sort
            and (sort, folder) not in self.declared
            and package in packages
            and max(declaration.reach for declaration in packages[package]) == reach
            for (base_sort, folder), packages in base.declared.items()
        )

    def packages(
        self, sort: str, folder: str, needed: Reach, holds: Callable[[str], bool] = lambda condition: True
    ) -> set[str]:
        """The packages whose reach in this folder is at least `needed`, by its manifests and those of the folders
        above. Declarations count whose condition `holds`."""
        return _reaching(self._above(sort, folder), needed, holds)

    def usable(self, path: str) -> set[str]:
        """The packages that the product's code in this file may use. If no manifest lies above the file, for example
        because there is only a `docker/requirements.txt`, every manifest counts."""
        sort, folder = _sort_of(path), posixpath.dirname(path)
        if any((sort, folder_above) in self.declared for folder_above in _folders_above(folder)):
            return self.packages(sort, folder, Reach.BUILD)
        every = [packages for (other_sort, _), packages in self.declared.items() if other_sort == sort]
        return _reaching(every, Reach.BUILD)

    def only_for_developers(self, path: str) -> set[str]:
        """The packages that are declared for the code in this file, and that reach only its developers."""
        return self.packages(_sort_of(path), posixpath.dirname(path), Reach.DEVELOPERS) - self.usable(path)

    def folder_of(self, path: str) -> str:
        """The folder of the consumer that the code in this file belongs to; "" if there is no manifest for it."""
        above = _folders_above(posixpath.dirname(path))
        return next((folder_above for folder_above in above if (_sort_of(path), folder_above) in self.declared), "")

    def _above(self, sort: str, folder: str) -> list[dict[str, set[Declaration]]]:
        """What the manifests in this folder and in each folder above it declare."""
        return [self.declared.get((sort, folder_above), {}) for folder_above in _folders_above(folder)]


def _reaching(
    tables: Iterable[Mapping[str, Collection[Declaration]]],
    needed: Reach,
    holds: Callable[[str], bool] = lambda condition: True,
) -> set[str]:
    """The packages in these tables with a declaration whose reach is at least `needed`, and whose condition `holds`."""
    return {
        package
        for packages in tables
        for package, declarations in packages.items()
        if any(declaration.reach >= needed and holds(declaration.condition) for declaration in declarations)
    }


def _sort_of(path: str) -> str:
    return PYTHON if path.endswith(".py") else NODE


def folder_of_manifest(manifest: str) -> str:
    """The manifest's folder; for a list of packages in `requirements/`, `reqs/` or `deps/`, the folder above."""
    folder = posixpath.dirname(manifest)
    is_list_folder = (
        PurePosixPath(folder).name in _FOLDERS_OF_LISTS and PurePosixPath(manifest).name not in _MAIN_MANIFESTS
    )
    return (posixpath.dirname(folder) if is_list_folder else folder) or "."


def _folders_above(folder: str) -> list[str]:
    pure = PurePosixPath(folder or ".")
    return [str(folder_above) for folder_above in dict.fromkeys((pure, *pure.parents))]


def _reaches_of_lists(entries: Mapping[str, Iterable[tuple[str, Reach, str]]]) -> dict[str, Reach]:
    """Path of each list of packages → whom it reaches. That depends on the list's name, and on the manifests that refer
    to the list, such as a `requirements.txt` with `-r dev.txt`: the widest reach counts. A list without a usual name,
    to which nothing refers, reaches only developers."""
    lists = [path for path in entries if PurePosixPath(path).name not in _MAIN_MANIFESTS]
    with_usual_name = [path for path in lists if is_package_manifest(path)]
    reaches = {path: Reach.DEVELOPERS if FOR_DEVELOPERS.search(path) else Reach.ALL for path in with_usual_name}
    for _ in lists:  # lists can refer to lists
        for path, declarations in entries.items():
            for entry, own_reach, _ in declarations:
                for list_path in references_in(path, entry) if not re.match(r"-c\b|--constraint", entry) else ():
                    if list_path in lists:
                        reach = reaches.get(path, Reach.DEVELOPERS) if path in lists else own_reach
                        reaches[list_path] = max(reach, reaches.get(list_path, reach))
    return {path: reaches.get(path, Reach.DEVELOPERS) for path in lists}


def _entries(path: str, text: str) -> Iterator[tuple[str, Reach, str]]:
    """Each package that the manifest declares, whom the package reaches, and under which condition. Nothing for a
    manifest that cannot be parsed; `declared_in` takes all lines of such a manifest for packages."""
    name = PurePosixPath(path).name
    try:
        for reach, written_entries in _entries_by_reach(path, name, text):
            for entry in written_entries:
                for package in (named_package(entry), *extras_of(entry)):
                    if package and package not in NOT_PACKAGES:
                        yield package, reach, condition_of(entry)
    except (ValueError, SyntaxError, configparser.Error, RecursionError):
        return


def _entries_by_reach(path: str, name: str, text: str) -> Iterator[tuple[Reach, Iterable[str]]]:
    if name == "setup.cfg":
        for (section, key), value in setup_cfg_values(text):
            if key in REQUIREMENTS or section == "options.extras_require":
                yield _reach_in_setup(section, key), lines_in(value)
    elif name == "setup.py":
        for key, argument in setup_keywords(text):
            for list_name, list_value in _named_lists(argument):
                yield (
                    _reach_in_setup("options.extras_require" if list_name else "", list_name or key),
                    texts_in(list_value),
                )
    elif name in ("pyproject.toml", "package.json", "Pipfile"):
        for reach, data in _declaring_tables(name, table_in(path, text)):
            entries = packages_in(data, exact=True)
            yield reach, [f"{entry}; optional" if _is_optional(data, entry, path, text) else entry for entry in entries]
    elif name == "Cargo.toml":
        for condition, reach, data in _tables_of_cargo(table_in(path, text)):
            yield reach, [f"{entry}{condition}" for entry in packages_in(data, exact=True)]
    else:
        yield Reach.ALL, entries_in(name, text)


def _is_optional(data: Mapping[str, Any], entry: str, path: str, text: str) -> bool:
    """Whether an entry of this table of a package.json may fail to be installed, or is left to the user."""
    if "peerDependencies" not in data:
        return "optionalDependencies" in data
    meta = table_at(table_in(path, text), "peerDependenciesMeta", entry.split(" ")[0])
    return meta.get("optional") is True


def _tables_of_cargo(data: Mapping[str, Any]) -> Iterator[tuple[str, Reach, dict[str, Any]]]:
    """Yields for each table of packages in a Cargo.toml: the condition of the table, to append to its entries ("" for
    all systems), who gets its packages, and the packages. `[workspace.dependencies]` is left out, because members have
    to ask for those."""
    tables = [("", data), *((f"; {systems}", table) for systems, table in table_at(data, "target").items())]
    for condition, table in tables:
        for key in ("dependencies", "build-dependencies", "dev-dependencies") if isinstance(table, Mapping) else ():
            reach = Reach.DEVELOPERS if key == "dev-dependencies" else Reach.ALL
            yield from ((condition, least, listed) for least, listed in _with_optional(table.get(key), reach))


def _reach_in_setup(section: str, key: str) -> Reach:
    if section == "options.extras_require":
        return Reach.DEVELOPERS if FOR_DEVELOPERS.search(key) else Reach.EXTRA
    return {"tests_require": Reach.DEVELOPERS, "setup_requires": Reach.BUILD}.get(key, Reach.ALL)


def _named_lists(value: ast.expr) -> list[tuple[str, ast.expr]]:
    """The lists in a literal value, each with its name, if it has one."""
    if not isinstance(value, ast.Dict):
        return [("", value)]
    names = [key.value if isinstance(key, ast.Constant) else None for key in value.keys]
    return [(str(name or "an extra"), list_value) for name, list_value in zip(names, value.values, strict=True)]


def _declaring_tables(name: str, data: Mapping[str, Any]) -> Iterator[tuple[Reach, dict[str, Any]]]:
    """The parts of a manifest that declare packages, each with the reach of its packages. A part of an unknown kind
    reaches only developers."""
    if name == "package.json":
        yield from ((_REACHES_IN_NODE.get(key, Reach.DEVELOPERS), {key: value}) for key, value in data.items())
    elif name == "Pipfile":
        for key in data.keys() - set(PIPENV_OWN):
            yield Reach.ALL if key == "packages" else Reach.DEVELOPERS, {"dependencies": data[key]}
    else:
        project, dynamic = table_at(data, "project"), table_at(data, "tool", "setuptools", "dynamic")
        yield Reach.ALL, {"dependencies": project.get("dependencies")}
        yield Reach.ALL, {"dynamic": {"dependencies": dynamic.get("dependencies")}}
        yield Reach.ALL, {"requires": table_at(data, "tool", "flit", "metadata").get("requires")}
        yield Reach.BUILD, {"requires": table_at(data, "build-system").get("requires")}
        yield from _with_optional(table_at(data, "tool", "poetry").get("dependencies"), Reach.ALL)
        for source, key in ((project, "dependencies"), (dynamic, "dynamic")):
            for extra, packages in table_at(source, "optional-dependencies").items():
                declaring = (
                    {"dependencies": packages} if key == "dependencies" else {"dynamic": {"dependencies": packages}}
                )
                yield Reach.DEVELOPERS if FOR_DEVELOPERS.search(extra) else Reach.EXTRA, declaring
        yield Reach.DEVELOPERS, dict(data)


def _with_optional(table: object, reach: Reach) -> Iterator[tuple[Reach, dict[str, Any]]]:
    if isinstance(table, Mapping):
        extra = {key for key, value in table.items() if isinstance(value, Mapping) and value.get("optional") is True}
        yield reach, {"dependencies": {key: value for key, value in table.items() if key not in extra}}
        yield min(reach, Reach.EXTRA), {"dependencies": {key: value for key, value in table.items() if key in extra}}
