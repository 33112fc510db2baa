"""The gate as a step on GitHub: a workflow that belongs to the base branch, so that no pull request can change it."""

from pathlib import Path

from trued.errors import BadInput
from trued.gate import files
from trued.gate.state import Installed

FILE = ".github/workflows/trued-gate.yml"
OURS = "trued gate ci"
WORKFLOW = """\
# Written by `trued gate install github`; `trued gate remove github` takes it out.
# pull_request_target runs this file as it is on the base branch: no pull request can change how it is judged.
# Nothing of the pull request is executed here but inside trued's sandbox, without network and without secrets.
name: trued gate
on:
  pull_request_target:
permissions:
  contents: read
jobs:
  gate:
    runs-on: ubuntu-latest
    timeout-minutes: {minutes}
    steps:
      - uses: actions/checkout@v4
        with:
          fetch-depth: 0
          persist-credentials: false
      - uses: actions/setup-python@v5
        with:
          python-version: "3.12"
      - run: sudo apt-get install -qq -y --no-install-recommends bubblewrap
      - run: python -m pip install --quiet trued=={version}
      - name: Bring the commit that is to be judged
        env:
          NUMBER: ${{{{ github.event.pull_request.number }}}}
        run: git fetch --quiet --no-tags origin "refs/pull/$NUMBER/head"
      - name: Judge it
        env:
          BASE: ${{{{ github.event.pull_request.base.sha }}}}
          HEAD: ${{{{ github.event.pull_request.head.sha }}}}
          # the text of the requirements file, which is kept out of the repository: a secret of this repository
          TRUED_REQUIREMENTS: ${{{{ secrets.TRUED_REQUIREMENTS }}}}
        run: trued gate ci --base "$BASE" --head "$HEAD" --accept {accept} --terms {terms}{requirements}
"""


def workflow(*, version: str, accept: str, terms: str, requirements: str, within_s: float) -> bytes:
    """`requirements` names the file where it is part of the repository."""
    named = f" --requirements {requirements}" if requirements else ""
    minutes = max(10, int(within_s * 3 // 60) + 5)  # red is taken anew there: the base may have moved
    return WORKFLOW.format(version=version, accept=accept, terms=terms, requirements=named, minutes=minutes).encode()


def install(root: Path, content: bytes, known: Installed | None) -> Installed:
    path = files.real(root / FILE, root)
    now = files.read(path)
    if now is not None and OURS.encode() not in now:
        raise BadInput(f"{FILE} is not ours", then="give that workflow another name")
    folders = files.put(path, content) if now != content else ()
    before = known.before if known else None
    return Installed(
        path=str(path),
        before=before,
        after=content.decode("latin-1"),
        folders=folders or (known.folders if known else ()),
    )


def remove(installed: Installed) -> None:
    now = files.read(Path(installed.path))
    if now is not None and now != installed.after.encode("latin-1"):
        raise BadInput(f"{FILE} was edited since it was installed", then="take it out by hand")
    if now is not None:
        files.restore(installed)


def trouble(installed: Installed) -> str:
    now = files.read(Path(installed.path))
    if now is None:
        return f"{FILE} is gone"
    return f"{FILE} was changed since it was installed" if now != installed.after.encode("latin-1") else ""
