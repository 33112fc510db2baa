"""Which code of the base a change alters, and which of it the user's cases reach."""

import pytest

from trued.proof.reach.altered_python import MODULE, altered_names, computed_members, new_statements, reached_names
from trued.proof.reach.tests_in_python import names_of_tests, without_tests

BASE = """
import json
import os
import re
from dataclasses import dataclass
from kit import one

NAMES = ["a"]
TABLE = {'a': 1, 'b': 2}
LIMIT = 3


def slug(text):
    return _clean(text)[:LIMIT]


def _clean(text):
    \"\"\"Clean it.\"\"\"
    return text.strip()


class Shop:
    def price(self):
        return far()

    def name(self):
        return os.name


class Till(Shop):
    def pay(self):
        return 0


def far():
    return 1


@known
def near():
    return 2


@dataclass
class Point:
    x: int


@app.route("/total")
@timed("slow")
def total():
    return json.dumps(1)


@timed("slow")
@json.option("--path")
def slow():
    return 3


ORIGIN = 0
START = ORIGIN
ORIGIN = 1
"""


@pytest.mark.spec("LAW-11")
@pytest.mark.parametrize(
    ("old", "new", "names"),
    [
        pytest.param("def far():", "class Odd(Exception):\n    pass\n\n\ndef far():", set(), id="a class of nothing"),
        pytest.param("import os", "import os\nimport sys\n\n\ndef more():\n    return sys", set(), id="added"),
        pytest.param('"a"]', '"a", "b"]', set(), id="a list grew"),
        pytest.param('"a"]', '"b", "a"]', {"NAMES"}, id="a list is another"),
        pytest.param("Clean it.", "Clean it all.", set(), id="words"),
        pytest.param("return text.strip()", "return text.strip()  # why", set(), id="a comment"),
        pytest.param("    def name", "    def more(self):\n        return 1\n\n    def name", set(), id="a method"),
        pytest.param("LIMIT = 3", "LIMIT = 4", {"LIMIT"}, id="a value"),
        pytest.param("return 1", "return 2", {"far"}, id="a function"),
        pytest.param("return far()", "return 2", {"Shop.price"}, id="a method changed"),
        pytest.param("class Shop:", "class Shop(dict):", {"Shop"}, id="a class"),
        pytest.param("from kit import one", "from evil import one", {"one"}, id="an import from elsewhere"),
        pytest.param("LIMIT = 3", "LIMIT = 3\n\n\ndef far():\n    return 2", {"far"}, id="bound twice"),
        pytest.param("LIMIT = 3", "LIMIT = 3\nglobals().update(far=1)", {MODULE}, id="a statement"),
        pytest.param("LIMIT = 3", "LIMIT = 3\nmore, far.__code__ = 1, slug.__code__", {MODULE}, id="an attribute"),
        pytest.param("LIMIT = 3", "LIMIT = 3\nfrom evil import *", {MODULE}, id="an import of all there is"),
        pytest.param("def slug", "def slug(", {MODULE}, id="no Python"),
        pytest.param("LIMIT = 3", "LIMIT = 3\nPRICES = {'a': 1}", set(), id="a new table"),
        pytest.param("'b': 2}", "'b': 2, 'c': 3}", set(), id="a table grew"),
        pytest.param("'b': 2}", "'b': 2, 'a': 3}", {"TABLE"}, id="a key twice"),
        pytest.param("'b': 2}", "'b': 2, **MORE}", {"TABLE"}, id="a table with others"),
        pytest.param("LIMIT = 3", "LIMIT = 3\nmore = (LIMIT := 9)", {MODULE}, id="a walrus"),
        pytest.param("LIMIT = 3", "LIMIT = 3\nmore = setattr(os, 'name', 'x')", {MODULE}, id="setattr"),
        pytest.param("LIMIT = 3", "LIMIT = 3\nmore = [os.__dict__.update(name='x')]", {MODULE}, id="a call inside"),
        pytest.param(
            "def far():", "def more(x=os.putenv('a', 'b')):\n    pass\n\n\ndef far():", {MODULE}, id="a default"
        ),
        pytest.param("def far():", "@patched\ndef more():\n    pass\n\n\ndef far():", {MODULE}, id="a decorator"),
        pytest.param("def far():", "@known\ndef more():\n    pass\n\n\ndef far():", set(), id="a known decorator"),
        pytest.param("def far():", "@property\ndef more(_):\n    pass\n\n\ndef far():", set(), id="Python's decorator"),
        pytest.param(
            "    def name", "    def __eq__(self, other):\n        return True\n\n    def name", {"Shop"}, id="equality"
        ),
        pytest.param(
            "    def pay", "    def more(self):\n        return True\n\n    def pay", {"Till"}, id="perhaps an override"
        ),
        pytest.param("LIMIT = 3", "LIMIT = 3\n\n\ndef len(x):\n    return 0", {MODULE}, id="a built-in"),
        pytest.param("LIMIT = 3", "LIMIT = 3\n\n\ndef __getattr__(x):\n    return 0", {MODULE}, id="of the module"),
        pytest.param("LIMIT = 3", "LIMIT = 3\n\n\nclass More(metaclass=Odd):\n    pass", {MODULE}, id="a metaclass"),
        pytest.param("LIMIT = 3", "LIMIT = 3\nWORD = re.compile('x')", set(), id="a pattern"),
        pytest.param(
            "import os", "import os\nfrom evil import compile\nWORD = compile('x')", {MODULE}, id="a name like it"
        ),
        pytest.param("import os", "import os\n\n\ndef set(x):\n    pass\n\n\nW = set(1)", {MODULE}, id="its own set"),
        pytest.param("def far():", "if __name__ == '__main__':\n    far()\n\n\ndef far():", set(), id="a program"),
        pytest.param("import re\n", "", set(), id="an import that nothing uses is removed"),
        pytest.param("import json\n", "", {"total", "slow"}, id="an import that old code uses is removed"),
        pytest.param("    x: int", "    x: int\n    y: int = 0", {"Point"}, id="a field of a dataclass"),
        pytest.param("    x: int", "    x: int\n\n    def more(self):\n        return 1", set(), id="a method of it"),
        pytest.param("START = ORIGIN\nORIGIN = 1", "ORIGIN = 1\nSTART = ORIGIN", {MODULE}, id="another order"),
        pytest.param('NAMES = ["a"]', 'NAMES = ["a"]\nNAMES = TABLE', {"NAMES"}, id="a list is another in the end"),
    ],
)
def test_what_was_only_added_is_not_altered(old: str, new: str, names: set[str]) -> None:
    assert altered_names(BASE, BASE.replace(old, new)) == names


NEW = "\n\ndef more(x, shop):\n    "


@pytest.mark.spec("LAW-11")
@pytest.mark.parametrize(
    ("added", "names"),
    [
        pytest.param("global far\n    far = None", {"far"}, id="a global"),
        pytest.param("global far\n    import far", {"far"}, id="a global by an import"),
        pytest.param("global far\n    del far", {"far"}, id="a global is removed"),
        pytest.param("far.__code__ = x", {"far"}, id="the code of a function"),
        pytest.param("Shop.price = x", {"Shop", "price"}, id="a method"),
        pytest.param("LIMIT.real += 1", {"LIMIT", "real"}, id="an attribute"),
        pytest.param("setattr(Shop, 'price', x)", {"Shop", "price"}, id="setattr"),
        pytest.param("type.__setattr__(Shop, 'price', x)", {"Shop", "price"}, id="setattr of a class"),
        pytest.param("setattr(Shop, x, x)", {"Shop", MODULE}, id="setattr of any name"),
        pytest.param("globals()['far'] = x", {"far"}, id="globals"),
        pytest.param("globals().update(far=x)", {MODULE}, id="globals, updated"),
        pytest.param("names = globals()\n    names['far'] = x", {"far"}, id="globals by another name"),
        pytest.param("globals()['far'].__code__ = x", {"far"}, id="a function of globals"),
        pytest.param("import core\n    core.rate = x", {"core", "rate"}, id="another module"),
        pytest.param("from . import core as c\n    c.rate = x", {"c", "core", "rate"}, id="a module beside"),
        pytest.param("from core import rate\n    rate.__code__ = x", {"rate"}, id="another's function"),
        pytest.param("import core\n    vars(core)['rate'] = x", {"rate"}, id="vars of a module"),
        pytest.param("import core\n    core.__dict__.update(rate=x)", {MODULE}, id="the names of a module"),
        pytest.param("import sys\n    sys.modules['core'].rate = x", {"core", "rate"}, id="any module"),
        pytest.param("import importlib\n    importlib.import_module('core').rate = x", {"rate"}, id="an import"),
        pytest.param("other = far\n    other.__code__ = x", {"far"}, id="another name"),
        pytest.param("for f in (far, slug):\n        f.__code__ = x", {"far", "slug"}, id="a loop"),
        pytest.param("def inner():\n        far.__code__ = x\n    inner()", {"far"}, id="inside"),
        pytest.param("return [setattr(far, '__code__', x) for one in x]", {"far"}, id="a comprehension"),
        pytest.param("return (lambda: setattr(far, '__code__', x))()", {"far"}, id="a lambda"),
        pytest.param(
            "from core import rate as r\n    s = r\n    s.__code__ = x", {"r", "rate"}, id="another's, renamed"
        ),
        pytest.param("globals()[x].__code__ = x", {MODULE}, id="any function of globals"),
        pytest.param("exec(x)", {MODULE}, id="any code"),
        pytest.param("global counter\n    counter = x", set(), id="a new global"),
        pytest.param("shop.price = x\n    x.far = far", set(), id="attributes of parameters"),
        pytest.param("far = x\n    far.name = x\n    slug = 1", set(), id="its own names"),
        pytest.param("till = Till()\n    till.price = x", set(), id="its own object"),
        pytest.param("import os\n    os.umask = x\n    vars(x)['a'] = 1", set(), id="Python's own"),
        pytest.param("names = {}\n    names['far'] = x\n    names.update(far=x)", set(), id="its own table"),
        pytest.param("setattr(x, 'far', far)\n    monkeypatch.setattr(Shop, 'price', x)", set(), id="what is undone"),
        pytest.param("return [one for one in NAMES if one.name == far]", set(), id="reads"),
    ],
)
def test_a_new_function_alters_what_it_stores_to(added: str, names: set[str]) -> None:
    assert altered_names(BASE, f"{BASE}{NEW}{added}\n") == names
    as_method = f"{BASE}\n\nclass More:\n    def __init__(self, x, shop):\n        self.far = self.x = x\n        "
    indented = added.replace("\n", "\n    ")
    assert altered_names(BASE, f"{as_method}{indented}\n") == names


@pytest.mark.spec("LAW-11")
def test_a_new_file_alters_what_its_functions_store_in_others() -> None:
    text = "import core\nfrom kit import one\n\nCOUNT = 0\n\n\ndef rate(x):\n    global COUNT\n    COUNT += x\n"
    assert altered_names("", text) == set()
    assert "rate" in altered_names("", f"{text}    core.rate = rate\n")
    assert "one" in altered_names("", f"{text}    one.__defaults__ = (1,)\n")


READY = "class H:\n    @property\n    def ready(self):\n        os.name = 'x'\n\n\n"
HOOK = "def hook(cls, key=0):\n    os.name = 'x'\n\n\n"
ENUM = "from enum import Enum\n\n\nclass E(Enum):\n    A = 1\n\n    def "


@pytest.mark.spec("LAW-11")
@pytest.mark.parametrize(
    "added",
    [
        pytest.param("X = [None for os.name in ('x',)]", id="a target of a comprehension"),
        pytest.param("X = [None for os.__dict__['name'] in ('x',)]", id="an item as a target"),
        pytest.param("X = lambda a=setattr(os, 'name', 'x'): 0", id="a default of a lambda"),
        pytest.param("def more(key=lambda a=setattr(os, 'name', 'x'): 0): ...", id="such a default of a function"),
        pytest.param(f"{HOOK}from collections import defaultdict\nR = defaultdict(hook)\nX = R['a']", id="a factory"),
        pytest.param(
            "from collections import defaultdict\nR = defaultdict(lambda: setattr(os, 'name', 'x'))\nX = R['a']",
            id="a factory without a name",
        ),
        pytest.param(f"{HOOK}class H:\n    __class_getitem__ = hook\n\n\nX = H[0]", id="a hook for items"),
        pytest.param(f"{HOOK}class H:\n    __init_subclass__ = hook", id="a hook for subclasses"),
        pytest.param("class H:\n    from kit import hook as __class_getitem__", id="an imported hook"),
        pytest.param("class H:\n    @classmethod\n    @property\n    def x(cls): ...", id="a property of a class"),
        pytest.param("TYPE_CHECKING = True\nif TYPE_CHECKING:\n    os.name = 'x'", id="type checking, made up"),
        pytest.param(
            "from typing import cast as TYPE_CHECKING\nif TYPE_CHECKING:\n    os.name = 'x'",
            id="type checking, renamed",
        ),
        pytest.param(f"{ENUM}__init__(self, value):\n        os.name = 'x'", id="an enum with a constructor"),
        pytest.param("import sys\nX = sys.modules['core'].resolve()", id="a function of any module"),
        pytest.param("@app.route('/total', methods=['POST', 'GET'])\ndef more(): ...", id="the same route"),
        pytest.param("@known(setattr(os, 'name', 'x'))\ndef more(): ...", id="an argument of a known decorator"),
        pytest.param("@one.setter\ndef one(): ...", id="no property"),
        pytest.param(f"{READY}X = NAMES.ready", id="a property that is read"),
        pytest.param(f"{READY}def more(key=NAMES.ready): ...", id="a property in a default"),
        pytest.param(f"{READY}@known(NAMES.ready)\ndef more(): ...", id="a property in a decorator"),
        pytest.param(f"{READY}class J(H):\n    other = H.ready\n\n\nX = NAMES.other", id="another name for it"),
        pytest.param(
            f"{READY}from enum import Enum\n\n\nclass E(Enum):\n    A = 1\n\n\nX = E.A.ready", id="of a member"
        ),
    ],
)
def test_what_may_change_other_code_while_the_module_is_loaded_alters_it(added: str) -> None:
    assert MODULE in altered_names(BASE, f"{BASE}\n\n{added}\n")


@pytest.mark.spec("LAW-11")
@pytest.mark.parametrize(
    "added",
    [
        "X = [name for name in NAMES]",
        "X = lambda a=1: a",
        "from collections import defaultdict\nR = defaultdict(list)\nS = defaultdict(lambda: defaultdict(int))",
        "from typing import TYPE_CHECKING\n\nif TYPE_CHECKING:\n    from kit import Two",
        "import typing\n\nif typing.TYPE_CHECKING:\n    from kit import Two",
        "from enum import Enum\n\n\nclass E(Enum):\n    A = 1\n    B = 2",
        f"{ENUM}__str__(self):\n        return self.name",
        "@dataclass(frozen=True)\nclass Line:\n    start: Point\n    end: Point",
        "class Box:\n    @property\n    def size(self): ...\n\n    @size.setter\n    def size(self, value): ...",
        "@app.route('/more')\ndef more(): ...",
        "@app.route('/total', methods=['POST'])\ndef more(): ...",
        f"{READY}def more(one):\n    return one.ready",
        "from enum import Enum\n\n\nclass E(Enum):\n    A = 1\n\n    @property\n    def b(self): ...\n\n\nX = E.A",
        "class Box:\n    @classmethod\n    def made(cls): ...\n\n\nMAKE = Box.made",
        "@timed('slow')\n@json.option('--path')\ndef more(): ...",
    ],
)
def test_ordinary_additions_alter_nothing(added: str) -> None:
    assert altered_names(BASE, f"{BASE}\n\n{added}\n") == set()


@pytest.mark.spec("LAW-11")
@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("import core\n__name__ = '__main__'\nif __name__ == '__main__':\n    core.rate = 0\n", {MODULE}),
        ("import core\n\n\ndef __getattr__(name):\n    core.rate = 0\n", {MODULE, "core", "rate"}),
        ("import core\n\n__all__ = ['f']\n__version__ = '1'\n\n\ndef f():\n    return core\n", set[str]()),
    ],
)
def test_a_new_file_may_not_set_what_python_reads(text: str, names: set[str]) -> None:
    assert altered_names("", text) == names


@pytest.mark.spec("LAW-11")
def test_a_name_that_old_code_takes_from_elsewhere_is_not_replaced() -> None:
    old = "from core import *\n\n\ndef total():\n    return rate(1)\n"
    assert altered_names(old, f"{old}\n\ndef rate(x):\n    return 0\n") == {MODULE}
    assert altered_names(old, f"{old}\n\ndef other(x):\n    return 0\n") == set()


@pytest.mark.spec("LAW-11")
def test_an_import_that_another_file_takes_from_here_is_code() -> None:
    assert altered_names("from core import rate\n", "", {"rate"}) == {"rate"}
    assert altered_names("from core import rate\n__all__ = ['rate']\n", "__all__ = ['rate']\n") == {"rate"}
    assert altered_names("from core import rate\n", "", {"other"}) == set()


@pytest.mark.spec("LAW-11")
def test_new_statements_mention_what_they_and_their_functions_use() -> None:
    old = "import core\n\n\ndef two():\n    return core.rate(2)\n"
    more = "\n\ndef _install():\n    core.rate = None\n\n\n_install()\n"
    assert "rate" in new_statements(old, f"{old}{more}")
    assert "rate" in new_statements(old, f"{old}setattr(core, 'rate', None)\n")
    assert "rate" not in new_statements(old, f"{old}\n\n@app.get('/x')\ndef three():\n    return core.rate(3)\n")


@pytest.mark.spec("LAW-11")
def test_entry_points_reach_what_the_base_says_they_use() -> None:
    assert {"slug", "_clean", "LIMIT"} <= reached_names([BASE], ["slug"])
    assert "far" not in reached_names([BASE, "no Python ("], ["slug", "unknown"])
    assert {"price", "far", "name"} <= reached_names([BASE], ["Shop"])


DEEP = f"x = {'+'.join(['one'] * 1500)}\n"  # too many levels for a recursion


@pytest.mark.spec("LAW-11")
def test_code_that_is_nested_too_deeply_counts_as_altered() -> None:
    assert MODULE in new_statements("", f"{DEEP}core.rate = None\n")
    assert MODULE in new_statements(DEEP, "x = 1\n")
    assert {"core", "rate"} <= new_statements("", "type X = = int\ncore.rate = None\n")
    text = f"{DEEP}def test_a():\n    pass\n"
    assert without_tests(text, "t.py", ["t.py::test_a"]) == text
    decorated = f"@mark({DEEP[4:-1]})\ndef test_a():\n    pass\n"
    assert "mark" in names_of_tests({"t.py": decorated}, ["t.py::test_a"], strings=True)


def test_a_new_property_alters_a_class_that_sets_an_attribute_of_its_name() -> None:
    old = "class Rates:\n    def __init__(self):\n        self.rate = 1\n"
    new = f"{old}\n    @property\n    def %s(self):\n        return 2\n"
    assert altered_names(old, new % "rate") == {"Rates"}
    assert altered_names(old, new % "other") == set()


def test_a_property_of_another_file_is_read_by_a_new_value() -> None:
    old, new = "class Rates:\n    pass\n", "class Rates:\n    @property\n    def ready(self): ...\n"
    gained = computed_members(old, new)
    assert gained == {"ready"}
    assert computed_members(new, new) == set()
    assert altered_names("", "from rates import RATES\nX = RATES.ready\n", (), gained) == {MODULE}
    assert altered_names("", "from rates import RATES\nX = RATES.size\n", (), gained) == set()
