"""Dependencies checks: no package is declared that the base does not declare. Manifests are read; nothing is run."""

import ast
import configparser
import json
import re
import tomllib
from collections.abc import Iterable, Iterator, Mapping
from pathlib import PurePosixPath
from typing import Any

from trued.model import Outcomes, Tried
from trued.proof.room.bench import Bench, Fact
from trued.protocols import Workspace

ID = "dependencies"
MOST_BYTES = 2_000_000  # of one manifest
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
TABLES = ("pyproject.toml", "Pipfile", "Cargo.toml")
LISTS = re.compile(r"(?:.*[-_.])?(?:requirements|constraints)(?:[-_.].*)?\.(?:txt|in)|(?:dev|test|tests)\.(?:txt|in)")
_DECLARING = re.compile(r"(?:.*dependenc(?:y|ies).*|requires|packages|dev-packages)", re.IGNORECASE)
_NAME = re.compile(r"\s*([A-Za-z0-9@][\w./@-]*)")
_GO = re.compile(r"^\s*(?:require\s+)?([\w.-]+\.[\w.-]+/\S+)\s+v\S+", re.MULTILINE)
_GEM = re.compile(r"^\s*gem\s+[\"']([^\"']+)", re.MULTILINE)
NOT_PACKAGES = frozenset({"python"})  # poetry writes the interpreter among them


async def run_dependencies(bench: Bench) -> Fact:
    """Compare what the commit declares with what the base declares."""
    before = await declared_by(bench.workspace, bench.base)
    after = await declared_by(bench.workspace, bench.commit)
    added = sorted(name for name in after if name not in before)
    outcome, kind, detail = Outcomes.PASSED, "", ""
    if added:
        outcome, kind = Outcomes.FAILED, f"declares {', '.join(added[:5])}, which the base does not"
        detail = "\n".join(f"{after[name]}: {name}" for name in added[:50])
    return Fact(tried=(Tried(id=ID, outcome=outcome, kind=kind, detail=detail),), command="read the manifests")


async def declared_by(workspace: Workspace, commit: str) -> dict[str, str]:
    """Every package that a commit's manifests declare, and the manifest that does."""
    found: dict[str, str] = {}
    for path in sorted(await workspace.blobs(commit)):
        if is_package_manifest(path):
            text = (await workspace.read(commit, path) or b"")[:MOST_BYTES].decode("utf-8", "replace")
            for name in declared_in(path, text):
                found.setdefault(name, path)
    return found


def is_package_manifest(path: str) -> bool:
    """Is it a file in which people declare packages? Lock files follow from these."""
    parts = PurePosixPath(path).parts
    name = parts[-1]
    known = name in (*TABLES, "setup.cfg", "setup.py", "package.json", "go.mod", "Gemfile") or LISTS.fullmatch(name)
    return bool(known) and "node_modules" not in parts


def declared_in(path: str, text: str) -> frozenset[str]:
    """The packages that a manifest declares; of what cannot be read every line, so that nothing is hidden in it."""
    try:
        return frozenset(_normal(one) for one in _entries(PurePosixPath(path).name, text) if one) - NOT_PACKAGES
    except (ValueError, SyntaxError, configparser.Error, RecursionError):
        return frozenset(" ".join(line.split()) for line in text.splitlines() if line.strip())


def _entries(name: str, text: str) -> Iterable[str]:
    if name in TABLES:
        return _of_tables(tomllib.loads(text))
    if name == "package.json":
        return _of_tables(json.loads(text))
    if name == "setup.cfg":
        return _of_setup_cfg(text)
    if name == "setup.py":
        return _of_setup_py(text)
    if name == "go.mod":
        return _GO.findall(text)
    return _GEM.findall(text) if name == "Gemfile" else _of_lines(text)


def _of_tables(data: Any, *, declaring: bool = False) -> Iterator[str]:
    """Entries of lists and keys of tables below a key that declares packages, at any depth."""
    if isinstance(data, Mapping):
        for key, part in data.items():
            inner = bool(_DECLARING.fullmatch(str(key)))
            if declaring and not isinstance(part, list):
                yield str(key)
            if inner or not declaring or isinstance(part, list):
                yield from _of_tables(part, declaring=inner or (declaring and isinstance(part, list)))
    elif isinstance(data, list) and declaring:
        yield from (one for one in data if isinstance(one, str))


def _of_setup_cfg(text: str) -> Iterator[str]:
    parser = configparser.ConfigParser(interpolation=None, strict=False)
    parser.read_string(text)
    for section in parser.sections():
        for key, value in parser.items(section):
            if key.endswith("_requires") or key == "install_requires" or section == "options.extras_require":
                yield from _of_lines(value)


def _of_setup_py(text: str) -> Iterator[str]:
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.keyword) and node.arg and node.arg.endswith(("_requires", "_require")):
            yield from (
                one.value
                for one in ast.walk(node.value)
                if isinstance(one, ast.Constant) and isinstance(one.value, str)
            )


def _of_lines(text: str) -> Iterator[str]:
    for line in text.replace("\\\n", " ").splitlines():
        bare = re.split(r"(?:^|\s)#", line)[0].strip()
        if bare and not bare.startswith("--hash"):
            yield bare


def _normal(entry: str) -> str:
    """The normalised name of the package (PEP 503); an option or address unchanged."""
    match = _NAME.match(entry)
    if entry.startswith("-") or "://" in entry.split(" @ ")[0] or not match:
        return " ".join(entry.split())
    return match[1] if "/" in match[1] else re.sub(r"[-_.]+", "-", match[1]).lower()
