"""Finds what a source file imports by name, and its statements that may load a module or start a program without naming
it. Pure.

Uses of a Python module are understood only in the form `module.attribute`. Code that passes a module on as a value, or
looks up a computed attribute of it, may reach any function that imports, so it counts as loading something unnamed. A
started program may install packages, so its command must be known.
"""

import ast
import posixpath
import re
import shlex
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass, field

from trued.proof.checks.harmless_modules import (
    HARMLESS_IN_NODE,
    READ_BY_USE,
    STANDARD,
    fetched_by,
    is_harmless_in_go,
    may_load,
)
from trued.proof.text.script_imports import imported_names

# Of these languages, imports of packages are not read, because the compiler accepts only those of go.mod or Cargo.toml.
COMPILED = (".go", ".rs")
# Python's functions that import a module, load a library, or run code that is given as text.
LOADERS = frozenset(
    {
        *("__import__", "import_module", "exec", "eval", "compile", "execfile", "run_module", "run_path"),
        *("load_module", "exec_module", "spec_from_file_location", "module_from_spec", "spec_from_loader"),
        *("entry_points", "get_code", "interact", "InteractiveConsole", "InteractiveInterpreter", "runsource"),
        *("runcode", "loadTestsFromName", "loadTestsFromNames"),
        *("load_extension", "enable_load_extension", "setconfig"),  # methods of a connection of sqlite3
    }
)
BUILT_IN = ("__import__", "exec", "eval", "compile")
RUNNING = frozenset({"exec", "eval", "compile", "execfile"})  # as attributes and texts, these are seldom the functions
HOLDERS = ("importlib", "builtins", "__builtins__", "__loader__", "__spec__")
INSIDES = frozenset({"__globals__", "__subclasses__", "__builtins__", "__getattribute__", "f_globals", "f_builtins"})
PLACES = ("modules", "meta_path", "path_hooks", "path_importer_cache")  # attributes of `sys` that lead to every module
PLAIN_IMPORTLIB = (
    *("reload", "invalidate_caches", "metadata.version", "metadata.metadata", "util.find_spec"),
    *("metadata.PackageNotFoundError", "resources.as_file", "resources.abc.Traversable"),
)
_STARTS_BY_OS = re.compile(r"system|popen|exec[lv]\w*|spawn\w+|posix_spawnp?|startfile")
PASSIVE = (
    "PIPE",
    "DEVNULL",
    "STDOUT",
    "CalledProcessError",
    "TimeoutExpired",
    "SubprocessError",
    "CompletedProcess",
    "Process",
)
STARTERS = frozenset(
    {
        *("Popen", "check_output", "check_call", "getoutput", "getstatusoutput", "subprocess_exec", "subprocess_shell"),
        *("create_subprocess_exec", "create_subprocess_shell", "IMAP4_stream", "spawnv_passfds", "fork_exec"),
        "CGIHTTPRequestHandler",
    }
)
# Names that are hardly anything but these modules, so that code may also reach them as attributes: `shutil.os`.
HELD = frozenset(
    (*READ_BY_USE, *HOLDERS, "runpy", "pkgutil", "zipimport", "ctypes", "pdb", "codeop", "timeit", "pydoc")
)
WITHOUT_PACKAGES = ("git",)  # programs whose arguments name no package
_OPTION = re.compile(r"-[A-Za-z]|--[a-z][a-z-]*|\d+")
# Comments, strings and regular expressions of JavaScript. They are removed before the rest is searched.
_JS_STRING = r"\"(?:\\.|[^\"\\\n])*\"|'(?:\\.|[^'\\\n])*'|`(?:\\.|[^`\\$])*`"
_ASIDE = re.compile(
    rf"//[^\n]*|/\*.*?\*/|{_JS_STRING}"
    r"|(?:(?<=[(,=:\[!&|?{;+*%~^-])(?<!\+\+)(?<!--)|(?<==>)|(?<=[\s;{}()]return)|(?<=[\s;{}()]case))\s*"
    r"/(?![/*])(?:\\.|\[(?:\\.|[^\]\\\n]){0,500}+\]|[^/\\\n\[]){1,1000}+/\w*",
    re.DOTALL,
)
_AMBIGUOUS = re.compile(
    r"[)\]]\s*+/(?![/*])[^/\n\"'`]*+[\"'`][^/\n]*+/"
)  # after `if (x)`, this may begin a regular expression
_IN_PARTS = re.compile(rf"(?:{_JS_STRING})(?:\s*\+\s*(?:{_JS_STRING}))+", re.DOTALL)
_ESCAPE = re.compile(r"\\(?:u\{0*([0-9a-fA-F]{2})\}|u00([0-9a-fA-F]{2})|x([0-9a-fA-F]{2})|([acdeg-mo-qswyzA-Z_$]))")
_NO_FUNCTION = r"\s*:\s*(?:\d|\"\"|true\b|false\b|null\b|\{|\[)"
_REQUIRES = re.compile(
    rf"(?<![\w$])require\b(?!\s*\(\s*\"\"\s*\)|\.main\b|\.resolve\s*\(\s*\"\"|{_NO_FUNCTION})"
    rf"|\bimport\s*\((?!\s*\"\"\s*[,)])|\beval\b(?!{_NO_FUNCTION})"
    r"|\b(?:createRequire|_load|getBuiltinModule|dlopen|mainModule|_linkedBinding)\b"
    r"|\bprocess\.binding\b|\bbinding\b[^;\n]*\}\s*=\s*process\b|\bBun\.|\bDeno\.(?:Command|run|dlopen)\b"
    # a text that is run after a while, and a computed name of something that every script can reach
    r"|\bset(?:Timeout|Interval)\s*\(\s*\"\"|\b(?:globalThis|global|window|process)\s*\[\s*(?!\"\"\s*\])"
)
# A function can be made of a text by `Function`, which is also the `constructor` of every function.
_MAKER = re.compile(r"(?<![\w$])(?:constructor|Function)(?![\w$])")
# Uses of these that make no function of a text: what comes before the word, and what comes after it.
_MAKES_NONE = tuple(
    (re.compile(rf"(?:{before})$"), re.compile(after))
    for before, after in (
        (r"(?<![.\w$])constructor", r"\s*\("),  # of a class
        (r"\.constructor", r"\s*(?:[!=]==?|(?:\?\s*)?\.name\b)"),
        (r"\bcaptureStackTrace\(this, (?:\w+ \?\? )?this\.constructor", r"\)"),
        (r"[!=]==?\s*[\w$.]+\.constructor", r"\s*(?![\s.(\[`?])"),
        (r"\bthis\.constructor", r"\s*\.(?!constructor|call|apply|bind|prototype)\w"),
        (r"\bnew\s+this\.constructor", r"\s*\("),
        (r"\binstanceof\s+Function|(?<!\bglobalThis)(?<!\bglobal)(?<!\bwindow)(?<!\bself)\.Function", ""),
        (r"(?<![.\w$])Function", r"\.prototype\b"),
    )
)
_MAKER_NAMED = re.compile(r"([\"'`])(?:constructor|Function|dlopen|getBuiltinModule)\1")
_COMPARED = re.compile(r"(?:[!=]==?|\bcase|\b(?:describe|it|test|suite|context)(?:\.\w+)?\s*\()\s*$")
_COMPUTED = re.compile(r"\b(?:require|import)\s*\(\s*[^\s\"'`)]|\bcreateRequire\b|\bnew\s+Function\b|\beval\s*\(")
_NAMED_REQUIRE = re.compile(r"\[\s*[\"'`](?:require|eval|createRequire|_load|Function)[\"'`]\s*\]")
_TYPES = re.compile(
    r"^[ \t]*(?:import|export)\s+type\s[^;'\"]{0,500}?\bfrom\s*(?:\"[^\"\n]+\"|'[^'\n]+')", re.MULTILINE
)
# A comment may load types or a library for JSX.
_REQUIRED_BY_COMMENT = re.compile(r"/// *<reference\s+types=[\"']([^\"'\n]+)[\"']|@jsxImportSource\s+([\w@./-]+)")
_CHILDREN = re.compile(r"[\"'`](?:node:)?child_process[\"'`]")
_CHILDREN_NAMED = re.compile(
    r"(?:import\s*\{([\w\s,]+)\}\s*from\s*|(?:const|let|var)\s*\{([\w\s,]+)\}\s*=\s*require\s*\(\s*)"
    r"[\"'`](?:node:)?child_process[\"'`]"
)
_STARTS_COMPILED = re.compile(
    r"os/exec|\.Command(?:Context)?\(|StartProcess|process::\s*(?:\{[^}]*)?Command|\bCommand::new|libc::"
)
_COMPILED_WORDS = re.compile(r"Command(?:Context|::new)?\((?:ctx,\s*)?\"([^\"]*)\"([^;]*)")
# Go: comments and strings; imports, alone or in a group, with their strings set aside; directives to the toolchain.
_GO_ASIDE = re.compile(r"//[^\n]*|/\*.*?\*/|\"(?:\\.|[^\"\\\n])*\"|`[^`]*`|'(?:\\.|[^'\\\n])+'", re.DOTALL)
_GO_IMPORT = re.compile(r"\bimport\s*(?:\(([^()]*)\)|([\w.]*\s*\0\d+\0))")
_GO_IMPORTED = re.compile(r"(?<![\w.])([\w.]*+)\s*\0(\d+)\0")
_GO_DIRECTIVE = re.compile(r"//go:(?!(?:build|embed|noinline|nosplit|norace|noescape|debug|fix)\b)")
_LEADS_OUT_OF_RUST = re.compile(r"\bextern\s*(?:\"|\{)|#!?\[\s*link|\bunsafe\b|\basm!|cargo::?\w+")
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

Words = tuple[str, ...]  # a command; "" stands for a word that is computed


@dataclass(slots=True)
class SourceText:
    """What was found in the text of a source file."""

    parsed: bool = True
    imports: set[str] = field(default_factory=set)  # top-level names of modules or packages
    types: set[str] = field(default_factory=set)  # in scripts: those of them that are imported only for their types
    # in scripts: top-level name → the names that are imported, such as `lodash` → `lodash/fp`
    named: dict[str, set[str]] = field(default_factory=dict)
    # in Python: top-level name → the next parts of the names that are imported; "" if a name has only one part
    parts: dict[str, set[str]] = field(default_factory=dict)
    # in Python: what is used of modules that only fetch, such as `urllib.request.urlopen`
    fetches: set[str] = field(default_factory=set)
    hidden: set[str] = field(default_factory=set)  # statements or lines that may load something without naming it
    starts: dict[str, list[Words]] = field(default_factory=dict)  # statement or line → the commands that it starts

    def commands(self) -> Iterator[Words]:
        """Every command that the file starts."""
        for several in self.starts.values():
            yield from several


def read_source(path: str, text: str, own: Collection[str] = ()) -> SourceText:
    """Read a source file. `own`: in Python, modules of the project, which code may pass on as values; in Go, the first
    parts of the names of its modules."""
    if path.endswith(".py"):
        try:
            return _Python(ast.parse(text), own).read()
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            return SourceText(parsed=False)
    if path.endswith(COMPILED):
        hidden = _hidden_in_go(text, own) if path.endswith(".go") else _hidden_in_rust(text)
        return SourceText(hidden=hidden, starts=_started_by_compiled(text))
    return _script(text)


def is_known_command(words: Words, started: Iterable[Words], paths: Collection[str]) -> bool:
    """Whether a command cannot install anything new: it starts a file of the project, or a program that the base also
    starts, with only words that the base also uses. A program of `WITHOUT_PACKAGES` may have other words, but no URL.
    `started`: the base's commands. `paths`: the project's paths."""
    if not words or not words[0]:
        return False
    program, rest = words[0], words[1:]
    new = [one for one in rest if not _OPTION.fullmatch(one) and one.removeprefix("./") not in paths]
    if program in ("python", "node") and rest and not new and any(one.removeprefix("./") in paths for one in rest):
        return True
    same = [one for one in started if one[:1] == (program,)]
    if program in WITHOUT_PACKAGES:
        return bool(same) and not any("://" in one or "!" in one for one in rest)
    return bool(same) and {*new} <= {word for one in same for word in one if word}


# -- Python ------------------------------------------------------------------------------------------------------------


class _Python:
    """One Python module, with what its imported names stand for."""

    def __init__(self, module: ast.Module, own: Collection[str]) -> None:
        self.module, self.own = module, own
        self.nodes = list(ast.walk(module))
        self.origins: dict[str, set[str]] = {}  # local name → dotted names that it may stand for
        self.modules: set[str] = set()  # dotted names that are surely modules
        froms = [one for one in self.nodes if isinstance(one, ast.ImportFrom)]
        self.starred = any(one.name == "*" for each in froms for one in each.names)  # if so, any name may be imported
        for node in self.nodes:
            if isinstance(node, ast.Import):
                for one in node.names:
                    top = one.name.split(".")[0]
                    self.origins.setdefault(one.asname or top, set()).add(one.name if one.asname else top)
                    self.modules |= {one.name, top}
            elif isinstance(node, ast.ImportFrom):
                for one in node.names:
                    holds = one.name in HELD
                    whole = one.name if holds else f"{'.' * node.level}{node.module or ''}.{one.name}"
                    self.modules |= {whole} if holds else set()
                    self.origins.setdefault(one.asname or one.name, set()).add(whole)

    def read(self) -> SourceText:
        found = SourceText()
        found.imports = {name.split(".")[0] for name in self._imported() if not name.startswith(".")}
        for name in self._imported_parts():
            first, _, rest = name.partition(".")
            found.parts.setdefault(first, set()).add(rest.partition(".")[0])
        found.fetches = {one for name in self._used() if (one := fetched_by(name))}
        for statement in self.nodes:
            if isinstance(statement, ast.stmt):
                if self._hides(statement):
                    found.hidden.add(_written(statement))
                if started := list(self._started(statement)):
                    found.starts.setdefault(_written(statement), []).extend(started)
        return found

    def _imported(self) -> Iterator[str]:
        for node in self.nodes:
            if isinstance(node, ast.Import):
                yield from (one.name for one in node.names)
            elif isinstance(node, ast.ImportFrom) and not node.level and node.module:
                yield node.module
            elif isinstance(node, ast.Call) and node.args and self._names_module(node.func):
                yield from [text] if (text := _text(node.args[0])) else []

    def _used(self) -> Iterator[str]:
        """The dotted names of the file that may begin with one of Python's modules."""
        outer = {id(one.value) for one in self.nodes if isinstance(one, ast.Attribute)}
        for node in self.nodes:
            if isinstance(node, ast.Name | ast.Attribute) and id(node) not in outer:
                yield from (one for one in self._dotted(node) if one.split(".")[0] not in self.own)

    def _imported_parts(self) -> Iterator[str]:
        """The imported modules; of `from package import name`, also the name, because it may be a module. Names in
        capitals are classes or values, so they are left out."""
        for node in self.nodes:
            if isinstance(node, ast.Import):
                yield from (one.name for one in node.names)
            elif isinstance(node, ast.ImportFrom) and not node.level and node.module:
                inner = [one.name for one in node.names if one.name.islower() and "." not in (node.module or "")]
                yield from (f"{node.module}.{one}" for one in inner) if inner else (node.module,)

    def _names_module(self, function: ast.expr) -> bool:
        """Whether this function loads or opens a module whose name is its first argument."""
        last = function.attr if isinstance(function, ast.Attribute) else getattr(function, "id", "")
        opens = any(one.startswith("importlib.resources.") for one in self._dotted(function))
        return last in ("__import__", "import_module") or (opens and not self._is_plain_importlib(function))

    def _is_plain_importlib(self, node: ast.expr) -> bool:
        return any(one.removeprefix("importlib.") in PLAIN_IMPORTLIB for one in self._dotted(node))

    def _dotted(self, node: ast.AST) -> set[str]:
        """The dotted names that an expression may stand for. Each begins with the last module in it that can load or
        start something: `os.system` for `shutil.os.system`."""
        parts: list[str] = []
        while isinstance(node, ast.Attribute):
            parts.insert(0, node.attr)
            node = node.value
        roots = {""}
        if isinstance(node, ast.Name):
            known = self.starred or node.id in {*HOLDERS, *BUILT_IN}
            roots = self.origins.get(node.id, {node.id if known else ""})
        return {_from_last_module([*root.split("."), *parts] if root else ["", *parts]) for root in roots}

    def _hides(self, statement: ast.stmt) -> bool:
        """Whether the statement may load something without naming it."""
        if isinstance(statement, ast.Import):
            return any(self._may_load(one.name) for one in statement.names)
        if isinstance(statement, ast.ImportFrom):
            module, names = statement.module or "", {one.name for one in statement.names}
            renamed = any(one.asname and one.name in LOADERS for one in statement.names) and module != "importlib"
            if statement.level or not self._is_standard(module):
                return renamed
            every = "*" in names and (module.split(".")[0] in READ_BY_USE or bool(fetched_by(module)))
            return renamed or every or any(may_load(f"{module}.{one}") or _leads_on(one) for one in names)
        if isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant):
            return False  # a docstring
        nodes = [node for one in _own_parts(statement) for node in ast.walk(one)]
        read = {id(one) for node in nodes for one in self._read_parts(node)}
        return any(id(node) not in read and self._mentions_loader(node) for node in nodes)

    def _may_load(self, name: str) -> bool:
        """Whether the name is that of a module of Python's own, or of something in it, which may load or start
        something. What is used of modules that only fetch is in `SourceText.fetches`."""
        return self._is_standard(name) and may_load(name)

    def _is_standard(self, name: str) -> bool:
        first = name.split(".")[0]
        return first in STANDARD and first not in self.own

    def _read_parts(self, node: ast.AST) -> list[ast.AST]:
        """The parts of an expression that mention a loader or module, but in a form that shows what is used:
        `import_module` in `import_module("json")`, `json` in `json.loads` and in `getattr(json, "loads")`."""
        if isinstance(node, ast.Call) and self._names_module(node.func):
            given = node.args[0] if node.args else None
            own = isinstance(given, ast.Name) and given.id in ("__name__", "__package__")
            return [node.func] if _text(given) or own else []
        if isinstance(node, ast.Call) and len(node.args) > 1 and self._takes_attribute(node, _text(node.args[1])):
            return [node.args[0]]
        if isinstance(node, ast.Compare) and _text(node.left):
            return list(node.comparators)  # "name" in sys.modules
        if isinstance(node, ast.Subscript):
            here = isinstance(node.slice, ast.Name) and node.slice.id == "__name__"
            return [node.value] if here or (_text(node.slice) and _is_namespace(node.value)) else []
        return [node.value] if isinstance(node, ast.Attribute) and node.attr not in (*INSIDES, "__dict__") else []

    def _takes_attribute(self, call: ast.Call, name: str) -> bool:
        """Whether a call such as `getattr(module, "name")` names the attribute literally and returns no function that
        loads or starts anything. `setattr`, `delattr` and `hasattr` never return such a function."""
        modules = self._dotted(call.args[0])
        if not name or not modules <= self.modules:
            return False
        last = call.func.attr if isinstance(call.func, ast.Attribute) else getattr(call.func, "id", "")
        whole = [f"{one}.{name}" for one in modules]
        return last in ("setattr", "delattr", "hasattr") or not any(self._loads(one) or _starts(one) for one in whole)

    def _mentions_loader(self, node: ast.AST) -> bool:
        if isinstance(node, ast.Constant | ast.BinOp):
            text = _text(node)
            return text in LOADERS - RUNNING or text in HOLDERS or "__import__" in text
        if isinstance(node, ast.Call):
            return _is_namespace(node) or self._looks_up(node)
        if not isinstance(node, ast.Name | ast.Attribute) or not isinstance(node.ctx, ast.Load):
            return False
        if isinstance(node, ast.Attribute):
            beyond = node.attr in LOADERS - RUNNING or node.attr in INSIDES
            beyond = beyond or self._passes_through(node)
            if beyond or (node.attr in {*HELD, "__dict__"} and self._is_imported(node.value)):
                return True
        return any(map(self._loads, self._dotted(node)))

    def _passes_through(self, node: ast.expr) -> bool:
        """Whether the expression reaches something by an attribute of one of Python's modules: `random._os.system`."""
        while isinstance(node, ast.Attribute):
            if _leads_on(node.attr) and any(
                one in self.modules for one in self._dotted(node.value) if self._is_standard(one)
            ):
                return True
            node = node.value
        return False

    def _loads(self, name: str) -> bool:
        first, _, rest = name.partition(".")
        if first == "importlib":
            return rest not in PLAIN_IMPORTLIB
        if first == "sys" and rest.split(".")[0] in PLACES:
            return True
        if self._may_load(name) or (first in ("builtins", "__builtins__") and rest in LOADERS):
            return True
        if name.rpartition(".")[2] in LOADERS - RUNNING:
            return True
        return name in LOADERS or name in HOLDERS or (name in self.modules and first not in self.own)

    def _looks_up(self, call: ast.Call) -> bool:
        """Whether the call looks up a computed attribute of something imported, other than a class of the project."""
        if getattr(call.func, "id", "") != "getattr" or len(call.args) < 2 or _text(call.args[1]):
            return False
        return self._is_imported(call.args[0])

    def _is_imported(self, node: ast.expr) -> bool:
        while isinstance(node, ast.Attribute):
            node = node.value
        origins = self.origins.get(node.id, set()) if isinstance(node, ast.Name) else set[str]()
        classes = [one for one in origins if one.rpartition(".")[2][:1].isupper() and one not in self.modules]
        return any(one not in classes or one.split(".")[0] not in (*self.own, "") for one in origins)

    def _started(self, statement: ast.stmt) -> Iterator[Words]:
        """The commands that a statement starts. ("",) stands for an unknown command, for example if the statement only
        passes on a function that starts programs."""
        if isinstance(statement, ast.Import | ast.ImportFrom):
            return
        nodes = [node for one in _own_parts(statement) for node in ast.walk(one)]
        calls = {id(node.func): node for node in nodes if isinstance(node, ast.Call)}
        for node in nodes:
            if isinstance(node, ast.Name | ast.Attribute) and any(map(_starts, self._dotted(node))):
                yield self._command(calls[id(node)]) if id(node) in calls else ("",)

    def _command(self, call: ast.Call) -> Words:
        given = call.args[0] if call.args else None
        if given is None or any(one.arg in (None, "executable") for one in call.keywords):
            return ("",)
        if isinstance(given, ast.List | ast.Tuple):
            return tuple(map(self._word, given.elts))
        if any(one.endswith("_exec") for one in self._dotted(call.func)):
            return tuple(map(self._word, call.args))
        text = _text(given) if len(call.args) == 1 else ""  # several arguments, such as os.execvp("pip", […]): unknown
        if not text or re.search(r"[;&|$`<>\n]", text):
            return ("",)
        try:
            return tuple(shlex.split(text))
        except ValueError:
            return ("",)

    def _word(self, node: ast.expr) -> str:
        return "python" if self._dotted(node) == {"sys.executable"} else _text(node)


def _from_last_module(parts: list[str]) -> str:
    places = [at for at, one in enumerate(parts) if one in HELD]
    return ".".join(parts[places[-1] :] if places else parts)


def _starts(name: str) -> bool:
    """Whether the function of this name starts a program."""
    first, _, rest = name.partition(".")
    if first in ("os", "posix"):
        return bool(_STARTS_BY_OS.fullmatch(rest))
    if first == "subprocess":
        return bool(rest) and rest.split(".")[0] not in PASSIVE
    return name.rpartition(".")[2] in STARTERS


def _is_namespace(node: ast.AST) -> bool:
    """Whether the expression is `globals()`, `locals()` or `vars()`."""
    named = isinstance(node, ast.Call) and getattr(node.func, "id", "") in ("globals", "locals", "vars")
    return isinstance(node, ast.Call) and named and not node.args


def _text(node: ast.AST | None) -> str:
    """The literal text of an expression, also one in parts: `"a" + "b"`; "" for anything else."""
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add):
        parts = _text(node.left), _text(node.right)
        return "".join(parts) if all(parts) else ""
    return node.value if isinstance(node, ast.Constant) and isinstance(node.value, str) else ""


def _leads_on(name: str) -> bool:
    """Whether an attribute of one of Python's modules seems to be another one that may load or start something:
    `random._os`."""
    bare = name.lstrip("_")
    return may_load(bare) or (bare != name and bare in READ_BY_USE)


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


# -- JavaScript, TypeScript, Go, Rust ----------------------------------------------------------------------------------


def _script(text: str) -> SourceText:
    text = _plain_script(text)
    code = _ASIDE.sub(lambda found: _blank(found[0]), text)
    said = _ASIDE.sub(lambda found: found[0] if found[0][0] in "\"'`" else " ", text)  # without comments
    hidden = {line.strip() for line in code.splitlines() if _REQUIRES.search(line)}
    # Text that looks like a string may be part of a regular expression with a quotation mark in it. So whole lines are
    # searched, too.
    hidden |= {line.strip() for line in text.splitlines() if _COMPUTED.search(line) or _NAMED_REQUIRE.search(line)}
    hidden |= {line.strip() for line in code.splitlines() if _AMBIGUOUS.search(line)}
    hidden |= {*_made_of_texts(code, said)}
    named = {one for each in (text, said) for one in imported_names(each)}
    named |= {one for both in _REQUIRED_BY_COMMENT.findall(text) for one in both if one}
    # A path into `node_modules` names a package, too. A name with escapes in it is not decoded, so it counts as hidden.
    hidden |= {one for one in named if "%" in one or "\\" in one}
    hidden |= {one for one in named if not _is_harmless_in_node(one)}
    inside = {one for one in named if "node_modules/" in one}
    named = named - inside | {posixpath.normpath(one.rpartition("node_modules/")[2]).lstrip("/") for one in inside}
    named = {one for one in named if not one.startswith((".", "/", "#", "node:"))}
    tops: dict[str, set[str]] = {}
    for one in named:
        tops.setdefault(package_of(one), set()).add(one)
    loaded = {package_of(one) for one in imported_names(_TYPES.sub("", said))}
    types = {*tops} - loaded if _TYPES.search(said) else set[str]()
    return SourceText(
        imports={*tops} - NODE_OWN, types=types, hidden=hidden, starts=_started_by_script(said), named=tops
    )


def _plain_script(text: str) -> str:
    """The script without escapes that only hide a word (`\x65val`), and with texts in parts joined (`"a" + "b"`)."""

    def decoded(found: re.Match[str]) -> str:
        code = found[1] or found[2] or found[3]
        char = chr(int(code, 16)) if code else found[4]
        return char if re.fullmatch(r"[\w$()]", char, re.ASCII) else found[0]

    def joined(found: re.Match[str]) -> str:
        parts = [one[1:-1] for one in re.findall(_JS_STRING, found[0], re.DOTALL)]
        mark = next((one for one in "`\"'" if not any(one in part for part in parts)), "")
        return f"{mark}{''.join(parts)}{mark}" if mark else found[0]

    # Escapes in a regular expression stay as they are read: `\w` and `w` are both no word that is searched for.
    return _IN_PARTS.sub(joined, _ESCAPE.sub(decoded, text))


def _blank(aside: str) -> str:
    if aside[0] in "\"'`":
        return '""'
    return " " if aside.startswith(("//", "/*")) else "0"


def _made_of_texts(code: str, said: str) -> Iterator[str]:
    """Lines that may make a function of a text. `code`: the script without strings; `said`: without comments."""
    for found in _MAKER.finditer(code):
        before, after = code[max(found.start() - 200, 0) : found.end()], code[found.end() : found.end() + 200]
        none = any(one.search(before) and other.match(after) for one, other in _MAKES_NONE)
        if not none or (re.search(r"\bnew\s+this\.constructor$", before) and re.search(r"\bstatic\b", code)):
            yield _line_at(code, found.start())
    for found in _MAKER_NAMED.finditer(said):
        compared = _COMPARED.search(said[max(found.start() - 200, 0) : found.start()])
        if not compared and not re.match(r"\s*[!=]==?", said[found.end() : found.end() + 200]):
            yield _line_at(said, found.start())


def _line_at(text: str, place: int) -> str:
    return text[text.rfind("\n", 0, place) + 1 :].partition("\n")[0].strip()


def _is_harmless_in_node(name: str) -> bool:
    """Whether the import is no module of Node's, or one that is known as harmless, or one that is
    read by the programs that it starts."""
    module = name.removeprefix("node:").split("/")[0]
    own = name.startswith("node:") or module in NODE_OWN
    return not own or module in HARMLESS_IN_NODE or module == "child_process"


def package_of(name: str) -> str:
    """The package of an imported path. `@/` and `~/` begin no package's name, so the whole path is kept."""
    return name if name.startswith(("@/", "~/")) else "/".join(name.split("/")[: 2 if name.startswith("@") else 1])


def _started_by_script(said: str) -> dict[str, list[Words]]:
    """Line or call → the commands that it starts, in a script that uses Node's `child_process`. All commands are
    unknown, written as ("",), unless the script imports the functions of `child_process` by their own names."""
    if not _CHILDREN.search(said):
        return {}
    imports = list(_CHILDREN_NAMED.finditer(said))
    names = {one.strip() for found in imports for one in (found[1] or found[2]).split(",") if one.strip()}
    if len(imports) != len(_CHILDREN.findall(said)) or any(" " in one for one in names):
        return {line.strip(): [("",)] for line in said.splitlines() if _CHILDREN.search(line)}
    left = _CHILDREN_NAMED.sub("", said)
    found: dict[str, list[Words]] = {}
    for name in names:
        call = rf"(?<![\w$.]){re.escape(name)}\b\s*(\(\s*([\"'`])(.*?)\2\s*(?:,\s*(\[[^\]]*\]|[^\s{{)]))?)?"
        for mention in re.finditer(call, left):
            text = mention[3] or ""
            words = () if re.search(r"[$;&|<>]", text) else tuple(text.split())
            words += tuple(_quoted(one) for one in (mention[4] or "").strip("[]").split(",") if mention[4] and one)
            found.setdefault(mention[0], []).append(words or ("",))
    return found


def _quoted(word: str) -> str:
    """The text between quotation marks; "" for anything else."""
    bare = word.strip()
    return bare[1:-1] if bare[:1] in ("'", '"', "`") and bare[:1] == bare[-1:] else ""


def _hidden_in_go(text: str, own: Collection[str]) -> set[str]:
    """Imports of packages that may load or start something, lines that use them, and directives that may do so."""
    hidden = {line.strip() for line in text.splitlines() if _GO_DIRECTIVE.match(line)}
    aside: list[str] = []

    def set_aside(found: re.Match[str]) -> str:
        aside.append(found[0])
        return " " if found[0].startswith("/") else f"\0{len(aside) - 1}\0"

    code = _GO_ASIDE.sub(set_aside, text)
    for group, one in _GO_IMPORT.findall(code):
        for name, at in _GO_IMPORTED.findall(group or one):
            path = aside[int(at)].strip('"`')
            first = path.split("/")[0]
            if "\\" not in path and (is_harmless_in_go(path) or "." in first or first in own):
                continue
            hidden.add(f"import {path}")
            used = re.compile(rf"\b{re.escape(name or path.split('/')[-1])}\.")
            hidden |= {line.strip() for line in text.splitlines() if used.search(line)}
            if path == "C":  # the comment above the import is compiled
                hidden.add(re.split(r'import\s+"C"', text)[0])
    return hidden


def _hidden_in_rust(text: str) -> set[str]:
    """Lines that lead out of the language, and what a build script says to Cargo."""
    return {line.strip() for line in text.splitlines() if _LEADS_OUT_OF_RUST.search(line)}


def _started_by_compiled(text: str) -> dict[str, list[Words]]:
    found: dict[str, list[Words]] = {}
    for line in text.splitlines() if re.search(r"\bprocess\b|os/exec|StartProcess|syscall|libc", text) else ():
        if _STARTS_COMPILED.search(line) and not line.lstrip().startswith("//"):
            named = _COMPILED_WORDS.search(line)
            imports = re.fullmatch(r'\s*(?:import\s*)?"os/exec"\s*|\s*use\s+std::process::Command;\s*', line)
            words = (named[1], *re.findall(r'"([^"]*)"', named[2]), "") if named else ("",)
            if not imports:
                found.setdefault(line.strip(), []).append(words)
    return found
