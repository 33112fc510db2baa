"""Modules that come with Python, Node and Go, and are known to load no other code, to start no program and to fetch
nothing. Every other module of theirs may do so. Pure."""

import sys

# Python's own modules, also those that some versions lack.
STANDARD = frozenset(sys.stdlib_module_names) | {
    *("aifc", "asynchat", "asyncore", "audioop", "cgi", "cgitb", "chunk", "crypt", "distutils", "imghdr", "imp"),
    *("lib2to3", "mailcap", "msilib", "nis", "nntplib", "ossaudiodev", "pipes", "smtpd", "sndhdr", "spwd", "sunau"),
    *("telnetlib", "uu", "xdrlib", "annotationlib", "compression"),
}
# Modules of which some functions load or start something. Each use of these is looked at (see `source_imports`).
READ_BY_USE = ("os", "posix", "subprocess", "asyncio", "importlib", "builtins", "sys")
# Modules that only fetch. A file may use a function of theirs that the base's code uses, too.
FETCHING = (
    *("urllib.request", "urllib.robotparser", "http.client", "xmlrpc", "ftplib", "socket", "ssl"),
    *("smtplib", "poplib", "imaplib", "nntplib", "telnetlib"),
)
# The parts of a package count as well, except those in `_LOADING_PARTS`.
_PYTHON = frozenset(
    {
        *("__future__", "abc", "argparse", "array", "ast", "atexit", "base64", "binascii", "bisect", "bz2", "calendar"),
        *("cmath", "cmd", "codecs", "collections", "colorsys", "concurrent", "configparser", "contextlib"),
        *("contextvars", "copy", "csv", "curses", "dataclasses", "datetime", "dbm", "decimal", "difflib", "dis"),
        *("email", "enum", "errno", "faulthandler", "fcntl", "filecmp", "fnmatch", "fractions", "functools"),
        *("genericpath", "getopt", "getpass", "gettext", "glob", "graphlib", "grp", "gzip", "hashlib", "heapq"),
        *("hmac", "html", "http", "inspect", "io", "ipaddress"),
        *("itertools", "json", "keyword", "linecache", "locale", "logging", "lzma", "mailbox"),
        *("math", "mimetypes", "mmap", "netrc", "ntpath", "numbers", "opcode", "operator", "optparse"),
        *("pathlib", "platform", "plistlib", "posixpath", "pprint", "pwd", "queue", "quopri", "random", "re"),
        *("readline", "reprlib", "resource", "sched", "secrets", "select", "selectors", "shlex", "shutil", "signal"),
        *("socketserver", "sqlite3", "stat", "statistics", "string", "stringprep", "struct", "symtable"),
        *("sysconfig", "syslog", "tarfile", "tempfile", "termios", "textwrap", "threading", "time", "token"),
        *("tokenize", "tomllib", "traceback", "tracemalloc", "tty", "types", "typing", "unicodedata", "unittest"),
        *("urllib", "uuid", "warnings", "wave", "weakref", "wsgiref", "xml"),
        *("xml.dom.minidom", "xml.parsers.expat", "xml.sax.saxutils", "zipfile", "zlib"),
        *("zoneinfo", "compression", "annotationlib"),
    }
)
_LOADING_PARTS = ("logging.config", "xml.sax", "xml.dom", "xml.parsers")


def may_load(name: str) -> bool:
    """Whether the dotted name begins with a module of Python's that is not known as harmless. False for modules of
    `READ_BY_USE` and `FETCHING`."""
    parts = name.split(".")
    if parts[0] not in STANDARD or parts[0] in READ_BY_USE or fetched_by(name):
        return False
    above = [".".join(parts[:at]) for at in range(len(parts), 0, -1)]
    return next((module in _LOADING_PARTS for module in above if module in _PYTHON or module in _LOADING_PARTS), True)


def fetched_by(name: str) -> str:
    """The part of a dotted name that says what is used of a module of `FETCHING`, such as `urllib.request.urlopen` in
    `urllib.request.urlopen.x`; "" for any other name."""
    module = next((fetching_module for fetching_module in FETCHING if f"{name}.".startswith(f"{fetching_module}.")), "")
    return ".".join(name.split(".")[: module.count(".") + 2]) if module else ""


# Packages of Go's standard library, each with the parts below it; `os/exec` is read by the programs that it starts.
_GO = frozenset(
    {
        *("archive", "bufio", "bytes", "cmp", "compress", "container", "context", "crypto", "database/sql", "embed"),
        *("encoding", "errors", "expvar", "flag", "fmt", "hash", "html", "image", "index", "io", "iter", "log", "maps"),
        *("math", "mime", "net", "os", "path", "reflect", "regexp", "runtime", "slices", "sort", "strconv", "strings"),
        *("structs", "sync", "testing", "text", "time", "unicode", "unique", "weak"),
    }
)


def is_harmless_in_go(path: str) -> bool:
    """Whether this package of Go's standard library loads and starts nothing, or is read by what it starts."""
    parts = path.split("/")
    above = ("/".join(parts[:at]) for at in range(1, len(parts) + 1))
    return path != "runtime/cgo" and any(package in _GO for package in above)


# Node's modules. What they fetch is read by the addresses in the script.
HARMLESS_IN_NODE = frozenset(
    {
        *("assert", "async_hooks", "buffer", "console", "constants", "crypto", "dgram", "diagnostics_channel", "dns"),
        *("domain", "events", "fs", "http", "http2", "https", "net", "os", "path", "perf_hooks", "process", "punycode"),
        *("querystring", "readline", "stream", "string_decoder", "sys", "test", "timers", "tls", "tty", "url", "util"),
        "zlib",
    }
)
