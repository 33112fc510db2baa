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
    IMPORTING_IN_UNITTEST,
    LOADING_BUILT_INS,
    PLAIN_IN_UNITTEST_MAIN,
    READ_BY_USE,
    STANDARD,
    fetched_by,
    is_harmless_built_in,
    is_harmless_in_go,
    is_harmless_in_sys,
    is_loading_variable,
    may_load,
)
from trued.proof.checks.node_process import lines_using_process
from trued.proof.text.python_imports import UNREADABLE
from trued.proof.text.python_scopes import bound_names, is_bound
from trued.proof.text.script_imports import LONG_COMMENT, imported_names
from trued.support.lazy_regex import lazy_regex

# Of these languages, imports of packages are not read, because the compiler accepts only those of go.mod or Cargo.toml.
GO_AND_RUST = (".go", ".rs")
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
# Loaders that run a text. An attribute or a string with such a name is seldom the function.
TEXT_RUNNERS = frozenset({"exec", "eval", "compile", "execfile"})
LOADER_MODULES = ("importlib", "builtins", "__builtins__", "__loader__", "__spec__")
# `__self__` of a built-in function is the module with all of them.
INTERNALS = frozenset(
    {"__self__", "__globals__", "__subclasses__", "__builtins__", "__getattribute__", "f_globals", "f_builtins"}
)
PLAIN_IMPORTLIB = (
    *("reload", "invalidate_caches", "metadata.version", "metadata.metadata", "util.find_spec"),
    *("metadata.PackageNotFoundError", "resources.as_file", "resources.abc.Traversable"),
)
_STARTS_BY_OS = lazy_regex(r"system|popen|exec[lv]\w*|spawn\w+|posix_spawnp?|startfile")
PASSIVE_IN_SUBPROCESS = (
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
MODULES_AS_ATTRIBUTES = frozenset(
    (*READ_BY_USE, *LOADER_MODULES, "runpy", "pkgutil", "zipimport", "ctypes", "pdb", "codeop", "timeit", "pydoc")
)
WITHOUT_PACKAGES = ("git",)  # programs whose arguments name no package
_OPTION = lazy_regex(r"-[A-Za-z]|--[a-z][a-z-]*|\d+")
# Comments, strings and regular expressions of JavaScript. They are removed before the rest is searched.
_JS_STRING = r"\"(?:\\.|[^\"\\\n])*\"|'(?:\\.|[^'\\\n])*'|`(?:\\.|[^`\\$])*`"
# Words after which a slash begins a regular expression. The last three can also be names of variables.
_BEFORE_PATTERN = (
    *("return", "case", "void", "typeof", "delete", "in", "instanceof", "throw", "else", "do"),
    *("of", "await", "yield"),
)
_AFTER_WORD = "|".join(rf"(?<=(?<![\w$.]){word})" for word in _BEFORE_PATTERN)
_JS_ASIDE = lazy_regex(
    rf"//[^\n]*|/\*.*?\*/|{_JS_STRING}"
    rf"|(?:(?<=[(,=:\[!&|?{{;+*%~^-])(?<!\+\+)(?<!--)|(?<==>)|\A|{_AFTER_WORD})\s*"
    r"/(?![/*])(?:\\.|\[(?:\\.|[^\]\\\n]){0,500}+\]|[^/\\\n\[]){1,1000}+/\w*",
    re.DOTALL,
)
_AMBIGUOUS = lazy_regex(
    r"[)\]]\s*+/(?![/*])[^/\n\"'`]*+[\"'`][^/\n]*+/"
)  # after `if (x)`, this may begin a regular expression
# The same, where only a parser could tell: after a comment, or a word that may be a name.
_UNCERTAIN = lazy_regex(r"(?:\*/|(?<![\w$.])(?:of|await|yield))\s*+/(?![/*])[^/\n]*/|[\u2028\u2029]|\r(?!\n)")
_IN_PARTS = lazy_regex(rf"(?:{_JS_STRING})(?:\s*\+\s*(?:{_JS_STRING}))+", re.DOTALL)
_ESCAPE = lazy_regex(r"\\(?:u\{0*([0-9a-fA-F]{2})\}|u00([0-9a-fA-F]{2})|x([0-9a-fA-F]{2})|([acdeg-mo-qswyzA-Z_$]))")
_NO_FUNCTION = r"\s*:\s*(?:\d|\"\"|true\b|false\b|null\b|\{|\[)"
_REQUIRES = lazy_regex(
    rf"(?<![\w$])require\b(?!\s*\(\s*\"\"\s*\)|\.main\b|\.resolve\s*\(\s*\"\"|{_NO_FUNCTION})"
    rf"|\bimport\s*\((?!\s*\"\"\s*[,)])|\beval\b(?!{_NO_FUNCTION})"
    r"|\b(?:createRequire|_load|getBuiltinModule|dlopen|execve|mainModule|_linkedBinding)\b"
    # what bundlers add; a pattern of files must be literal there
    r"|\bwebpackContext\b|\bimport\s*\.\s*meta\s*\.\s*glob\w*(?!\w|[^(\n]*\(\s*\[?\s*\"\")"
    r"|\bprocess\.binding\b|\bbinding\b[^;\n]*\}\s*=\s*process\b|\bBun\.|\bDeno\.(?:Command|run|dlopen)\b"
    # a text that is run after a while, and a computed name of something that every script can reach
    r"|\bset(?:Timeout|Interval)\s*\(\s*\"\"|\b(?:globalThis|global|window|process)\s*\[\s*(?!\"\"\s*\])"
)
# A function can be made of a text by `Function`, which is also the `constructor` of every function.
_FUNCTION_MAKER = lazy_regex(r"(?<![\w$])(?:constructor|Function)(?![\w$])")
# Uses of these that make no function of a text: what comes before the word, and what comes after it.
_MAKES_NO_FUNCTION = tuple(
    (lazy_regex(rf"(?:{before})$"), lazy_regex(after))
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
_FUNCTION_MAKER_QUOTED = lazy_regex(r"([\"'`])(?:constructor|Function|dlopen|execve|getBuiltinModule)\1")
_COMPARED = lazy_regex(r"(?:[!=]==?|\bcase|\b(?:describe|it|test|suite|context)(?:\.\w+)?\s*\()\s*$")
_COMPUTED = lazy_regex(r"\b(?:require|import)\s*\(\s*[^\s\"'`)]|\bcreateRequire\b|\bnew\s+Function\b|\beval\s*\(")
_NAMED_REQUIRE = lazy_regex(r"\[\s*[\"'`](?:require|eval|createRequire|_load|Function)[\"'`]\s*\]")
_TYPES = lazy_regex(
    r"^[ \t]*(?:import|export)\s+type\s[^;'\"]{0,500}?\bfrom\s*(?:\"[^\"\n]+\"|'[^'\n]+')", re.MULTILINE
)
# A comment may load types or a library for JSX.
_REQUIRED_BY_COMMENT = lazy_regex(r"/// *<reference\s+types=[\"']([^\"'\n]+)[\"']|@jsxImportSource\s+([\w@./-]+)")
_GLOB = lazy_regex(r"\bimport\s*\.\s*meta\s*\.\s*glob\w*\s*[^;()]*\([^;()]*")
# A string that leads into a package. A pattern of files to leave out, such as `**/node_modules/**`, names none.
_INTO_PACKAGES = lazy_regex(r"[\"'`]([^\"'`\n]*\bnode_modules/[\w@][^\"'`\n]*)[\"'`]")
# What bundlers take for a module. They look beside the script first, and then among the packages.
_PLACED = lazy_regex(r"\bnew\s+URL\s*\(\s*[\"'`](?!\w+:)([^\"'`\n]+)[\"'`]\s*,\s*import\s*\.\s*meta")
_CHILD_PROCESS = lazy_regex(r"[\"'`](?:node:)?child_process[\"'`]")
_CHILD_PROCESS_IMPORT = lazy_regex(
    r"(?:import\s*\{([\w\s,]+)\}\s*from\s*|(?:const|let|var)\s*\{([\w\s,]+)\}\s*=\s*require\s*\(\s*)"
    r"[\"'`](?:node:)?child_process[\"'`]"
)
_STARTS_COMPILED = lazy_regex(
    r"os/exec|\.Command(?:Context)?\(|StartProcess|process::\s*(?:\{[^}]*)?Command|\bCommand::new|libc::"
)
_COMPILED_WORDS = lazy_regex(r"Command(?:Context|::new)?\((?:ctx,\s*)?\"([^\"]*)\"([^;]*)")
# Go: comments and strings; imports, alone or in a group, with their strings set aside; directives to the toolchain.
_GO_ASIDE = lazy_regex(r"//[^\n]*|/\*.*?\*/|\"(?:\\.|[^\"\\\n])*\"|`[^`]*`|'(?:\\.|[^'\\\n])+'", re.DOTALL)
_GO_IMPORT = lazy_regex(r"\bimport\s*(?:\(([^()]*)\)|([\w.]*\s*\0\d+\0))")
_GO_IMPORTED = lazy_regex(r"(?<![\w.])([\w.]*+)\s*\0(\d+)\0")
_GO_DIRECTIVE = lazy_regex(r"//go:(?!(?:build|embed|noinline|nosplit|norace|noescape|debug|fix)\b)")
_LEADS_OUT_OF_RUST = lazy_regex(r"\bextern\s*(?:\"|\{)|#!?\[\s*link|\bunsafe\b|\basm!|cargo::?\w+")
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
    paths: set[str] = field(default_factory=set)  # in scripts: the paths that are imported, as they are written
    # in Python: top-level name → the next parts of the names that are imported; "" if a name has only one part
    parts: dict[str, set[str]] = field(default_factory=dict)
    # in Python: what is used of modules that only fetch, such as `urllib.request.urlopen`
    fetches: set[str] = field(default_factory=set)
    hidden: set[str] = field(default_factory=set)  # statements or lines that may load something without naming it
    starts: dict[str, list[Words]] = field(default_factory=dict)  # statement or line → the commands that it starts

    def commands(self) -> Iterator[Words]:
        """Every command that the file starts."""
        for commands in self.starts.values():
            yield from commands


def read_source(path: str, text: str, own_names: Collection[str] = ()) -> SourceText:
    """Read a source file. `own_names`: in Python, modules of the project, which code may pass on as values; in Go, the
    first parts of the names of its modules."""
    text = text.removeprefix("\ufeff")
    if path.endswith(".py"):
        try:
            return _Python(ast.parse(text), own_names).read()
        except UNREADABLE:
            return SourceText(parsed=False)
    if path.endswith(GO_AND_RUST):
        hidden = _hidden_in_go(text, own_names) if path.endswith(".go") else _hidden_in_rust(text)
        return SourceText(hidden=hidden, starts=_commands_of_compiled(text))
    return _read_script(text)


def is_known_command(words: Words, base_commands: Iterable[Words], paths: Collection[str]) -> bool:
    """Whether a command cannot install anything new: it starts a file of the project, or a program that the base also
    starts, with only words that the base also uses. A program of `WITHOUT_PACKAGES` may have other words, but no URL.
    `base_commands`: commands that the base starts. `paths`: the project's paths."""
    if not words or not words[0]:
        return False
    program, arguments = words[0], words[1:]
    new_arguments = [
        argument
        for argument in arguments
        if not _OPTION.fullmatch(argument) and argument.removeprefix("./") not in paths
    ]
    if (
        program in ("python", "node")
        and arguments
        and not new_arguments
        and any(argument.removeprefix("./") in paths for argument in arguments)
    ):
        return True
    same_program = [command for command in base_commands if command[:1] == (program,)]
    if program in WITHOUT_PACKAGES:
        return bool(same_program) and not any("://" in argument or "!" in argument for argument in arguments)
    return bool(same_program) and {*new_arguments} <= {word for command in same_program for word in command if word}


# -- Python ------------------------------------------------------------------------------------------------------------


class _Python:
    """One Python module, with what its imported names stand for."""

    def __init__(self, module: ast.Module, own_modules: Collection[str]) -> None:
        self.module, self.own_modules = module, own_modules
        self.nodes = list(ast.walk(module))
        self.bound = bound_names(self.nodes)
        self.origins: dict[str, set[str]] = {}  # local name → dotted names that it may stand for
        self.modules: set[str] = set()  # dotted names that are surely modules
        froms = [node for node in self.nodes if isinstance(node, ast.ImportFrom)]
        # `import *` may import any name
        self.starred = any(alias.name == "*" for node in froms for alias in node.names)
        for node in self.nodes:
            if isinstance(node, ast.Import):
                for alias in node.names:
                    top = alias.name.split(".")[0]
                    self.origins.setdefault(alias.asname or top, set()).add(alias.name if alias.asname else top)
                    self.modules |= {alias.name, top}
            elif isinstance(node, ast.ImportFrom):
                for alias in node.names:
                    is_module = alias.name in MODULES_AS_ATTRIBUTES
                    dotted_name = alias.name if is_module else f"{'.' * node.level}{node.module or ''}.{alias.name}"
                    self.modules |= {dotted_name} if is_module else set()
                    self.origins.setdefault(alias.asname or alias.name, set()).add(dotted_name)

        self.tests = any(name.split(".")[0] == "unittest" for names in self.origins.values() for name in names)

    def read(self) -> SourceText:
        source = SourceText()
        source.imports = {name.split(".")[0] for name in self._imported_modules() if not name.startswith(".")}
        for name in self._imported_parts():
            top, _, below = name.partition(".")
            source.parts.setdefault(top, set()).add(below.partition(".")[0])
        source.fetches = {fetched for name in self._used_names() if (fetched := fetched_by(name))}
        for statement in self.nodes:
            if isinstance(statement, ast.stmt):
                if self._hides(statement):
                    source.hidden.add(_statement_text(statement))
                if commands := list(self._commands_of(statement)):
                    source.starts.setdefault(_statement_text(statement), []).extend(commands)
        return source

    def _imported_modules(self) -> Iterator[str]:
        for node in self.nodes:
            if isinstance(node, ast.Import):
                yield from (alias.name for alias in node.names)
            elif isinstance(node, ast.ImportFrom) and not node.level and node.module:
                yield node.module
            elif isinstance(node, ast.Call) and node.args and self._names_module(node.func):
                yield from [text] if (text := _literal_text(node.args[0])) else []

    def _used_names(self) -> Iterator[str]:
        """The dotted names of the file that may begin with one of Python's modules."""
        inside_attributes = {id(attribute.value) for attribute in self.nodes if isinstance(attribute, ast.Attribute)}
        for node in self.nodes:
            if isinstance(node, ast.Name | ast.Attribute) and id(node) not in inside_attributes:
                yield from (name for name in self._dotted_names(node) if name.split(".")[0] not in self.own_modules)

    def _imported_parts(self) -> Iterator[str]:
        """The dotted names that absolute imports may load. `from package import name` gives `package.name`, because
        that may be a module. It gives only `package` if the name has a capital letter (a class or a constant), or if
        `package` is itself dotted."""
        for node in self.nodes:
            if isinstance(node, ast.Import):
                yield from (alias.name for alias in node.names)
            elif isinstance(node, ast.ImportFrom) and not node.level and node.module:
                submodules = [
                    alias.name for alias in node.names if alias.name.islower() and "." not in (node.module or "")
                ]
                yield from (f"{node.module}.{name}" for name in submodules) if submodules else (node.module,)

    def _names_module(self, function: ast.expr) -> bool:
        """Whether this function loads or opens a module whose name is its first argument."""
        function_name = function.attr if isinstance(function, ast.Attribute) else getattr(function, "id", "")
        opens_resource = any(name.startswith("importlib.resources.") for name in self._dotted_names(function))
        return function_name in ("__import__", "import_module") or (
            opens_resource and not self._is_plain_importlib(function)
        )

    def _is_plain_importlib(self, node: ast.expr) -> bool:
        return any(name.removeprefix("importlib.") in PLAIN_IMPORTLIB for name in self._dotted_names(node))

    def _dotted_names(self, node: ast.AST) -> set[str]:
        """The dotted names that an expression may stand for. Each begins with the last module in it that can load or
        start something: `os.system` for `shutil.os.system`."""
        attributes: list[str] = []
        while isinstance(node, ast.Attribute):
            attributes.insert(0, node.attr)
            node = node.value
        roots = {""}
        if isinstance(node, ast.Name):
            stands_for_itself = self.starred or node.id in LOADER_MODULES
            roots = self.origins.get(node.id, {node.id if stands_for_itself else ""})
        return {_from_last_module([*root.split("."), *attributes] if root else ["", *attributes]) for root in roots}

    def _hides(self, statement: ast.stmt) -> bool:
        """Whether the statement may load something without naming it."""
        if isinstance(statement, ast.Import):
            return any(self._may_load(alias.name) for alias in statement.names)
        if isinstance(statement, ast.ImportFrom):
            module, names = statement.module or "", {alias.name for alias in statement.names}
            renamed = any(alias.asname and alias.name in LOADERS for alias in statement.names) and module != "importlib"
            if statement.level or not self._is_standard(module):
                return renamed
            every = "*" in names and (module.split(".")[0] in READ_BY_USE or bool(fetched_by(module)))
            built_in = module == "builtins" and not all(map(is_harmless_built_in, names))
            below = any(may_load(f"{module}.{name}") or _leads_to_loader(name) for name in names)
            return renamed or every or built_in or below
        if isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant):
            return False  # a docstring
        nodes = [node for part in _expressions_in(statement) for node in ast.walk(part)]
        understood = {id(part) for node in nodes for part in self._understood_parts(node)}
        named = {id(node.func) for node in nodes if isinstance(node, ast.Call) and id(node.func) in understood}
        return any(
            (id(node) not in understood and self._mentions_loader(node))
            or (id(node) not in named and self._mentions_unread_name(node))
            for node in nodes
        )

    def _mentions_unread_name(self, node: ast.AST) -> bool:
        """Whether the node is a built-in that is not known as harmless, a name that nothing in the file binds, or the
        deletion of a name that hides such a built-in."""
        if isinstance(node, ast.Call) and getattr(node.func, "id", "") == "delattr" and len(node.args) > 1:
            return _literal_text(node.args[1]) in LOADING_BUILT_INS
        if isinstance(node, ast.Attribute):
            return isinstance(node.ctx, ast.Del) and node.attr in LOADING_BUILT_INS
        if not isinstance(node, ast.Name) or not isinstance(node.ctx, ast.Load):
            return False
        if node.id in LOADING_BUILT_INS:
            return not is_bound(node, self.module)
        is_own = node.id in self.bound or self.starred or node.id in LOADER_MODULES
        return not is_own and not is_harmless_built_in(node.id)

    def _may_load(self, name: str) -> bool:
        """Whether the name is that of one of Python's own modules, or of a member of one, that may load or start
        something. Uses of modules that only fetch do not count here: they are in `SourceText.fetches`."""
        return self._is_standard(name) and may_load(name)

    def _is_standard(self, name: str) -> bool:
        top = name.split(".")[0]
        return top in STANDARD and top not in self.own_modules

    def _understood_parts(self, node: ast.AST) -> list[ast.AST]:
        """The parts of an expression that mention a loader or module, but in a form that shows what is used:
        `import_module` in `import_module("json")`, `json` in `json.loads` and in `getattr(json, "loads")`."""
        if isinstance(node, ast.Call) and self._runs_own_tests(node):
            return [node.func]
        if isinstance(node, ast.Call) and self._names_module(node.func):
            argument = node.args[0] if node.args else None
            is_own_name = isinstance(argument, ast.Name) and argument.id in ("__name__", "__package__")
            return [node.func] if _literal_text(argument) or is_own_name else []
        if (
            isinstance(node, ast.Call)
            and len(node.args) > 1
            and self._takes_attribute(node, _literal_text(node.args[1]))
        ):
            return [node.args[0]]
        if isinstance(node, ast.Compare) and _literal_text(node.left):
            return list(node.comparators)  # "name" in sys.modules
        if isinstance(node, ast.Subscript):
            by_own_name = isinstance(node.slice, ast.Name) and node.slice.id == "__name__"
            return [node.value] if by_own_name or (_literal_text(node.slice) and _is_namespace(node.value)) else []
        return [node.value] if isinstance(node, ast.Attribute) and node.attr not in (*INTERNALS, "__dict__") else []

    def _runs_own_tests(self, call: ast.Call) -> bool:
        """Whether the call is `unittest.main()`, or `discover` with a folder or module of the project."""
        if self._dotted_names(call.func) == {"unittest.main"}:
            return not call.args and all(keyword.arg in PLAIN_IN_UNITTEST_MAIN for keyword in call.keywords)
        if getattr(call.func, "attr", "") != "discover":
            return False
        folder = _literal_text(call.args[0] if call.args else None).removeprefix("./")
        return folder == "." or re.split(r"[./]", folder)[0] in self.own_modules

    def _takes_attribute(self, call: ast.Call, name: str) -> bool:
        """Whether a call such as `getattr(module, "name")` names the attribute literally and returns no function that
        loads or starts anything. `setattr`, `delattr` and `hasattr` never return such a function."""
        module_names = self._dotted_names(call.args[0])
        if not name or not module_names <= self.modules:
            return False
        function_name = call.func.attr if isinstance(call.func, ast.Attribute) else getattr(call.func, "id", "")
        dotted_names = [f"{module_name}.{name}" for module_name in module_names]
        return function_name in ("setattr", "delattr", "hasattr") or not any(
            self._loads(dotted_name) or _starts_program(dotted_name) for dotted_name in dotted_names
        )

    def _mentions_loader(self, node: ast.AST) -> bool:
        if isinstance(node, ast.Constant | ast.BinOp):
            text = _literal_text(node)
            names_loader = (
                text in LOADERS - TEXT_RUNNERS
                or (self.tests and text in IMPORTING_IN_UNITTEST[1:])
                or text in LOADER_MODULES
                or "__import__" in text
            )
            return names_loader or is_loading_variable(text)
        if isinstance(node, ast.Call):
            return _is_namespace(node) or self._looks_up(node)
        if not isinstance(node, ast.Name | ast.Attribute) or not isinstance(node.ctx, ast.Load):
            return False
        if isinstance(node, ast.Attribute):
            beyond = node.attr in LOADERS - TEXT_RUNNERS or node.attr in INTERNALS
            beyond = beyond or (self.tests and node.attr in IMPORTING_IN_UNITTEST[1:])
            beyond = beyond or self._passes_through(node)
            if beyond or (node.attr in {*MODULES_AS_ATTRIBUTES, "__dict__"} and self._is_imported(node.value)):
                return True
        return any(map(self._loads, self._dotted_names(node)))

    def _passes_through(self, node: ast.expr) -> bool:
        """Whether the expression reaches something by an attribute of one of Python's modules: `random._os.system`."""
        while isinstance(node, ast.Attribute):
            if _leads_to_loader(node.attr) and any(
                name in self.modules for name in self._dotted_names(node.value) if self._is_standard(name)
            ):
                return True
            node = node.value
        return False

    def _loads(self, name: str) -> bool:
        module, _, below = name.partition(".")
        if module == "importlib":
            return below not in PLAIN_IMPORTLIB
        member = below.split(".")[0]
        if module == "sys" and member and not is_harmless_in_sys(member):
            return True
        if module in ("builtins", "__builtins__") and member and not is_harmless_built_in(member):
            return True
        if self._may_load(name) or (module == "unittest" and member in IMPORTING_IN_UNITTEST):
            return True
        if name.rpartition(".")[2] in LOADERS - TEXT_RUNNERS:
            return True
        return name in LOADERS or name in LOADER_MODULES or (name in self.modules and module not in self.own_modules)

    def _looks_up(self, call: ast.Call) -> bool:
        """Whether the call looks up a computed attribute of something imported, other than a class of the project."""
        if getattr(call.func, "id", "") != "getattr" or len(call.args) < 2 or _literal_text(call.args[1]):
            return False
        return self._is_imported(call.args[0])

    def _is_imported(self, node: ast.expr) -> bool:
        while isinstance(node, ast.Attribute):
            node = node.value
        origins = self.origins.get(node.id, set()) if isinstance(node, ast.Name) else set[str]()
        classes = [
            origin for origin in origins if origin.rpartition(".")[2][:1].isupper() and origin not in self.modules
        ]
        return any(origin not in classes or origin.split(".")[0] not in (*self.own_modules, "") for origin in origins)

    def _commands_of(self, statement: ast.stmt) -> Iterator[Words]:
        """The commands that a statement starts. ("",) stands for an unknown command, for example if the statement only
        passes on a function that starts programs."""
        if isinstance(statement, ast.Import | ast.ImportFrom):
            return
        nodes = [node for part in _expressions_in(statement) for node in ast.walk(part)]
        calls = {id(node.func): node for node in nodes if isinstance(node, ast.Call)}
        for node in nodes:
            if isinstance(node, ast.Name | ast.Attribute) and any(map(_starts_program, self._dotted_names(node))):
                yield self._command_of_call(calls[id(node)]) if id(node) in calls else ("",)

    def _command_of_call(self, call: ast.Call) -> Words:
        first_argument = call.args[0] if call.args else None
        if first_argument is None or any(keyword.arg in (None, "executable") for keyword in call.keywords):
            return ("",)
        if isinstance(first_argument, ast.List | ast.Tuple):
            return tuple(map(self._word, first_argument.elts))
        if any(name.endswith("_exec") for name in self._dotted_names(call.func)):
            return tuple(map(self._word, call.args))
        # several arguments, such as os.execvp("pip", […]): unknown
        text = _literal_text(first_argument) if len(call.args) == 1 else ""
        if not text or re.search(r"[;&|$`<>\n]", text):
            return ("",)
        try:
            return tuple(shlex.split(text))
        except ValueError:
            return ("",)

    def _word(self, node: ast.expr) -> str:
        return "python" if self._dotted_names(node) == {"sys.executable"} else _literal_text(node)


def _from_last_module(parts: list[str]) -> str:
    positions = [at for at, part in enumerate(parts) if part in MODULES_AS_ATTRIBUTES]
    return ".".join(parts[positions[-1] :] if positions else parts)


def _starts_program(name: str) -> bool:
    """Whether the function of this name starts a program."""
    module, _, function = name.partition(".")
    if module in ("os", "posix"):
        return bool(_STARTS_BY_OS.fullmatch(function))
    if module == "subprocess":
        return bool(function) and function.split(".")[0] not in PASSIVE_IN_SUBPROCESS
    return name.rpartition(".")[2] in STARTERS


def _is_namespace(node: ast.AST) -> bool:
    """Whether the expression is `globals()`, `locals()` or `vars()`."""
    has_such_name = isinstance(node, ast.Call) and getattr(node.func, "id", "") in ("globals", "locals", "vars")
    return isinstance(node, ast.Call) and has_such_name and not node.args


def _literal_text(node: ast.AST | None) -> str:
    """The literal text of an expression, also one in parts: `"a" + "b"`; "" for anything else."""
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add):
        parts = _literal_text(node.left), _literal_text(node.right)
        return "".join(parts) if all(parts) else ""
    return node.value if isinstance(node, ast.Constant) and isinstance(node.value, str) else ""


def _leads_to_loader(name: str) -> bool:
    """Whether an attribute of one of Python's modules seems to be another module, which may load or start something:
    `random._os`."""
    bare = name.lstrip("_")
    return may_load(bare) or (bare != name and bare in READ_BY_USE)


def _expressions_in(statement: ast.stmt) -> list[ast.AST]:
    """The expressions of a statement, without the statements in it."""
    children = [child for child in ast.iter_child_nodes(statement) if not isinstance(child, ast.stmt)]
    return [child for child in children if not isinstance(child, ast.ExceptHandler | ast.match_case)] + [
        part
        for child in children
        if isinstance(child, ast.ExceptHandler | ast.match_case)
        for part in ast.iter_child_nodes(child)
        if not isinstance(part, ast.stmt)
    ]


def _statement_text(statement: ast.stmt) -> str:
    if isinstance(statement, ast.Import | ast.ImportFrom):
        return ast.unparse(statement)
    return "\n".join(ast.dump(part) for part in _expressions_in(statement))


# -- JavaScript, TypeScript, Go, Rust ----------------------------------------------------------------------------------


def _read_script(text: str) -> SourceText:
    text = _plain_script(text.replace("\ufeff", " ").replace("\r\n", "\n"))
    code = _JS_ASIDE.sub(lambda match: _placeholder(match[0]), text)
    without_comments = _JS_ASIDE.sub(lambda match: match[0] if match[0][0] in "\"'`" else " ", text)
    hidden = {line.strip() for line in code.splitlines() if _REQUIRES.search(line)}
    # Text that looks like a string may be part of a regular expression with a quotation mark in it. So whole lines are
    # searched, too.
    hidden |= {line.strip() for line in text.splitlines() if _COMPUTED.search(line) or _NAMED_REQUIRE.search(line)}
    unread = (*_AMBIGUOUS.finditer(code),), (*_UNCERTAIN.finditer(text), *LONG_COMMENT.finditer(text))
    hidden |= {
        _line_at(searched, match.end() - 1)
        for searched, found in zip((code, text), unread, strict=True)
        for match in found
    }
    hidden |= {*_lines_making_functions(code, without_comments)}
    hidden |= {match[0] for match in _GLOB.finditer(without_comments) if "node_modules" in match[0]}
    hidden |= {*lines_using_process(code, without_comments)}
    names = {name for script in (text, without_comments) for name in imported_names(script)}
    names |= {name for groups in _REQUIRED_BY_COMMENT.findall(text) for name in groups if name}
    # A path into `node_modules` names a package, too. A name with escapes in it is not decoded, so it counts as hidden.
    hidden |= {name for name in names if "%" in name or "\\" in name}
    hidden |= {name for name in names if not _is_harmless_in_node(name)}
    names |= {*_INTO_PACKAGES.findall(text)}
    paths_into_packages = {name for name in names if "node_modules/" in name}
    names = names - paths_into_packages | {
        posixpath.normpath(path.rpartition("node_modules/")[2]).lstrip("/") for path in paths_into_packages
    }
    paths = {name for name in names if name.startswith((".", "/"))} | {*_PLACED.findall(without_comments)}
    names = {name for name in names if not name.startswith((".", "/", "#", "node:"))}
    tops: dict[str, set[str]] = {}
    for name in names:
        tops.setdefault(package_of(name), set()).add(name)
    loaded = {package_of(name) for name in imported_names(_TYPES.sub("", without_comments))}
    types = {*tops} - loaded if _TYPES.search(without_comments) else set[str]()
    return SourceText(
        imports={*tops} - NODE_OWN,
        types=types,
        hidden=hidden,
        starts=_commands_of_script(without_comments),
        named=tops,
        paths=paths,
    )


def _plain_script(text: str) -> str:
    r"""The script without escapes that only hide a word (`\x65val`), and with texts in parts joined (`"a" + "b"`)."""

    def decoded(match: re.Match[str]) -> str:
        code = match[1] or match[2] or match[3]
        char = chr(int(code, 16)) if code else match[4]
        return char if re.fullmatch(r"[\w$()]", char, re.ASCII) else match[0]

    def joined(match: re.Match[str]) -> str:
        parts = [literal[1:-1] for literal in re.findall(_JS_STRING, match[0], re.DOTALL)]
        mark = next((quote for quote in "`\"'" if not any(quote in part for part in parts)), "")
        return f"{mark}{''.join(parts)}{mark}" if mark else match[0]

    # Escapes in a regular expression stay as they are read: `\w` and `w` are both no word that is searched for.
    return _IN_PARTS.sub(joined, _ESCAPE.sub(decoded, text))


def _placeholder(aside: str) -> str:
    if aside[0] in "\"'`":
        return '""'
    return " " if aside.startswith(("//", "/*")) else "0"


def _lines_making_functions(code: str, without_comments: str) -> Iterator[str]:
    """Lines that may make a function of a text. `code`: the script without strings."""
    for mention in _FUNCTION_MAKER.finditer(code):
        before, after = code[max(mention.start() - 200, 0) : mention.end()], code[mention.end() : mention.end() + 200]
        makes_none = any(
            pattern_before.search(before) and pattern_after.match(after)
            for pattern_before, pattern_after in _MAKES_NO_FUNCTION
        )
        if not makes_none or (re.search(r"\bnew\s+this\.constructor$", before) and re.search(r"\bstatic\b", code)):
            yield _line_at(code, mention.start())
    for mention in _FUNCTION_MAKER_QUOTED.finditer(without_comments):
        compared = _COMPARED.search(without_comments[max(mention.start() - 200, 0) : mention.start()])
        if not compared and not re.match(r"\s*[!=]==?", without_comments[mention.end() : mention.end() + 200]):
            yield _line_at(without_comments, mention.start())


def _line_at(text: str, position: int) -> str:
    return text[text.rfind("\n", 0, position) + 1 :].partition("\n")[0].strip()


def _is_harmless_in_node(name: str) -> bool:
    """Whether the import is harmless: not a module of Node's, a harmless one, or `child_process`, because the programs
    that it starts are read elsewhere."""
    module = name.removeprefix("node:").split("/")[0]
    is_built_in = name.startswith("node:") or module in NODE_OWN
    return not is_built_in or module in HARMLESS_IN_NODE or module == "child_process"


def package_of(name: str) -> str:
    """The package of an imported path. `@/` and `~/` begin no package's name, so the whole path is kept."""
    return name if name.startswith(("@/", "~/")) else "/".join(name.split("/")[: 2 if name.startswith("@") else 1])


def _commands_of_script(without_comments: str) -> dict[str, list[Words]]:
    """Line or call → the commands that it starts, in a script that uses Node's `child_process`. All commands are
    unknown, written as ("",), unless the script imports the functions of `child_process` by their own names."""
    if not _CHILD_PROCESS.search(without_comments):
        return {}
    imports = list(_CHILD_PROCESS_IMPORT.finditer(without_comments))
    names = {name.strip() for imported in imports for name in (imported[1] or imported[2]).split(",") if name.strip()}
    if len(imports) != len(_CHILD_PROCESS.findall(without_comments)) or any(" " in name for name in names):
        return {line.strip(): [("",)] for line in without_comments.splitlines() if _CHILD_PROCESS.search(line)}
    without_imports = _CHILD_PROCESS_IMPORT.sub("", without_comments)
    commands: dict[str, list[Words]] = {}
    for name in names:
        call = rf"(?<![\w$.]){re.escape(name)}\b\s*(\(\s*([\"'`])(.*?)\2\s*(?:,\s*(\[[^\]]*\]|[^\s{{)]))?)?"
        for mention in re.finditer(call, without_imports):
            text = mention[3] or ""
            words = () if re.search(r"[$;&|<>]", text) else tuple(text.split())
            words += tuple(_quoted(word) for word in (mention[4] or "").strip("[]").split(",") if mention[4] and word)
            commands.setdefault(mention[0], []).append(words or ("",))
    return commands


def _quoted(word: str) -> str:
    """The text between quotation marks; "" for anything else."""
    bare = word.strip()
    return bare[1:-1] if bare[:1] in ("'", '"', "`") and bare[:1] == bare[-1:] else ""


def _hidden_in_go(text: str, own_names: Collection[str]) -> set[str]:
    """Imports of packages that may load or start something, lines that use them, and directives that may do so."""
    hidden = {line.strip() for line in text.splitlines() if _GO_DIRECTIVE.match(line)}
    aside: list[str] = []

    def set_aside(match: re.Match[str]) -> str:
        aside.append(match[0])
        return " " if match[0].startswith("/") else f"\0{len(aside) - 1}\0"

    code = _GO_ASIDE.sub(set_aside, text)
    for group, single in _GO_IMPORT.findall(code):
        for name, at in _GO_IMPORTED.findall(group or single):
            path = aside[int(at)].strip('"`')
            top = path.split("/")[0]
            if "\\" not in path and (is_harmless_in_go(path) or "." in top or top in own_names):
                continue
            hidden.add(f"import {path}")
            used = re.compile(rf"\b{re.escape(name or path.split('/')[-1])}\.")
            hidden |= {line.strip() for line in text.splitlines() if used.search(line)}
            if path == "C":  # the comment above the import is compiled
                hidden.add(re.split(r'import\s+"C"', text)[0])
    return hidden


def _hidden_in_rust(text: str) -> set[str]:
    """Lines that link or call foreign code, or are unsafe, and lines of a build script that instruct Cargo."""
    return {line.strip() for line in text.splitlines() if _LEADS_OUT_OF_RUST.search(line)}


def _commands_of_compiled(text: str) -> dict[str, list[Words]]:
    commands: dict[str, list[Words]] = {}
    for line in text.splitlines() if re.search(r"\bprocess\b|os/exec|StartProcess|syscall|libc", text) else ():
        if _STARTS_COMPILED.search(line) and not line.lstrip().startswith("//"):
            command = _COMPILED_WORDS.search(line)
            imports = re.fullmatch(r'\s*(?:import\s*)?"os/exec"\s*|\s*use\s+std::process::Command;\s*', line)
            words = (command[1], *re.findall(r'"([^"]*)"', command[2]), "") if command else ("",)
            if not imports:
                commands.setdefault(line.strip(), []).append(words)
    return commands
