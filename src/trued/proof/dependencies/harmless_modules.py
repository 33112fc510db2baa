"""Lists the modules of Python, Node and Go that are known to load no other code and to start no program.

Any other module of these languages may load code or start a program. Also lists the harmless built-ins of Python, and
the harmless members of Python's `sys` and of Node's `process`.
"""

import builtins
import re
import sys

from trued.support.lazy_regex import lazy_regex

# Python's own modules, also those that some versions lack.
STANDARD = frozenset(sys.stdlib_module_names) | {
    *("aifc", "asynchat", "asyncore", "audioop", "cgi", "cgitb", "chunk", "crypt", "distutils", "imghdr", "imp"),
    *("lib2to3", "mailcap", "msilib", "nis", "nntplib", "ossaudiodev", "pipes", "smtpd", "sndhdr", "spwd", "sunau"),
    *("telnetlib", "uu", "xdrlib", "annotationlib", "compression"),
}
# Modules of which some functions load or start something. Each use of such a module is examined (see
# `python_source`).
READ_BY_USE = ("os", "posix", "subprocess", "asyncio", "importlib", "builtins", "sys")
# Modules that only fetch. A file may use those of their functions that the base's code uses, too.
FETCHING = (
    *("urllib.request", "urllib.robotparser", "http.client", "xmlrpc", "ftplib", "socket", "ssl"),
    *("smtplib", "poplib", "imaplib", "nntplib", "telnetlib"),
)
# Python's harmless modules. A package stands for its parts, too, except for those in `_LOADING_PARTS`.
_PYTHON = frozenset(
    {
        *("__future__", "abc", "argparse", "array", "ast", "atexit", "base64", "binascii", "bisect", "bz2", "calendar"),
        *("cmath", "cmd", "codecs", "collections", "colorsys", "concurrent.futures", "configparser", "contextlib"),
        *("contextvars", "copy", "csv", "curses", "dataclasses", "datetime", "dbm", "decimal", "difflib", "dis"),
        *("email", "enum", "errno", "faulthandler", "fcntl", "filecmp", "fnmatch", "fractions", "functools"),
        *("genericpath", "getopt", "getpass", "gettext", "glob", "graphlib", "grp", "gzip", "hashlib", "heapq"),
        *("hmac", "html", "http", "inspect", "io", "ipaddress"),
        *("itertools", "json", "keyword", "linecache", "locale", "logging", "lzma", "mailbox"),
        *("math", "mimetypes", "mmap", "netrc", "ntpath", "numbers", "opcode", "operator", "optparse"),
        *("pathlib", "platform", "plistlib", "posixpath", "pprint", "pwd", "queue", "quopri", "random", "re"),
        *("readline", "reprlib", "resource", "sched", "secrets", "select", "selectors", "shlex", "shutil", "signal"),
        *("socketserver", "sqlite3", "stat", "statistics", "string", "stringprep", "struct", "symtable"),
        *("syslog", "tarfile", "tempfile", "termios", "textwrap", "threading", "time", "token"),
        *("tokenize", "tomllib", "traceback", "tracemalloc", "tty", "types", "typing", "unicodedata", "unittest"),
        *("urllib", "uuid", "warnings", "wave", "weakref", "wsgiref", "xml"),
        *("xml.dom.minidom", "xml.parsers.expat", "xml.sax.saxutils", "zipfile", "zlib"),
        *("zoneinfo", "compression", "annotationlib"),
    }
)
# Functions of `unittest` that import what their arguments name, and the arguments of `unittest.main` that name nothing.
IMPORTING_IN_UNITTEST = ("main", "TestProgram", "discover")
PLAIN_IN_UNITTEST_MAIN = ("verbosity", "exit", "failfast", "buffer", "catchbreak", "testRunner")
# Built-ins that load nothing by themselves, those of Python 2 among them, and `_`, which `gettext.install` adds. Some,
# such as `globals` and `getattr`, can give access to other code: `python_source` examines how they are used.
_BUILT_INS = frozenset(
    {
        *("abs", "aiter", "all", "anext", "any", "ascii", "bin", "bool", "bytearray", "bytes", "callable", "chr"),
        *("classmethod", "complex", "copyright", "credits", "delattr", "dict", "dir", "divmod", "enumerate", "exit"),
        *("filter", "float", "format", "frozenset", "getattr", "globals", "hasattr", "hash", "hex", "id", "input"),
        *("int", "isinstance", "issubclass", "iter", "len", "license", "list", "locals", "map", "max", "memoryview"),
        *("min", "next", "object", "oct", "open", "ord", "pow", "print", "property", "quit", "range", "repr"),
        *("reversed", "round", "set", "setattr", "slice", "sorted", "staticmethod", "str", "sum", "super", "tuple"),
        *("type", "vars", "zip", "True", "False", "None", "Ellipsis", "NotImplemented", "__debug__"),
        *("_", "basestring", "buffer", "cmp", "file", "long", "raw_input", "reduce", "unichr", "unicode", "xrange"),
        # what every module or class has
        *("__annotations__", "__class__", "__doc__", "__file__", "__module__", "__name__", "__package__", "__path__"),
        *("__qualname__", "__cached__", "__warningregistry__"),
    }
)
# Members of `sys` that lead to no module and no loader.
_OF_SYS = frozenset(
    {
        *("abiflags", "activate_stack_trampoline", "addaudithook", "api_version", "argv", "audit", "base_exec_prefix"),
        *(
            "base_prefix",
            "builtin_module_names",
            "byteorder",
            "call_tracing",
            "copyright",
            "deactivate_stack_trampoline",
        ),
        *("dllhandle", "displayhook", "dont_write_bytecode", "exc_clear", "exc_info", "excepthook", "exception"),
        *("exec_prefix", "executable", "exit", "flags", "float_info", "float_repr_style", "frozen"),
        *("get_asyncgen_hooks", "get_coroutine_origin_tracking_depth", "get_int_max_str_digits"),
        *("getallocatedblocks", "getandroidapilevel", "getdefaultencoding", "getdlopenflags"),
        *("getfilesystemencodeerrors", "getfilesystemencoding", "getprofile", "getrecursionlimit", "getrefcount"),
        *("getsizeof", "getswitchinterval", "gettrace", "getunicodeinternedsize", "getwindowsversion", "hash_info"),
        *("hexversion", "implementation", "int_info", "intern", "is_finalizing", "is_stack_trampoline_active"),
        *("last_exc", "last_traceback", "last_type", "last_value", "maxint", "maxsize", "maxunicode", "monitoring"),
        *("orig_argv", "path", "platform", "platlibdir", "prefix", "ps1", "ps2", "pycache_prefix", "real_prefix"),
        *("set_asyncgen_hooks", "set_coroutine_origin_tracking_depth", "set_int_max_str_digits", "setdefaultencoding"),
        *("setdlopenflags", "setprofile", "setrecursionlimit", "setswitchinterval", "settrace", "stderr", "stdin"),
        *("stdlib_module_names", "stdout", "thread_info", "tracebacklimit", "unraisablehook", "version"),
        *("version_info", "warnoptions", "winver", "__displayhook__", "__excepthook__", "__stderr__", "__stdin__"),
        *("__stdout__", "__unraisablehook__", "__doc__", "__name__", "_MEIPASS", "_current_frames", "_getframe"),
        *("_getframemodulename", "_is_gil_enabled", "_xoptions", "pypy_version_info"),
        *("UnraisableHookArgs", "_clear_internal_caches", "_clear_type_cache", "_framework", "gettotalrefcount"),
    }
)
# Environment variables that make Python load nothing. PYTHONPATH only adds folders to `sys.path`, as code
# may do, too.
_VARIABLES = frozenset(
    {
        *("PYTHONASYNCIODEBUG", "PYTHONCOERCECLOCALE", "PYTHONDEBUG", "PYTHONDEVMODE", "PYTHONDONTWRITEBYTECODE"),
        *("PYTHONFAULTHANDLER", "PYTHONHASHSEED", "PYTHONINSPECT", "PYTHONINTMAXSTRDIGITS", "PYTHONIOENCODING"),
        *("PYTHONMALLOC", "PYTHONNODEBUGRANGES", "PYTHONNOUSERSITE", "PYTHONOPTIMIZE", "PYTHONPATH"),
        *("PYTHONPROFILEIMPORTTIME", "PYTHONSAFEPATH", "PYTHONTRACEMALLOC", "PYTHONTZPATH", "PYTHONUNBUFFERED"),
        *("PYTHONUTF8", "PYTHONVERBOSE", "PYTHONLEGACYWINDOWSFSENCODING", "PYTHONLEGACYWINDOWSSTDIO"),
    }
)
_VARIABLE = lazy_regex(r"_PYTHON_\w+|PYTHON[A-Z]+\d?")
_PRIVATE = lazy_regex(r"_[a-z]")  # private classes (`argparse._SubParsersAction`) name types
_LOADING_PARTS = ("logging.config", "xml.sax", "xml.dom", "xml.parsers")


def may_load(name: str) -> bool:
    """Whether the dotted name stands for something in Python's standard library that is not known as harmless: a module
    that is not listed here, or a private member of any module. False for names outside the standard library, and for
    modules of `READ_BY_USE` and `FETCHING`, each use of which is judged."""
    parts = name.split(".")
    if parts[0] not in STANDARD or parts[0] in READ_BY_USE or fetched_by(name):
        return False
    if any(_PRIVATE.match(part) for part in parts[1:]):
        return True
    above = [".".join(parts[:at]) for at in range(len(parts), 0, -1)]
    return next((module in _LOADING_PARTS for module in above if module in _PYTHON or module in _LOADING_PARTS), True)


def is_harmless_built_in(name: str) -> bool:
    """Whether this built-in of Python is known to load nothing. Exceptions of other Python versions are recognised by
    the form of their names."""
    own = getattr(builtins, name, None)
    is_error = isinstance(own, type) and issubclass(own, BaseException)
    return name in _BUILT_INS or is_error or bool(re.fullmatch(r"[A-Z][A-Za-z]*(Error|Warning|Exit|Group)", name))


# Python's built-ins that are not known as harmless, those of other versions among them.
LOADING_BUILT_INS = frozenset(
    name
    for name in (*dir(builtins), "breakpoint", "execfile", "help", "reload")
    if not is_harmless_built_in(name) and name not in ("__loader__", "__spec__")
)


def is_harmless_in_sys(name: str) -> bool:
    """Whether this member of `sys` leads to no module and no loader."""
    return name in _OF_SYS


def is_loading_variable(text: str) -> bool:
    """Whether the text is the name of an environment variable that may make Python load something."""
    return bool(_VARIABLE.fullmatch(text)) and text not in _VARIABLES


def fetched_by(name: str) -> str:
    """The module of `FETCHING` with which a dotted name begins, and the member of that module: `urllib.request.urlopen`
    for `urllib.request.urlopen.x`. "" if the name begins with no such module."""
    module = next((fetching_module for fetching_module in FETCHING if f"{name}.".startswith(f"{fetching_module}.")), "")
    return ".".join(name.split(".")[: module.count(".") + 2]) if module else ""


# Packages of Go's standard library, each with the parts below it. `os/exec` is among them, because the programs that it
# starts are read elsewhere.
_GO = frozenset(
    {
        *("archive", "bufio", "bytes", "cmp", "compress", "container", "context", "crypto", "database/sql", "embed"),
        *("encoding", "errors", "expvar", "flag", "fmt", "hash", "html", "image", "index", "io", "iter", "log", "maps"),
        *("math", "mime", "net", "os", "path", "reflect", "regexp", "runtime", "slices", "sort", "strconv", "strings"),
        *("structs", "sync", "testing", "text", "time", "unicode", "unique", "weak"),
    }
)


def is_harmless_in_go(path: str) -> bool:
    """Whether this package of Go's standard library is known to load and start nothing. True for `os/exec`, too,
    because `go_and_rust_source` judges the commands that it starts."""
    parts = path.split("/")
    above = ("/".join(parts[:at]) for at in range(1, len(parts) + 1))
    return path != "runtime/cgo" and any(package in _GO for package in above)


# Modules of Node that load and start nothing. What they fetch is found by the addresses in the script.
HARMLESS_IN_NODE = frozenset(
    {
        *("assert", "async_hooks", "buffer", "console", "constants", "crypto", "dgram", "diagnostics_channel", "dns"),
        *("domain", "events", "fs", "http", "http2", "https", "net", "os", "path", "perf_hooks", "process", "punycode"),
        *("querystring", "readline", "stream", "string_decoder", "sys", "test", "timers", "tls", "tty", "url", "util"),
        "zlib",
    }
)

# Members of Node's `process` that load, start and fetch nothing, and those that bundlers and Electron add.
HARMLESS_IN_PROCESS = frozenset(
    {
        *("abort", "addListener", "addUncaughtExceptionCaptureCallback", "allowedNodeEnvironmentFlags", "arch", "argv"),
        *("argv0", "assert", "availableMemory", "browser", "channel", "chdir", "client", "config", "connected"),
        *("constrainedMemory", "cpuUsage", "cwd", "debugPort", "disconnect", "domain", "emit", "emitWarning", "env"),
        *("eventNames", "execArgv", "execPath", "exit", "exitCode", "features", "finalization"),
        *("getActiveResourcesInfo", "getMaxListeners", "getegid", "geteuid", "getgid", "getgroups", "getuid"),
        *("hasUncaughtExceptionCaptureCallback", "hrtime", "initgroups", "kill", "listenerCount", "listeners"),
        *("loadEnvFile", "memoryUsage", "moduleLoadList", "nextTick", "noDeprecation", "off", "on", "once"),
        *("openStdin", "permission", "pid", "pkg", "platform", "ppid", "prependListener", "prependOnceListener"),
        *("rawListeners", "reallyExit", "ref", "release", "removeAllListeners", "removeListener", "report"),
        *("resourceUsage", "resourcesPath", "send", "server", "setMaxListeners", "setSourceMapsEnabled"),
        *("setUncaughtExceptionCaptureCallback", "setegid", "seteuid", "setgid", "setgroups", "setuid"),
        *("sourceMapsEnabled", "stderr", "stdin", "stdout", "threadCpuUsage", "throwDeprecation", "title"),
        *("traceDeprecation", "traceProcessWarnings", "type", "umask", "unref", "uptime", "version", "versions"),
        *("_getActiveHandles", "_getActiveRequests"),
    }
)
