"""What manifests declare, read as text: nothing new may hide in any of them."""

import pytest

from trued.proof.checks.dependencies import declared_in, is_package_manifest


@pytest.mark.spec("DAY-9")
@pytest.mark.parametrize(
    ("path", "text", "names"),
    [
        (
            "requirements.txt",
            "Flask>=2 # web\n-r other.txt\n\n# nothing\nevil @ https://x.example/e.whl\n",
            "flask evil",
        ),
        ("requirements/dev.txt", "git+https://x.example/e.git\n", "git+https://x.example/e.git"),
        (
            "pyproject.toml",
            '[project]\nname="a"\nversion="1"\ndependencies=["Some_Thing>1"]\n[project.optional-dependencies]\nx=["y"]\n'
            '[dependency-groups]\ndev=["z"]\n[build-system]\nrequires=["hatchling"]\n'
            '[tool.poetry.dependencies]\npython="^3"\nq={version="1", optional=true}\n',
            "some-thing y z hatchling q",
        ),
        ("package.json", '{"name":"a","dependencies":{"@s/x":"1"},"devDependencies":{"jest":"2"}}', "@s/x jest"),
        (
            "setup.py",
            'from setuptools import setup\nsetup(name="a", install_requires=["b>1"], extras_require={"t":["c"]})',
            "b c t",
        ),
        (
            "setup.cfg",
            "[metadata]\nname = a\n[options]\ninstall_requires =\n  b\n[options.extras_require]\nt = c\n",
            "b c",
        ),
        ("go.mod", "module a\n\nrequire (\n\tgithub.com/x/y v1.2.3\n)\n", "github.com/x/y"),
        ("Cargo.toml", '[package]\nname="a"\n[dependencies]\nserde={version="1", features=["derive"]}\n', "serde"),
    ],
)
def test_every_declared_package_is_found(path: str, text: str, names: str) -> None:
    assert is_package_manifest(path)
    found = declared_in(path, text)
    assert {one for one in found if not one.startswith("-r")} == {*names.split()}


@pytest.mark.spec("DAY-9", "LAW-2")
def test_a_manifest_that_cannot_be_read_hides_nothing() -> None:
    before, after = "{broken", '{broken\n "dependencies": {"evil": "1"}'
    assert declared_in("package.json", after) - declared_in("package.json", before)


def test_what_is_installed_or_locked_is_no_manifest() -> None:
    assert not any(map(is_package_manifest, ("node_modules/x/package.json", "uv.lock", "src/requirements.py")))
