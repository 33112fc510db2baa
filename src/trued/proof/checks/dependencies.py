"""Dependencies checks: the commit must declare no package that the base does not; with `unchanged`, it must declare
exactly the base's packages and versions. Reads manifests and runs nothing.

A change can also add a package without a manifest: by a list with an unusual name, a build file or an import.
`unread_additions` finds changed files that may do so. If there are any, the manifests prove too little: a person has to
approve the requirement.
"""

import html
import posixpath
import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from itertools import chain
from pathlib import PurePosixPath

from trued.model import DependenciesCheck, Outcomes, Tried
from trued.proof.checks.development_files import DRIVEN, DevelopmentFiles, is_for_developers
from trued.proof.checks.harmless_modules import STANDARD
from trued.proof.checks.own_packages import MANIFESTS, OwnPackages
from trued.proof.checks.package_consumers import Consumers
from trued.proof.checks.package_manifests import (
    MOST_BYTES,
    declared_in,
    is_package_manifest,
    is_read_whole,
    named_by,
    packages_in,
)
from trued.proof.checks.package_words import (
    DATA_FILES,
    INERT,
    is_read_by_code,
    loads_code,
    may_mean,
    new_words,
    parsed,
    read_names,
)
from trued.proof.checks.page_parts import page_parts, style_addresses, unescaped_style
from trued.proof.checks.source_imports import COMPILED, SourceText, Words, is_known_command, read_source
from trued.proof.checks.tool_settings import ToolSettings
from trued.proof.room.bench import Bench, Fact
from trued.proof.room.dependencies import provides_module
from trued.proof.room.frozen_files import is_among_tests, is_named_like_a_test, is_test
from trued.proof.room.go_cache import module_name
from trued.proof.text.languages import CODE, SCRIPTS
from trued.proof.text.script_aliases import ScriptAliases, is_settings
from trued.protocols import Workspace

ID = "dependencies"
SHORT = ("@/", "~/")  # these begin no package's name, so they stand for a folder, by the settings of some tool
READ_AS_CODE = (".py", *SCRIPTS, *COMPILED)
SOURCES = (
    ".py",
    ".js",
    ".mjs",
    ".cjs",
    ".ts",
    ".tsx",
    ".jsx",
    ".go",
    ".rs",
    ".rb",
)  # languages whose manifests are read
DOCUMENTS = (
    *(".md", ".rst", ".adoc", ".pdf", ".png", ".jpg", ".jpeg", ".gif", ".ico", ".webp", ".avif", ".bmp", ".tiff"),
    *(".woff", ".woff2", ".ttf", ".otf", ".eot", ".mp3", ".ogg", ".wav", ".mp4", ".webm"),
)
# These files can load something from elsewhere only by its URL, by a script inside, or by a rule of a style sheet.
MARKUP = (".html", ".htm", ".css", ".scss", ".svg")
# Texts about the project. Without a suffix, only capital letters show that such a file is no program.
_SUBJECTS = "readme|changelog|changes|history|news|release[-_]?notes|contributing|notice|copying|authors|license|todo"
_ABOUT = re.compile(rf"(?i:{_SUBJECTS})\.txt|{_SUBJECTS.upper()}")
# Folders for code of others.
_VENDORED = re.compile(r"_?vendor(?:ed)?|third[-_]?party|site-packages|node_modules", re.IGNORECASE)
# Names under which several packages bring modules of their own.
SHARED = frozenset(("google", "azure", "zope", "ruamel", "jaraco", "backports", "sphinxcontrib"))
_TEXT_VALUE = r"`(?:\\.|\$(?!\{)|[^`\\$])*`"
# A snapshot of a JavaScript test that contains only texts. The test runner executes snapshots as code; texts do
# nothing.
_SNAPSHOT = re.compile(rf"(?:\s*//[^\n]*\n|\s*exports\[{_TEXT_VALUE}\] = {_TEXT_VALUE};)*\s*", re.DOTALL)
_ADDRESS = re.compile(r"(?:https?:/*|//)[\w.-]+\.\w[^\s\"'`<>()]*", re.IGNORECASE)
_INLINE = re.compile(r"^# /// [\w-]+$.*?^# ///$", re.MULTILINE | re.DOTALL)  # a script's own manifest (PEP 723)
# A rule that names a file or package: @import "x", @use "x", @plugin "x"
_STYLE_NAME = r"(?:\"[^\"\n]+\"|'[^'\n]+'|(?i:url)\(\s*[^()\s]+\s*\))"
_STYLE_RULE = re.compile(
    r"(?<![\w\"'])@(?!(?:charset|error|warn|debug|return)\b)[\w-]+\s*(?:\([\w, ]*\)\s*)?"
    rf"({_STYLE_NAME}(?:\s*,\s*{_STYLE_NAME})*)"
)
# Matches comments, and also strings, because a string may contain what looks like a comment.
_STYLE_COMMENT = re.compile(r"(\"(?:\\.|[^\"\\\n])*\"|'(?:\\.|[^'\\\n])*')|/\*.*?\*/|(?<![:\w\"'(])//[^\n]*", re.DOTALL)
_XMLNS = re.compile(r"""\bxmlns(?::[\w-]+)?\s*=\s*(?:"[^"]*"|'[^']*')""")  # its value is a name that nothing loads
_LOCAL = re.compile(r"https?://(?:localhost|127\.0\.0\.1)(?=(?::[^@/]*)?(?:/|$))", re.IGNORECASE)  # this machine
_NAMESPACE = re.compile(r"https?://www\.w3\.org/", re.IGNORECASE)  # names of formats: nothing loads them


async def run_dependencies(check: DependenciesCheck, bench: Bench) -> Fact:
    """Compare what the commit declares with what the base declares."""
    before = await declared_by(bench.workspace, bench.base, exact=check.unchanged)
    after = await declared_by(bench.workspace, bench.commit, exact=check.unchanged)
    new = await newly_declared(bench.workspace, bench.base, bench.commit, exact=check.unchanged)
    added = sorted(new)
    gone = sorted(name for name in before if name not in after) if check.unchanged else []
    outcome, kind, detail = Outcomes.PASSED, "", ""
    if added:
        outcome, kind = Outcomes.FAILED, f"declares {', '.join(added[:5])}, which the base does not"
        detail = "\n".join(f"{new[name]}: {name}" for name in added[:50])
    elif gone:
        outcome, kind = Outcomes.FAILED, f"does not declare {', '.join(gone[:5])}, which the base does"
        detail = "\n".join(f"{before[name]}: {name}" for name in gone[:50])
    return Fact(tried=(Tried(id=ID, outcome=outcome, kind=kind, detail=detail),), command="read the manifests")


async def declared_by(workspace: Workspace, commit: str, *, exact: bool = False) -> dict[str, str]:
    """Package → the manifest of this commit that declares it. `exact`: the package's version is part of the key."""
    found: dict[str, str] = {}
    for path, entries in (await _manifests(workspace, commit, exact=exact)).items():
        for name in entries:
            found.setdefault(name, path)
    return found


async def newly_declared(workspace: Workspace, base: str, commit: str, *, exact: bool = False) -> dict[str, str]:
    """Package → manifest, for what the commit declares and the base does not. Packages that the manifest takes from the
    project itself do not count, unless every entry has to stay as it was (`exact`)."""
    before = await declared_by(workspace, base, exact=exact)
    manifests = await _manifests(workspace, commit, exact=exact)
    new = [(name, path) for path, names in manifests.items() for name in names if name not in before]
    if new and not exact:
        own = await own_packages(workspace, base, commit)
        new = [(name, path) for name, path in new if not own.provides(path, name)]
    return dict(reversed(new))


async def own_packages(workspace: Workspace, base: str, commit: str) -> OwnPackages:
    """The packages that the project itself contains. Packages among tests do not count."""
    texts = []
    for one in (base, commit):
        paths = [path for path in await workspace.blobs(one) if PurePosixPath(path).name in MANIFESTS]
        paths = sorted(path for path in paths if is_package_manifest(path) and not is_test(path))
        texts.append({path: _text(content) for path, content in (await workspace.read_all(one, paths)).items()})
    return OwnPackages(*texts)


async def _manifests(workspace: Workspace, commit: str, *, exact: bool = False) -> dict[str, list[str]]:
    """Manifest of this commit → what it declares. A reference to a list of packages (`-r base.txt`) or to a folder
    counts as a declaration only if the commit lacks it."""
    blobs = await workspace.blobs(commit)
    there = {*blobs, *(str(one) for path in blobs for one in PurePosixPath(path).parents)}
    return {
        path: sorted(
            one
            for one in declared_in(path, text, exact=exact)
            if not (named := named_by(path, one)) or not {*named} <= there
        )
        for path, text in (await _manifest_texts(workspace, commit)).items()
    }


async def _manifest_texts(workspace: Workspace, commit: str) -> dict[str, str]:
    """Manifest of this commit → text. If a manifest refers to a list of packages (`-r base.txt`), that list counts as a
    manifest, too, whatever its name."""
    blobs = await workspace.blobs(commit)
    found: dict[str, str] = {}
    waiting = sorted(filter(is_package_manifest, blobs))
    while waiting:
        path = waiting.pop(0)
        found[path] = _text(await workspace.read(commit, path) or b"")
        lists = {one for entry in declared_in(path, found[path]) for one in named_by(path, entry) if one in blobs}
        waiting += sorted(lists.difference(found, waiting))
    return found


# -- packages without a manifest ---------------------------------------------------------------------------------------


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
    on_base, here = await workspace.blobs(base), await workspace.blobs(commit)
    roots, standard = places
    modules = _OwnModules(roots, on_base, here, projects)
    go = await workspace.read_all(base, [one for one in on_base if PurePosixPath(one).name == "go.mod"])
    modules_of_go = frozenset(module_name(_text(one)).split("/")[0] for one in go.values())
    inner = await workspace.submodules(commit)
    manifests = (
        await _manifests(workspace, commit) if any(not one.endswith((*DOCUMENTS, ".py")) for one in after) else {}
    )
    known = {*on_base, *(str(one) for path in on_base for one in PurePosixPath(path).parents)}
    known |= {path for path in after if "/" in path and path.endswith((*SOURCES, ".sh"))}
    # Changed documents are not read as lists of packages, but a command could still use one as such a list:
    # `pip install -r docs/list.md`. So their paths count as new words.
    known -= {
        path for path in after if is_document(path) or path.endswith(".snap") or PurePosixPath(path).name in INERT
    }
    aliases, tools = await _settings_of_scripts(workspace, base, after, known)
    found, imports = [path for path in sorted(changed) if path in inner], dict[str, set[str]]()
    there_before = {*on_base, *(str(one) for path in on_base for one in PurePosixPath(path).parents)}
    found += [path for path in after if _is_copied(path, there_before)]
    others: dict[str, tuple[str, str]] = {}  # neither manifest nor code: path → text on the base, text on the commit
    starts: dict[str, list[Words]] = {}  # path → commands that it did not start on the base
    links = await workspace.symbolic_links(commit)
    for path in after:
        was, now = (one.get(path, b"").decode("utf-8", "replace") for one in (before, after))
        if was == now or path.endswith(DOCUMENTS) or (path not in links and _is_plain_snapshot(path, now)):
            continue
        if path in links:
            found += [] if _is_read_at_target(path, now, here) else [path]
            continue
        if path.endswith(READ_AS_CODE):
            own = modules_of_go if path.endswith(".go") else modules.beside(path)
            then, read = read_source(path, was, own), read_source(path, now, own)
            found += (
                [path]
                if not read.parsed
                or _hides_more(path, (then, was), (read, now))
                or tools.hides_more(path, read, was, now)
                else []
            )
            there = (
                {*own, *STANDARD.intersection(standard)}
                if path.endswith(".py")
                else _own_names(path, read, aliases, here)
            )
            there |= {"setuptools"} if PurePosixPath(path).name == "setup.py" else set()
            # A test may ask its own machine.
            asks = is_test(path) and not _addresses_in_code(now) - _addresses_in_code(was)
            there |= read.fetches if asks else then.fetches
            imports[path] = ((read.imports | read.fetches) - there) | tools.new_packages(path, read, was, now)
            fresh = [one for line, several in read.starts.items() if line not in then.starts for one in several]
            starts |= {path: fresh} if fresh else {}
        if path in manifests or is_package_manifest(path):
            own = modules.beside("")
            folders = {str(one) for name in here if name.endswith(SOURCES) for one in PurePosixPath(name).parents}
            known_here = {*known, *(one for one in folders if "/" in one)}
            found += [] if is_read_whole(path, was, now, own=own, known=known_here) else [path]
        elif path.endswith(MARKUP):
            found += [path] if _addresses(now) - _addresses(was) or _loads_more(path, was, now) else []
            imports[path] = _named_in_markup(path, now, here) - _named_in_markup(path, was, on_base)
        elif not path.endswith(READ_AS_CODE):
            others[path] = was, now
    found += [
        *await _with_packages(workspace, base, others, after, known, exact=exact),
        *await _with_new_programs(workspace, base, starts, known),
    ]
    declared, raised = await _declared_for_more(workspace, base, commit)
    unknown = await _unknown_imports(workspace, (base, commit), imports, after, (modules.on_base(), declared))
    return [
        *dict.fromkeys(found),
        *(f"{path}, which imports {name}" for path, name in unknown),
        *(f"{path}, which declares {name} for more than the base does" for name, path in raised),
    ]


class _OwnModules:
    """The project's modules that Python would import in preference to a package of the same name."""

    def __init__(
        self, roots: Collection[str], on_base: Collection[str], here: Collection[str], projects: Collection[str]
    ) -> None:
        self._roots, self._projects = [*map(PurePosixPath, roots or (".", "src"))], [*map(PurePosixPath, projects)]
        self._on_base, self._here = on_base, here
        self._folders_of_tests = {PurePosixPath(one).parent for one in here if is_test(one)}
        self._distributions = _roots_of_distributions(on_base)
        apart = {*self._distributions.values(), *self._projects}
        self._elsewhere = _modules_in(apart, on_base, [path for path in on_base if path in here])
        self._known: dict[frozenset[PurePosixPath], frozenset[str]] = {}

    def beside(self, path: str) -> frozenset[str]:
        """Those that this file could import. For a test, modules beside it count. In a repository of several
        distributions or projects, all modules of the file's own one count, and modules of the others if the base has
        them."""
        above = PurePosixPath(path).parents
        tests = self._folders_of_tests.intersection(above) if path and is_test(path) else ()
        own = [self._distributions[one] for one in above if one in self._distributions]
        own += [one for one in self._projects if one in above or (one.name == "src" and one.parent in above)]
        folders = frozenset({*self._roots, *tests, *own})
        if folders not in self._known:
            self._known[folders] = self._elsewhere | _modules_in(folders, self._on_base, self._here)
        return self._known[folders]

    def on_base(self) -> frozenset[str]:
        return _modules_in([*self._roots, *self._projects], self._on_base, self._on_base)


async def _declared_for_more(workspace: Workspace, base: str, commit: str) -> tuple[Consumers, list[tuple[str, str]]]:
    """For whom the base declares packages, and package and manifest for each one that the commit declares for more."""
    before, after = [Consumers(await _manifest_texts(workspace, one)) for one in (base, commit)]
    raised = [*after.raised(before)]
    own = await own_packages(workspace, base, commit) if raised else None
    return before, sorted(one for one in raised if not own or not own.provides(one[1], one[0]))


def is_document(path: str) -> bool:
    """Whether only people, browsers or players read the file: a text about the project, a picture, a font, a sound."""
    return path.endswith(DOCUMENTS) or bool(_ABOUT.fullmatch(PurePosixPath(path).name))


def _is_plain_snapshot(path: str, text: str) -> bool:
    return path.endswith(".snap") and bool(_SNAPSHOT.fullmatch(text))


def _is_copied(path: str, on_base: Collection[str]) -> bool:
    """Whether the file belongs to a package that was copied into a folder for code of others, and is new there.
    `on_base`: files and folders. In a folder `vendor`, which may also be about people who sell, a file is no package.
    """
    parts = PurePosixPath(path).parts
    for at, one in enumerate(parts[:-1]):
        if _VENDORED.fullmatch(one):
            inside = "/".join(parts[: at + 2])
            is_package = len(parts) > at + 2 or one.lower() != "vendor"
            return is_package and path.endswith(CODE) and inside not in on_base
    return False


def _is_script(path: str) -> bool:
    return path.endswith(SCRIPTS)


async def _settings_of_scripts(
    workspace: Workspace, base: str, after: Mapping[str, bytes], known: Collection[str]
) -> tuple[ScriptAliases, ToolSettings]:
    """The short names that the base defines, and the settings of tools with the changes in `after`."""
    paths = [path for path in await workspace.blobs(base) if is_settings(path)] if any(map(_is_script, after)) else []
    before = {path: _text(content) for path, content in (await workspace.read_all(base, paths)).items()}
    changed = {path: _text(content) for path, content in after.items() if is_settings(path)}
    return ScriptAliases(before), ToolSettings({**before, **changed}, known)


def _own_names(path: str, read: SourceText, aliases: ScriptAliases, here: Collection[str]) -> set[str]:
    """The imports of a script that stand for files of the commit (`here`), as the base's settings say."""
    return {
        package
        for package, names in read.named.items()
        if all(aliases.leads_inside(path, one, here) for one in names) and not _is_vendored(package, here)
    }


def _is_vendored(package: str, files: Collection[str]) -> bool:
    """Whether the project contains a package of that name, which Node loads whatever the settings of tools say."""
    return any(f"node_modules/{package}/" in one for one in files)


def _roots_of_short_name(name: str, files: Collection[str]) -> set[str]:
    """The folders for which `@` in `@/hooks/a` may stand, because they have a file that fits the rest."""
    place = re.sub(r"\.[cm]?jsx?$", "", posixpath.normpath(name[2:].split("?")[0]))
    fits = re.compile(rf"((?:.*/)?){re.escape(place)}(?:/index)?(?:\.\w+)*")
    near = [one for one in files if place in one and "node_modules" not in one]
    return {found[1] for one in near if (found := fits.fullmatch(one))}


def _is_read_at_target(path: str, target: str, here: Collection[str]) -> bool:
    """Whether a symbolic link adds nothing, because it leads to files of the commit that are read anyway. It must lead
    to a folder, or to a file with the same suffix, because the suffix decides how a file is read. A link with a name
    from `INERT`, such as `LICENSE`, may lead to any file of the commit."""
    place = posixpath.normpath(posixpath.join(posixpath.dirname(path), target))
    same = PurePosixPath(place).suffix == PurePosixPath(path).suffix or PurePosixPath(path).name in INERT
    return (place in here and same) or any(one.startswith(f"{place}/") for one in here)


def _roots_of_distributions(on_base: Collection[str]) -> dict[PurePosixPath, PurePosixPath]:
    """The folders of the base's Python distributions below the top folder, each with the folder of its modules."""
    names = ("pyproject.toml", "setup.py", "setup.cfg")
    manifests = [PurePosixPath(one) for one in on_base if PurePosixPath(one).name in names and not is_test(one)]
    folders = {one.parent for one in manifests if one.parent.name}
    inner = {
        one.parents[at] for one in map(PurePosixPath, on_base) if one.suffix == ".py" for at in range(len(one.parts))
    }
    return {one: one / "src" if one / "src" in inner else one for one in folders}


def _modules_in(places: Collection[PurePosixPath], on_base: Collection[str], here: Collection[str]) -> frozenset[str]:
    """The project's modules in these folders of the commit. A folder without `__init__.py` counts only if the base has
    it, because Python prefers an installed package to it."""
    found = set()
    for file in map(PurePosixPath, here):
        for place in {*places}.intersection(file.parents) if file.suffix in (".py", ".so", ".pyx") else ():
            inside = file.relative_to(place).parts
            if len(inside) == 1 or inside[1:] == ("__init__.py",) or str(file) in on_base:
                found.add(inside[0].split(".")[0])
    return frozenset(found)


def _hides_more(path: str, before: tuple[SourceText, str], after: tuple[SourceText, str]) -> bool:
    """Whether a source file has a new statement that may load something without naming it."""
    if after[0].hidden - before[0].hidden or {*_INLINE.findall(after[1])} - {*_INLINE.findall(before[1])}:
        return True
    if not path.endswith(SCRIPTS):
        return False
    return bool(_addresses_in_code(after[1]) - _addresses_in_code(before[1]))


def _addresses_in_code(text: str) -> set[str]:
    lines = [line for line in text.splitlines() if not line.lstrip().startswith(("//", "/*", "*"))]
    return {one for one in _ADDRESS.findall("\n".join(lines)) if not _NAMESPACE.match(one) and not _LOCAL.match(one)}


def _addresses(text: str) -> set[str]:
    """The addresses in a page, as a browser reads them."""
    plain = _XMLNS.sub("", html.unescape(text)).replace("\\", "/")
    joined = re.sub(r"[\t\r\n]", "", plain)  # browsers ignore these in addresses
    found = {one for one in _ADDRESS.findall(plain) if not _NAMESPACE.match(one)}
    return found | {one.split("?")[0] for one in re.findall(r"(?:https?:/*|//)[\w-]+(?:\.[\w-]+)+", joined)}


def _loads_more(path: str, was: str, now: str) -> bool:
    """Whether a page or style sheet newly loads something from elsewhere, or newly runs code that may do so."""
    if path.endswith((".css", ".scss")):
        return bool(style_addresses(now) - style_addresses(was))
    before, after = page_parts(was), page_parts(now)
    if before is None or after is None:
        return True
    known = {line for one in before.code for line in read_source("inline.js", one).hidden}
    code = [read_source("inline.js", one) for one in after.code - before.code]
    return bool(after.addresses - before.addresses) or any(one.hidden - known or one.starts for one in code)


def _named_in_markup(path: str, text: str, files: Collection[str]) -> set[str]:
    return _imported_in_page(text) | _named_in_style(path, unescaped_style(text), files)


def _imported_in_page(text: str) -> set[str]:
    """The packages that scripts in a page import."""
    parts = page_parts(text)
    return {name for one in parts.code for name in read_source("inline.js", one).imports} if parts else set()


def _named_in_style(path: str, text: str, files: Collection[str]) -> set[str]:
    """The packages that rules of a style sheet name. A name counts if no file of the project fits it, because a bundler
    would then look for a package of that name."""
    beside, found = PurePosixPath(path).parent, set[str]()
    rules = _STYLE_RULE.findall(_STYLE_COMMENT.sub(lambda one: one[1] or "", text))
    names = [one for rule in rules for one in re.findall(_STYLE_NAME, rule)]
    for name in (re.sub(r"^(?i:url)\(", "", one).rstrip(")").strip().strip("\"'").removeprefix("~") for one in names):
        if not name or name.startswith((".", "/", "http:", "https:", "sass:")):
            continue
        place = beside / name
        places = (place, place / "index") if path.endswith(".scss") else (place,)  # Sass loads a folder by its index
        ends = [(mark, end) for mark in ("", "_") for end in ("", ".css", ".scss", ".sass")]
        near = {str(one.with_name(f"{mark}{one.name}{end}")) for one in places for mark, end in ends}
        if near.isdisjoint(files):
            found.add("/".join(name.split("/")[: 2 if name.startswith("@") else 1]))
    return found


async def _with_new_programs(
    workspace: Workspace, base: str, starts: Mapping[str, list[Words]], paths: Collection[str]
) -> list[str]:
    """The files that newly start a program which may install packages."""
    if not starts:
        return []
    sources = [path for path in await workspace.blobs(base) if path.endswith((".py", *SCRIPTS, *COMPILED))]
    programs = {words[0] for several in starts.values() for words in several if words and words[0]}
    named = [*programs, *(["sys.executable"] if "python" in programs else [])]
    texts = [(path, _text(content)) for path, content in (await workspace.read_all(base, sources)).items() if programs]
    naming = [(path, text) for path, text in texts if any(one in text for one in named)]
    started = [one for path, text in naming for one in read_source(path, text).commands()]
    return [
        path for path, several in starts.items() if not all(is_known_command(one, started, paths) for one in several)
    ]


def _added_lines(was: str, now: str) -> list[str]:
    there = {*was.splitlines()}
    return [line for line in dict.fromkeys(now.splitlines()) if line.strip() and line not in there]


async def _with_packages(
    workspace: Workspace,
    base: str,
    changed: Mapping[str, tuple[str, str]],
    here: Mapping[str, bytes],
    known: Collection[str],
    *,
    exact: bool,
) -> list[str]:
    """The files that may add a package: those with new words, any of which may name a package (see `new_words`). Data
    that only the project's own code reads is left out, unless it names packages (see `_declares`)."""
    changed = {path: one for path, one in changed.items() if PurePosixPath(path).name not in INERT}
    left = [
        path
        for path, (was, now) in changed.items()
        if len(now) > MOST_BYTES or new_words(path, was, _added_lines(was, now), known=known, exact=exact)
    ]
    if not any(path.endswith(DATA_FILES) or is_document(path) for path in left):
        return left
    on_base = await workspace.blobs(base)
    code = [path for path in on_base if path.endswith((".py", *SCRIPTS)) and PurePosixPath(path).name not in DRIVEN]
    names = read_names({path: _text(one) for path, one in (await workspace.read_all(base, code)).items()})
    tools = [path for path in on_base if path not in code and not path.endswith((*DOCUMENTS, *MARKUP, *COMPILED))]
    pointing = [(path, _text(one)) for path, one in (await workspace.read_all(base, tools)).items()]
    # A new test that names a file reads it as data, unless a driver might run that test's code.
    driven = any(PurePosixPath(path).name in DRIVEN for path in here)
    drivers = [text for path, text in pointing if PurePosixPath(path).name in DRIVEN]
    reading = {
        path
        for path in here
        if is_named_like_a_test(path) and not driven and not any(PurePosixPath(path).stem in text for text in drivers)
    }
    helping = {path for path in here if is_test(path) and path not in reading}
    pointing += [
        (path, _text(one))
        for path, one in here.items()
        if path in helping or (path not in code and path not in reading)
    ]

    def is_read(path: str) -> bool:
        others = {one: text for one, text in pointing if one != path}
        if is_document(path):
            text = changed[path][1]
            return not text.startswith("#!") and not any(_may_list(one, others[one], path) for one in others)
        return is_read_by_code(path, names, others, among_tests=is_among_tests(path) and not driven)

    return [path for path in left if not is_read(path) or _declares(path, *changed[path])]


def _may_list(one: str, text: str, path: str) -> bool:
    """Whether the file `one`, which has this text, may use the document at `path`, perhaps as a list of packages (see
    `may_mean`). A MANIFEST.in does not, nor does a file that only git, editors and people read."""
    return PurePosixPath(one).name not in (*INERT, "MANIFEST.in") and may_mean(one, text, path)


def _declares(path: str, was: str, now: str) -> bool:
    """Whether the file names new packages or a new address, or cannot be parsed."""
    try:  # an empty file has no packages, although it is not valid in every format
        before, after = (
            frozenset(packages_in(parsed(path, one), exact=True) if one.strip() else ()) for one in (was, now)
        )
    except (ValueError, RecursionError):
        return True
    added = _added_lines(was, now)
    return not after <= before or any(map(_ADDRESS.search, added)) or loads_code(path, added)


def _text(content: bytes) -> str:
    return content[:MOST_BYTES].decode("utf-8", "replace")


async def _unknown_imports(
    workspace: Workspace,
    commits: tuple[str, str],
    imports: Mapping[str, Collection[str]],
    changed: Mapping[str, bytes],
    known: tuple[Collection[str], Consumers],
) -> list[tuple[str, str]]:
    """File and name of each new import: the base declares no package for that file that provides the name, and none of
    the base's code for the same people imports it. Files for developers may use every package that the base declares or
    imports; code of the product only what ships with it.

    `commits`: the base and the commit. `imports`: path → names. `changed`: path → content. `known`: the base's own
    modules, and for whom it declares packages. If the base's Python code imports an own module, that does not count: it
    loads the module, not a package of the same name."""
    if not any(imports.values()):
        return []
    (base, commit), (own, consumers) = commits, known
    declared, ours = await declared_by(workspace, base), (await own_packages(workspace, base, commit)).linked()
    code = {path: _text(one) for path, one in changed.items() if path.endswith((".py", *SCRIPTS))}
    developing = DevelopmentFiles(code)
    left: list[_Import] = []
    for path, names in imports.items():
        folder = consumers.folder_of(path)
        ships = not developing.contains(path, folder)
        there = consumers.usable(path) if ships else declared
        read = read_source(path, code[path]) if path in code else SourceText()
        for name in sorted(names):
            typed = name in read.types  # nothing is loaded when the code runs
            consumer = (folder, path.endswith(".py")) if ships and not typed else None
            provided = _is_declared(name, read.parts.get(name, ()), declared if typed else there)
            if (name not in ours or not path.endswith(SCRIPTS)) and not provided:
                left.append(_Import(path, name, read.parts.get(name, {""}), consumer))
    return await _not_in_code(workspace, commits, left, (own, consumers)) if left else []


@dataclass(frozen=True, slots=True)
class _Import:
    """An import in a changed file."""

    path: str
    name: str
    parts: Collection[str]  # the next parts of the name; "" for the name itself
    # the folder of the package with which the file ships, and whether it is Python; None for a file for developers
    consumer: tuple[str, bool] | None


async def _not_in_code(
    workspace: Workspace,
    commits: tuple[str, str],
    imports: Collection[_Import],
    known: tuple[Collection[str], Consumers],
) -> list[tuple[str, str]]:
    """File and name of the imports that the base's code for the same people lacks (see `_unknown_imports`).

    Where the base's scripts import packages that only developers install, a bundler packs these into the product."""
    (base, commit), (own, consumers) = commits, known
    bundled = {one.consumer: consumers.only_for_developers(one.path) for one in imports if _is_script(one.path)}
    on_base, here = await workspace.blobs(base), await workspace.blobs(commit)
    sources = [path for path in on_base if path.endswith((".py", *SCRIPTS))]
    marks = {one.name[:2] for one in imports if one.name.startswith(SHORT)}
    wanted = {*marks, *(one.name.rpartition(".")[2] for one in imports), *chain(*bundled.values())}
    roots: dict[str, set[str]] = {one: set() for one in marks}
    # consumer → name → the parts of it that its code imports; None stands for all code
    used: dict[tuple[str, bool] | None, dict[str, set[str]]] = {None: {}}
    for path, content in (await workspace.read_all(base, sources)).items():
        text = _text(content)
        if not any(one in text for one in wanted):
            continue
        read, folder = read_source(path, text), consumers.folder_of(path)
        python = path.endswith(".py")
        users = [used[None]]
        if not is_for_developers(path, folder):
            users.append(used.setdefault((folder, python), {}))
        for name in (read.imports - set(own) if python else read.imports) | read.fetches:
            for names in users if name not in read.types else users[:1]:
                names.setdefault(name, set()).update(read.parts.get(name, {""}))
            if name[:2] in marks:
                roots[name[:2]] |= _roots_of_short_name(name, on_base)
    found: list[tuple[str, str]] = []
    for one in imports:
        parts = used.get(one.consumer, {}).get(one.name)
        # Settings that cannot be read may define a short name, too. Then the base's code shows what it stands for.
        short = one.name[:2] in marks and roots[one.name[:2]] & _roots_of_short_name(one.name, here)
        if short and not _is_vendored(one.name, here):
            continue
        packed = bundled.get(one.consumer, ())
        if parts is None and one.name in packed and not used.get(one.consumer, {}).keys().isdisjoint(packed):
            continue
        if parts is None:
            found.append((one.path, one.name))
        elif one.name in SHARED and "" not in parts:  # other parts belong to other packages
            found += [(one.path, f"{one.name}.{part}") for part in sorted(one.parts) if part and part not in parts]
    return sorted(found)


def _is_declared(name: str, parts: Collection[str], declared: Collection[str]) -> bool:
    """Whether a declared package provides the module. Of a name that several packages share, `google-cloud-storage`
    provides only the part `cloud`."""
    if name not in SHARED or not parts:
        return any(package == name or provides_module(package, name) for package in declared)
    return all(any(f"{package}-".startswith(f"{name}-{part}-") for package in declared) for part in parts)
