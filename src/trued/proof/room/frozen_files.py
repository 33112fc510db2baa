"""Finds the frozen files: files that influence the results of checks, and are therefore always taken from the base."""

import re
from collections.abc import Collection, Iterable, Mapping
from fnmatch import fnmatchcase
from pathlib import Path, PurePosixPath

from trued.model import CommandCheck, Contract, Requirement, TestsCheck
from trued.proof.text.languages import SCRIPTS, is_script
from trued.proof.text.program_names import JUSTFILES, MAKEFILES, MANAGERS, PACKAGE_RUNNERS, SHELLS
from trued.support.lazy_regex import lazy_regex
from trued.support.shell_words import started_commands
from trued.support.tables import ini_tables, table_at, toml_table

CONFIGURATION = ("conftest.py", "pytest.ini", ".pytest.ini")  # only pytest reads these, so no product can need them
SECTIONS = {"pytest.ini": "pytest", ".pytest.ini": "pytest", "tox.ini": "pytest", "setup.cfg": "tool:pytest"}
CONFIGURED = ("pytest.ini", ".pytest.ini", "pyproject.toml", "tox.ini", "setup.cfg")  # in pytest's own order


CUSTOMIZING = ("sitecustomize", "usercustomize")  # loaded by every Python that finds them, before anything else
FILES_OF_TOOL = {
    "make": MAKEFILES,
    "gmake": MAKEFILES,
    "tox": ("tox.ini",),
    "nox": ("noxfile.py",),
    "just": JUSTFILES,
    "task": ("Taskfile.yml", "Taskfile.yaml"),
    "inv": ("tasks.py",),
    "invoke": ("tasks.py",),
    # package.json is not listed, because its scripts and test settings come from the base anyway.
    **dict.fromkeys((*MANAGERS, "npx"), (".npmrc",)),
}
# Names of files that only test runners and package managers read.
_CONFIGURING = lazy_regex(
    r"(vitest|jest|ava|playwright|cypress)\.(config|workspace|setup)\..+|(karma|wdio)\.conf\..+|setupTests\..+"
    r"|\.(mocharc|nycrc|c8rc|taprc|npmrc|yarnrc|pnpmfile)(\..+)?|nextest\.toml"
)
# Runner → files that are mainly read by builds, but also by this runner. They are frozen only if a check may start the
# runner.
_PLAIN = [ending for ending in SCRIPTS if not ending.endswith("x")]
_SHARED = {
    "vitest": [f"vite.config{ending}" for ending in _PLAIN],
    "jest": [
        *(f"babel.config{ending}" for ending in (*_PLAIN, ".json")),
        *(f".babelrc{ending}" for ending in ("", *_PLAIN, ".json")),
    ],
    # These files may name another program that runs the tests, or other tools. A build's code, `build.rs`, is not
    # frozen: like the files that it generates, it belongs to the product.
    "cargo": [".cargo/config.toml", ".cargo/config", "rust-toolchain.toml", "rust-toolchain"],
}
# Runner → further files that it reads. Unlike the files above, they do not show that a project uses the runner.
_READ_ALONG = {
    "vitest": [  # Vite runs these files in the process that reports the results
        *(f"postcss.config{ending}" for ending in (*_PLAIN, ".json")),
        *(f".postcssrc{ending}" for ending in ("", *_PLAIN, ".json", ".yaml", ".yml")),
    ],
    "jest": [".swcrc"],
}
_RUNNER = lazy_regex(
    r"(?:^|/)node_modules/(?:\.bin/|@(?:vitest|jest)/|(?:vitest|vite|vite-node|jest(?:-[\w-]+)?|mocha|ava|tap|chai)/)"
)
_AMONG = frozenset(("tests", "__tests__", "__mocks__", "testdata"))
# Folders of expected results beside tests, by the names that Jest, Vitest, Playwright and their plugins give them.
_EXPECTED = lazy_regex(r"__\w*(?:snapshots|screenshots)__|.+\.(?:test|spec)\.\w+-snapshots")
FOLDERS = frozenset(("test", "tests", "spec", "specs", "e2e", "__tests__"))
_SCRIPT_TEST = lazy_regex(r"(?:.+[._-])?(?:test|spec)s?|test[._-].+")
_SCRIPT_TESTING = lazy_regex(rb"\b(?:test|it|describe|suite|specify)\s*(?:\.\w+)*\s*\(|node:test")
# Programs whose script is not frozen. The script may be the product: if it were frozen, a check would pass although the
# head broke the script. The script is still a driver, so the command must also pass with the base's version.
_NOT_FREEZING = ("nodejs", "tsx", "ts-node", "deno", "php")
_TESTING = lazy_regex(rb"^\s*(async\s+)?def test|^class Test|unittest", re.MULTILINE)
TESTS_MODULES = ("test.py", "tests.py")  # unittest finds them by these names, pytest only if it is given their paths
_ASSERTING = lazy_regex(rb"\bassert|\bunittest\b|\bpytest\b")
_DEFINED = lazy_regex(rb"^\s*(?:async\s+)?(?:def|class)\s+(\w+)", re.MULTILINE)


def is_configuration(path: str) -> bool:
    """Whether the file only configures tests, so that the product cannot need it."""
    name = PurePosixPath(path).name
    if name in CONFIGURATION or is_customizing(path):
        return True
    return bool(_CONFIGURING.fullmatch(name) or _RUNNER.search(path))


def is_customizing(path: str) -> bool:
    """Whether the file is a module that every Python loads when it starts, such as sitecustomize.py."""
    return any(part.split(".")[0] in CUSTOMIZING for part in PurePosixPath(path).parts)


def is_test(path: str) -> bool:
    """Whether the file is named like a test or is among tests."""
    return is_named_like_a_test(path) or is_among_tests(path)


def is_named_like_a_test(path: str) -> bool:
    """Whether a test runner would collect the file as a test, by its name."""
    name = PurePosixPath(path).name
    python = fnmatchcase(name, "test_*.py") or fnmatchcase(name, "*_test.py")
    return python or name.endswith("_test.go") or is_named_like_a_script_test(path)


def is_named_like_a_script_test(path: str) -> bool:
    """Whether the file is JavaScript or TypeScript and named like a test."""
    pure = PurePosixPath(path)
    if not is_script(path) or "node_modules" in pure.parts:
        return False
    return "__tests__" in pure.parts[:-1] or bool(_SCRIPT_TEST.fullmatch(pure.stem))


def is_among_tests(path: str) -> bool:
    """Whether the file is in a folder like `tests` or `__snapshots__`, or in `test` at the top of the project. For
    JavaScript and TypeScript, `test` counts in any folder. A `node_modules` in such a folder counts, too, because only
    tests would find its packages."""
    parts = PurePosixPath(path).parts
    if "node_modules" in parts:
        parts = parts[: parts.index("node_modules") + 1]
    if not _AMONG.isdisjoint(parts[:-1]) or (parts[0] == "test" and len(parts) > 1):
        return True
    if any(_EXPECTED.fullmatch(part) for part in parts[:-1]):
        return True
    return is_script(path) and "test" in parts[:-1]


def has_tests(path: str, content: bytes) -> bool:
    """Whether the file is a test by name and by content. The name is not enough: a module of the product may be called
    `t_test.py`."""
    if not is_named_like_a_test(path):
        return False
    if path.endswith(".go"):
        return True  # Go compiles files of this name only into tests
    return bool((_SCRIPT_TESTING if is_script(path) else _TESTING).search(content))


def holds_python_tests(content: bytes, functions: Collection[str] = ()) -> bool:
    """Whether a Python file contains tests, whatever its name. `functions`: further patterns for names of functions and
    classes that are tests."""
    if _TESTING.search(content):
        return True
    defined = (
        {definition.decode("utf-8", "replace") for definition in _DEFINED.findall(content)} if functions else set()
    )
    return any(fnmatchcase(name, f"{pattern}*") for name in defined for pattern in functions)


def is_tests_module(path: str, content: bytes, functions: Collection[str] = ()) -> bool:
    """Whether the file is one of the `TESTS_MODULES` by name and by content. A `test.py` must assert something or
    import a test framework, because it may also be the product's command `test`. `functions`: see
    `holds_python_tests`."""
    name = PurePosixPath(path).name
    if name not in TESTS_MODULES or not holds_python_tests(content, functions):
        return False
    return name == "tests.py" or bool(_ASSERTING.search(content))


def configured_test_names(path: str, text: str) -> list[str]:
    """The patterns that this configuration of pytest sets for names of test files; none if it sets none."""
    return _configured(path, text, "python_files")


def configured_test_functions(path: str, text: str) -> list[str]:
    """The patterns that this configuration of pytest sets for names of test functions and classes; none if it sets
    none."""
    return [*_configured(path, text, "python_functions"), *_configured(path, text, "python_classes")]


def _configured(path: str, text: str, option: str) -> list[str]:
    """The words of an option of pytest in this configuration."""
    if not configures_pytest(path, text):
        return []
    name = PurePosixPath(path).name
    if name == "pyproject.toml":
        value = table_at(toml_table(text), "tool", "pytest", "ini_options").get(option, ())
        return value.split() if isinstance(value, str) else [str(word) for word in value]
    return str(table_at(ini_tables(text), SECTIONS[name]).get(option, "")).split()


def is_compiled(path: str) -> bool:
    """Whether the file is compiled Python code, which nobody reviews and which may differ from its source."""
    return path.endswith((".pyc", ".pyo")) or "__pycache__" in PurePosixPath(path).parts


def is_below(path: str, place: str) -> bool:
    """Whether the path is the named file or lies in the named folder."""
    clean = place.removeprefix("./").rstrip("/")
    return path == clean or path.startswith(f"{clean}/") or clean in ("", ".")


def files_to_freeze(
    requirements: Iterable[Requirement], blobs: Mapping[str, str], scripts: Collection[str] = ()
) -> dict[str, str]:
    """Path → blob on the base, for every file that influences a result. The blob is "" if the base lacks the file, but
    a check or a runner may read it. {} if the requirements have neither tests checks nor command checks.

    `scripts`: texts of the base's package.json scripts, any of which a package manager may start.
    """
    checks = [
        check
        for requirement in requirements
        for check in requirement.checks
        if isinstance(check, TestsCheck | CommandCheck)
    ]
    if not checks:
        return {}
    files = {path: blob for path, blob in blobs.items() if is_configuration(path) or is_among_tests(path)}
    for named in {name for check in checks for name in check.files}:
        matching = {path: blob for path, blob in blobs.items() if is_below(path, named)}
        files |= matching or {named: ""}
    for check in checks:
        if isinstance(check, CommandCheck) and not check.files:
            files |= _files_to_freeze(check.command, blobs)
        files |= _shared(check.command, blobs, scripts)
    return dict(sorted(files.items()))


def _shared(command: str, blobs: Mapping[str, str], scripts: Collection[str]) -> dict[str, str]:
    """Path → blob of settings that builds and test runners share, in every folder of the base.

    Each file name of such settings is also listed for the top of the project, with "" as its blob if the base has no
    such file there. `is_shared_setting` uses these names to recognise files that the head adds in any folder.
    """
    settings: dict[str, str] = {}
    is_package_script = bool(re.search(rf"\b({'|'.join((*MANAGERS, *PACKAGE_RUNNERS))})\b", command))
    commands = " ".join((command, *scripts)) if is_package_script else command
    for runner, names in _SHARED.items():
        is_used = runner in commands or (is_package_script and any(name in blobs for name in names))
        names_read = {*names, *_READ_ALONG.get(runner, ())} if is_used else set[str]()
        settings |= {name: blobs.get(name, "") for name in names_read}
        settings |= {path: blob for path, blob in blobs.items() if not names_read.isdisjoint(_names(path))}
    return {path: blob for path, blob in settings.items() if "node_modules" not in PurePosixPath(path).parts}


def commands_of_suites(contract: Contract) -> list[str]:
    """The command lines of the existing tests."""
    checks = [check for requirement in contract.suites for check in requirement.checks]
    return [check.command for check in checks if isinstance(check, TestsCheck | CommandCheck)]


def tool_of_settings(name: str) -> list[str]:
    """The programs that read a file of this name, if it is a build file or has settings that builds share with test
    runners; [] for any other name."""
    shared = {name for names in (*_SHARED.values(), *_READ_ALONG.values()) for name in names}
    tools = [tool for tool, names in FILES_OF_TOOL.items() if name in names]
    return [*tools, name.lstrip(".").partition(".")[0].removesuffix("rc")] if name in shared else tools


def is_shared_setting(path: str, frozen: Collection[str]) -> bool:
    """Whether a runner of this contract may read the file as its settings, in any folder."""
    shared = {name for names in (*_SHARED.values(), *_READ_ALONG.values()) for name in names}
    is_shared = any(name in shared and name in frozen for name in _names(path))
    return is_shared and "node_modules" not in PurePosixPath(path).parts


def _names(path: str) -> tuple[str, str]:
    """The two names by which a tool may look for this file of settings: `config.toml`, and with the file's folder,
    `.cargo/config.toml`."""
    parts = PurePosixPath(path).parts
    return parts[-1], "/".join(parts[-2:])


def collected_files(ids: Iterable[str], blobs: Mapping[str, str]) -> dict[str, str]:
    """Path → blob of the files whose tests were counted on the base, whatever their names. For JavaScript tests,
    everything else in their test folders is included."""
    files = {test_id.split("::")[0] for test_id in ids} & blobs.keys()
    folders = {str(PurePosixPath(file).parent) for file in files if is_script(file)}
    test_folders = {folder for folder in folders if PurePosixPath(folder).name in FOLDERS}
    beside = (
        {path for path in blobs if any(is_below(path, folder) for folder in test_folders)} if test_folders else set()
    )
    return {path: blobs[path] for path in sorted(files | beside)}


def plugin_modules(configuration: Mapping[str, str], blobs: Mapping[str, str]) -> dict[str, str]:
    """Path → blob of the project's own modules that the base's configuration loads as pytest plugins. Like a conftest,
    plugins influence results. They are looked for in the configuration's folder, in all folders above, and in the `src`
    of each of these folders."""
    modules: dict[str, str] = {}
    for configuration_path, text in configuration.items():
        module_paths = [name.replace(".", "/") for name in _plugins_in(configuration_path, text)]
        for folder in PurePosixPath(configuration_path).parents if module_paths else ():
            places = [str(folder / root / name) for root in ("", "src") for name in module_paths]
            paths = [path for place in places for path in (f"{place}.py", f"{place}/__init__.py")]
            modules |= {path: blobs[path] for path in paths if path in blobs}
    return modules


def _plugins_in(path: str, text: str) -> list[str]:
    if path.endswith("conftest.py"):
        match = re.search(r"^pytest_plugins\s*=\s*(\([^)]*\)|\[[^]]*\]|.*)", text, re.MULTILINE)
        return re.findall(r"['\"]([\w.]+)['\"]", match.group(1)) if match else []
    return re.findall(r"-p[\s,'\"=]*(?!no:)([A-Za-z_][\w.]*)", text) if configures_pytest(path, text) else []


def own_drivers(command: str, room: Path, judging: Collection[str]) -> list[str]:
    """Files in the room that decide what the command does, and that were not taken from the base. `judging`: files that
    were taken from the base."""
    names = {name for family in FILES_OF_TOOL.values() for name in family}
    names |= {word.removeprefix("./") for words in started_commands(command) for word in words if len(word) < 200}
    present = {name: "" for name in names if not name.startswith("/") and (room / name).is_file()}
    return sorted(set(_files_to_freeze(command, present)) & present.keys() - set(judging))


def _files_to_freeze(command: str, blobs: Mapping[str, str]) -> dict[str, str]:
    """Path → blob of the files that decide what a command does: the build or settings files of its tool ("" if one does
    not exist), and the scripts that it starts."""
    drivers: dict[str, str] = {}
    for words in started_commands(command):
        family = FILES_OF_TOOL.get(PurePosixPath(words[0]).name, ())
        if any(name in blobs for name in family) or family == (".npmrc",):
            drivers |= {name: blobs.get(name, "") for name in family}
        script, program = words[0], PurePosixPath(words[0]).name
        if SHELLS.fullmatch(program) and program not in _NOT_FREEZING:
            script = next((word for word in words[1:] if not word.startswith("-")), "")
        path = script.removeprefix("./")
        if path in blobs:
            drivers[path] = blobs[path]
    return drivers


def configures_pytest(path: str, text: str) -> bool:
    """Whether pytest would take its configuration from this file."""
    name = PurePosixPath(path).name
    if name in ("pytest.ini", ".pytest.ini"):
        return True
    if name == "pyproject.toml":
        return "ini_options" in table_at(toml_table(text), "tool", "pytest")
    return SECTIONS[name] in ini_tables(text)


def pytest_configuration_paths(anchors: Iterable[str]) -> list[str]:
    """The paths at which pytest looks for its configuration, from the common folder of its arguments upwards."""
    folders = [PurePosixPath(anchor.split("::")[0]) for anchor in anchors]
    shared = folders[0] if folders else PurePosixPath(".")
    for folder in folders[1:]:
        while shared != folder and shared not in folder.parents and shared != PurePosixPath("."):
            shared = shared.parent
    searched = [shared, *shared.parents] if shared != PurePosixPath(".") else [shared]
    return [str(folder / name) for folder in searched for name in CONFIGURED]
