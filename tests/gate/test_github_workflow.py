"""The workflow for GitHub installs one exact version of trued, and names what else a person has to set."""

import shlex
import subprocess
from pathlib import Path
from typing import Any

import pytest
from ruamel.yaml import YAML

from tests.gate.yard import Yard
from trued.errors import BadInput
from trued.gate import github_ci
from trued.gate.package_source import installed_from, package_source

COMMIT = "a" * 40
GIT = f"git+https://git.example/acme/trued@{COMMIT}"


@pytest.mark.spec("DAY-14")
@pytest.mark.parametrize("given", [GIT, "trued==0.1.0", f"https://files.example/trued.whl#sha256={'b' * 64}"])
def test_an_exact_package_is_taken_as_given(given: str, tmp_path: Path) -> None:
    assert package_source(given, tmp_path) == given


@pytest.mark.spec("DAY-14", "USE-7")
@pytest.mark.parametrize(
    "given",
    [
        "trued",  # anybody could register the name
        "trued>=0.1",
        "git+https://git.example/acme/trued",
        "git+https://git.example/acme/trued@main",  # a branch can move
        "https://files.example/trued.whl",
        f"{GIT}; curl evil",
        f"{GIT}\n      - run: evil",
        "${{ secrets.TOKEN }}",
        "tools/none.whl",
        "../outside.whl",
    ],
)
def test_what_is_not_exact_is_refused_with_the_ways(given: str, tmp_path: Path) -> None:
    root = tmp_path / "repository"
    root.mkdir()
    (tmp_path / "outside.whl").touch()
    with pytest.raises(BadInput) as caught:
        package_source(given, root)
    assert "--from" in str(caught.value)


def test_a_wheel_in_the_repository_needs_no_publication(tmp_path: Path) -> None:
    (tmp_path / "tools").mkdir()
    (tmp_path / "tools" / "trued-0.1.0-py3-none-any.whl").touch()
    found = package_source("tools/trued-0.1.0-py3-none-any.whl", tmp_path)
    assert found == "./tools/trued-0.1.0-py3-none-any.whl"
    assert package_source(found, tmp_path) == found  # the same when it is amended later


@pytest.mark.spec("DAY-14")
def test_by_default_ci_gets_what_this_machine_has(tmp_path: Path) -> None:
    assert installed_from({}, "0.1.0") == "trued==0.1.0"  # installed from an index
    told = {"url": "https://git.example/acme/trued", "vcs_info": {"vcs": "git", "commit_id": COMMIT}}
    assert installed_from(told, "0.1.0") == GIT
    # a clone: only commits that its remote also has
    clone: dict[str, Any] = {"url": f"file://{tmp_path}", "dir_info": {"editable": True}}
    with pytest.raises(BadInput, match="--from"):
        installed_from(clone, "0.1.0")
    git = ["git", "-C", str(tmp_path), "-c", "user.name=a", "-c", "user.email=a@b"]
    for words in (["init", "-q"], ["commit", "-q", "--allow-empty", "-m", "x"]):
        subprocess.run([*git, *words], check=True)
    subprocess.run([*git, "remote", "add", "origin", "https://git.example/acme/trued"], check=True)
    with pytest.raises(BadInput, match="which CI does not have"):
        installed_from(clone, "0.1.0")  # not pushed
    subprocess.run([*git, "update-ref", "refs/remotes/origin/main", "HEAD"], check=True)
    assert installed_from(clone, "0.1.0").startswith("git+https://git.example/acme/trued@")


@pytest.mark.spec("DAY-14")
@pytest.mark.parametrize("node", [False, True])
def test_the_workflow_is_yaml_with_a_sandbox_and_what_the_project_needs(node: bool) -> None:
    content = github_ci.workflow(
        source=GIT, accept="attested", terms="f" * 64, requirements="", within_s=600, node=node
    )
    whole = YAML(typ="safe").load(content)
    steps = whole["jobs"]["gate"]["steps"]
    assert "edited" in whole["on"]["pull_request_target"]["types"]  # also when the pull request gets another base
    runs = "\n".join(one.get("run", "") for one in steps)
    assert f"pip install --quiet {GIT}" in runs
    assert "kernel.apparmor_restrict_unprivileged_userns=0" in runs
    assert any("setup-node" in one.get("uses", "") for one in steps) == node
    assert "upload-artifact" in steps[-1]["uses"]
    assert "--junit trued-gate.xml" in runs


def workflow_for(requirements: str) -> bytes:
    return github_ci.workflow(
        source=GIT, accept="tested", terms="f" * 64, requirements=requirements, within_s=600, node=False
    )


@pytest.mark.spec("DAY-14")
@pytest.mark.parametrize(
    "path", ["needs.yaml", "my  needs/a b.yaml", "$(touch evil).yaml", "it's;evil #.yaml", "{node}"]
)
def test_the_shell_reads_the_path_of_the_requirements_as_one_word(path: str) -> None:
    steps = YAML(typ="safe").load(workflow_for(path))["jobs"]["gate"]["steps"]
    (command,) = (one["run"] for one in steps if "trued gate ci" in one.get("run", ""))
    words = shlex.split(command)
    assert words[words.index("--requirements") + 1 :] == [
        path,
        *("--junit", "trued-gate.xml", "--summary", "trued-gate.md"),
    ]


@pytest.mark.spec("DAY-14", "USE-7")
@pytest.mark.parametrize("path", ["${{ secrets.TOKEN }}.yaml", "a\n      - run: evil", "a\udcff.yaml"])
def test_a_path_that_no_workflow_can_name_is_refused(path: str) -> None:
    with pytest.raises(BadInput, match="rename"):
        workflow_for(path)


@pytest.mark.spec("USE-7")
def test_a_refused_workflow_leaves_no_gate_in_other_places(yard: Yard) -> None:
    odd = yard.repository / "a${{b}}.yaml"
    odd.write_text(yard.requirements.read_text())
    done = yard.trued("gate", "install", "claude", "github", "--requirements", str(odd), "--from", GIT)
    assert (done.returncode, "rename the requirements file" in done.stderr) == (2, True), done.stderr
    assert not (yard.repository / ".claude").exists()


def test_a_node_project_gets_node(yard: Yard) -> None:
    yard.write("package.json", '{"name": "shop", "scripts": {"test": "node --test"}}')
    yard.write("shop.test.js", "")
    yard.git("add", ".")
    yard.git("commit", "-qm", "node")
    yard.install("github", more=("--from", GIT))
    workflow = (yard.repository / github_ci.FILE).read_text()
    assert ("setup-node" in workflow, GIT in workflow) == (True, True)
