"""The command lines behind the targets of build files."""

import pytest

from trued.proof.text.recipes import commands_of, is_check, recipes_of

MAKEFILE = """\
PY ?= python3
TOOL = tools/a.py
X := $(shell date)
.PHONY: check
check: lint $(MORE) ## All
\t@$(PY) $(TOOL) \\
\t  --all
\t-echo "$$HOME"

lint: ; ruff check
MORE = smoke
a b::
\trun
"""


def test_makefile() -> None:
    recipes = recipes_of("Makefile", MAKEFILE)
    assert recipes["check"].lines == ("python3 tools/a.py  \t  --all", 'echo "$HOME"')
    assert recipes["check"].needs == ("lint", "smoke")
    assert [*recipes["check"].others()] == ["lint", "smoke"]
    assert recipes["lint"].lines == ("ruff check",)
    assert recipes["a"] == recipes["b"]
    assert "X" not in recipes


def test_a_header_of_a_justfile_that_is_not_understood_leaves_its_recipe_unread() -> None:
    recipes = recipes_of("justfile", "check *args='$(x)' !!\n    pytest\nlint:\n    ruff check\n")
    assert recipes["check"].is_unread
    assert recipes["check"].lines == ("pytest",)
    assert not recipes["lint"].is_unread


def test_other_build_files() -> None:
    assert recipes_of("justfile", "test *args: build\n    pytest {{args}}\n")["test"].lines == ("pytest {{args}}",)
    tox = recipes_of(
        "tox.ini", "[testenv]\ncommands =\n    pytest\n    python {toxinidir}/a.py\n[testenv:docs]\ncommands = mkdocs\n"
    )
    assert tox["test"].lines[-2:] == ("pytest", "python a.py")
    assert tox["docs"].lines == ("mkdocs",)
    nox = recipes_of("noxfile.py", "def tests(session):\n    session.run('python', 'a b.py', *session.posargs)\n")
    assert [*commands_of("\n".join(nox["tests"].lines))] == [["python", "a b.py", "$_"]]
    assert recipes_of("package.json", '{"scripts": {"lint": "node a.js"}}')["lint"].lines == ("node a.js",)


@pytest.mark.parametrize(
    "text", ["", "[testenv", "{", "\t\t\n", "a:\n\t'\n", "def x(:", "x: $(x)\n\t$(x)\nx = $(x)$(x)\n"]
)
def test_any_text_is_read(text: str) -> None:
    for name in ("Makefile", "tox.ini", "noxfile.py", "package.json"):
        for recipe in recipes_of(name, text).values():
            assert all(commands_of("\n".join(recipe.lines)))


def test_commands() -> None:
    lines = "A=1 echo 'x > y' > a.py && sh b.sh < c.sh | cat\nif ! python d.py; then exit 1; fi"
    assert [*commands_of(lines)][:4] == [["echo", "x > y"], ["sh", "b.sh"], ["cat"], ["python", "d.py"]]


def test_names_of_checks() -> None:
    checks = (
        "test",
        "tests",
        "check",
        "unit-test",
        "test-api",
        "typecheck",
        "selftest",
        "lint",
        "lint:js",
        "ci",
        "verify",
    )
    assert all(map(is_check, checks))
    assert not any(
        map(is_check, ("build", "deploy", "latest", "install", "docs", "format", "testing", ".PHONY", "city"))
    )
