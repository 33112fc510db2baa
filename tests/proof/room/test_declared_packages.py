"""What a commit declares is read as text, from every usual place."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from trued.proof.room.declared_packages import (
    is_dependency_manifest,
    missing_requirements,
    provides_module,
    read_declarations,
)

PYPROJECT = """
[project]
name = "m"
dependencies = ["a>=1", "b; python_version < '3'", "c @ https://example.org/c.zip"]
[project.optional-dependencies]
docs = ["never"]
test = ["d[x]~=2.0"]
dev = ["not-where-tests-have-their-own"]
[dependency-groups]
lint = ["never-too"]
dev = ["e", {include-group = "more"}]
more = ["f<3", {include-group = "dev"}]
[tool.poetry.dependencies]
python = "^3.11"
g = "^1.2.3"
h = {version = "~2.1", extras = ["y"]}
i = {path = "../i"}
j = {version = "*", optional = true}
[tool.poetry.group.test.dependencies]
k = ">=0.3"
"""


def test_a_pyproject_says_what_is_needed_and_what_for_tests() -> None:
    found = read_declarations({"pyproject.toml": PYPROJECT}).requirements
    assert found == (
        *("a>=1", "b; python_version < '3'", "d[x]~=2.0", "e", "f<3"),
        *("g>=1.2.3,<2", "h>=2.1,<2.2", "k>=0.3"),
    )


@pytest.mark.parametrize(
    ("path", "text", "expected"),
    [
        ("requirements.txt", "a==1 \\\n  --hash=sha256:0\n# c\nb>2 # why\n-r x.txt\n-e .\n./here\n", ("a==1", "b>2")),
        ("requirements/test.txt", "pytest\n", ("pytest",)),
        (
            "setup.cfg",
            "[options]\ninstall_requires =\n  a\n  b>1\n[options.extras_require]\ntests = c\n",
            ("a", "b>1", "c"),
        ),
        ("Pipfile", '[packages]\na = "*"\n[dev-packages]\nb = "==2"\n', ("a", "b==2")),
        ("setup.cfg", "[options", ()),
        ("pyproject.toml", "= no", ()),
        ("pyproject.toml", "project = 3", ()),
        ("setup.py", "import os", ()),
        ("setup.py", "from setuptools import setup\nneeds = ['a>1']\nsetup(install_requires=needs)", ("a>1",)),
        (
            "setup.py",
            "import x\nx.setup(install_requires='a\\nb', extras_require={'test': ['c'], 'docs': ['n']})",
            ("a", "b", "c"),
        ),
        ("setup.py", "setup(install_requires=open('requirements.txt').read())", ()),
        ("setup.py", "setup(", ()),
        (
            "init.sh",
            "python3 -m venv .venv\n.venv/bin/pip install -q -r requirements.txt a 'b>=2' # c\n",
            ("a", "b>=2"),
        ),
        ("init.sh", "python -m pip install -e . && pip install d; echo pip install e\npip install 'f\n", ("d",)),
    ],
)
def test_other_files_are_read_too(path: str, text: str, expected: tuple[str, ...]) -> None:
    assert is_dependency_manifest(path)
    assert read_declarations({path: text}).requirements == expected


@pytest.mark.parametrize(
    ("path", "text", "expected"),
    [
        (
            "uv.lock",
            '[[package]]\nname = "m"\nversion = "0"\nsource = {editable = "."}\n'
            '[[package]]\nname = "A.b"\nversion = "1.2"\n',
            ("a-b==1.2",),
        ),
        ("poetry.lock", '[[package]]\nname = "a"\nversion = "1"\n[[package]]\nname = "a"\nversion = "2"\n', ()),
        ("pylock.toml", '[[packages]]\nname = "a"\nversion = "1"\n', ("a==1",)),
        ("Pipfile.lock", '{"default": {"a": {"version": "==1"}}, "develop": {"b": {}}}', ("a==1",)),
        ("Pipfile.lock", "{", ()),
        ("uv.lock", "package = 7", ()),
    ],
)
def test_a_lock_fixes_versions(path: str, text: str, expected: tuple[str, ...]) -> None:
    assert read_declarations({path: text}).locked == expected


def test_what_is_installed_is_compared_by_name_version_and_place() -> None:
    asked = ("A_b>=2", "c", "d; sys_platform == 'win32'", "e; python_version < '3.9'", "f<1", "./odd")
    installed = {"a-b": "2.1", "f": "1.5"}
    assert missing_requirements(asked, installed, (3, 11, 4)) == ("c", "f<1")
    assert missing_requirements(asked, installed, (3, 8, 4)) == ("c", "e; python_version < '3.9'", "f<1")


@pytest.mark.parametrize(
    ("package", "module", "expected"),
    [
        ("PyYAML", "yaml", True),
        ("python-dateutil", "dateutil.parser", True),
        ("requests", "requests.adapters", True),
        ("Pillow", "PIL", True),
        ("ruamel-yaml", "ruamel_yaml", True),
        ("requests", "request", False),
        ("six", "sixty", False),
    ],
)
def test_a_package_brings_its_module(package: str, module: str, expected: bool) -> None:
    assert provides_module(package, module) is expected


@given(
    st.sampled_from(["pyproject.toml", "setup.cfg", "uv.lock", "Pipfile.lock", "Pipfile", "requirements.txt"]),
    st.text(),
)
def test_no_text_breaks_the_reading(path: str, text: str) -> None:
    found = read_declarations({path: text})
    missing_requirements(found.requirements, {}, (3, 11, 0))
