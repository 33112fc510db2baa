"""Finds the files that tests may reach, directly or indirectly, by the words in their texts. Pure, but for reading."""

import re
from collections import defaultdict
from collections.abc import Awaitable, Callable, Collection, Iterable, Mapping, Sequence
from pathlib import PurePosixPath

from trued.proof.reach.file_readers import LISTS_FOLDERS, PAGES_AND_SETTINGS
from trued.proof.room.frozen_files import is_test
from trued.proof.text.languages import CODE, is_script

Read = Callable[[Collection[str]], Awaitable[Mapping[str, str]]]  # paths → their texts on the base

MOST_READ = 5000  # if words lead to more files than this, any file counts as reached
# Files that are not code, and may name others: settings, templates, manifests, documents with examples.
_LEADING = (*PAGES_AND_SETTINGS, ".sql", ".md", ".rst", ".txt", ".graphql", ".pth", "")
_MANIFESTS = ("package.json", "tsconfig.json", "jsconfig.json")  # they may give a file another name
# Manifests and other files that say what a program's name starts.
_STARTING = frozenset(("package.json", "pyproject.toml", "setup.cfg", "setup.py", "Makefile", "makefile", "Procfile"))
_INTERPRETER = re.compile(r"python(?:\d(?:\.\d+)?)?|node|deno|ruby|perl|php|(?:ba|da|z)?sh")
_UNNAMED = frozenset(("__init__", "__main__", "index", "main", "mod", "lib", "package"))  # known by a folder's name
_WORD = re.compile(r"[\w-]+")
_IMPORTING = re.compile(r"^.*\b(?:import|from|require)\b.*$", re.MULTILINE)
# A module whose name is computed.
_COMPUTED_PYTHON = re.compile(r"\b(?:import_module|__import__)\(\s*(?![\"'][\w.]+[\"']\s*[,)])")
_COMPUTED_SCRIPT = re.compile(r"(?<![.\w$])(?:import|require)\(\s*(?![\"'`][^\"'`$]+[\"'`]\s*[,)])")
# Ways by which a test uses a product from outside: an address, a browser, a process.
_ADDRESS_OR_BROWSER = r"\blocalhost\b|127\.0\.0\.1|\b(?:playwright|puppeteer|selenium|webdriver)\b"
_FROM_OUTSIDE = re.compile(
    rf"{_ADDRESS_OR_BROWSER}|\b(?:requests|httpx|urllib\.request|axios)\b|\bfetch\(|\.goto\(|\bcy\.visit\("
    r"|\b(?:subprocess|child_process|pexpect|os\.system)\b"
)
_GO_FROM_OUTSIDE = re.compile(
    rf"{_ADDRESS_OR_BROWSER}|\bchromedp\b|\bos/exec\b|\bos\.StartProcess\b|\bnet\.Dial|\bgrpc\.(?:Dial|NewClient)"
    r"|\bhttp\.(?:Get|Head|Post|NewRequest|Client|DefaultClient)"
)
_GO_IMPORT = re.compile(r"^[ \t]*import\b\s*(?:\([^)]*\)|[^\n]*)", re.MULTILINE)
_QUOTED = re.compile(r"[\"`]([^\"`\n]+)[\"`]")


async def reachable_files(read: Read, paths: Iterable[str], tests: Iterable[str]) -> frozenset[str] | None:
    """The files that these tests of the base may reach, directly or indirectly. None: any file.

    A file may reach another if the other's name is a word in it, whatever the word means there. So the result may have
    too many files, but hardly too few. A test that imports no code of the product, or that speaks to a server, a page
    or a process, may use the product from outside and thereby reach any file; so may code that computes the name of a
    module.

    `tests`: each `file`, or `file::name` for a part of a file. `paths`: all files of the base, and new ones.
    """
    reach = _Reach(read, paths)
    files = {one.partition("::")[0]: "::" not in one for one in tests}
    await reach.texts_of(files)  # read at once, because reading one by one takes long
    for path, whole in files.items():
        if (whole or is_test(path)) and await reach.is_from_outside(path):
            return None
    return await reach.closure(files)


async def files_of_programs(
    read: Read, paths: Iterable[str], commands: Iterable[Sequence[str]]
) -> frozenset[str] | None:
    """The files that these command lines may reach on the base, directly or indirectly. None: any file. A program that
    is neither an interpreter's file nor its module is looked for in the project's manifests."""
    reach, found = _Reach(read, [path for path in paths if not is_test(path)]), set[str]()
    for words in commands:
        found |= reach.named_in(" ".join(words))
        if not _INTERPRETER.fullmatch(PurePosixPath(words[0]).name if words else ""):
            found |= _STARTING & reach.paths
    return await reach.closure(found)


class _Reach:
    """The files of a base by the words that lead to them."""

    def __init__(self, read: Read, paths: Iterable[str]) -> None:
        self._read, self.paths, self._texts = read, frozenset(paths), dict[str, str]()
        self.named: dict[str, set[str]] = defaultdict(set)
        self.inside: dict[str, set[str]] = defaultdict(set)  # folder's name, or path of a Go package → files below it
        for path in self.paths:
            for name in _names_of_file(path):
                self.named[name].add(path)
            for folder in PurePosixPath(path.lower()).parts[:-1]:
                self.inside[folder].add(path)
            if path.endswith(".go"):
                self.inside[f"{PurePosixPath(path).parent}/"].add(path)

    async def is_from_outside(self, test: str) -> bool:
        """Whether a test imports no code of the product, not even through other tests and their helpers, or uses the
        product from outside."""
        if test.endswith(".go"):
            return await self._is_go_from_outside(test)
        left, found, folder = [test], set[str](), PurePosixPath(test).parent
        while left:
            wave = [path for path in dict.fromkeys(left) if path not in found]
            found.update(wave)
            near = [path for path in wave if is_test(path) or PurePosixPath(path).is_relative_to(folder)]
            texts = await self.texts_of(near)
            if any(_FROM_OUTSIDE.search(text) for text in texts.values()):
                return True
            lines = ["\n".join(_IMPORTING.findall(texts[path])) for path in near if path == test or is_test(path)]
            left = [one for text in lines for one in self.named_in(text)]
        return not any(path.endswith(CODE) and path != test and not is_test(path) for path in found)

    async def _is_go_from_outside(self, test: str) -> bool:
        """The same for a Go test, which uses the code in its folder without an import."""
        folder = PurePosixPath(test).parent
        beside = self.inside.get(f"{folder}/", set[str]())
        own = any(not is_test(path) for path in beside)
        near = {test, *(path for path in beside if is_test(path))}
        imported = {one for text in (await self.texts_of(near)).values() for one in self._imported_by_go(text)}
        # Without code of its own, a folder holds tests and their helpers.
        near |= {one for one in imported if is_test(one) or (not own and PurePosixPath(one).is_relative_to(folder))}
        if any(_GO_FROM_OUTSIDE.search(text) for text in (await self.texts_of(near)).values()):
            return True
        return not own and imported <= near

    def _imported_by_go(self, text: str) -> set[str]:
        """The files of all Go packages that a text may import."""
        parts = [PurePosixPath(one).parts for one in _QUOTED.findall("\n".join(_GO_IMPORT.findall(text)))]
        folders = ["/".join(one[start:]) for one in parts for start in range(len(one))]
        return {path for folder in folders for path in self.inside.get(f"{folder}/", ())}

    async def closure(self, starts: Collection[str]) -> frozenset[str] | None:
        """The files that the words of these files lead to."""
        left, found = {*starts}, set[str]()
        while left:
            found |= left
            if len(found) > MOST_READ:
                return None
            texts = await self.texts_of([path for path in left if path.endswith(CODE) or _is_leading(path)])
            if any(_computes_modules(path, text) for path, text in texts.items()):
                return None
            left = {one for path, text in texts.items() for one in self._led_to(path, text)} - found
        return frozenset(found)

    def _led_to(self, path: str, text: str) -> set[str]:
        found = self.named_in(text)
        if path.endswith(".go"):  # a Go file leads to all files of its package
            found |= self.inside[f"{PurePosixPath(path).parent}/"]
        if LISTS_FOLDERS.search(text):
            found |= {one for word in _words(text) for one in self.inside.get(word, ())}
        beside = _MANIFESTS if is_script(path) else ("conftest.py",) if is_test(path) else ()
        above = [str(folder / name) for folder in PurePosixPath(path).parents for name in beside]
        return found | {one for one in above if one in self.paths}

    def named_in(self, text: str) -> set[str]:
        return {one for word in _words(text) for one in self.named.get(word, ())}

    async def texts_of(self, paths: Collection[str]) -> dict[str, str]:
        if unread := [path for path in paths if path not in self._texts]:
            self._texts |= await self._read(unread)
        return {path: self._texts.get(path, "") for path in paths}


def _computes_modules(path: str, text: str) -> bool:
    if path.endswith(".py"):
        return bool(_COMPUTED_PYTHON.search(text))
    return is_script(path) and bool(_COMPUTED_SCRIPT.search(text))


def _is_leading(path: str) -> bool:
    return PurePosixPath(path).suffix in _LEADING


def _words(text: str) -> set[str]:
    words = {one.lower() for one in _WORD.findall(text)}
    return words | {part for one in words if "-" in one for part in one.split("-")}


def _names_of_file(path: str) -> set[str]:
    """The words by which other files name this file, in lower case. Data is often found by its folder alone, and a
    package of Go always."""
    *folders, name = PurePosixPath(path.lower()).parts
    stem = name.partition(".")[0] or name
    if stem in _UNNAMED:
        return {stem, *folders}
    names = {stem, *(_WORD.findall(stem) or _WORD.findall(PurePosixPath(name).stem))}  # `+page.ts`, `[...id].ts`
    return {*names, *folders[-1:]} if path.endswith(".go") or not path.endswith(CODE) else names
