"""Finds packages that the settings of JavaScript tools name in strings, without importing them. Does no I/O.

These settings are scripts. They name plugins, which a bundler, compiler or test runner loads, and they define short
names that may stand for packages.
"""

import re
from collections.abc import Collection, Mapping
from pathlib import PurePosixPath

from trued.proof.dependencies.script_source import NODE_OWN, package_of
from trued.proof.dependencies.source_text import SourceText
from trued.proof.text.languages import is_script
from trued.proof.text.script_aliases import (
    MOST_SETTINGS,
    fitting_files,
    has_unread_aliases,
    is_settings,
    relative_imports,
    values_in,
)
from trued.support.lazy_regex import lazy_regex

# A script that imports one of these may define short names. Tests import `vitest` itself.
_BUNDLER = lazy_regex(
    r"(?<![a-z])(?:esbuild|vite|vitest/\w+|webpack|rollup|rolldown|rspack|rsbuild|parcel|tsup|babel|swc)(?![a-z])"
)
# Values in the settings of a tool in which strings name code that the tool loads. First what short names and files
# stand for, then lists of code, then objects whose keys name plugins.
_MEANINGS = lazy_regex(
    r"(?<![\w$])[\"']?(?:(?:alias|aliases|moduleNameMapper|transform)[\"']?\s*[:=]\s*|alias(?:es)?\s*(?=\())"
)
_LISTS_OF_CODE = lazy_regex(
    r"(?<![\w$])[\"']?(?:(?:plugins?|presets?|extends|setupFiles\w*|globalSetup|globalTeardown|snapshotSerializers"
    r"|resolver|\w*[rR]unner)[\"']?\s*[:=]\s*|extends\s*(?=\())"
)
_OBJECTS_OF_PLUGINS = lazy_regex(r"(?<![\w$])[\"']?plugins[\"']?\s*[:=]\s*(?=[^\s\[])")
_STRING = r"(?:\"[^\"\n]*\"|'[^'\n]*'|`[^`\n]*`)"
_QUOTED_KEY = lazy_regex(rf"(?<=[{{,])\s*{_STRING}\s*:")
# An option of a plugin, unless it may say where the plugin is.
_OPTION = lazy_regex(
    rf"[{{,]\s*(?![\"']?(?:resolve|path|package|module|require|use)\b)(?:{_STRING}|[\w$]+)\s*:\s*{_STRING}(?=\s*[,}}])"
)
_NESTED = lazy_regex(r"\{[^{}]*\}|\[[^\[\]]*\]|\([^()]*\)")
# A string that has the form of a package's name: with a scope, or with the kind of the tool's part in it.
_LIKE_A_PACKAGE = lazy_regex(
    r"@[a-z0-9~][\w.~-]*/.+|(?:.*[-/])?(?:loader|plugin|preset|config|environment|jest)-.+"
    r"|.+-(?:loader|plugin|preset|config|jest)"
)
_PACKAGE_NAME = lazy_regex(r"(?:@[a-z0-9~][\w.~-]*/)?[a-z0-9~][\w.~-]*(?:/[\w./-]+)?")


class ToolSettings:
    """Finds the scripts of a change that may be settings of a tool or a part of them, and reads them."""

    def __init__(self, texts: Mapping[str, str], known_paths: Collection[str]) -> None:
        """`texts`: path → text; it contains every settings file. `known_paths`: the project's paths. A string in a
        script that equals one of these paths names the file, not a package."""
        settings = {path: text for path, text in texts.items() if is_settings(path)}
        self._imported_by_settings = [
            target for path, text in settings.items() for target in relative_imports(path, text)
        ]
        self._known_paths = known_paths

    def hides_more(self, path: str, source: SourceText, old_text: str, new_text: str) -> bool:
        """Whether the script, which had the text `old_text`, newly defines short names that cannot be read."""
        return self._may_be_settings(path, source) and has_unread_aliases(old_text, new_text)

    def new_packages(self, path: str, source: SourceText, old_text: str, new_text: str) -> set[str]:
        """The packages that the script may name in a string and did not name when it had the text `old_text`."""
        if not self._may_be_settings(path, source):
            return set()
        return _packages_in(path, new_text, self._known_paths) - _packages_in(path, old_text, ())

    def _may_be_settings(self, path: str, source: SourceText) -> bool:
        bundles = any(_BUNDLER.search(name) for names in source.named.values() for name in names)
        is_imported_by_settings = any(fitting_files(target, [path]) for target in self._imported_by_settings)
        return is_script(path) and (bundles or is_imported_by_settings or is_settings(path))


def _packages_in(path: str, text: str, known_paths: Collection[str]) -> set[str]:
    """The packages that the settings script of a tool seems to name in strings: plugins that the tool loads, targets of
    short names, and names with the shape of a package. `known_paths`: the project's paths, none of which is taken for a
    package. A text that is too long gives no packages; `has_unread_aliases` reports a change to it."""
    if len(text) > MOST_SETTINGS:
        return set()
    names = [text for text in _quoted_texts(_QUOTED_KEY.sub("", text)) if _LIKE_A_PACKAGE.fullmatch(text)]
    for value in values_in(text, _MEANINGS):
        names += _quoted_texts(_QUOTED_KEY.sub("", value))
    # ESLint's settings import their plugins. Strings in them only refer to these imports, except in older settings.
    if not PurePosixPath(path).name.startswith("eslint.") or re.search("compat|eslintrc", text, re.IGNORECASE):
        for value in values_in(text, _LISTS_OF_CODE):
            names += _quoted_texts(_QUOTED_KEY.sub("", _OPTION.sub("", value)))
        for value in values_in(text, _OBJECTS_OF_PLUGINS):
            names += _outer_keys(value)
    return {package_of(name) for name in names if _PACKAGE_NAME.fullmatch(name) and name not in known_paths} - NODE_OWN


def _quoted_texts(text: str) -> list[str]:
    return re.findall(r"[\"'`]([^\"'`\n]+)[\"'`]", text)


def _outer_keys(value: str) -> list[str]:
    """The keys of an object, without those of objects in it. If the value is of another kind, or has more than 20
    levels, keys of inner objects are included, too."""
    without_values = re.sub(rf"{_STRING}(?!\s*:)", "0", value.strip())
    if without_values[:1] == "{":
        without_values = without_values[:-1]
        for _ in range(20):
            without_values = f"{{{_NESTED.sub('0', without_values[1:])}"
    return [key.strip("\"'`") for key in re.findall(rf"[{{,]\s*({_STRING}|[\w$]+)\s*(?=[:,}}]|$)", without_values)]
