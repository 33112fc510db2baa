"""Which names tests use, and which test functions are idle."""

import pytest

from trued.proof.reach.tests_in_python import names_of_tests, without_idle_tests
from trued.proof.text.python_names import used_names


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
    found = names_of_tests({"t.py": text}, ids, strings=True)
    assert names <= found
    assert not others & found


@pytest.mark.spec("LAW-11")
def test_a_string_in_a_test_is_a_name_for_certain_only_if_it_names_a_fixture() -> None:
    text = "@pytest.mark.usefixtures('first')\ndef test_a(request):\n    request.getfixturevalue('second')\n"
    text += "    assert kinds() == ['total']\n"
    fixtures = {"first", "second"}
    assert {"first", "second", "total"} & names_of_tests({"t.py": text}, ["t.py::test_a"], strings=False) == fixtures
    assert {*fixtures, "total"} <= names_of_tests({"t.py": text}, ["t.py::test_a"], strings=True)


TESTS = {
    "base.py": "class Contract:\n    def test_a(self):\n        far()\n\n    def test_b(self):\n        slow()\n",
    "pg.py": "class TestPg(Contract):\n    def test_own(self):\n        own()\n",
    "one.py": "def test_b():\n    near()\n",
    "idle.py": "def helper():\n    help()\n\n\ndef test_c():\n    late()\n",
    "core.py": "def rate():\n    return low()\n",
}

ALL = {"far", "slow", "own", "near", "help", "late", "low"}


@pytest.mark.spec("LAW-6", "LAW-11")
@pytest.mark.parametrize(
    ("idle", "guarding", "gone"),
    [
        pytest.param(["pg.py::TestPg::test_own"], ["pg.py::TestPg::test_a"], {"own"}, id="beside an inherited test"),
        pytest.param(["pg.py::TestPg::test_b"], ["pg.py::TestPg::test_a"], {"slow", "near"}, id="inherited"),
        pytest.param(["pg.py::TestPg::test_b"], ["one.py::test_b"], {"slow"}, id="inherited, a namesake guards"),
        pytest.param(["pg.py::TestPg::test_b"], ["my.py::TestMy::test_b"], set(), id="another class inherits it"),
        pytest.param(["base.py::Contract::test_b"], ["pg.py::TestPg::test_b"], set(), id="a class inherits it"),
        pytest.param(["one.py::test_b[1]"], ["one.py::test_b[2]"], set(), id="other parameters"),
        pytest.param(["one.py::test_b_1"], [], {"slow", "near"}, id="made by a decorator"),
        pytest.param(["idle.py"], ["one.py::test_b"], {"late"}, id="a whole file, except its helpers"),
        pytest.param(["idle.py"], ["pg.py::TestPg::test_c"], set(), id="a class inherits it from such a file"),
    ],
)
def test_only_what_no_guarding_test_runs_is_idle(idle: list[str], guarding: list[str], gone: set[str]) -> None:
    left = without_idle_tests(TESTS, idle, guarding)
    assert ALL - {name for text in left.values() for name in used_names(text)} == gone
