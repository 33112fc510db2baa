"""Finds changed files that may add a package without declaring it in a manifest.

Such a file may be a list of packages with an unusual name, a build file, an HTML page or style sheet that loads
something from elsewhere, or a file with a new import or command. If there is one, the manifests alone do not prove the
requirement, and a person has to approve the requirement.
"""

import posixpath
import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from itertools import chain
from pathlib import PurePosixPath

from trued.proof.dependencies.check import (
    declared_by,
    entries_by_manifest,
    manifest_texts,
    own_packages,
    text_of,
    with_folders,
)
from trued.proof.dependencies.development_files import DRIVEN, DevelopmentFiles, is_for_developers
from trued.proof.dependencies.harmless_modules import STANDARD
from trued.proof.dependencies.own_modules import OwnModules, is_vendored, own_imports
from trued.proof.dependencies.package_consumers import Consumers
from trued.proof.dependencies.package_manifests import (
    MOST_BYTES,
    is_package_manifest,
    is_read_whole,
    packages_in,
)
from trued.proof.dependencies.package_words import (
    DATA_FILES,
    DOCUMENTS,
    INERT,
    MARKUP,
    is_read_by_code,
    loads_code,
    may_mean,
    new_words,
    parsed_data,
    read_names,
)
from trued.proof.dependencies.page_parts import ADDRESS, NAMESPACE, loads_more, packages_in_markup
from trued.proof.dependencies.script_headers import UNKNOWN, first_command, own_manifests
from trued.proof.dependencies.source_imports import GO_AND_RUST, is_known_command, read_source
from trued.proof.dependencies.source_text import SourceText, Words
from trued.proof.dependencies.tool_settings import ToolSettings
from trued.proof.room.declared_packages import provides_module
from trued.proof.room.frozen_files import is_among_tests, is_named_like_a_test, is_test
from trued.proof.room.go_cache import module_name
from trued.proof.text.commit_texts import decoded, is_unread, without_utf_16
from trued.proof.text.languages import CODE, SCRIPTS, WITH_MANIFESTS, is_script
from trued.proof.text.script_aliases import ScriptAliases, is_settings
from trued.protocols import Workspace
from trued.support.lazy_regex import lazy_regex

SHORT = ("@/", "~/")  # these begin no package's name, so they stand for a folder, by the settings of some tool
READ_AS_CODE = (".py", *SCRIPTS, *GO_AND_RUST)
# Texts about the project. Without a suffix, only capital letters show that such a file is no program.
_SUBJECTS = "readme|changelog|changes|history|news|release[-_]?notes|contributing|notice|copying|authors|license|todo"
_ABOUT_PROJECT = lazy_regex(rf"(?i:{_SUBJECTS})\.txt|{_SUBJECTS.upper()}")
# Folders for code of others.
_VENDORED = lazy_regex(r"_?vendor(?:ed)?|third[-_]?party|site-packages|node_modules", re.IGNORECASE)
# Names under which several packages bring modules of their own.
SHARED = frozenset(("google", "azure", "zope", "ruamel", "jaraco", "backports", "sphinxcontrib"))
_TEXT_VALUE = r"`(?:\\.|\$(?!\{)|[^`\\$])*`"
# A snapshot of a JavaScript test that contains only texts. The test runner executes snapshots as code; texts do
# nothing.
_SNAPSHOT = lazy_regex(rf"(?:\s*//[^\n]*\n|\s*exports\[{_TEXT_VALUE}\] = {_TEXT_VALUE};)*\s*", re.DOTALL)
_LOCAL = lazy_regex(r"https?://(?:localhost|127\.0\.0\.1)(?=(?::[^@/]*)?(?:/|$))", re.IGNORECASE)  # this machine


@dataclass(frozen=True, slots=True)
class _Change:
    """The change between two commits: the contents of the changed files, the project's own modules, and the packages
    that the base declares."""

    workspace: Workspace
    base: str
    commit: str
    before: Mapping[str, bytes]  # path → content of the changed files, on the base
    after: Mapping[str, bytes]  # the same, on the commit
    own_modules: OwnModules
    consumers: Consumers  # of packages, as the base's manifests declare them


async def unread_additions(
    workspace: Workspace,
    base: str,
    commit: str,
    changed: Collection[str],
    places: tuple[Collection[str], Collection[str]],
    *,
    projects: Collection[str] = (),
    exact: bool = False,
) -> list[str]:
    """Changed files that may add a package without a manifest, each described in a few words.

    Only content that the file did not have on the base counts.
    `places`: first the folders from which the project's modules are imported, then the names of Python's own modules.
    `projects`: import roots of the base's project folders.
    `exact`: another version of a known package counts as an addition, too.
    """
    before, after = await workspace.read_all(base, sorted(changed)), await workspace.read_all(commit, sorted(changed))
    on_base, on_commit = await workspace.blobs(base), await workspace.blobs(commit)
    roots, standard = places
    modules_of_go = await _go_modules(workspace, base, on_base)
    submodules = await workspace.submodules(commit)
    texts = {path: (_decoded(before.get(path, b"")), _decoded(content)) for path, content in after.items()}
    manifests = (
        await entries_by_manifest(workspace, commit)
        if any(not path.endswith((*DOCUMENTS, ".py")) or is_unread(text) for path, (_, text) in texts.items())
        else {}
    )
    known_paths = _known_paths(on_base, after)
    aliases, tools = await _settings_of_scripts(workspace, base, {**before, **after}, after, known_paths)
    modules = OwnModules(roots, on_base, on_commit, projects, aliases)
    sources = _SourceReader(on_base, on_commit, frozenset(standard), modules, modules_of_go, aliases, tools)
    links, imports = await workspace.symbolic_links(commit), dict[str, set[str]]()
    heads = {path: pair for path, pair in texts.items() if path not in links}
    on_base_with_folders = with_folders(on_base)
    additions = [
        *(path for path in sorted(changed) if path in submodules),
        *(path for path in after if _is_copied(path, on_base_with_folders)),
        *(path for path, pair in heads.items() if _has_new_manifest(path, *pair)),
        *(path for path, pair in heads.items() if pair[0] != pair[1] and _may_be_misread(path, pair[1], manifests)),
    ]
    # neither manifest nor code: path → text on the base, text on the commit
    other_files: dict[str, tuple[str, str]] = {}
    # path → commands that it did not start on the base
    starts = {path: _new_first_commands(path, *pair) for path, pair in heads.items()}
    for path, (old_text, new_text) in texts.items():
        if (
            old_text == new_text
            or path.endswith(DOCUMENTS)
            or (path not in links and _is_plain_snapshot(path, new_text))
        ):
            continue
        if path in links:
            additions += [] if _is_read_at_target(path, new_text, on_commit) else [path]
            continue
        if path.endswith(READ_AS_CODE):
            source = sources.read(path, old_text, new_text)
            additions += [path] if sources.hides_more(source) else []
            imports[path] = sources.foreign_imports(source)
            starts.setdefault(path, []).extend(source.new_commands())
        # A setup.py is code and also a manifest.
        if path in manifests or is_package_manifest(path):
            own_modules = modules.beside("")
            folders = {
                str(folder)
                for name in on_commit
                if name.endswith(WITH_MANIFESTS)
                for folder in PurePosixPath(name).parents
            }
            known_paths_here = {*known_paths, *(folder for folder in folders if "/" in folder)}
            is_understood = is_read_whole(
                path, old_text, new_text, own_modules=own_modules, known_paths=known_paths_here
            )
            additions += [] if is_understood else [path]
        elif path.endswith(MARKUP):
            additions += [path] if loads_more(path, old_text, new_text) else []
            old_packages = packages_in_markup(path, old_text, on_base)
            imports[path] = packages_in_markup(path, new_text, on_commit) - old_packages
        elif not path.endswith(READ_AS_CODE):
            other_files[path] = old_text, new_text
    additions += [
        *await _files_with_packages(workspace, base, other_files, after, known_paths, exact=exact),
        *await _files_with_new_programs(workspace, base, starts, known_paths),
    ]
    declared, raised = await _declared_for_more(workspace, base, commit)
    change = _Change(workspace, base, commit, before, after, modules, declared)
    unknown = await _unknown_imports(change, imports)
    return [
        *dict.fromkeys(additions),
        *(f"{path}, which imports {name}" for path, name in unknown),
        *(f"{path}, which declares {name} for more people than the base does" for name, path in raised),
    ]


async def _go_modules(workspace: Workspace, base: str, on_base: Collection[str]) -> frozenset[str]:
    """The first parts of the names of the base's Go modules."""
    manifests = [path for path in on_base if PurePosixPath(path).name == "go.mod"]
    contents = await workspace.read_all(base, manifests)
    return frozenset(module_name(text_of(content)).split("/")[0] for content in contents.values())


def _known_paths(on_base: Collection[str], changed: Collection[str]) -> set[str]:
    """Paths that do not count as new words in a changed file: those of the base, and those of changed sources."""
    known_paths = with_folders(on_base)
    known_paths |= {path for path in changed if "/" in path and path.endswith((*WITH_MANIFESTS, ".sh"))}
    # Changed documents are not read as lists of packages, but a command could still use one as such a list:
    # `pip install -r docs/list.md`. So their paths count as new words, even if the base has them.
    return known_paths - {
        path for path in changed if is_document(path) or path.endswith(".snap") or PurePosixPath(path).name in INERT
    }


async def _imports_of_removed(change: _Change) -> dict[str, tuple[set[str], bytes]]:
    """File of the commit → the names in it that stood for files of the project, and the file's content. The commit
    removes those files, so the names now stand for packages."""
    removed = change.before.keys() - change.after.keys()
    suffixes = (
        *((".py",) if any(path.endswith((".py", ".so", ".pyx")) for path in removed) else ()),
        *(SCRIPTS if any(map(is_script, removed)) else ()),
    )
    names_of_files = {part.split(".")[0] for path in removed for part in PurePosixPath(path).parts}
    found: dict[str, tuple[set[str], bytes]] = {}
    readers = sorted(
        path for path in await change.workspace.blobs(change.commit) if suffixes and path.endswith(suffixes)
    )
    for path, content in (await change.workspace.read_all(change.commit, readers)).items():
        text = text_of(content)
        is_named = any(name in text for name in names_of_files)
        if is_named and (names := change.own_modules.removed(path, read_source(path, text))):
            found[path] = names, content
    return found


async def _declared_for_more(workspace: Workspace, base: str, commit: str) -> tuple[Consumers, list[tuple[str, str]]]:
    """What the base declares, and each package that the commit declares for more people than the base does, with the
    manifest that declares it."""
    before, after = [Consumers(await manifest_texts(workspace, version)) for version in (base, commit)]
    raised = [*after.declared_for_more(before)]
    project_packages = await own_packages(workspace, base, commit) if raised else None
    return before, sorted(
        entry for entry in raised if not project_packages or not project_packages.provides(entry[1], entry[0])
    )


def is_document(path: str) -> bool:
    """Whether only people, browsers or players read the file: a text about the project, a picture, a font, a sound."""
    return path.endswith(DOCUMENTS) or bool(_ABOUT_PROJECT.fullmatch(PurePosixPath(path).name))


def _is_plain_snapshot(path: str, text: str) -> bool:
    return path.endswith(".snap") and bool(_SNAPSHOT.fullmatch(text))


def _is_copied(path: str, on_base: Collection[str]) -> bool:
    """Whether the file is code of a package that was copied into a folder for other people's code, and that the base
    does not have. `on_base`: the base's files and folders. A file directly in a folder `vendor` does not count as a
    package, because that folder may be the product's own code about sellers."""
    parts = PurePosixPath(path).parts
    for at, folder_name in enumerate(parts[:-1]):
        if _VENDORED.fullmatch(folder_name):
            inside = "/".join(parts[: at + 2])
            is_package = len(parts) > at + 2 or folder_name.lower() != "vendor"
            return is_package and path.endswith(CODE) and inside not in on_base
    return False


async def _settings_of_scripts(
    workspace: Workspace, base: str, changed: Collection[str], after: Mapping[str, bytes], known_paths: Collection[str]
) -> tuple[ScriptAliases, ToolSettings]:
    """The short names that the base's settings define, and the settings of tools as they are after the change.
    `after`: path → content of changed files on the commit."""
    paths = [path for path in await workspace.blobs(base) if is_settings(path)] if any(map(is_script, changed)) else []
    before = {path: text_of(content) for path, content in (await workspace.read_all(base, paths)).items()}
    new = {path: text_of(content) for path, content in after.items() if is_settings(path)}
    return ScriptAliases(before), ToolSettings({**before, **new}, known_paths)


def _leads_out(path: str, name: str, on_base: Collection[str], on_commit: Collection[str]) -> bool:
    """Whether a path that the script at `path` imports leads out of the project. An absolute path is the project's own
    only if the base has such a file below a folder that bundlers serve."""
    place = posixpath.normpath(posixpath.join(posixpath.dirname(path), name.split("?")[0]))
    if name.startswith("/"):
        folders = [*PurePosixPath(path).parents, *(folder / "public" for folder in PurePosixPath(path).parents)]
        return not any(str(folder / place.lstrip("/")) in on_base for folder in folders)
    return place.startswith("../") or (not name.startswith(".") and place not in with_folders(on_commit))


def _roots_of_short_name(name: str, files: Collection[str]) -> set[str]:
    """The folders for which `@` in `@/hooks/a` may stand, because they have a file that fits the rest of the name."""
    stem = re.sub(r"\.[cm]?jsx?$", "", posixpath.normpath(name[2:].split("?")[0]))
    fits = re.compile(rf"((?:.*/)?){re.escape(stem)}(?:/index)?(?:\.\w+)*")
    candidates = [path for path in files if stem in path and "node_modules" not in path]
    return {match[1] for path in candidates if (match := fits.fullmatch(path))}


def _is_read_at_target(path: str, target: str, files: Collection[str]) -> bool:
    """Whether this symbolic link can be ignored, because what it leads to is read anyway: a folder of the commit, or a
    file of the commit with the link's suffix, because the suffix decides how a file is read. A link with a name from
    `INERT`, such as `LICENSE`, may lead to any file of the commit."""
    leads_to = posixpath.normpath(posixpath.join(posixpath.dirname(path), target))
    same_kind = PurePosixPath(leads_to).suffix == PurePosixPath(path).suffix or PurePosixPath(path).name in INERT
    return (leads_to in files and same_kind) or any(file.startswith(f"{leads_to}/") for file in files)


@dataclass(frozen=True, slots=True)
class _ChangedSource:
    """A changed source file: its texts on the base and on the commit, and what was found in each."""

    path: str
    old_text: str
    new_text: str
    before: SourceText
    after: SourceText

    def new_commands(self) -> list[Words]:
        """The commands that new statements of the file start."""
        new_places = [place for place in self.after.starts if place not in self.before.starts]
        return [command for place in new_places for command in self.after.starts[place]]

    def new_addresses(self) -> set[str]:
        """The addresses of other machines that are new in the file's code."""
        return _addresses_in_code(self.new_text) - _addresses_in_code(self.old_text)


@dataclass(frozen=True, slots=True)
class _SourceReader:
    """Reads changed source files. Its fields tell the project's own code from packages."""

    on_base: Collection[str]  # the base's paths
    on_commit: Collection[str]
    standard: frozenset[str]  # the names of Python's own modules
    modules: OwnModules
    modules_of_go: frozenset[str]  # the first parts of their names
    aliases: ScriptAliases
    tools: ToolSettings

    def read(self, path: str, old_text: str, new_text: str) -> _ChangedSource:
        """Read both versions of a file. `hides_more` and `foreign_imports` say what the new version adds."""
        own_modules = self._own_modules(path)
        before, after = [read_source(path, text, own_modules) for text in (old_text, new_text)]
        return _ChangedSource(path, old_text, new_text, before, after)

    def hides_more(self, source: _ChangedSource) -> bool:
        """Whether the new version of the file cannot be parsed, or may newly load something without naming it.

        The file may do that by a statement, by a path that leads out of the project, by short names that cannot be
        read, or, in a script, by an address."""
        new_paths = source.after.paths - source.before.paths
        return (
            not source.after.parsed
            or bool(source.after.hidden - source.before.hidden)
            or (source.path.endswith(SCRIPTS) and bool(source.new_addresses()))
            or self.tools.hides_more(source.path, source.after, source.old_text, source.new_text)
            or any(_leads_out(source.path, name, self.on_base, self.on_commit) for name in new_paths)
        )

    def foreign_imports(self, source: _ChangedSource) -> set[str]:
        """The names by which the file may load a package:

        - its imports that are neither the project's own nor Python's;
        - functions of Python that fetch something, if the file newly uses them;
        - packages that the file, as the settings of a tool, newly names."""
        imported = (source.after.imports | source.after.fetches) - self._own_names(source)
        return imported | self.tools.new_packages(source.path, source.after, source.old_text, source.new_text)

    def _own_modules(self, path: str) -> frozenset[str]:
        return self.modules_of_go if path.endswith(".go") else self.modules.beside(path)

    def _own_names(self, source: _ChangedSource) -> set[str]:
        """The names in the file that need no package: modules of the project and of Python, and functions such as
        `urllib.request.urlopen` if the file called them on the base. In a test without a new address, new calls of such
        functions need no package either."""
        if source.path.endswith(".py"):
            own_names = {*self._own_modules(source.path), *STANDARD.intersection(self.standard)}
        else:
            own_names = own_imports(source.path, source.after, self.aliases, self.on_commit)
        if PurePosixPath(source.path).name == "setup.py":
            own_names.add("setuptools")
        # A test may ask its own machine.
        asks_own_machine = is_test(source.path) and not source.new_addresses()
        return own_names | (source.after.fetches if asks_own_machine else source.before.fetches)


def _decoded(content: bytes) -> str:
    return decoded(without_utf_16(content))


def _may_be_misread(path: str, text: str, manifests: Collection[str]) -> bool:
    """Whether tools may read this code, page or manifest as another text than the engine does. For example, another
    file can choose an encoding for a page, and browsers leave out the escapes of this encoding."""
    if is_unread(text):
        return path in manifests or path.endswith((*READ_AS_CODE, *MARKUP))
    return "\x1b" in text and path.endswith((*SCRIPTS, *MARKUP))


def _has_new_manifest(path: str, old_text: str, new_text: str) -> bool:
    """Whether a script has gained a manifest of its own. In documents, manifests are only examples."""
    return not path.endswith(DOCUMENTS) and bool(own_manifests(new_text) - own_manifests(old_text))


def _new_first_commands(path: str, old_text: str, new_text: str) -> list[Words]:
    """The command of a changed file's first line, if this command is `UNKNOWN` or differs from the base's. Otherwise an
    empty list."""
    before, after = first_command(path, old_text), first_command(path, new_text)
    return [after] if after and old_text != new_text and (after == UNKNOWN or after != before) else []


def _addresses_in_code(text: str) -> set[str]:
    lines = [line for line in text.splitlines() if not line.lstrip().startswith(("//", "/*", "*"))]
    return {
        address
        for address in ADDRESS.findall("\n".join(lines))
        if not NAMESPACE.match(address) and not _LOCAL.match(address)
    }


async def _files_with_new_programs(
    workspace: Workspace, base: str, starts: Mapping[str, list[Words]], paths: Collection[str]
) -> list[str]:
    """The files that newly start a program which may install packages."""
    if not any(starts.values()):
        return []
    sources = [path for path in await workspace.blobs(base) if path.endswith((".py", *SCRIPTS, *GO_AND_RUST))]
    programs = {words[0] for commands in starts.values() for words in commands if words and words[0]}
    program_names = [*programs, *(["sys.executable"] if "python" in programs else [])]
    texts = [
        (path, text_of(content)) for path, content in (await workspace.read_all(base, sources)).items() if programs
    ]
    naming = [(path, text) for path, text in texts if any(name in text for name in program_names)]
    base_commands = [command for path, text in naming for command in read_source(path, text).commands()]
    base_commands += [command for path, text in naming if (command := first_command(path, text))]
    return [
        path
        for path, commands in starts.items()
        if not all(is_known_command(command, base_commands, paths) for command in commands)
    ]


def _added_lines(old_text: str, new_text: str) -> list[str]:
    old_lines, new_lines = [dict.fromkeys(re.split(r"\r?\n", text)) for text in (old_text, new_text)]  # as in shells
    return [line for line in new_lines if line.strip() and line not in old_lines]


async def _files_with_packages(
    workspace: Workspace,
    base: str,
    changed: Mapping[str, tuple[str, str]],
    changed_contents: Mapping[str, bytes],
    known_paths: Collection[str],
    *,
    exact: bool,
) -> list[str]:
    """The files that may add a package: those with new words, any of which may name a package (see `new_words`). Data
    that only the project's own code reads is left out, unless it names packages (see `_declares`)."""
    changed = {path: texts for path, texts in changed.items() if PurePosixPath(path).name not in INERT}
    with_new_words = [
        path
        for path, (old_text, new_text) in changed.items()
        if len(new_text) > MOST_BYTES
        or is_unread(new_text)
        or new_words(path, old_text, _added_lines(old_text, new_text), known_paths=known_paths, exact=exact)
    ]
    if not any(path.endswith(DATA_FILES) or is_document(path) for path in with_new_words):
        return with_new_words
    on_base = await workspace.blobs(base)
    code = [path for path in on_base if path.endswith((".py", *SCRIPTS)) and PurePosixPath(path).name not in DRIVEN]
    read_by_code = read_names(
        {path: text_of(content) for path, content in (await workspace.read_all(base, code)).items()}
    )
    tools = [path for path in on_base if path not in code and not path.endswith((*DOCUMENTS, *MARKUP, *GO_AND_RUST))]
    mentioning = [(path, text_of(content)) for path, content in (await workspace.read_all(base, tools)).items()]
    # A new test that names a file reads it as data, unless a driver might run that test's code.
    driven = any(PurePosixPath(path).name in DRIVEN for path in changed_contents)
    drivers = [text for path, text in mentioning if PurePosixPath(path).name in DRIVEN]
    reading_tests = {
        path
        for path in changed_contents
        if is_named_like_a_test(path) and not driven and not any(PurePosixPath(path).stem in text for text in drivers)
    }
    helpers = {path for path in changed_contents if is_test(path) and path not in reading_tests}
    mentioning += [
        (path, text_of(content))
        for path, content in changed_contents.items()
        if path in helpers or (path not in code and path not in reading_tests)
    ]

    def is_read(path: str) -> bool:
        text_of = {reader: text for reader, text in mentioning if reader != path}
        if is_document(path):
            text = changed[path][1]
            return not text.startswith("#!") and not any(_may_list(reader, text_of[reader], path) for reader in text_of)
        return is_read_by_code(path, read_by_code, text_of, among_tests=is_among_tests(path) and not driven)

    return [path for path in with_new_words if not is_read(path) or _declares(path, *changed[path])]


def _may_list(reader: str, text: str, path: str) -> bool:
    """Whether the file `reader`, which has this text, may use the document at `path`, perhaps as a list of packages
    (see `may_mean`). False if `reader` is a MANIFEST.in, or if only git, editors and people read it."""
    return PurePosixPath(reader).name not in (*INERT, "MANIFEST.in") and may_mean(reader, text, path)


def _declares(path: str, old_text: str, new_text: str) -> bool:
    """Whether the file names new packages or a new address, or cannot be parsed."""
    try:  # an empty file has no packages, although it is not valid in every format
        before, after = (
            frozenset(packages_in(parsed_data(path, text), exact=True) if text.strip() else ())
            for text in (old_text, new_text)
        )
    except (ValueError, RecursionError):
        return True
    added = _added_lines(old_text, new_text)
    return not after <= before or any(map(ADDRESS.search, added)) or loads_code(path, added)


async def _unknown_imports(change: _Change, imports: Mapping[str, Collection[str]]) -> list[tuple[str, str]]:
    """File and name of each unknown import. An import is known if the base declares a package for this file that
    provides the name, or if code of the base for the same people (users or developers) imports the name.

    Files for developers may use every package that the base declares or imports. Code of the product may use only
    packages that ship with this code. A module of the project that the base's Python code imports does not count as a
    package of the same name.

    `imports`: path → names.
    """
    consumers = change.consumers
    orphans = await _imports_of_removed(change)
    imports = {**{path: names for path, (names, _) in orphans.items() if path not in change.after}, **imports}
    if not any(imports.values()):
        return []
    changed = {**{path: content for path, (_, content) in orphans.items()}, **change.after}
    declared = await declared_by(change.workspace, change.base)
    linked_packages = (await own_packages(change.workspace, change.base, change.commit)).linked()
    code = {path: text_of(content) for path, content in changed.items() if path.endswith((".py", *SCRIPTS))}
    developing = DevelopmentFiles(code)
    undeclared: list[_Import] = []
    for path, names in imports.items():
        folder = consumers.folder_of(path)
        ships = not developing.contains(path, folder)
        usable = consumers.usable(path) if ships else declared
        source = read_source(path, code[path]) if path in code else SourceText()
        for name in sorted(names):
            only_types = name in source.types  # nothing is loaded when the code runs
            consumer = (folder, path.endswith(".py")) if ships and not only_types else None
            provided = _is_declared(name, source.parts.get(name, ()), declared if only_types else usable)
            if (name not in linked_packages or not path.endswith(SCRIPTS)) and not provided:
                is_guarded = name in source.guarded
                undeclared.append(_Import(path, name, source.parts.get(name, {""}), consumer, is_guarded))
    return await _imports_missing_in_code(change, undeclared) if undeclared else []


@dataclass(frozen=True, slots=True)
class _Import:
    """An import in a changed file."""

    path: str
    name: str
    parts: Collection[str]  # the next parts of the name; "" for the name itself
    # the folder of the package with which the file ships, and whether it is Python; None for a file for developers
    consumer: tuple[str, bool] | None
    is_guarded: bool  # the file can do without it


async def _imports_missing_in_code(change: _Change, imports: Collection[_Import]) -> list[tuple[str, str]]:
    """File and name of each import that the base's code for the same people lacks (see `_unknown_imports`).

    If the base's scripts import packages that only developers install, then a bundler packs such packages into the
    product. So imports of such packages are left out.
    """
    consumers = change.consumers
    bundled = {
        imported.consumer: consumers.only_for_developers(imported.path)
        for imported in imports
        if is_script(imported.path)
    }
    on_base, on_commit = [await change.workspace.blobs(version) for version in (change.base, change.commit)]
    sources = [path for path in on_base if path.endswith((".py", *SCRIPTS))]
    prefixes = {imported.name[:2] for imported in imports if imported.name.startswith(SHORT)}
    words = {*prefixes, *(imported.name.rpartition(".")[2] for imported in imports), *chain(*bundled.values())}
    roots: dict[str, set[str]] = {prefix: set() for prefix in prefixes}
    # consumer → name → the parts of it that its code imports; None stands for all code
    used: dict[tuple[str, bool] | None, dict[str, set[str]]] = {}
    always_used: dict[tuple[str, bool] | None, dict[str, set[str]]] = {}  # the same without guarded imports
    for path, content in (await change.workspace.read_all(change.base, sources)).items():
        text = text_of(content)
        if not any(word in text for word in words):
            continue
        source, folder = read_source(path, text), consumers.folder_of(path)
        python = path.endswith(".py")
        users = [None, *([] if is_for_developers(path, folder) else [(folder, python)])]
        own_names = change.own_modules.imported_on_base(path, source)
        for name in source.imports | source.fetches:
            reaches = users if name not in source.types else users[:1]
            for uses in (used,) if name in source.guarded else (used, always_used):
                for user in reaches if name not in own_names else ():
                    uses.setdefault(user, {}).setdefault(name, set()).update(source.parts.get(name, {""}))
            if name[:2] in prefixes:
                roots[name[:2]] |= _roots_of_short_name(name, on_base)
    unknown: list[tuple[str, str]] = []
    for imported in imports:
        # A package that the base only imports with a guard is known only for imports with a guard.
        uses = used if imported.is_guarded else always_used
        parts = uses.get(imported.consumer, {}).get(imported.name)
        # Settings that cannot be read may define a short name, too. Then the base's code shows what it stands for.
        prefix = imported.name[:2]
        is_own_name = prefix in prefixes and roots[prefix] & _roots_of_short_name(imported.name, on_commit)
        if is_own_name and not is_vendored(imported.name, on_commit):
            continue
        packed = bundled.get(imported.consumer, ())
        imports_packed = not used.get(imported.consumer, {}).keys().isdisjoint(packed)
        if parts is None and imported.name in packed and imports_packed:
            continue
        if parts is None:
            unknown.append((imported.path, imported.name))
        elif imported.name in SHARED and "" not in parts:  # other parts belong to other packages
            unknown += [
                (imported.path, f"{imported.name}.{part}")
                for part in sorted(imported.parts)
                if part and part not in parts
            ]
    return sorted(unknown)


def _is_declared(name: str, parts: Collection[str], declared: Collection[str]) -> bool:
    """Whether a declared package provides the module. If several packages share the name `google`, the package
    `google-cloud-storage` provides only its part `cloud`."""
    if name not in SHARED or not parts:
        return any(package == name or provides_module(package, name) for package in declared)
    return all(any(f"{package}-".startswith(f"{name}-{part}-") for package in declared) for part in parts)
