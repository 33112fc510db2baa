"""Workflows of installed packages: real metadata in a folder, as an installer leaves it."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.cli.conftest import clean_environment
from trued.workflows.registry import Registration, registrations

GOOD = """
from trued.workflows.descriptor import WorkflowDescriptor
OWN = WorkflowDescriptor(name="own", flow="json:dumps", roles=("own-role",))
"""


def package(folder: Path, name: str, entry_points: dict[str, str], **modules: str) -> Path:
    """An installed package: its modules, and its dist-info."""
    information = folder / f"{name.replace('-', '_')}-1.0.dist-info"
    information.mkdir(parents=True)
    (information / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n")
    lines = "".join(f"{key} = {value}\n" for key, value in entry_points.items())
    (information / "entry_points.txt").write_text(f"[trued.workflows]\n{lines}")
    for module, text in modules.items():
        (folder / f"{module}.py").write_text(text)
    return folder


def trued(folder: Path, installed: Path, *words: str, module: bool = False) -> subprocess.CompletedProcess[str]:
    """Run `trued` with these words in `folder`, with the packages in `installed` on its path."""
    environment = {**clean_environment(), "HOME": str(folder), "TRUED_HOME": str(folder / "state")}
    environment |= {"PYTHONPATH": str(installed)} if installed != folder else {}
    code = "import sys; sys.argv[0] = 'trued'; sys.path.remove(''); from trued.cli import main; main()"
    start = ["-m", "trued"] if module else ["-c", code]
    return subprocess.run(
        [sys.executable, *start, *words], cwd=folder, env=environment, capture_output=True, text=True, check=False
    )


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    folder = tmp_path / "repository"
    folder.mkdir()
    for words in (["init", "-q", "-b", "main"], ["commit", "-q", "--allow-empty", "-m", "begin"]):
        who = ["-c", "user.name=A", "-c", "user.email=a@example.com"]
        subprocess.run(["git", *who, *words], cwd=folder, env={**os.environ}, check=True)
    return folder


@pytest.mark.spec("DAY-15")
def test_a_package_registers_under_its_name_and_counts_once(tmp_path: Path) -> None:
    first = package(tmp_path / "a", "own-package", {"own": "own:OWN"})
    again = package(tmp_path / "b", "own_package", {"own": "older:OWN"})
    found = registrations([str(first), str(again)])
    assert found == {"own": [Registration("own", "own:OWN", "own-package", "1.0")]}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("entry_points", "module", "says"),
    [
        ({"own": "gone:OWN"}, GOOD, "cannot be loaded: ModuleNotFoundError"),
        ({"own": "own:GONE"}, GOOD, "cannot be loaded: AttributeError"),
        ({"own": "own"}, GOOD, "cannot be loaded: AttributeError"),
        ({"own": "own:OWN"}, "raise SystemExit('bye')", "cannot be loaded: SystemExit: bye"),
        ({"own": "own:OWN"}, "1 / 0", "cannot be loaded: ZeroDivisionError"),
        ({"own": "own:OWN"}, "OWN = print", "is not a WorkflowDescriptor"),
        ({"own": "own:OWN"}, GOOD.replace('"own"', '"other"'), "calls itself 'other'"),
        ({"own": "own:OWN"}, GOOD.replace('"own"', '"O W N"'), "cannot be loaded: ValueError"),
        ({"purple": "own:OWN", "own": "own:OWN"}, GOOD, ""),
    ],
)
@pytest.mark.spec("DAY-15", "USE-7")
def test_a_broken_package_is_one_sentence_and_breaks_nothing_else(
    repository: Path, tmp_path: Path, entry_points: dict[str, str], module: str, says: str
) -> None:
    installed = package(tmp_path / "installed", "own-package", entry_points, own=module)
    wanted = "own" if says else "purple"
    done = trued(repository, installed, "run", "a goal in words", "-w", wanted, "--agent", "command:true")
    assert done.returncode == 2, done.stderr
    assert "Traceback" not in done.stderr
    sentence = says or "two packages register the workflow 'purple': trued "
    assert sentence in " ".join(done.stderr.split())
    assert "own-package" in " ".join(done.stderr.split())
    assert trued(repository, installed, "ls").returncode == 0
    other = trued(repository, installed, "run", "a goal in words", "-w", "nothing", "--agent", "command:true")
    assert "there is no workflow 'nothing'" in " ".join(other.stderr.split())


@pytest.mark.slow
@pytest.mark.parametrize(
    ("more", "says"),
    [
        ("", "the flow of the workflow own cannot be loaded: ModuleNotFoundError"),
        ('check_input="json:gone"', "the check_input of the workflow own cannot be loaded: AttributeError"),
        ('role_folder="gone.further:roles"', "the workflow own has no folder roles in gone.further"),
    ],
)
@pytest.mark.spec("DAY-15", "USE-7")
def test_what_a_descriptor_names_and_is_not_there_is_one_sentence(
    repository: Path, tmp_path: Path, more: str, says: str
) -> None:
    flow = "json:dumps" if more else "own_flow:flow"
    text = GOOD.replace("json:dumps", flow).replace('roles=("own-role",)', f'roles=("solo",), {more}')
    installed = package(tmp_path / "installed", "own-package", {"own": "own:OWN"}, own=text)
    done = trued(repository, installed, "run", "a goal in words", "-w", "own", "--agent", "command:true")
    assert done.returncode == 2, done.stderr
    assert says in " ".join(done.stderr.split())
    assert "Traceback" not in done.stderr
    assert trued(repository, installed, "ls").stdout == ""


@pytest.mark.parametrize(
    "claim",
    [
        'Outcome(state="done", grade="proven", head=run.branch.head)',
        'Outcome(state="done", grade="proven", verdict=Verdict.open("plan").model_copy(update={"commit": "0" * 40}))',
        'Outcome(state="planned", grade="proven")',
        "None",
        'end(PlanOnly("the contract is sealed"))',
    ],
)
@pytest.mark.spec("DAY-15", "LAW-1")
@pytest.mark.many(2)
def test_a_flow_that_claims_to_be_done_without_a_final_verdict_is_not_believed(
    repository: Path, tmp_path: Path, claim: str
) -> None:
    flow = f"def end(error):\n    raise error\n\nasync def flow(run, goal):\n    return {claim}\n"
    text = GOOD.replace("json:dumps", "own:flow").replace('roles=("own-role",)', 'roles=("solo",)')
    text += f"from trued.model import Outcome, Verdict\nfrom trued.run.run import PlanOnly\n{flow}"
    installed = package(tmp_path / "installed", "own-package", {"own": "own:OWN"}, own=text)
    done = trued(repository, installed, "run", "a goal in words", "-w", "own", "--agent", "command:true", "--yes")
    assert done.returncode == 1, done.stdout + done.stderr
    assert "ended without a final verdict" in " ".join((done.stdout + done.stderr).split())
    assert "proven" not in trued(repository, installed, "ls").stdout.replace("not proven", "").replace("unproven", "")


@pytest.mark.spec("DAY-15", "LAW-1")
def test_a_flow_that_claims_a_grade_for_a_stopped_run_is_not_believed(repository: Path, tmp_path: Path) -> None:
    flow = 'async def flow(run, goal):\n    return Outcome(state="stopped", grade="proven", head=run.branch.head)\n'
    text = GOOD.replace("json:dumps", "own:flow").replace('roles=("own-role",)', 'roles=("solo",)')
    text += f"from trued.model import Outcome\n{flow}"
    installed = package(tmp_path / "installed", "own-package", {"own": "own:OWN"}, own=text)
    done = trued(repository, installed, "run", "a goal in words", "-w", "own", "--agent", "command:true", "--yes")
    assert done.returncode == 1, done.stdout + done.stderr
    assert " proven" not in trued(repository, installed, "show").stdout.replace("not proven", "")


@pytest.mark.spec("DAY-15", "AGT-2")
def test_a_role_with_a_name_of_ours_is_refused_and_the_others_are_listed(repository: Path, tmp_path: Path) -> None:
    text = GOOD.replace('roles=("own-role",)', 'roles=("own-role",), role_folder="own_package:roles"')
    installed = package(tmp_path / "installed", "own-package", {"own": "own_package:OWN"})
    roles = installed / "own_package" / "roles"
    roles.mkdir(parents=True)
    (roles.parent / "__init__.py").write_text(text)
    head = "---\nname: {name}\ndescription: d\ntools: [read]\n---\nPrompt.\n"
    for name in ("own-role", "examiner"):
        (roles / f"{name}.md").write_text(head.format(name=name))
    started = trued(repository, installed, "run", "a goal", "-w", "own", "--agent", "command:true")
    assert started.returncode == 2
    assert "role examiner is one of trued's own" in " ".join(started.stderr.split())
    listed = trued(repository, installed, "roles")
    assert listed.returncode == 0
    assert "role examiner is one of trued's own" in " ".join(listed.stderr.split())
    assert "own-role" not in listed.stdout
    (roles / "examiner.md").unlink()
    assert "own-role" in trued(repository, installed, "roles").stdout


@pytest.mark.parametrize("module", [False, True], ids=["trued", "python -m trued"])
@pytest.mark.spec("DAY-15", "USE-6")
@pytest.mark.many(1)
def test_a_repository_cannot_register_a_workflow(repository: Path, module: bool) -> None:
    package(repository, "own-package", {"own": "own:OWN"}, own="raise AssertionError('its code was run')")
    done = trued(repository, repository, "run", "a goal", "-w", "own", "--agent", "command:true", module=module)
    assert done.returncode == 2
    assert "there is no workflow 'own'" in " ".join(done.stderr.split())
    assert "its code was run" not in done.stderr
