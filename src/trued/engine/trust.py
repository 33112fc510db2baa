"""Trust: trued reads its settings and roles in a repository only after the user agreed to exactly these bytes."""

import hashlib
import json
import time
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from trued.agents.roles.tool_folders import TOOL_FOLDERS
from trued.errors import BadInput
from trued.support import atomic_files
from trued.support.file_lock import file_lock

FILE = "trust.json"
TABLE = "pyproject.toml [tool.trued]"  # the only entry in RepositoryFiles.files that is not a path
# this many trusted versions are kept per repository, so that switching back to a branch does not ask again
REMEMBERED = 50


@dataclass(frozen=True, slots=True)
class RepositoryFiles:
    """Settings and role files in a repository, read but not interpreted."""

    files: tuple[str, ...]
    digest: str  # of all names and contents; "" if there are no files
    hashes: Mapping[str, str] = field(default_factory=dict)  # file → hash of its content
    others: frozenset[str] = frozenset()  # the files that are roles of other tools


def files_to_trust(repo: Path) -> RepositoryFiles:
    others = {path.relative_to(repo).as_posix(): path for path in _roles_of_other_tools(repo)}
    parts = {**dict(_own_files(repo)), **{name: _bytes(path) for name, path in others.items()}}
    hashes = {name: hashlib.sha256(parts[name]).hexdigest() for name in sorted(parts)}
    return RepositoryFiles(tuple(hashes), _digest(hashes) if parts else "", hashes, frozenset(others))


def _digest(hashes: Mapping[str, str]) -> str:
    whole = hashlib.sha256()
    for name, digest in hashes.items():
        whole.update(f"{name}\0{digest}\n".encode(errors="surrogateescape"))
    return whole.hexdigest()


def is_trusted(home: Path, repo: Path, digest: str) -> bool:
    """Whether there is nothing to trust, or the user trusts exactly the files with this digest."""
    return not digest or digest in _trusted_contents(home).get(str(repo.resolve()), {})


def trusted_files(home: Path, repo: Path, what: RepositoryFiles) -> frozenset[str]:
    """The files that the user trusts with exactly their present content. It does not matter which other files the user
    trusted together with a file."""
    contents = _trusted_contents(home).get(str(repo.resolve()), {})
    if what.digest in contents:
        return frozenset(what.files)
    known = {pair for trusted in contents.values() for pair in trusted.get("files", {}).items()}
    return frozenset(name for name, digest in what.hashes.items() if (name, digest) in known)


def record_trust(home: Path, repo: Path, digest: str, who: str) -> None:
    """Record in `home` that the user trusts the repository's settings and roles as they were shown, with this digest.
    Raises BadInput if they have changed since."""
    what = files_to_trust(repo)
    if what.digest != digest:
        raise BadInput(
            f"the files in {repo} are not those that were shown", then="look at them again with `trued trust`"
        )
    if digest:
        _remember(home, repo, what.hashes, who)


def record_own_file(home: Path, repo: Path, name: str, content: bytes, who: str) -> None:
    """Record trust in exactly these bytes of one file, which trued itself has just written for the user."""
    _remember(home, repo, {name: hashlib.sha256(content).hexdigest()}, who)


def _remember(home: Path, repo: Path, hashes: Mapping[str, str], who: str) -> None:
    home.mkdir(mode=0o700, parents=True, exist_ok=True)
    with file_lock(home / f"{FILE}.lock"):  # two commands at once must not overwrite each other's changes
        known = _trusted_contents(home)
        contents = known.get(str(repo.resolve()), {})
        contents[_digest(hashes)] = {"who": who, "at": time.time(), "files": dict(hashes)}
        newest = sorted(contents.items(), key=lambda pair: pair[1].get("at", 0.0))[-REMEMBERED:]
        known[str(repo.resolve())] = dict(newest)
        text = json.dumps({"version": 1, "repositories": known}, indent=1, sort_keys=True, ensure_ascii=False)
        atomic_files.write(home / FILE, text)


def _own_files(repo: Path) -> Iterator[tuple[str, bytes]]:
    own = repo / "trued.toml"
    if own.exists():
        yield "trued.toml", _bytes(own)
    manifest = repo / "pyproject.toml"
    table = settings_table(_bytes(manifest)) if manifest.is_file() else None
    if table is not None:
        yield TABLE, table
    roles = repo / ".trued" / "roles"
    for path in sorted(roles.glob("*.md")) if roles.is_dir() else ():
        yield path.relative_to(repo).as_posix(), _bytes(path)


def _roles_of_other_tools(repo: Path) -> Iterator[Path]:
    for folder, pattern in (place for places in TOOL_FOLDERS.values() for place in places):
        if (repo / folder).is_dir():
            yield from (repo / folder).glob(pattern)


def settings_table(data: bytes) -> bytes | None:
    """The table [tool.trued] of a pyproject.toml, the only part that needs trust; None if there is no such table. If
    the file cannot be parsed, returns the whole file."""
    if b"trued" not in data:
        return None
    try:
        tool = tomllib.loads(data.decode()).get("tool")
    except (ValueError, RecursionError):
        return data
    table = tool.get("trued") if isinstance(tool, dict) else None
    return None if table is None else json.dumps(table, sort_keys=True, default=str).encode()


def _bytes(path: Path) -> bytes:
    if not path.is_file():  # reading a pipe could block forever
        raise BadInput(f"{path} is not an ordinary file", then="remove it, or replace it by a file")
    try:
        return path.read_bytes()
    except OSError as error:
        raise BadInput(f"cannot read {path}: {error.strerror}", then="make it a readable file, or remove it") from error


def _trusted_contents(home: Path) -> dict[str, Any]:
    path = home / FILE
    if not path.exists():
        return {}
    try:
        known = json.loads(path.read_bytes())["repositories"]
        return {
            str(repo): {digest: dict(trusted) for digest, trusted in contents.items()}
            for repo, contents in known.items()
        }
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise BadInput(f"{path} is damaged", then="remove it and trust your repositories again") from error
