"""Dependencies checks: the commit declares no package that the base does not. Manifests are read; nothing is run.

A change can also add a package without a manifest: by a list with an unusual name, a build file or an import.
`unread_additions` names the changed files that may do so. If there are any, reading the manifests is not enough.
"""

import ast
import configparser
import json
import re
import tomllib
from collections.abc import Collection, Iterable, Iterator, Mapping
from pathlib import PurePosixPath
from typing import Any

from trued.model import DependenciesCheck, Outcomes, Tried
from trued.proof.checks.package_words import DATA_FILES, INERT, is_read_by_code, new_words, parsed, read_names
from trued.proof.room.bench import Bench, Fact
from trued.proof.room.dependencies import provides_module, values_by_name
from trued.protocols import Workspace

ID = "dependencies"
MOST_BYTES = 2_000_000  # bytes read of one manifest
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
# Keys of tables that say from where a package comes (name → source).
_REDIRECTING = re.compile(r"overrides|resolutions|sources|patch|replace", re.IGNORECASE)
_NAME = re.compile(r"\s*([A-Za-z0-9@][\w./@-]*)")
_GO = re.compile(r"^\s*(?:require\s+)?([\w.-]+\.[\w.-]+/\S+)\s+v\S+", re.MULTILINE)
_REPLACED = re.compile(r"^[^\n]*=>\s*(\S+)", re.MULTILINE)
_GEM = re.compile(r"\bgem[\s(]+[\"']([^\"']+)")
NOT_PACKAGES = frozenset({"python"})  # poetry lists the interpreter among the packages
CODE_MANIFESTS = ("setup.py", "Gemfile")  # manifests that are programs, and may compute what they declare
DRIVEN = (*CODE_MANIFESTS, "noxfile.py", "tasks.py", "dodo.py", "conftest.py")  # code that may install packages
DOCUMENTS = (".md", ".rst", ".adoc", ".png", ".jpg", ".jpeg", ".gif", ".svg", ".ico", ".webp", ".pdf")
MARKUP = (".html", ".htm", ".css", ".scss")  # these files can load something from elsewhere only by its URL
COMPILED = (".go", ".rs")  # the compiler accepts only packages that go.mod or Cargo.toml names
SCRIPTS = (".js", ".mjs", ".cjs", ".jsx", ".ts", ".mts", ".cts", ".tsx")
# Python's functions that import a module or run a text, its modules that do, and names that hold such functions.
LOADERS = frozenset(
    {
        *("__import__", "import_module", "exec", "eval", "execfile", "run_module", "run_path", "load_module"),
        *("exec_module", "spec_from_file_location", "module_from_spec", "spec_from_loader", "entry_points"),
    }
)
RUNNING = frozenset({"exec", "eval", "execfile"})
IMPORTING = ("runpy", "imp", "pkgutil", "zipimport", "pydoc")
IMPORTLIBS = ("importlib.util", "importlib.machinery", "importlib._bootstrap")
HOLDERS = ("importlib", "builtins", "__builtins__", "__loader__", "__spec__")
# In a script, comments, texts and patterns are set aside; then every mention that is no call with a text.
_ASIDE = re.compile(r"//[^\n]*|/\*.*?\*/|\"(?:\\.|[^\"\\\n])*\"|'(?:\\.|[^'\\\n])*'|`(?:\\.|[^`\\$])*`", re.DOTALL)
_REQUIRES = re.compile(
    r"(?<![.\w$])require\b(?!\s*\(\s*\"\"\s*\)|\.main\b|\.resolve\s*\(\s*\"\"|\s*:)"
    r"|\bimport\s*\((?!\s*\"\"\s*[,)])|\b(?:createRequire|_load|eval)\s*\(|\bnew\s+Function\b|\bprocess\.binding\b"
)
_COMPUTED = re.compile(r"\b(?:require|import)\s*\(\s*[^\s\"'`)]|\bcreateRequire\b|\bnew\s+Function\b|\beval\s*\(")
_REQUIRED = re.compile(r"(?:\bfrom|\bimport|\brequire\s*\(|\bimport\s*\()\s*[\"'`]([^\"'`\n]+)[\"'`]")
_ADDRESS = re.compile(r"(?:https?:)?//[\w.-]+\.\w")
# Node's built-in modules, by their short names.
NODE_OWN = frozenset(
    {
        *("assert", "async_hooks", "buffer", "child_process", "cluster", "console", "constants", "crypto", "dgram"),
        *("diagnostics_channel", "dns", "domain", "events", "fs", "http", "http2", "https", "inspector", "module"),
        *("net", "os", "path", "perf_hooks", "process", "punycode", "querystring", "readline", "repl", "stream"),
        *("string_decoder", "sys", "timers", "tls", "trace_events", "tty", "url", "util", "v8", "vm", "wasi"),
        *("worker_threads", "zlib"),
    }
)


async def run_dependencies(check: DependenciesCheck, bench: Bench) -> Fact:
    """Compare what the commit declares with what the base declares."""
    before = await declared_by(bench.workspace, bench.base, exact=check.unchanged)
    after = await declared_by(bench.workspace, bench.commit, exact=check.unchanged)
    added = sorted(name for name in after if name not in before)
    gone = sorted(name for name in before if name not in after) if check.unchanged else []
    outcome, kind, detail = Outcomes.PASSED, "", ""
    if added:
        outcome, kind = Outcomes.FAILED, f"declares {', '.join(added[:5])}, which the base does not"
        detail = "\n".join(f"{after[name]}: {name}" for name in added[:50])
    elif gone:
        outcome, kind = Outcomes.FAILED, f"does not declare {', '.join(gone[:5])}, which the base does"
        detail = "\n".join(f"{before[name]}: {name}" for name in gone[:50])
    return Fact(tried=(Tried(id=ID, outcome=outcome, kind=kind, detail=detail),), command="read the manifests")


async def declared_by(workspace: Workspace, commit: str, *, exact: bool = False) -> dict[str, str]:
    """Every package that a commit's manifests declare → the manifest that declares it. `exact`: with its version."""
    found: dict[str, str] = {}
    for path in sorted(await workspace.blobs(commit)):
        if is_package_manifest(path):
            text = (await workspace.read(commit, path) or b"")[:MOST_BYTES].decode("utf-8", "replace")
            for name in declared_in(path, text, exact=exact):
                found.setdefault(name, path)
    return found


def is_package_manifest(path: str) -> bool:
    """Whether people declare packages in this file. Lock files do not count: tools make them from such files."""
    parts = PurePosixPath(path).parts
    name = parts[-1]
    known = name in (*TABLES, "setup.cfg", "setup.py", "package.json", "go.mod", "Gemfile") or LISTS.fullmatch(name)
    listed = parts[-2:-1] == ("requirements",) and name.endswith((".txt", ".in"))
    return bool(known or listed) and "node_modules" not in parts


def declared_in(path: str, text: str, *, exact: bool = False) -> frozenset[str]:
    """The packages that a manifest declares, and the addresses from which they come, if it names them.

    If it cannot be parsed, the result is all of its lines, so that nothing stays hidden. `exact`: with versions.
    """
    try:
        entries = [one for one in _entries(PurePosixPath(path).name, text, exact=exact) if one]
    except (ValueError, SyntaxError, configparser.Error, RecursionError):
        return frozenset(" ".join(line.split()) for line in text.splitlines() if line.strip())
    if exact:
        return frozenset(" ".join(one.split()) for one in entries)
    return frozenset(name for one in entries for name in (_normal(one), _address(one)) if name) - NOT_PACKAGES


def _address(entry: str) -> str:
    """`name @ address` if the entry has an address, else "". The same name from another address is another package."""
    name, at, place = entry.partition(" @ ")
    return f"{_normal(name)} @ {place.split(';')[0].strip()}" if at and _NAME.match(entry) else ""


def _entries(name: str, text: str, *, exact: bool) -> Iterable[str]:
    if name in TABLES:
        return _of_tables(tomllib.loads(text), exact=exact)
    if name == "package.json":
        return _of_tables(json.loads(text), exact=exact)
    if name == "setup.cfg":
        return _of_setup_cfg(text)
    if name == "setup.py":
        return _of_setup_py(text)
    if name == "go.mod":
        return [
            *([line for line in text.splitlines() if _GO.match(line)] if exact else _GO.findall(text)),
            *(f"=> {one}" for one in _REPLACED.findall(text)),
        ]
    return _GEM.findall(text) if name == "Gemfile" else _of_lines(text)


def _of_tables(data: Any, *, exact: bool, declaring: bool = False, redirecting: bool = False) -> Iterator[str]:
    """The packages below every key that declares packages, at any depth: entries of lists and keys of tables. If a
    package's source is named, ` @ ` and the source follow the name."""
    if isinstance(data, Mapping):
        for key, part in data.items():
            inner = bool(_DECLARING.fullmatch(str(key)))
            if (declaring or redirecting) and not isinstance(part, list):
                place = _place(part)
                if declaring or place:
                    yield f"{key} @ {place}" if place else f"{key} {json.dumps(part)}" if exact else str(key)
            turning = bool(_REDIRECTING.fullmatch(str(key))) or (redirecting and isinstance(part, Mapping))
            if inner or turning or not declaring or isinstance(part, list):
                below = inner or (declaring and isinstance(part, list))
                yield from _of_tables(part, exact=exact, declaring=below, redirecting=turning and not inner)
    elif isinstance(data, list) and declaring:
        yield from (one for one in data if isinstance(one, str))


def _place(part: Any) -> str:
    """The source of a package, if the manifest names one: `npm:other@1`, a git address, a path."""
    if isinstance(part, Mapping):
        told = {str(key): one for key, one in part.items() if isinstance(one, str)}
        return " ".join(one for key, one in sorted(told.items()) if key == "package" or set(one) & {":", "/"})
    return part if isinstance(part, str) and set(part) & {":", "/"} else ""


def _of_setup_cfg(text: str) -> Iterator[str]:
    parser = configparser.ConfigParser(interpolation=None, strict=False)
    parser.read_string(text)
    for section in parser.sections():
        for key, value in parser.items(section):
            if key.endswith("_requires") or key == "install_requires" or section == "options.extras_require":
                yield from _of_lines(value)


def _of_setup_py(text: str) -> Iterator[str]:
    for value in _setup_values(text):
        yield from (
            one.value for one in ast.walk(value) if isinstance(one, ast.Constant) and isinstance(one.value, str)
        )


def _setup_values(text: str) -> Iterator[ast.expr]:
    """The values passed as requirements, written in the call itself or in a variable."""
    module = ast.parse(text)
    named = values_by_name(module)
    for node in ast.walk(module):
        if isinstance(node, ast.keyword) and node.arg and node.arg.endswith(("_requires", "_require")):
            yield named.get(node.value.id, node.value) if isinstance(node.value, ast.Name) else node.value


def _is_plain_setup(text: str) -> bool:
    """Whether a setup.py lists all its requirements literally."""
    try:
        for value in _setup_values(text):
            ast.literal_eval(value)
        calls = [one for one in ast.walk(ast.parse(text)) if isinstance(one, ast.Call)]
    except (ValueError, TypeError, SyntaxError, RecursionError, MemoryError):
        return False
    return not any(keyword.arg is None for call in calls for keyword in call.keywords)


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


# -- packages without a manifest ---------------------------------------------------------------------------------------


async def unread_additions(
    workspace: Workspace, base: str, commit: str, changed: Collection[str], own: Collection[str], *, exact: bool = False
) -> list[str]:
    """Changed files that may add a package without a manifest, each described in a few words.

    `own`: modules of the project and of Python. Only lines that a file did not have on the base count.
    `exact`: another version of a known package counts as an addition, too.
    """
    before, after = await workspace.read_all(base, sorted(changed)), await workspace.read_all(commit, sorted(changed))
    inner = await workspace.submodules(commit)
    found, imports = [path for path in sorted(changed) if path in inner], dict[str, str]()
    others: dict[str, tuple[str, str]] = {}  # files that are neither manifest nor code: path → text on base, text here
    for path in after:
        was, now = (one.get(path, b"").decode("utf-8", "replace") for one in (before, after))
        added = _added_lines(was, now)
        if not added or path.endswith((*DOCUMENTS, *COMPILED)):
            continue
        if path.endswith(".py") and not is_package_manifest(path):
            names = imported_packages(path, now)
            found += [path] if names is None or _hidden_imports(now) - _hidden_imports(was) else []
            imports |= {name: path for name in names or () if name not in own}
        elif path.endswith(SCRIPTS):
            found += [path] if _hidden_requires(now) - _hidden_requires(was) else []
            imports |= {name: path for name in imported_packages(path, now) or ()}
        elif path.endswith(MARKUP):
            found += [path] if any(map(_ADDRESS.search, added)) else []
        elif not is_package_manifest(path):
            others[path] = was, now
        elif not _is_read_whole(path, now):
            found.append(path)
    found += await _with_packages(workspace, base, others, after, exact=exact)
    return [*found, *[f"{path}, which imports {name}" for name, path in await _not_known(workspace, base, imports)]]


def _added_lines(was: str, now: str) -> list[str]:
    there = {*was.splitlines()}
    return [line for line in dict.fromkeys(now.splitlines()) if line.strip() and line not in there]


async def _with_packages(
    workspace: Workspace, base: str, changed: Mapping[str, tuple[str, str]], here: Mapping[str, bytes], *, exact: bool
) -> list[str]:
    """The files that may add a package: they contain new words, and are not the project's own data."""
    changed = {path: one for path, one in changed.items() if PurePosixPath(path).name not in INERT}
    if not changed:
        return []
    on_base = await workspace.blobs(base)
    known = {*on_base, *(str(one) for path in on_base for one in PurePosixPath(path).parents)}
    known |= {path for path in here if "/" in path and path.endswith((*SOURCES, ".sh"))}
    left = [
        path
        for path, (was, now) in changed.items()
        if len(now) > MOST_BYTES or new_words(path, was, _added_lines(was, now), known=known, exact=exact)
    ]
    if not any(path.endswith(DATA_FILES) for path in left):
        return left
    code = [path for path in on_base if path.endswith((".py", *SCRIPTS)) and PurePosixPath(path).name not in DRIVEN]
    names = read_names({path: _text(one) for path, one in (await workspace.read_all(base, code)).items()})
    tools = [path for path in on_base if path not in code and not path.endswith((*DOCUMENTS, *MARKUP, *COMPILED))]
    pointing = [(path, _text(one)) for path, one in (await workspace.read_all(base, tools)).items()]
    pointing += [(path, _text(one)) for path, one in here.items() if path not in code]
    return [
        path
        for path in left
        if not is_read_by_code(path, names, [text for one, text in pointing if one != path])
        or _declares(path, *changed[path])
    ]


def _declares(path: str, was: str, now: str) -> bool:
    """Whether the file names new packages or a new address, or cannot be parsed."""
    try:
        before, after = (frozenset(_of_tables(parsed(path, one), exact=True)) for one in (was or "{}", now))
    except (ValueError, RecursionError):
        return True
    return not after <= before or any(map(_ADDRESS.search, _added_lines(was, now)))


def _text(content: bytes) -> str:
    return content[:MOST_BYTES].decode("utf-8", "replace")


def _is_read_whole(path: str, text: str) -> bool:
    name = PurePosixPath(path).name
    return len(text) < MOST_BYTES and (name not in CODE_MANIFESTS or (name == "setup.py" and _is_plain_setup(text)))


async def _not_known(workspace: Workspace, base: str, imports: Mapping[str, str]) -> list[tuple[str, str]]:
    """The imports that occur nowhere on the base, and for which it declares no package."""
    if not imports:
        return []
    declared = await declared_by(workspace, base)
    left = {name: path for name, path in imports.items() if not any(_brings(one, name) for one in declared)}
    if left:
        sources = [path for path in await workspace.blobs(base) if path.endswith((".py", *SCRIPTS))]
        for path, content in (await workspace.read_all(base, sources)).items():
            for name in imported_packages(path, content.decode("utf-8", "replace")) or ():
                left.pop(name, None)
    return sorted(left.items())


def _brings(package: str, module: str) -> bool:
    return package == module or provides_module(package, module)


def imported_packages(path: str, text: str) -> frozenset[str] | None:
    """The packages that a source file imports, as it names them; None if it cannot be parsed."""
    if not path.endswith(".py"):
        named = [one for one in _REQUIRED.findall(text) if not one.startswith((".", "/", "#", "node:"))]
        tops = ["/".join(one.split("/")[: 2 if one.startswith("@") else 1]) for one in named]
        return frozenset(tops) - NODE_OWN
    found: set[str] = set()
    try:
        nodes = list(ast.walk(ast.parse(text)))
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None
    for node in nodes:
        if isinstance(node, ast.Import):
            found |= {one.name for one in node.names}
        elif isinstance(node, ast.ImportFrom) and not node.level and node.module:
            found.add(node.module)
        elif isinstance(node, ast.Call) and node.args and _loads(node.func):
            given = node.args[0]
            found |= {given.value} if isinstance(given, ast.Constant) and isinstance(given.value, str) else set()
    return frozenset(name.split(".")[0] for name in found if not name.startswith("."))


def _hidden_imports(text: str) -> set[str]:
    """Statements of a Python file that may import a module whose name is not written there: every one that mentions a
    function that imports, unless it calls it with the name. Empty if the file cannot be parsed."""
    try:
        nodes = list(ast.walk(ast.parse(text)))
        return {_written(node) for node in nodes if isinstance(node, ast.stmt) and _hides_import(node)}
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return set()


def _hides_import(statement: ast.stmt) -> bool:
    if isinstance(statement, ast.Import):
        return any(one.name.split(".")[0] in IMPORTING or one.name in IMPORTLIBS for one in statement.names)
    if isinstance(statement, ast.ImportFrom):
        module, names = statement.module or "", {one.name for one in statement.names}
        renamed = any(one.asname and one.name in LOADERS for one in statement.names)
        unread = module in IMPORTLIBS and not names <= {"find_spec"}
        return renamed or unread or module.split(".")[0] in IMPORTING or (module == "importlib" and "*" in names)
    nodes = [node for one in _own_parts(statement) for node in ast.walk(one)]
    read = {id(one) for node in nodes for one in _read_parts(node)}
    return any(id(node) not in read and _mentions_loader(node) for node in nodes)


def _own_parts(statement: ast.stmt) -> list[ast.AST]:
    """The expressions of a statement, without the statements in it."""
    parts = [one for one in ast.iter_child_nodes(statement) if not isinstance(one, ast.stmt)]
    return [one for one in parts if not isinstance(one, ast.ExceptHandler | ast.match_case)] + [
        part
        for one in parts
        if isinstance(one, ast.ExceptHandler | ast.match_case)
        for part in ast.iter_child_nodes(one)
        if not isinstance(part, ast.stmt)
    ]


def _written(statement: ast.stmt) -> str:
    if isinstance(statement, ast.Import | ast.ImportFrom):
        return ast.unparse(statement)
    return "\n".join(ast.dump(one) for one in _own_parts(statement))


def _read_parts(node: ast.AST) -> list[ast.AST]:
    """The parts of an expression that mention a loader and hide nothing: the function of a call with a literal name,
    and `importlib` before a plain attribute."""
    if isinstance(node, ast.Call) and _loads(node.func):
        given = node.args[0] if node.args else None
        return [node.func] if isinstance(given, ast.Constant) and isinstance(given.value, str) else []
    return [node.value] if isinstance(node, ast.Attribute) and not node.attr.startswith("__") else []


def _mentions_loader(node: ast.AST) -> bool:
    if isinstance(node, ast.Name):
        return node.id in LOADERS or node.id in HOLDERS
    if isinstance(node, ast.Attribute):
        holder = getattr(node.value, "id", "") in ("importlib", "builtins")
        own = node.attr in RUNNING and not holder  # `model.eval()` runs no text
        return (node.attr in LOADERS and not own) or (holder and node.attr in ("util", "machinery"))
    return isinstance(node, ast.Constant) and isinstance(node.value, str) and node.value in LOADERS - RUNNING


def _hidden_requires(text: str) -> set[str]:
    """Lines of a script that may load a package whose name is not written there, as `_hidden_imports` finds them."""
    code = _ASIDE.sub(lambda found: '""' if found[0][0] in "\"'`" else " ", text)
    found = {line.strip() for line in code.splitlines() if _REQUIRES.search(line)}
    # What looks like a text may be part of a pattern with a quotation mark in it, so whole lines are searched, too.
    return found | {line.strip() for line in text.splitlines() if _COMPUTED.search(line)}


def _loads(function: ast.expr) -> bool:
    name = function.attr if isinstance(function, ast.Attribute) else getattr(function, "id", "")
    return name in ("__import__", "import_module")
