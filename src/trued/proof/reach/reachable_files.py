"""Finds the files that tests or programs may reach, directly or indirectly, by the words in the texts. Only files of
the base are read."""

import re
from collections import defaultdict
from collections.abc import Awaitable, Callable, Collection, Iterable, Mapping, Sequence
from pathlib import PurePosixPath

from trued.proof.reach.file_readers import LISTS_FOLDERS, PAGES_AND_SETTINGS
from trued.proof.room.frozen_files import is_test
from trued.proof.text.languages import CODE, is_script
from trued.proof.text.program_names import is_interpreter
from trued.support.lazy_regex import lazy_regex

Read = Callable[[Collection[str]], Awaitable[Mapping[str, str]]]  # paths → their texts on the base

MOST_READ = 5000  # if words lead to more files than this, any file counts as reached
# Files that are not code, and may name others: settings, templates, manifests, documents with examples.
_NAMING_ENDINGS = (*PAGES_AND_SETTINGS, ".sql", ".md", ".rst", ".txt", ".graphql", ".pth", "")
_MANIFESTS = ("package.json", "tsconfig.json", "jsconfig.json")  # these may define another name for a file
# Files that map the name of a program to what it starts: manifests, makefiles, a Procfile.
_FILES_THAT_NAME_PROGRAMS = frozenset(
    ("package.json", "pyproject.toml", "setup.cfg", "setup.py", "Makefile", "makefile", "Procfile")
)
# Stems of files that are known by a folder's name.
_NAMED_BY_FOLDER = frozenset(("__init__", "__main__", "index", "main", "mod", "lib", "package"))
_WORD = lazy_regex(r"[\w-]+")
_IMPORT_LINE = lazy_regex(r"^.*\b(?:import|from|require)\b.*$", re.MULTILINE)
# A module whose name is computed.
_COMPUTED_PYTHON_IMPORT = lazy_regex(r"\b(?:import_module|__import__)\(\s*(?![\"'][\w.]+[\"']\s*[,)])")
_COMPUTED_SCRIPT_IMPORT = lazy_regex(r"(?<![.\w$])(?:import|require)\(\s*(?![\"'`][^\"'`$]+[\"'`]\s*[,)])")
# Ways by which a test uses a product from outside: an address, a browser, a process.
_ADDRESS_OR_BROWSER = r"\blocalhost\b|127\.0\.0\.1|\b(?:playwright|puppeteer|selenium|webdriver)\b"
FROM_OUTSIDE = lazy_regex(
    rf"{_ADDRESS_OR_BROWSER}|\b(?:requests|httpx|urllib\.request|axios)\b|\bfetch\(|\.goto\(|\bcy\.visit\("
    r"|\b(?:subprocess|child_process|pexpect|os\.system)\b"
)
_GO_FROM_OUTSIDE = lazy_regex(
    rf"{_ADDRESS_OR_BROWSER}|\bchromedp\b|\bos/exec\b|\bos\.StartProcess\b|\bnet\.Dial|\bgrpc\.(?:Dial|NewClient)"
    r"|\bhttp\.(?:Get|Head|Post|NewRequest|Client|DefaultClient)"
)
_GO_IMPORT = lazy_regex(r"^[ \t]*import\b\s*(?:\([^)]*\)|[^\n]*)", re.MULTILINE)
_QUOTED = lazy_regex(r"[\"`]([^\"`\n]+)[\"`]")


async def reachable_files(read: Read, paths: Iterable[str], tests: Iterable[str]) -> frozenset[str] | None:
    """The files that these tests of the base may reach, directly or indirectly; None if they may reach any file.

    A file may reach another file if its text has the name of the other file as a word, whatever the word means there.
    So the result may have too many files, but hardly too few. A test may use the product from outside, and so reach any
    file, if it imports no code of the product, or speaks to a server, a page or a process. Code that computes the name
    of a module may reach any file, too.

    `tests`: each `file`, or `file::name` for a part of a file. `paths`: all files of the base, and new ones.
    """
    reach = _Reach(read, paths)
    files = {test.partition("::")[0]: "::" not in test for test in tests}
    await reach.texts_of(files)  # read at once, because reading one by one takes long
    for path, is_whole_file in files.items():
        if (is_whole_file or is_test(path)) and await reach.is_from_outside(path):
            return None
    return await reach.closure(files)


async def files_of_programs(
    read: Read, paths: Iterable[str], commands: Iterable[Sequence[str]]
) -> frozenset[str] | None:
    """The files that these command lines may reach on the base, directly or indirectly; None if they may reach any
    file. A program that is no interpreter may be defined in the project's manifests, so the files that the manifests
    name count, too."""
    reach, starts = _Reach(read, [path for path in paths if not is_test(path)]), set[str]()
    for words in commands:
        starts |= reach.files_named_in(" ".join(words))
        if not (words and is_interpreter(words[0])):
            starts |= _FILES_THAT_NAME_PROGRAMS & reach.paths
    return await reach.closure(starts)


class _Reach:
    """The files of a base by the words that lead to them."""

    def __init__(self, read: Read, paths: Iterable[str]) -> None:
        self._read, self.paths, self._texts = read, frozenset(paths), dict[str, str]()
        self.files_by_word: dict[str, set[str]] = defaultdict(set)  # word → files that it names
        # folder's name, or path of a Go package → files below it
        self.files_by_folder: dict[str, set[str]] = defaultdict(set)
        for path in self.paths:
            for name in _names_of_file(path):
                self.files_by_word[name].add(path)
            for folder in PurePosixPath(path.lower()).parts[:-1]:
                self.files_by_folder[folder].add(path)
            if path.endswith(".go"):
                self.files_by_folder[f"{PurePosixPath(path).parent}/"].add(path)

    async def is_from_outside(self, test: str) -> bool:
        """Whether a test uses the product from outside, such as through a server or a process, or imports none of its
        code, not even through other tests and helpers."""
        if test.endswith(".go"):
            return await self._is_go_from_outside(test)
        waiting, visited, folder = [test], set[str](), PurePosixPath(test).parent
        while waiting:
            wave = [path for path in dict.fromkeys(waiting) if path not in visited]
            visited.update(wave)
            nearby = [path for path in wave if is_test(path) or PurePosixPath(path).is_relative_to(folder)]
            texts = await self.texts_of(nearby)
            if any(FROM_OUTSIDE.search(text) for text in texts.values()):
                return True
            tests = [path for path in nearby if path == test or is_test(path)]
            import_lines = ["\n".join(_IMPORT_LINE.findall(texts[path])) for path in tests]
            waiting = [path for lines in import_lines for path in self.files_named_in(lines)]
        return not any(path.endswith(CODE) and path != test and not is_test(path) for path in visited)

    async def _is_go_from_outside(self, test: str) -> bool:
        """`is_from_outside` for a Go test, which uses the code in its folder without an import."""
        folder = PurePosixPath(test).parent
        beside = self.files_by_folder.get(f"{folder}/", set[str]())
        has_own_code = any(not is_test(path) for path in beside)
        test_code = {test, *(path for path in beside if is_test(path))}
        imported = {path for text in (await self.texts_of(test_code)).values() for path in self._go_imports(text)}
        # Without code of its own, a folder holds tests and their helpers.
        test_code |= {
            path
            for path in imported
            if is_test(path) or (not has_own_code and PurePosixPath(path).is_relative_to(folder))
        }
        if any(_GO_FROM_OUTSIDE.search(text) for text in (await self.texts_of(test_code)).values()):
            return True
        return not has_own_code and imported <= test_code

    def _go_imports(self, text: str) -> set[str]:
        """The files of all Go packages that a text may import."""
        import_paths = [PurePosixPath(path).parts for path in _QUOTED.findall("\n".join(_GO_IMPORT.findall(text)))]
        folders = ["/".join(parts[start:]) for parts in import_paths for start in range(len(parts))]
        return {path for folder in folders for path in self.files_by_folder.get(f"{folder}/", ())}

    async def closure(self, starts: Collection[str]) -> frozenset[str] | None:
        """These files, and all that their words lead to, directly or indirectly; None if that may be any file."""
        waiting, reached = {*starts}, set[str]()
        while waiting:
            reached |= waiting
            if len(reached) > MOST_READ:
                return None
            texts = await self.texts_of([path for path in waiting if path.endswith(CODE) or _may_name_files(path)])
            if any(computes_modules(path, text) for path, text in texts.items()):
                return None
            waiting = {target for path, text in texts.items() for target in self._targets_of(path, text)} - reached
        return frozenset(reached)

    def _targets_of(self, path: str, text: str) -> set[str]:
        """The files that the words of this file lead to directly."""
        targets = self.files_named_in(text)
        if path.endswith(".go"):  # a Go file leads to all files of its package
            targets |= self.files_by_folder[f"{PurePosixPath(path).parent}/"]
        if LISTS_FOLDERS.search(text):
            targets |= {target for word in _words(text) for target in self.files_by_folder.get(word, ())}
        names = _MANIFESTS if is_script(path) else ("conftest.py",) if is_test(path) else ()
        above = [str(folder / name) for folder in PurePosixPath(path).parents for name in names]
        return targets | {target for target in above if target in self.paths}

    def files_named_in(self, text: str) -> set[str]:
        return {path for word in _words(text) for path in self.files_by_word.get(word, ())}

    async def texts_of(self, paths: Collection[str]) -> dict[str, str]:
        if unread := [path for path in paths if path not in self._texts]:
            self._texts |= await self._read(unread)
        return {path: self._texts.get(path, "") for path in paths}


def computes_modules(path: str, text: str) -> bool:
    """Whether code computes the name of a module that it loads."""
    if path.endswith(".py"):
        return bool(_COMPUTED_PYTHON_IMPORT.search(text))
    return is_script(path) and bool(_COMPUTED_SCRIPT_IMPORT.search(text))


def _may_name_files(path: str) -> bool:
    return PurePosixPath(path).suffix in _NAMING_ENDINGS


def _words(text: str) -> set[str]:
    words = {word.lower() for word in _WORD.findall(text)}
    return words | {part for word in words if "-" in word for part in word.split("-")}


def _names_of_file(path: str) -> set[str]:
    """The words by which other files name this file, in lower case. For data and for Go code, they contain the folder's
    name, because other files may name only the folder."""
    *folders, name = PurePosixPath(path.lower()).parts
    stem = name.partition(".")[0] or name
    if stem in _NAMED_BY_FOLDER:
        return {stem, *folders}
    names = {stem, *(_WORD.findall(stem) or _WORD.findall(PurePosixPath(name).stem))}  # `+page.ts`, `[...id].ts`
    return {*names, *folders[-1:]} if path.endswith(".go") or not path.endswith(CODE) else names
