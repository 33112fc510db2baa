"""Reads the dependencies that a commit declares from the text of its manifests and lock files. Nothing is run.

`AddedPackages` says what became of the packages that only the change declares.
"""

import ast
import re
import shlex
from collections.abc import Collection, Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from trued.proof.text.package_names import normal_package_name
from trued.proof.text.python_imports import UNREADABLE
from trued.support.lazy_regex import lazy_regex
from trued.support.tables import ini_tables, json_table, table_at, toml_table

if TYPE_CHECKING:
    from packaging.requirements import Requirement

MANIFESTS = ("pyproject.toml", "setup.cfg", "setup.py", "Pipfile", "init.sh")
LOCKS = ("uv.lock", "poetry.lock", "pdm.lock", "pylock.toml", "Pipfile.lock")
# Names by which a file is certainly a list of requirements.
LISTS = lazy_regex(
    r"(?:requirements(?:[-_.](?:dev|test|tests|testing))?|(?:dev|test|tests)[-_]requirements)\.txt"
    r"|requirements/(?:base|common|main|requirements|dev|test|tests)\.txt"
)
# Names by which a file is probably a list of requirements. Lines that are no requirements are ignored.
_PROBABLE_LISTS = lazy_regex(
    r"(requirements/)?([\w.-]*-)?(requirements|tests?|testing|dev)([-_.](tests?|testing|dev))?\.(txt|in)"
)
# Names of extras and groups with the dependencies of tests. Names of the second family count only if there is no name
# of the first.
FAMILIES = (("test", "tests", "testing"), ("dev", "develop", "development"))
# Tools that tests rarely import, or that the engine supplies, such as pytest. If only tools are missing, no environment
# is built.
TOOLS = frozenset(
    {
        *("black", "build", "coverage", "flake8", "isort", "mkdocs", "mypy", "nox", "pre-commit", "pylint", "pyright"),
        *("pytest", "ruff", "setuptools", "sphinx", "tox", "twine", "uv", "wheel"),
    }
)
# Module → package that provides it, for packages whose name cannot be guessed from the module's.
PROVIDED_BY = {
    "bs4": "beautifulsoup4", "cv2": "opencv-python", "Crypto": "pycryptodome", "git": "gitpython", "jwt": "pyjwt",
    "OpenSSL": "pyopenssl", "PIL": "pillow", "serial": "pyserial", "sklearn": "scikit-learn", "yaml": "pyyaml",
    "zmq": "pyzmq", "attr": "attrs", "pkg_resources": "setuptools", "google": "protobuf", "win32api": "pywin32",
}  # fmt: skip


# Options of pip whose value is a separate word.
_VALUED_OPTIONS = (
    *("-r", "--requirement", "-c", "--constraint", "-e", "--editable", "-t", "--target", "-i", "--index-url"),
    *("--extra-index-url", "-f", "--find-links", "--prefix", "--root", "--python", "--timeout", "--retries"),
)


@dataclass(frozen=True, slots=True)
class Declarations:
    """Requirements as they are written, and the versions that lock files fix."""

    requirements: tuple[str, ...] = ()
    locked: tuple[str, ...] = ()  # name==version
    files: tuple[str, ...] = ()  # the files that declare something

    @property
    def names(self) -> frozenset[str]:
        """The normalised names of the required packages."""
        return frozenset(
            normal_package_name(requirement.name)
            for requirement in map(parse_requirement, self.requirements)
            if requirement
        )


def is_dependency_manifest(path: str, folders: Collection[str] = ()) -> bool:
    """Whether the file declares Python dependencies. `folders`: the project folders; by default, only manifests at the
    top count."""
    names = [path, *(path.removeprefix(f"{folder}/") for folder in folders if path.startswith(f"{folder}/"))]
    return any(
        name in (*MANIFESTS, *LOCKS) or any(pattern.fullmatch(name) for pattern in (LISTS, _PROBABLE_LISTS))
        for name in names
    )


def _name_in_project(path: str) -> str:
    """The path of a manifest, relative to the folder of its project."""
    return "/".join(path.rsplit("/", 2)[-2 if path.rpartition("/")[0].endswith("requirements") else -1 :])


def read_declarations(files: Mapping[str, str]) -> Declarations:
    """What these manifests (path → text) declare."""
    declared = {
        path: [requirement for requirement in declared_requirements(path, text) if parse_requirement(requirement)]
        for path, text in sorted(files.items())
    }
    locks = {path: list(_locked(path, text)) for path, text in sorted(files.items()) if _name_in_project(path) in LOCKS}
    requirements_in_order = dict.fromkeys(
        requirement for requirements in declared.values() for requirement in requirements
    )
    locked = _single(version for versions in locks.values() for version in versions)
    return Declarations(
        tuple(requirements_in_order),
        tuple(locked),
        tuple(path for path in declared if declared[path] or locks.get(path)),
    )


def declared_requirements(path: str, text: str) -> list[str]:
    """The requirements in one manifest as they are written, including those of extras and groups for tests."""
    path = _name_in_project(path)
    extras = _extras(path, text)
    optional = [requirement for name in for_tests(extras) for requirement in _texts(extras[name])]
    if path == "pyproject.toml":
        manifest = toml_table(text)
        needed = _texts(table_at(manifest, "project").get("dependencies"))
        return [*needed, *optional, *groups_for_tests(manifest), *_of_poetry(table_at(manifest, "tool", "poetry"))]
    if path == "setup.cfg":
        return [*_texts(table_at(ini_tables(text), "options").get("install_requires")), *optional]
    if path == "setup.py":
        values = [call.get(key) for call in _setup_calls(text) for key in ("install_requires", "tests_require")]
        return [*(requirement for value in values for requirement in _texts(value)), *optional]
    if path == "init.sh":
        return list(_installed_by_script(text))
    if path == "Pipfile":
        return [
            requirement
            for key in ("packages", "dev-packages")
            for requirement in _versioned(table_at(toml_table(text), key))
        ]
    return _lines(text) if path.endswith((".txt", ".in")) else []


def extras_for_tests(path: str, text: str) -> list[str]:
    """The names of the extras for tests in a pyproject.toml, setup.cfg or setup.py; if there are none, of those for
    development."""
    return for_tests(_extras(path, text))


def groups_for_tests(manifest: Mapping[str, Any]) -> list[str]:
    """The requirements in the groups for tests of a parsed pyproject.toml, and in the groups that such groups
    include."""
    groups, requirements = table_at(manifest, "dependency-groups"), list[str]()
    names = for_tests(groups)
    for name in names:  # grows while the loop runs: included groups are appended
        entries = groups.get(name)
        requirements += _texts(entries)
        for entry in entries if isinstance(entries, list) else ():
            included = table_at(entry).get("include-group")
            names += [included] if isinstance(included, str) and included not in names else []
    return requirements


def for_tests(names: Collection[str]) -> list[str]:
    """The extras or groups for tests; if there are none, those for development."""
    for family in FAMILIES:
        if family_names := [name for name in names if str(name).lower() in family]:
            return family_names
    return []


def parse_requirement(text: str) -> "Requirement | None":
    """The parsed requirement; None for paths, URLs and text that cannot be parsed."""
    # imported here, because it is slow, and many projects require nothing
    from packaging.requirements import InvalidRequirement, Requirement

    try:
        requirement = Requirement(text)
    except InvalidRequirement:
        return None
    return None if requirement.url else requirement


def package_name(requirement: str) -> str:
    """The normalised name of the required package; "" if it cannot be parsed."""
    parsed = parse_requirement(requirement)
    return normal_package_name(parsed.name) if parsed else ""


def missing_requirements(
    requirements: Iterable[str], installed: Mapping[str, str], python: tuple[int, ...]
) -> tuple[str, ...]:
    """The requirements that apply to this Python and that no installed version meets."""
    wanted = tuple(requirements)
    if not wanted:
        return ()
    surroundings = surroundings_of(python)
    versions = {normal_package_name(name): version.split(" ")[0] for name, version in installed.items()}
    return tuple(requirement for requirement in wanted if not _is_met(requirement, versions, surroundings))


def surroundings_of(python: tuple[int, ...]) -> dict[str, str]:
    """What markers can ask about this machine and this version of Python."""
    from packaging.markers import default_environment  # imported here like `Requirement`

    return {
        **{name: str(value) for name, value in default_environment().items()},
        "python_version": ".".join(map(str, python[:2])),
        "python_full_version": ".".join(map(str, python[:3])),
        "extra": "",
    }


def holds(condition: str, surroundings: Mapping[str, str]) -> bool:
    """Whether the condition of a declaration holds: a marker, or the JSON of a table of Poetry or Pipenv. One that
    cannot be evaluated counts as true."""
    from packaging.markers import InvalidMarker, Marker, UndefinedComparison, UndefinedEnvironmentName

    table = json_table(condition) if condition.startswith("{") else {}
    markers = [marker for name, value in table.items() for marker in _markers(name, str(value))]
    for marker in markers if table else [condition] if condition else []:
        with suppress(InvalidMarker, UndefinedComparison, UndefinedEnvironmentName):
            if not Marker(marker).evaluate(dict(surroundings)):
                return False
    return True


def _markers(name: str, value: str) -> Iterator[str]:
    """The markers that this key of a package's table stands for: of Poetry (`markers`, `python`, `platform`), or of
    Pipenv, which writes `sys_platform = "== 'win32'"`."""
    if name == "python":  # `^3.8 || ^2.7` is no marker
        parts = [re.match(r"\s*([<>=!~]+)\s*([\d.*]+)\s*$", part) for part in _range(value).split(",")]
        yield from (f"python_full_version {part[1]} '{part[2]}'" for part in parts if part) if all(parts) else ()
    elif name == "platform":
        yield f"sys_platform == '{value}'"
    else:
        yield value if name.startswith("marker") else f"{name} {value}"


def _is_met(text: str, versions: Mapping[str, str], surroundings: Mapping[str, str]) -> bool:
    from packaging.markers import UndefinedEnvironmentName
    from packaging.version import InvalidVersion

    requirement = parse_requirement(text)
    if requirement is None:
        return True
    try:
        if requirement.marker and not requirement.marker.evaluate(dict(surroundings)):
            return True
        version = versions.get(normal_package_name(requirement.name))
        return version is not None and requirement.specifier.contains(version, prereleases=True)
    except (UndefinedEnvironmentName, InvalidVersion):
        return True  # a marker or version that cannot be evaluated counts as met


def provides_module(name: str, module: str) -> bool:
    """Whether a package of this name would provide this module."""
    top = module.split(".")[0]
    package, module_name = normal_package_name(name), normal_package_name(top)
    if normal_package_name(PROVIDED_BY.get(top, top)) == package:
        return True
    return package in (
        f"python-{module_name}",
        f"py-{module_name}",
        f"py{module_name}",
        f"{module_name}-python",
        f"{module_name}py",
    )


@dataclass(frozen=True, slots=True)
class AddedPackages:
    """The packages that only the head declares: installed, impossible to install, or unknown to every registry."""

    environment: str = ""  # a virtual environment that also finds the base's packages
    site: str = ""
    versions: Mapping[str, str] = field(default_factory=dict)
    unavailable: Mapping[str, str] = field(default_factory=dict)  # package → why it could not be installed
    unknown: tuple[str, ...] = ()  # packages that no registry has, which is the head's own mistake
    # requirement of the head that checks did not meet, for a package that the base declares, too → the version used
    unused: Mapping[str, str] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    # Node's `unavailable`, by the folder of each project; "" is the top
    unavailable_in: Mapping[str, Mapping[str, str]] = field(default_factory=dict)

    def provides(self, module: str) -> bool:
        """Whether a package was installed that provides this module."""
        return any(provides_module(name, module) for name in self.versions)

    def awaits(self, module: str) -> str:
        """The declared package that would provide this Python module and could not be installed, or ""."""
        return next((name for name in self.unavailable if name == module or provides_module(name, module)), "")

    def why_awaited(self, module: str, places: Collection[str]) -> str:
        """Why this Node package could not be installed, or "". `places`: paths of the code that lacks the package. Only
        packages that the projects with these paths declare are searched. If no project has them, all packages are."""
        near = [
            packages
            for folder, packages in self.unavailable_in.items()
            if any(not folder or place == folder or place.startswith(f"{folder}/") for place in places)
        ]
        return next((why for packages in near or self.unavailable_in.values() if (why := packages.get(module))), "")


NO_PACKAGES = AddedPackages()


# -- one file each -----------------------------------------------------------------------------------------------------


def _extras(path: str, text: str) -> Mapping[str, Any]:
    """Name → requirements of every extra that a manifest declares."""
    if path == "pyproject.toml":
        return table_at(toml_table(text), "project", "optional-dependencies")
    if path == "setup.cfg":
        return table_at(ini_tables(text), "options.extras_require")
    calls = _setup_calls(text) if path == "setup.py" else ()
    return {name: requirements for call in calls for name, requirements in table_at(call, "extras_require").items()}


def _of_poetry(poetry: Mapping[str, Any]) -> Iterator[str]:
    groups = [("group", name, "dependencies") for name in for_tests(table_at(poetry, "group"))]
    for keys in (("dependencies",), ("dev-dependencies",), *groups):
        yield from _versioned(table_at(poetry, *keys))


def _versioned(packages: Mapping[str, Any]) -> Iterator[str]:
    for name, declaration in packages.items():
        version = declaration.get("version", "*") if isinstance(declaration, dict) else declaration
        optional = isinstance(declaration, dict) and (
            declaration.get("optional") or {"path", "git", "url"} & declaration.keys()
        )
        if name != "python" and isinstance(version, str) and not optional:
            yield f"{name}{_range(version.strip())}"


def _range(version: str) -> str:
    """Poetry's `^1.2` or `~1.2`, written as a range that every installer understands."""
    if version in ("", "*"):
        return ""
    if version[0] not in "^~" or version.startswith("~="):
        return version if version[0] in "<>=!~" else f"=={version}"
    numbers = [int(number) for number in re.findall(r"\d{1,99}", version)] or [0]
    place = next((i for i, number in enumerate(numbers) if number), len(numbers) - 1) if version[0] == "^" else 0
    place = min(1, len(numbers) - 1) if version[0] == "~" else place
    top = [*numbers[:place], numbers[place] + 1]
    return f">={version[1:]},<{'.'.join(map(str, top))}"


def values_by_name(module: ast.Module) -> dict[str, ast.expr]:
    """Name → value of assignments at a module's top level. A setup.py often keeps its requirements in a variable."""
    return {
        target.id: statement.value
        for statement in module.body
        if isinstance(statement, ast.Assign)
        for target in statement.targets
        if isinstance(target, ast.Name)
    }


def _setup_calls(text: str) -> list[dict[str | None, Any]]:
    """The arguments that a setup.py gives to each call of `setup` literally, or in a variable. Does not run it."""
    try:
        module = ast.parse(text)
        names = values_by_name(module)
        calls = [node for node in ast.walk(module) if isinstance(node, ast.Call)]
        calls = [node for node in calls if ast.unparse(node.func).split(".")[-1] == "setup"]
        return [{argument.arg: _literal(argument.value, names) for argument in call.keywords} for call in calls]
    except UNREADABLE:
        return []


def _literal(value: ast.expr, names: Mapping[str, ast.expr]) -> Any:
    try:
        return ast.literal_eval(names.get(value.id, value) if isinstance(value, ast.Name) else value)
    except (ValueError, TypeError):
        return None


def _texts(value: Any) -> list[str]:
    if isinstance(value, str):
        return _lines(value)
    return [item for item in value if isinstance(item, str)] if isinstance(value, list | tuple) else []


def _installed_by_script(text: str) -> Iterator[str]:
    """The packages that a setup script installs by name. Requirement files that the script uses are left out here,
    because they are read as manifests."""
    for line in text.replace("\\\n", " ").splitlines():
        for command in re.split(r"&&|\|\||;", line):
            match = re.match(r"\s*\S*(?:python[\d.]*\s+-m\s+pip|pip[\d.]*|uv\s+pip)\s+install\s+(.*)", command)
            try:
                words = shlex.split(match.group(1), comments=True) if match else []
            except ValueError:
                continue
            while words:
                word = words.pop(0)
                if word in _VALUED_OPTIONS and words:
                    words.pop(0)
                elif not word.startswith("-"):
                    yield word


def _lines(text: str) -> list[str]:
    joined = text.replace("\\\n", " ")
    lines = [re.split(r"\s#|^#|\s--hash", line)[0].strip().rstrip(";") for line in joined.splitlines()]
    return [line for line in lines if line and not line.startswith("-")]


def _locked(path: str, text: str) -> Iterator[tuple[str, str]]:
    if _name_in_project(path) == "Pipfile.lock":
        data = json_table(text)
        pinned = table_at(data, "default") | table_at(data, "develop")
        yield from ((name, str(table_at(entry).get("version", "")).lstrip("=")) for name, entry in pinned.items())
        return
    data = toml_table(text)
    packages = data.get("package", data.get("packages"))
    for package in map(table_at, packages if isinstance(packages, list) else ()):
        if not {"editable", "virtual", "git", "directory", "path"} & table_at(package, "source").keys():
            yield str(package.get("name", "")), str(package.get("version", ""))


def _single(locked: Iterable[tuple[str, str]]) -> Iterator[str]:
    """`name==version` for each package with one locked version. A package with several versions, as in a lock file for
    several platforms, is left out."""
    versions: dict[str, set[str]] = {}
    for name, version in locked:
        if name and version:
            versions.setdefault(normal_package_name(name), set()).add(version)
    for name, package_versions in sorted(versions.items()):
        if len(package_versions) == 1:
            yield f"{name}=={package_versions.pop()}"
