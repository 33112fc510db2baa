"""Finds the project's own scripts that the settings of a JavaScript test runner load, such as setup files. Does no I/O.

These scripts run before or around the tests and can change their results. So can the scripts that a setup file loads.
A script that the product or a test also loads is left out, because it may be part of the product.
"""

import json
import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from itertools import pairwise
from pathlib import PurePosixPath
from posixpath import normpath

from trued.proof.room.package_json import JUDGING
from trued.proof.text.languages import SCRIPTS, is_script
from trued.proof.text.script_imports import imported_names, relative_paths
from trued.support.lazy_regex import lazy_regex
from trued.support.tables import json_table

# Keys of settings whose values a runner loads as code. Other keys name tests, folders, or the product (`alias`).
_KEYS = (
    *("setupFiles", "setupFilesAfterEnv", "globalSetup", "globalTeardown", "environment", "testEnvironment", "runner"),
    *("snapshotEnvironment", "testRunner", "testSequencer", "testResultsProcessor", "reporter", "reporters", "file"),
    *("resolver", "transform", "transformer", "snapshotResolver", "snapshotSerializers", "dependencyExtractor"),
    *("watchPlugins", "preset", "presets", "plugins", "extends", "require", "import", "loader"),
)
_KEY = lazy_regex(rf"""(?<![\w$.])["']?(?:{"|".join(_KEYS)})["']?\s*:\s*""")
_LITERAL = lazy_regex(r"""(["'`])((?:(?!\1)[^\\\n])+)\1""")
_LISTED = lazy_regex(r"^[ \t]*(?:-[ \t]+|\w+:[ \t]+)[\"']?([^\s\"'#]+)", re.MULTILINE)  # in YAML
# Options of runners and of Node whose value is loaded as code or as settings.
_OPTIONS = frozenset(
    (
        *("-c", "--config", "-r", "--require", "--import", "--loader", "--experimental-loader", "--setupFiles"),
        *("--setupFilesAfterEnv", "--globalSetup", "--env", "--testEnvironment", "--environment", "--transform"),
        *("--runner", "--testRunner", "--preset", "--reporter", "--reporters", "--resolver", "--workspace", "--opts"),
        *("--file", "--test-reporter"),
    )
)
_BRACKETS = {"[": "]", "{": "}", "(": ")"}


def named_in_commands(commands: Iterable[str], blobs: Collection[str]) -> set[str]:
    """The project's files that options of these command lines load: settings and scripts."""
    paths: set[str] = set()
    for command in commands:
        words = [
            word
            for argument in command.split()
            for word in ([*argument.split("=", 1)] if argument.startswith("-") else [argument])
        ]
        for option, value in pairwise(words):
            paths |= {*_at(value.strip("\"'"), ".", blobs)} if option in _OPTIONS else set()
    return paths


def named_in_settings(path: str, text: str, blobs: Collection[str]) -> set[str]:
    """The project's scripts that a test runner loads because of this file of settings."""
    folder = str(PurePosixPath(path).parent)
    if PurePosixPath(path).name == "package.json":
        text = json.dumps({key: value for key, value in json_table(text).items() if key in JUDGING})
    values = [literal for setting in _values(text) for _, literal in _LITERAL.findall(setting)]
    values += _imported(text) if is_script(path) else []
    values += _LISTED.findall(text) if path.endswith((".yml", ".yaml")) else []
    return {path for value in values for path in _at(value, folder, blobs) if is_script(path)}


def loaded_by(path: str, text: str, blobs: Collection[str]) -> set[str]:
    """The project's files that a script loads by a relative path."""
    folder = str(PurePosixPath(path).parent)
    return {path for value in _imported(text) for path in _at(value, folder, blobs)}


def _imported(text: str) -> list[str]:
    return [name for name in imported_names(text) if name.startswith(".")]


def only_loaded_by(
    named: Iterable[str], texts: Mapping[str, str], product: Collection[str], blobs: Collection[str]
) -> set[str]:
    """The scripts `named`, and all scripts that these load, directly or through each other. A script that any other
    file loads is left out.

    `texts`: the scripts of the project, tests included. `product`: scripts that surely belong to the product.
    """
    loads = {path: loaded_by(path, text, blobs) for path, text in texts.items()}
    considered = {*named}
    while True:
        kept = _loaded_by_no_other(considered - {*product}, loads)
        more = {path for script in kept for path in _mentioned(script, texts.get(script, ""), blobs)} - considered
        if not more:
            return kept
        considered |= more


def _loaded_by_no_other(scripts: Collection[str], loads: Mapping[str, Collection[str]]) -> set[str]:
    """The scripts of `scripts` that no other script of the project loads. If a script is left out, the scripts that it
    loads are left out, too."""
    kept = {*scripts}
    while others := kept & {other for path, loaded in loads.items() if path not in kept for other in loaded}:
        kept -= others
    return kept


def _mentioned(path: str, text: str, blobs: Collection[str]) -> set[str]:
    """The project's scripts that a string in this script names by a relative path: `register("./loader.mjs")`."""
    folder = str(PurePosixPath(path).parent)
    return {path for value in relative_paths(text) for path in _at(value, folder, blobs) if is_script(path)}


def named_as_product(manifest: str, blobs: Collection[str]) -> set[str]:
    """The entry points of the product: files that a package.json names outside the settings of test runners."""
    product_settings = {key: setting for key, setting in json_table(manifest).items() if key not in JUDGING}
    return {path for _, value in _LITERAL.findall(json.dumps(product_settings)) for path in _at(value, ".", blobs)}


def _values(text: str) -> Iterator[str]:
    """The text of each setting whose key says that its value is loaded as code, such as `setupFiles`. A list or an
    object is returned whole."""
    for match in _KEY.finditer(text):
        following = text[match.end() : match.end() + 4000]
        closing = _BRACKETS.get(following[:1])
        if closing is None:
            yield following.partition("\n")[0]
            continue
        depth = 0
        for position, sign in enumerate(following):
            depth += (sign in _BRACKETS) - (sign in _BRACKETS.values())
            if not depth:
                yield following[: position + 1]
                break


def _at(value: str, folder: str, blobs: Collection[str]) -> Iterator[str]:
    """The project's files that the path `value` may mean, seen from `folder` or the project's top. The ending of the
    path may be missing."""
    clean = value.removeprefix("<rootDir>/").removeprefix("file://")
    if not clean or clean.startswith("/") or "*" in clean:
        return
    for start in dict.fromkeys((folder, ".")):
        place = normpath(f"{start}/{clean}")
        bare = re.sub(r"\.[cm]?jsx?$", "", place)  # TypeScript code names the compiled file: `x.js` for `x.ts`
        candidates = (
            place,
            *(f"{stem}{end}" for stem in (place, bare) for end in SCRIPTS),
            *(f"{place}/index{end}" for end in SCRIPTS),
        )
        if path := next((candidate for candidate in candidates if candidate in blobs), None):
            yield path
            return
