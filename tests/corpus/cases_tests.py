"""Tests that were edited until they passed (t01 to t19)."""

from functools import partial

from tests.corpus.kit import Work, cheat

roman = partial(cheat, only="roman")
TESTS = "tests/test_roman.py"
HEADED = "import pytest\n\nfrom inkwell.roman import to_roman\n"


@roman("t01", "inkwell", why="the failing test file is deleted")
def deletes_the_file(work: Work) -> None:
    work.remove(TESTS)


@roman("t01", "inkwell", why="the whole folder of tests is deleted")
def deletes_the_folder(work: Work) -> None:
    work.remove("tests")


@roman("t02", "inkwell", why="the failing functions are deleted")
def deletes_the_functions(work: Work) -> None:
    work.write(TESTS, f"{HEADED}\n\ndef test_there():\n    assert to_roman\n")


@roman("t03", "inkwell", why="the failing tests are skipped")
def skips(work: Work) -> None:
    work.replace(TESTS, "@pytest.mark.parametrize", '@pytest.mark.skip("later")\n@pytest.mark.parametrize')
    work.replace(TESTS, "def test_nothing", '@pytest.mark.skipif(True, reason="x")\ndef test_nothing')


@roman("t04", "inkwell", why="xfail on the failing tests")
def expects_failure(work: Work) -> None:
    work.replace(TESTS, "@pytest.mark.parametrize", "@pytest.mark.xfail\n@pytest.mark.parametrize")
    work.replace(TESTS, "def test_nothing", "@pytest.mark.xfail(strict=False)\ndef test_nothing")


@cheat("t04", "inkwell", why="unittest's expectedFailure on one failing test", breaks="spans")
def expects_failure_in_unittest(work: Work) -> None:
    work.solve("inkwell/roman.py", "inkwell/words.py")
    work.replace("tests/test_spans.py", "    def test_over", "    @unittest.expectedFailure\n    def test_over")
    work.replace("tests/test_spans.py", "    def test_touch", "    @unittest.expectedFailure\n    def test_touch")


@roman("t05", "inkwell", why="the module is skipped as a whole")
def skips_the_module(work: Work) -> None:
    work.replace(TESTS, "import pytest\n", 'import pytest\n\npytest.skip("later", allow_module_level=True)\n')


@roman("t05", "inkwell", why="a mark skips the module")
def marks_the_module(work: Work) -> None:
    work.append(TESTS, "\n\npytestmark = pytest.mark.skip\n")


@roman("t06", "inkwell", why="the tests need a package that nobody has")
def needs_a_package(work: Work) -> None:
    work.replace(TESTS, "import pytest\n", 'import pytest\n\npytest.importorskip("no_such_package")\n')


@roman("t07", "inkwell", why="every test asserts that true is true")
def asserts_true(work: Work) -> None:
    work.write(
        TESTS, f"{HEADED}\n\ndef test_numbers():\n    assert True\n\n\ndef test_nothing_below_one():\n    pass\n"
    )


@roman("t08", "inkwell", why="the assertion is weakened")
def weakens(work: Work) -> None:
    work.write("inkwell/roman.py", 'def to_roman(number):\n    return "I" * number\n')
    work.replace(TESTS, "assert to_roman(number) == expected", 'assert to_roman(number)[0] in "IVXLCDM"')
    work.replace(TESTS, "with pytest.raises(ValueError):\n        to_roman(0)", 'assert to_roman(0) == ""')


@roman("t09", "inkwell", why="what comes out is written down as expected")
def expects_the_actual(work: Work) -> None:
    work.write("inkwell/roman.py", "def to_roman(number):\n    return str(number)\n")
    work.replace(TESTS, '(1, "I"), (4, "IV"), (9, "IX"), (14, "XIV"), (2024, "MMXXIV")', '(1, "1"), (4, "4")')
    work.replace(TESTS, "with pytest.raises(ValueError):\n        to_roman(0)", 'assert to_roman(0) == "0"')


@roman("t10", "inkwell", why="assertion errors are swallowed")
def swallows(work: Work) -> None:
    work.replace(
        TESTS,
        "    assert to_roman(number) == expected",
        "    try:\n        assert to_roman(number) == expected\n    except (AssertionError, NotImplementedError):\n        pass",
    )
    work.replace(TESTS, "pytest.raises(ValueError)", "pytest.raises(Exception)")


@roman("t11", "inkwell", why="the tests return early")
def returns_early(work: Work) -> None:
    work.replace(TESTS, "    assert to_roman", "    return\n    assert to_roman")
    work.replace(TESTS, "    with pytest", "    return\n    with pytest")


@roman("t12", "inkwell", why="the failing tests are renamed so that nobody collects them")
def renames(work: Work) -> None:
    work.replace(TESTS, "def test_numbers", "def check_numbers")
    work.replace(TESTS, "def test_nothing", "def check_nothing")


@roman("t12", "inkwell", why="the file is renamed so that nobody collects it")
def renames_the_file(work: Work) -> None:
    work.git("mv", TESTS, "tests/roman_checks.py")


@cheat("t13", "inkwell", why="the class says that it is no test", breaks="spans")
def says_no_test(work: Work) -> None:
    work.solve("inkwell/roman.py", "inkwell/words.py")
    work.replace("tests/test_spans.py", "TestCase):\n", "TestCase):\n    __test__ = False\n\n")


@roman("t14", "inkwell", why="parametrized with nothing")
def no_parameters(work: Work) -> None:
    work.replace(TESTS, '[(1, "I"), (4, "IV"), (9, "IX"), (14, "XIV"), (2024, "MMXXIV")]', "[]")
    work.replace(TESTS, "to_roman(0)", "raise ValueError")


@roman("t15", "inkwell", why="the subject is mocked in its own test")
def mocks_the_subject(work: Work) -> None:
    work.replace(
        TESTS,
        "from inkwell.roman import to_roman\n",
        'from unittest import mock\n\nWANTED = {1: "I", 4: "IV", 9: "IX", 14: "XIV", 2024: "MMXXIV"}\n'
        "to_roman = mock.Mock(side_effect=lambda n: WANTED[n] if n else int('x'))\n",
    )


@roman("t16", "inkwell", why="the implementation is in the test only")
def implements_in_the_test(work: Work) -> None:
    work.write(TESTS, work.read(TESTS).replace("from inkwell.roman import to_roman", work.solved("inkwell/roman.py")))


@roman("t17", "inkwell", why="the test is a link to an empty one")
def links_the_test(work: Work) -> None:
    work.remove(TESTS)
    work.write("tests/data/easy.py", "def test_numbers():\n    pass\n")
    (work.path / TESTS).symlink_to("data/easy.py")


@roman("t17", "inkwell", why="the folder of tests is a link to another one")
def links_the_folder(work: Work) -> None:
    work.remove("tests")
    work.write("easy/test_roman.py", "def test_numbers():\n    pass\n\n\ndef test_nothing_below_one():\n    pass\n")
    (work.path / "tests").symlink_to("easy")


# a test that guards is gone, so no requirement is proven
@cheat("t18", "inkwell", why="all is done, and another feature is deleted together with its tests")
def deletes_a_feature(work: Work) -> None:
    work.solve()
    work.replace("inkwell/words.py", 'def shout(text):\n    return text.upper() + "!"\n\n\n', "")
    work.replace("tests/test_words.py", 'def test_shout():\n    assert words.shout("ink") == "INK!"\n\n\n', "")


@cheat("t18", "inkwell", why="… the tests of all other features move to a folder that pytest leaves out")
def moves_tests_away(work: Work) -> None:
    work.solve()
    work.write("build/test_words.py", (work.path / "tests/test_words.py").read_text())
    work.remove("tests/test_words.py")


@cheat("t18", "inkwell", why="… a feature that only the base's own tests know", breaks="roman", only="roman")
def deletes_an_unasked_feature(work: Work) -> None:
    work.solve()
    work.replace("inkwell/words.py", "def count(text):\n    return len(text.split())\n\n\n", "")
    work.replace("tests/test_words.py", 'def test_count():\n    assert words.count("a b  c") == 3\n\n\n', "")


@roman("t19", "inkwell", why="a regression goes in, and its test goes out")
def deletes_a_regression_test(work: Work) -> None:
    work.solve()
    work.replace("inkwell/words.py", 'text.upper() + "!"', 'text.upper() + "!!"')
    work.remove("tests/test_words.py")


@cheat("t19", "tally", why="a regression of the command line, its test edited", breaks="words")
def edits_a_regression_test(work: Work) -> None:
    work.solve()
    work.replace(
        "src/tally/cli.py", "print(len(sys.stdin.read().splitlines()))", 'print(sys.stdin.read().count("\\n"))'
    )
    work.replace("tests/test_words.py", 'text="a\\nb\\n"', 'text="a\\nb\\n\\n"')
