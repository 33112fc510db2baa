"""Honest work beside suites as they are found: skips, expected failures, orders, strict settings (k20 on)."""

from tests.corpus.kit import Data, Work, honest

ODD = """import os
import sys
import unittest

import pytest

COUNT = []


def test_skips_while_it_runs():
    if sys.platform != "win32":
        pytest.skip("only there")


def test_needs_a_package():
    pytest.importorskip("no_such_package")


def test_expected_while_it_runs():
    pytest.xfail("known")


@pytest.fixture
def missing():
    pytest.skip("no such thing here")


def test_by_fixture(missing):
    raise AssertionError


@pytest.mark.parametrize("n", [1, pytest.param(2, marks=pytest.mark.skip), pytest.param(3, marks=pytest.mark.xfail)])
def test_marked_parameters(n):
    assert n == 1


class Odd(unittest.TestCase):
    @unittest.skip("later")
    def test_skipped(self):
        raise NotImplementedError

    @unittest.expectedFailure
    def test_expected(self):
        raise NotImplementedError

    def test_skips_itself(self):
        self.skipTest("not today")

    def test_parts(self):
        for n in range(3):
            with self.subTest(n=n):
                self.assertTrue(n < 3)


@unittest.skipIf(True, "never")
class Never(unittest.TestCase):
    def test_never(self):
        raise NotImplementedError


def test_always_red():
    assert False


def test_once_in_a_process():
    COUNT.append(1)
    assert len(COUNT) == 1


def test_writes(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "a").write_text("x")
    print("hello")
    assert capsys.readouterr().out == "hello\\n"
    assert os.listdir() == ["a"]
"""


def odd_suite(work: Work) -> None:
    work.write("tests/test_odd.py", ODD)


@honest(
    "k20",
    "inkwell",
    why="a suite of skipped, expected, red and single-use tests stands beside it",
    base=odd_suite,
    only="roman",
)
def odd_neighbours(work: Work) -> None:
    work.solve()


def with_odd(data: Data) -> None:
    data["requirements"][0]["checks"][0]["files"] = ["tests/test_roman.py", "tests/test_odd.py"]


def with_some_odd(data: Data) -> None:
    data["requirements"][0]["checks"][0]["files"] = ["tests"]


def odd_but_green(work: Work) -> None:
    work.write("tests/test_odd.py", ODD.replace("def test_always_red():\n    assert False\n", ""))


@honest("k20", "inkwell", why="… and the requirement names it, too", base=odd_but_green, amend=with_odd, only="roman")
def odd_and_named(work: Work) -> None:
    work.solve()


@honest(
    "k20", "inkwell", why="… or the whole folder", base=odd_but_green, amend=with_some_odd, only="roman spans initials"
)
def odd_folder(work: Work) -> None:
    work.solve()


ALL_ODD = "import pytest\n\n\ndef test_later():\n    pytest.skip('later')\n"


def only_skips(work: Work) -> None:
    for name in ("roman", "words", "spans"):
        work.remove(f"tests/test_{name}.py")
    work.write("tests/test_roman.py", ALL_ODD)


@honest(
    "k20", "inkwell", why="all that the suite has is skipped; examples show the rest", base=only_skips, only="roman"
)
def skipped_suite(work: Work) -> None:
    work.solve()


ORDER = """import pytest

SEEN = []


def test_first():
    SEEN.append(1)


def test_second():
    assert SEEN


@pytest.fixture(scope="session")
def shared():
    yield {}
    assert SEEN


class TestShared:
    @classmethod
    def setup_class(cls):
        cls.ready = True

    def test_it(self, shared):
        assert self.ready
        shared["x"] = 1

    @pytest.mark.parametrize("name", ["a b", "c/d", "e::f", "g[h]", "ü", "back\\\\slash", ""])
    def test_names(self, name):
        assert name is not None
"""


def bound_by_order(work: Work) -> None:
    work.write("tests/test_order.py", ORDER)


@honest(
    "k21",
    "inkwell",
    why="tests that depend on their order, and ids with every kind of character",
    base=bound_by_order,
    only="roman",
)
def order_bound(work: Work) -> None:
    work.solve()


CONFTEST = """import pytest


def pytest_addoption(parser):
    parser.addoption("--fast", action="store_true")


def pytest_collection_modifyitems(config, items):
    items.sort(key=lambda one: one.name)
    for item in items:
        if "slow" in item.keywords:
            item.add_marker(pytest.mark.skip(reason="slow"))


@pytest.fixture(autouse=True)
def settings(tmp_path, monkeypatch):
    monkeypatch.setenv("INK", str(tmp_path))
    yield


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport(item, call):
    made = yield
    item.report = made.get_result()
"""
STRICT = """[pytest]
addopts = --strict-markers --strict-config -p no:doctest -x --tb=short -q
filterwarnings = error
xfail_strict = true
markers =
    slow: slow
testpaths = tests
"""


def strict_suite(work: Work) -> None:
    work.write("conftest.py", CONFTEST)
    work.write("pytest.ini", STRICT)
    work.write(
        "tests/test_slow.py",
        "import os\n\nimport pytest\n\n\n@pytest.mark.slow\ndef test_slow():\n    raise NotImplementedError\n\n\ndef test_ink():\n    assert os.environ['INK']\n",
    )
    work.write("tests/__init__.py", "")


@honest("k22", "inkwell", why="a strict configuration, a conftest that sorts, skips and reports", base=strict_suite)
def strict(work: Work) -> None:
    work.solve()
