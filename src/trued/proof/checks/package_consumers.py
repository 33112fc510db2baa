"""Decides for whom manifests declare packages. Pure.

A package belongs to a consumer: the code of one folder with manifests. There it reaches everybody who installs the
code, those who ask for an extra, or only those who develop it.
"""

import ast
import configparser
import posixpath
import re
from collections.abc import Iterable, Iterator, Mapping
from enum import IntEnum
from pathlib import PurePosixPath
from typing import Any

from trued.proof.checks.package_manifests import (
    NOT_PACKAGES,
    PIPENV_OWN,
    REQUIREMENTS,
    entries_in,
    is_package_manifest,
    lines_in,
    normal_name,
    packages_in,
    references_in,
    setup_cfg_values,
    setup_keywords,
    table_in,
    texts_in,
)
from trued.support.tables import table_at

PYTHON, NODE = "python", "node"
_SORTS = {"package.json": NODE, "Cargo.toml": "cargo", "go.mod": "go", "Gemfile": "ruby"}
_MAIN = ("pyproject.toml", "setup.cfg", "setup.py", "Pipfile", *_SORTS)  # every other manifest is a list of packages
_LISTS = ("requirements", "reqs", "deps")  # folders with the lists of the folder above
_FOR_DEVELOPERS = re.compile(
    r"(?:^|[-_./])(?:dev|devel|develop|development|tests?|testing|lint|linting|docs?|types?|typing|ci|bench|benchmarks?"
    r"|examples?|qa|format|style|checks?|coverage|constraints?|release|tools?)(?:[-_.]|$)",
    re.IGNORECASE,
)


class Reach(IntEnum):
    """Whom a declared package reaches, from few to many."""

    DEVELOPERS = 0
    EXTRA = 1  # those who ask for an extra, or build the package
    ALL = 2


_OF_NODE = {
    **dict.fromkeys(("dependencies", "optionalDependencies", "bundledDependencies", "bundleDependencies"), Reach.ALL),
    "peerDependencies": Reach.EXTRA,
}


class Consumers:
    """What the manifests of a commit declare, by the sort of package and the folder of the code."""

    def __init__(self, manifests: Mapping[str, str]) -> None:
        """`manifests`: path → text, with all lists to which manifests refer."""
        # (sort, folder) → package → whom it reaches, and the manifest that says so
        self.declared: dict[tuple[str, str], dict[str, tuple[Reach, str]]] = {}
        entries = {path: list(_entries(path, text)) for path, text in manifests.items()}
        reaches = _reaches_of_lists(entries)
        for path, several in entries.items():
            here = self.declared.setdefault((_SORTS.get(PurePosixPath(path).name, PYTHON), _folder(path)), {})
            for entry, own in several:
                reach = reaches.get(path, own)
                if not references_in(path, entry) and (entry not in here or here[entry][0] < reach):
                    here[entry] = reach, path

    def raised(self, base: "Consumers") -> Iterator[tuple[str, str]]:
        """Package and manifest, for each package that reaches more than developers, and on the base reached fewer
        people. What a folder above declares is known in the folders below; what left another folder has moved."""
        for (sort, folder), several in self.declared.items():
            for package, (reach, path) in several.items():
                new = reach > Reach.DEVELOPERS and package not in base.packages(sort, folder, reach)
                if new and not self._has_moved(sort, package, reach, base):
                    yield package, path

    def _has_moved(self, sort: str, package: str, reach: Reach, base: "Consumers") -> bool:
        """Whether a folder that declared the package for as many people on the base has no manifest any more."""
        return any(
            other == sort and (sort, folder) not in self.declared and several.get(package, (None,))[0] == reach
            for (other, folder), several in base.declared.items()
        )

    def packages(self, sort: str, folder: str, needed: Reach) -> set[str]:
        """The packages that reach as many people in this folder, by its manifests and those of the folders above."""
        found = [self.declared.get((sort, one), {}) for one in _folders_above(folder)]
        return {name for each in found for name, (reach, _) in each.items() if reach >= needed}

    def usable(self, path: str) -> set[str]:
        """The packages on which code of the product in this file may count. If no manifest lies above it, as with a
        `docker/requirements.txt`, every manifest is for it."""
        sort, folder = _sort_of(path), posixpath.dirname(path)
        if any((sort, one) in self.declared for one in _folders_above(folder)):
            return self.packages(sort, folder, Reach.EXTRA)
        every = [several for (other, _), several in self.declared.items() if other == sort]
        return {name for several in every for name, (reach, _) in several.items() if reach >= Reach.EXTRA}

    def only_for_developers(self, path: str) -> set[str]:
        """The packages that reach nobody else among those who use the code in this file."""
        return self.packages(_sort_of(path), posixpath.dirname(path), Reach.DEVELOPERS) - self.usable(path)

    def folder_of(self, path: str) -> str:
        """The folder of the consumer that the code in this file belongs to; "" if there is no manifest for it."""
        above = _folders_above(posixpath.dirname(path))
        return next((one for one in above if (_sort_of(path), one) in self.declared), "")


def _sort_of(path: str) -> str:
    return PYTHON if path.endswith(".py") else NODE


def _folder(manifest: str) -> str:
    """The folder of the code for which the manifest is meant."""
    folder = posixpath.dirname(manifest)
    inner = PurePosixPath(folder).name in _LISTS and PurePosixPath(manifest).name not in _MAIN
    return (posixpath.dirname(folder) if inner else folder) or "."


def _folders_above(folder: str) -> list[str]:
    pure = PurePosixPath(folder or ".")
    return [str(one) for one in dict.fromkeys((pure, *pure.parents))]


def _reaches_of_lists(entries: Mapping[str, Iterable[tuple[str, Reach]]]) -> dict[str, Reach]:
    """Whom each list reaches: by its name, and by the manifests that refer to it, as `requirements.txt` may refer to a
    list for developers."""
    lists = [path for path in entries if PurePosixPath(path).name not in _MAIN]
    named = [path for path in lists if is_package_manifest(path)]
    found = {path: Reach.DEVELOPERS if _FOR_DEVELOPERS.search(path) else Reach.ALL for path in named}
    for _ in lists:  # lists can refer to lists
        for path, several in entries.items():
            for entry, own in several:
                for one in references_in(path, entry) if not re.match(r"-c\b|--constraint", entry) else ():
                    if one in lists:
                        reach = found.get(path, Reach.DEVELOPERS) if path in lists else own
                        found[one] = max(reach, found.get(one, reach))
    return {path: found.get(path, Reach.DEVELOPERS) for path in lists}


def _entries(path: str, text: str) -> Iterator[tuple[str, Reach]]:
    """What the manifest declares, and whom it reaches. All lines of a manifest that cannot be parsed count as packages
    already (see `declared_in`)."""
    name = PurePosixPath(path).name
    try:
        for reach, several in _by_reach(path, name, text):
            for one in map(normal_name, several):
                if one and one not in NOT_PACKAGES:
                    yield one, reach
    except (ValueError, SyntaxError, configparser.Error, RecursionError):
        return


def _by_reach(path: str, name: str, text: str) -> Iterator[tuple[Reach, Iterable[str]]]:
    if name == "setup.cfg":
        for (section, key), value in setup_cfg_values(text):
            if key in REQUIREMENTS or section == "options.extras_require":
                yield _of_setup(section, key), lines_in(value)
    elif name == "setup.py":
        for key, given in setup_keywords(text):
            for inner, part in _named_lists(given):
                yield _of_setup("options.extras_require" if inner else "", inner or key), texts_in(part)
    elif name in ("pyproject.toml", "package.json", "Cargo.toml", "Pipfile"):
        for reach, data in _tables(name, table_in(path, text)):
            yield reach, packages_in(data, exact=False)
    else:
        yield Reach.ALL, entries_in(name, text)


def _of_setup(section: str, key: str) -> Reach:
    if section == "options.extras_require":
        return Reach.DEVELOPERS if _FOR_DEVELOPERS.search(key) else Reach.EXTRA
    return {"tests_require": Reach.DEVELOPERS, "setup_requires": Reach.EXTRA}.get(key, Reach.ALL)


def _named_lists(value: ast.expr) -> list[tuple[str, ast.expr]]:
    """The lists in a literal value, each with its name, if it has one."""
    if not isinstance(value, ast.Dict):
        return [("", value)]
    names = [one.value if isinstance(one, ast.Constant) else None for one in value.keys]
    return [(str(name or "an extra"), part) for name, part in zip(names, value.values, strict=True)]


def _tables(name: str, data: Mapping[str, Any]) -> Iterator[tuple[Reach, dict[str, Any]]]:
    """The parts of a manifest, each with a key that declares packages. What is not known to reach more people is for
    developers. What a workspace shares, its members have to ask for."""
    if name == "package.json":
        yield from ((_OF_NODE.get(key, Reach.DEVELOPERS), {key: part}) for key, part in data.items())
    elif name == "Pipfile":
        for key in data.keys() - set(PIPENV_OWN):
            yield Reach.ALL if key == "packages" else Reach.DEVELOPERS, {"dependencies": data[key]}
    elif name == "Cargo.toml":
        targets = table_at(data, "target").values()
        for table in (data, *(one for one in targets if isinstance(one, Mapping))):
            for key in ("dependencies", "build-dependencies", "dev-dependencies"):
                yield from _with_optional(table.get(key), Reach.DEVELOPERS if key == "dev-dependencies" else Reach.ALL)
    else:
        project, dynamic = table_at(data, "project"), table_at(data, "tool", "setuptools", "dynamic")
        yield Reach.ALL, {"dependencies": project.get("dependencies")}
        yield Reach.ALL, {"dynamic": {"dependencies": dynamic.get("dependencies")}}
        yield Reach.ALL, {"requires": table_at(data, "tool", "flit", "metadata").get("requires")}
        yield Reach.EXTRA, {"requires": table_at(data, "build-system").get("requires")}
        yield from _with_optional(table_at(data, "tool", "poetry").get("dependencies"), Reach.ALL)
        for source, key in ((project, "dependencies"), (dynamic, "dynamic")):
            for extra, part in table_at(source, "optional-dependencies").items():
                inner = {"dependencies": part} if key == "dependencies" else {"dynamic": {"dependencies": part}}
                yield Reach.DEVELOPERS if _FOR_DEVELOPERS.search(extra) else Reach.EXTRA, inner
        yield Reach.DEVELOPERS, dict(data)


def _with_optional(table: object, reach: Reach) -> Iterator[tuple[Reach, dict[str, Any]]]:
    if isinstance(table, Mapping):
        extra = {key for key, one in table.items() if isinstance(one, Mapping) and one.get("optional") is True}
        yield reach, {"dependencies": {key: one for key, one in table.items() if key not in extra}}
        yield min(reach, Reach.EXTRA), {"dependencies": {key: one for key, one in table.items() if key in extra}}
