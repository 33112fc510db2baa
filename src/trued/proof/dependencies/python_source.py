"""Reads a Python module: what it imports by name, and its statements that may load a module or start a program without
naming it. Does no I/O.

The form `module.attribute` shows what code uses of a module. Code that passes a module on as a value, or looks up an
attribute whose name it computes, may use anything. Such code counts as loading something without naming it.
"""

import ast
import re
import shlex
from collections.abc import Collection, Iterable, Iterator

from trued.proof.dependencies.harmless_modules import (
    IMPORTING_IN_UNITTEST,
    LOADING_BUILT_INS,
    PLAIN_IN_UNITTEST_MAIN,
    READ_BY_USE,
    STANDARD,
    fetched_by,
    is_harmless_built_in,
    is_harmless_in_sys,
    is_loading_variable,
    may_load,
)
from trued.proof.dependencies.source_text import SourceText, Words
from trued.proof.text.python_scopes import bound_names, is_bound
from trued.support.lazy_regex import lazy_regex

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
_IMPORT_ERROR = lazy_regex(r"\b(?:Import|ModuleNotFound)Error\b")
_ENDING = ("exit", "_exit", "quit", "skip", "fail", "importorskip")  # functions that end the program or the test
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


class PythonSource:
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
        """Everything that was found in the module."""
        source = SourceText()
        guarded = {id(node) for guard in self.nodes if self._guards(guard) for node in _nodes_in_body(guard)}
        every, always = [
            {name.split(".")[0] for name in self._imported_modules(nodes) if not name.startswith(".")}
            for nodes in (self.nodes, [node for node in self.nodes if id(node) not in guarded])
        ]
        source.imports, source.guarded = every, every - always
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

    def _guards(self, node: ast.AST) -> bool:
        """Whether the body of this statement runs only for a type checker, or the program goes on if an import in the
        body fails."""
        if isinstance(node, ast.If):
            return self._dotted_names(node.test) in ({"typing.TYPE_CHECKING"}, {"typing_extensions.TYPE_CHECKING"})
        if isinstance(node, ast.Try):
            handled = [inner for handler in node.handlers for inner in ast.walk(handler)]
            if any(isinstance(inner, ast.Raise) or _last_name(inner) in _ENDING for inner in handled):
                return False
            only_imports = all(isinstance(inner, ast.Import | ast.ImportFrom | ast.Assign) for inner in node.body)
            return any(_catches_failed_import(handler.type, only_imports) for handler in node.handlers)
        calls = [item.context_expr for item in node.items] if isinstance(node, ast.With) else []
        return any(
            _last_name(call) == "suppress" and any(_catches_failed_import(error) for error in call.args)
            for call in calls
            if isinstance(call, ast.Call)
        )

    def _imported_modules(self, nodes: Iterable[ast.AST]) -> Iterator[str]:
        for node in nodes:
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
        """The dotted names that an expression may stand for. Each is cut so that it begins with its last module that
        can load or start something: `shutil.os.system` gives `os.system`."""
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
        """Whether the name is one of Python's own modules, or a member of one, and may load or start something. Uses of
        modules that only fetch do not count here: they are in `SourceText.fetches`."""
        return self._is_standard(name) and may_load(name)

    def _is_standard(self, name: str) -> bool:
        top = name.split(".")[0]
        return top in STANDARD and top not in self.own_modules

    def _understood_parts(self, node: ast.AST) -> list[ast.AST]:
        """The loaders and modules in an expression that shows what it uses of them: `import_module` in
        `import_module("json")`, `json` in `json.loads` and in `getattr(json, "loads")`."""
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
        """Whether the call looks up a computed attribute of something that was imported. A class of the project does
        not count."""
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


def _last_name(node: ast.AST) -> str:
    """The name of the function that this node calls, without the name of its module; "" if it calls none."""
    function = node.func if isinstance(node, ast.Call) else None
    return str(getattr(function, "attr", getattr(function, "id", "")))


def _catches_failed_import(error: ast.expr | None, only_imports: bool = True) -> bool:
    """Whether a handler of this error, or of all errors (None), is meant for failed imports. `only_imports`: nothing
    but an import can fail, so a handler of all errors is meant for it."""
    caught = ast.unparse(error) if error else "Exception"
    return bool(_IMPORT_ERROR.search(caught)) or (only_imports and "Exception" in caught)


def _nodes_in_body(statement: ast.AST) -> Iterator[ast.AST]:
    yield from (node for inner in getattr(statement, "body", ()) for node in ast.walk(inner))


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
