"""Installs the gate as a GitHub workflow that runs from the base branch, so that no pull request can change it."""

import re
import shlex
from pathlib import Path

from trued.errors import BadInput
from trued.gate import files
from trued.gate.state import InstalledFile

FILE = ".github/workflows/trued-gate.yml"
OURS = "trued gate ci"
WORKFLOW = Path(__file__).with_name("github_workflow.yml")  # a template: {names} stand for values
NODE = """\
      - uses: actions/setup-node@v4
        with:
          node-version: "22"
"""
REQUIREMENTS = "TRUED_REQUIREMENTS"  # the name of the repository secret


def workflow(*, source: str, accept: str, terms: str, requirements: str, within_s: float, node: bool) -> bytes:
    """The workflow file.

    `source`: what pip installs. `terms`: the hash that the requirements must have. `requirements`: the path of the
    requirements file in the repository; "" if the file is outside. `node`: whether the project needs Node. Raises
    BadInput for a path that no workflow can name.
    """
    if not requirements.isprintable() or "${{" in requirements:  # GitHub replaces ${{ … }} even inside quotes
        raise BadInput(f"a workflow cannot name the file {requirements!a:.200}", then="rename the requirements file")
    named = f" --requirements {shlex.quote(requirements)}" if requirements else ""
    minutes = max(10, int(within_s * 3 // 60) + 5)  # CI also runs the checks on the base, which may have moved
    values = {
        "source": shlex.quote(source),
        "accept": accept,
        "terms": terms,
        "requirements": named,
        "minutes": str(minutes),
        "node": NODE if node else "",
    }
    text = WORKFLOW.read_text(encoding="utf-8")
    return re.sub(r"\{(\w+)\}", lambda match: values[match[1]], text).encode()


def to_do(requirements_file: str, *, in_repository: bool) -> list[str]:
    """What a person has to set on GitHub before the gate works, one sentence each."""
    secret = (
        f"set the repository secret {REQUIREMENTS} to the text of your requirements file: gh secret set {REQUIREMENTS}"
    )
    return [
        *([] if in_repository else [f"{secret} < {shlex.quote(requirements_file)}"]),
        f"commit {FILE} to the default branch: pull requests are judged by the file there",
        "require the check `gate` in the branch's protection rules, or nothing is blocked",
        "require branches to be up to date in the same rules, or the merged result may differ from what was checked",
    ]


def install(root: Path, content: bytes, known: InstalledFile | None) -> InstalledFile:
    """Write the workflow file, and return what was written. Raises BadInput if the file exists and trued did not write
    it. `known`: what an earlier installation wrote, if there was one."""
    path = files.resolve_link(root / FILE, root)
    now = files.read(path)
    if now is not None and OURS.encode() not in now:
        raise BadInput(f"{FILE} exists and was not written by trued", then="rename that workflow")
    folders = files.write(path, content) if now != content else ()
    before = known.before if known else None
    return InstalledFile(
        path=str(path),
        before=before,
        after=content,
        folders=folders or (known.folders if known else ()),
    )


def remove(installed: InstalledFile) -> None:
    """Remove the workflow file. Raises BadInput if it was edited after the installation."""
    content = files.read(Path(installed.path))
    if content is not None and content != installed.after:
        raise BadInput(f"{FILE} was edited after it was installed", then="remove it by hand")
    if content is not None:
        files.restore(installed)


def problem(installed: InstalledFile) -> str:
    """What is wrong with the workflow file, as one sentence; "" if nothing is."""
    content = files.read(Path(installed.path))
    if content is None:
        return f"{FILE} was removed"
    return f"{FILE} was changed after it was installed" if content != installed.after else ""
