"""Finds changes to existing tests, to files that tools execute or trust automatically, and to the user's requirements.

A person consents to exactly these changes by naming their digest.
"""

import hashlib
import posixpath
import tomllib
from collections.abc import Collection, Iterator, Mapping
from fnmatch import fnmatchcase
from functools import cache, lru_cache
from pathlib import Path
from typing import TYPE_CHECKING

from trued.engine.altered_tests import altered_tests, is_file_of_tests, may_be_file_of_tests
from trued.errors import BadInput
from trued.model import Contract, Value
from trued.proof.text.commit_texts import decoded
from trued.support.visible_text import visible
from trued.workspace.git.store import LINK

if TYPE_CHECKING:
    from trued.inputs.specifications import SpecificationFormat
    from trued.workspace.git.workspace import GitWorkspace

KINDS = Path(__file__).with_name("sensitive_files.toml")  # each reason why a path is sensitive, with its patterns
SETTINGS = "settings of trued"  # one of the reasons in that file
# another reason, known only on a machine with the user's repository
BY_GIT = "your git settings make git run or read it"
REQUIREMENTS = "trued takes it for your requirements"  # another reason: what an agent wrote never speaks as the user
# these files are sensitive in any folder, and so is everything in FOLDERS
ANYWHERE = ("AGENTS.md", "CLAUDE.md", "GEMINI.md", ".env", ".envrc", ".npmrc", ".gitattributes", ".mcp.json")
FOLDERS = (".claude", ".cursor", ".vscode", ".cargo", ".devcontainer")
# not sensitive, although in .trued: a team's files are views. A later team reads from them which tasks are left, and no
# requirement.
VIEWS = (".trued/team/",)
MANIFEST = "pyproject.toml"
MOST_LINKS = 40  # at most this many symbolic links are followed for one path, as in Linux


class SensitiveChanges(Value):
    """Changed sensitive files, each with the reason, and the digest of exactly these changes."""

    files: dict[str, str] = {}  # noqa: RUF012 (a frozen value)
    digest: str = ""

    def __bool__(self) -> bool:
        return bool(self.files)


@lru_cache(1_000)  # a live page asks for the same few paths with every event
def sensitivity_of(path: str) -> str:
    """Why a path is sensitive; "" if it is not. Case is ignored, because some file systems ignore it."""
    low = path.lower()
    if nested := next((folder for folder in FOLDERS if f"/{folder}/" in f"/{low}/"), ""):
        low = low[f"/{low}/".index(f"/{nested}/") :]
    for kind, patterns in _kinds():
        if kind == SETTINGS and low.startswith(VIEWS):
            continue
        if any(_fits(low, pattern.lower()) for pattern in patterns):
            return kind
        if any(low.endswith(f"/{name.lower()}") for name in ANYWHERE if name in patterns):
            return kind
    return REQUIREMENTS if _formats(path) else ""


def _formats(path: str) -> "Mapping[str, SpecificationFormat]":
    """The path with the format in which later commands read requirements from this file by themselves, if they do."""
    from trued.inputs.specifications import find_specifications  # imported here, because most commands need no format

    return find_specifications([path])


@cache
def _kinds() -> tuple[tuple[str, tuple[str, ...]], ...]:
    """Each reason with its patterns, in the order in which they are tried."""
    return tuple((kind["why"], tuple(kind["patterns"])) for kind in tomllib.loads(KINDS.read_text())["kinds"])


def _fits(path: str, pattern: str) -> bool:
    """Whether the path matches the pattern, or is a folder in the pattern. For example, `.github` is a folder in
    `.github/workflows/*`, and a file or link called `.github` would replace that folder."""
    return fnmatchcase(path, pattern) or pattern.startswith(f"{path}/")


async def sensitive_changes(
    workspace: "GitWorkspace",
    before: str,
    after: str,
    used_by_git: Collection[str] = (),
    contract: Contract | None = None,
) -> SensitiveChanges:
    """The sensitive files that differ between two commits, the files in which existing tests are removed or altered,
    and those from which later commands read other requirements.

    `used_by_git`: files and folders that the user's own git runs or reads by itself. `contract`: shows which files hold
    tests, and which tests requirements supersede.
    """
    # imported here, because it loads all roles, which `sensitivity_of` does not need
    from trued.engine.trust import TABLE, settings_table

    changed = await workspace.changed_files(before, after)
    behind = {
        place: kind for commit in (before, after) for place, kind in (await _behind_links(workspace, commit)).items()
    }
    behind |= {place: BY_GIT for place in used_by_git if place not in behind}
    found = {path: sensitivity_of(path) or _kind_below(path, behind) for path in changed}
    found |= {
        path: kind
        for path, kind in (await _tests(workspace, before, after, changed, contract)).items()
        if not found[path]
    }
    old, new = [await workspace.blobs(commit) for commit in (before, after)]
    # A new or removed file counts even without requirements, because later commands may then read other files. So does
    # a file that is read only through a link.
    asked = [path for path in found if found[path] == REQUIREMENTS and _formats(path) and path in old and path in new]
    texts = [await workspace.read_all(commit, asked) for commit in (before, after)]
    alike = {path for path in asked if _required(path, texts[0]) == _required(path, texts[1])}
    named = {path: kind for path, kind in found.items() if kind and path not in alike}
    lines = [f"{path}\0{old.get(path, '')}\0{new.get(path, '')}" for path in named]
    if MANIFEST in changed:
        read = [await workspace.read(commit, MANIFEST) for commit in (before, after)]
        tables = [(settings_table(content or b"") or b"").decode(errors="backslashreplace") for content in read]
        if tables[0] != tables[1]:
            named[TABLE] = SETTINGS
            lines.append("\0".join((TABLE, *tables)))
    if not named:
        return SensitiveChanges()
    whole = "\n".join(sorted(lines)).encode(errors="backslashreplace")
    return SensitiveChanges(files=dict(sorted(named.items())), digest=hashlib.sha256(whole).hexdigest())


async def _tests(
    workspace: "GitWorkspace", before: str, after: str, changed: Collection[str], contract: Contract | None
) -> dict[str, str]:
    """Path → ALTERED or REMOVED, for each changed file whose existing tests are altered or removed."""
    facts = contract.base_facts if contract else ()
    ids = {test.id for fact in facts if fact.kind == "tests" for test in fact.tried}
    # The id of a doctest, such as `kit.py::kit.double`, does not show that its module is a file of tests.
    collected = {
        path for path, _, name in (test_id.partition("::") for test_id in ids) if "." not in name.split("[")[0]
    }
    requirements = contract.requirements if contract else ()
    candidates = [path for path in changed if may_be_file_of_tests(path) or path in collected]
    old, new = [await workspace.read_all(commit, candidates) for commit in (before, after)]
    files = [path for path in candidates if is_file_of_tests(path, old.get(path) or new.get(path, b""), collected)]
    superseded = [test for requirement in requirements for test in requirement.supersedes]
    return altered_tests(_texts(old, files), _texts(new, files), superseded)


def _required(path: str, contents: Mapping[str, bytes]) -> object:
    """What later commands take from this file as requirements, wherever it stands there: a ticked box changes nothing.
    A file that they cannot read counts as its content."""
    from trued.inputs.specifications import read_specifications

    try:
        read = read_specifications(_formats(path), {path: contents[path].decode("utf-8", "replace")})
    except BadInput:
        return contents[path]
    if not read.requirements:
        return ()
    return read.model_dump_json(exclude={"requirements": {"__all__": {"source"}}})


def _texts(contents: Mapping[str, bytes], paths: Collection[str]) -> dict[str, str]:
    return {path: decoded(contents[path]) for path in paths if path in contents}


async def _behind_links(workspace: "GitWorkspace", commit: str) -> dict[str, str]:
    """Target → why it is sensitive, for each symbolic link at a sensitive path. For example, if CLAUDE.md is a link,
    tools read its target, so the target is sensitive, too."""
    entries = await workspace.store.entries(commit)
    links = {path: "" for path, (mode, _) in entries.items() if mode == LINK}
    if not any(map(sensitivity_of, links)):
        return {}
    for path in links:
        links[path] = (await workspace.read(commit, path) or b"").decode(errors="backslashreplace")
    return {_resolved(path, links): kind for path in links if (kind := sensitivity_of(path))}


def _resolved(path: str, links: Mapping[str, str]) -> str:
    """The path to which `path` leads when symbolic links are followed. `links`: path of each link → its target."""
    for _ in range(MOST_LINKS):
        parts = path.split("/")
        above = ("/".join(parts[:depth]) for depth in range(1, len(parts) + 1))
        link = next((folder for folder in above if folder in links), "")
        if not link:
            break
        path = posixpath.normpath(posixpath.join(posixpath.dirname(link), links[link], path[len(link) + 1 :]))
    return path


def _kind_below(path: str, places: Mapping[str, str]) -> str:
    """Why a changed path is sensitive, if it is one of `places`, lies below one, or replaces a folder that contained
    one; else "". `places`: sensitive place → the reason."""
    for place, kind in places.items():
        if place in (path, ".") or path.startswith(f"{place}/") or place.startswith(f"{path}/"):
            return kind
    return ""


def describe_changes(found: SensitiveChanges) -> Iterator[str]:
    """Every file with the reason, for people. An agent may have chosen the path, so deceptive characters in it are
    escaped."""
    yield from (f"{visible(path)}: {kind}" for path, kind in found.files.items())
