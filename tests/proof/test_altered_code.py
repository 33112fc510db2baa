"""Which code of the base a change alters, and which of it the user's cases reach."""

import pytest

from trued.proof.altered_code import MODULE, altered_names, names_of_tests, reached_names

BASE = """
import os
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
"""


@pytest.mark.spec("LAW-11")
@pytest.mark.parametrize(
    ("old", "new", "names"),
    [
        pytest.param("def far():", "class Odd(Exception):\n    pass\n\n\ndef far():", set(), id="a class of nothing"),
        pytest.param("import os", "import os\nimport re\n\n\ndef more():\n    return re", set(), id="added"),
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
        pytest.param("import os", "import os\nimport re\nWORD = re.compile('x')", set(), id="a pattern"),
        pytest.param(
            "import os", "import os\nfrom evil import compile\nWORD = compile('x')", {MODULE}, id="a name like it"
        ),
        pytest.param("import os", "import os\n\n\ndef set(x):\n    pass\n\n\nW = set(1)", {MODULE}, id="its own set"),
        pytest.param("def far():", "if __name__ == '__main__':\n    far()\n\n\ndef far():", set(), id="a program"),
    ],
)
def test_what_was_only_added_is_not_altered(old: str, new: str, names: set[str]) -> None:
    assert altered_names(BASE, BASE.replace(old, new)) == names


@pytest.mark.spec("LAW-11")
def test_entry_points_reach_what_the_base_says_they_use() -> None:
    assert {"slug", "_clean", "LIMIT"} <= reached_names([BASE], ["slug"])
    assert "far" not in reached_names([BASE, "no Python ("], ["slug", "unknown"])
    assert {"price", "far", "name"} <= reached_names([BASE], ["Shop"])


@pytest.mark.spec("LAW-11")
@pytest.mark.parametrize(
    ("ids", "names", "others"),
    [
        (["t.py::test_two[1]"], {"two", "helped"}, {"one"}),
        (["t.py::Kit::test_one"], {"one", "helped"}, {"two"}),
        (["t.py"], {"one", "two", "helped"}, set[str]()),
        (["gone.py::test_two"], set[str](), {"one", "two"}),
    ],
)
def test_a_test_uses_what_it_names_and_what_its_file_sets_up(ids: list[str], names: set[str], others: set[str]) -> None:
    text = "from kit import two as second\nimport kit\n\n\ndef test_two():\n    assert second() == 2\n\n\n"
    text += "class Kit:\n    def setUp(self):\n        kit.helped()\n\n    def test_one(self):\n        kit.one()\n"
    found = names_of_tests({"t.py": text}, ids)
    assert names <= found
    assert not others & found
