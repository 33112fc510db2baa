"""Where a CI workflow installs trued from: always one exact version, never a name that anybody could register."""

import json
from importlib import metadata
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

from trued.errors import BadInput
from trued.support.lazy_regex import lazy_regex
from trued.support.user_git import ask_git

PACKAGE = "trued"
THEN = (
    "say where CI gets it: --from git+https://HOST/OWNER/trued@COMMIT, --from https://…/trued.whl#sha256=HASH,"
    " --from trued==VERSION once it is published, or a wheel that you commit: --from tools/trued-….whl"
)
_COMMIT = r"[0-9a-f]{40}(?:[0-9a-f]{24})?"
_GIT = lazy_regex(rf"git\+https://[\w.~:/-]+@{_COMMIT}")
_ARCHIVE = lazy_regex(r"https://[\w.~:/+%-]+#sha256=[0-9a-f]{64}")
_VERSION = lazy_regex(r"trued==\d[\w.+!]*")
_WHEEL = lazy_regex(r"[\w./-]+\.whl")


def package_source(chosen: str, root: Path) -> str:
    """What pip installs in CI: `chosen`, else the source of this installation. `root`: the gated repository.

    Raises BadInput for a source that is not pinned, or that CI could not reach.
    """
    source = chosen or _own_source()
    if any(form.fullmatch(source) for form in (_GIT, _ARCHIVE, _VERSION)):
        return source
    if _WHEEL.fullmatch(source):
        path = root / source
        if path.is_file() and path.resolve().is_relative_to(root.resolve()):
            return f"./{path.relative_to(root).as_posix()}"
        raise BadInput(f"there is no wheel {source} in the repository", "--from", "commit it: CI reads the base branch")
    raise BadInput(f"{source!a:.200} does not name one exact version of trued", "--from", THEN)


def _own_source() -> str:
    distribution = metadata.distribution(PACKAGE)
    return installed_from(json.loads(distribution.read_text("direct_url.json") or "{}"), distribution.version)


def installed_from(record: dict[str, Any], version: str) -> str:
    """The argument with which pip installs the trued that runs here; `record` is what pip recorded about it (PEP 610).

    Raises BadInput if it can be installed only on this machine.
    """
    address, commit = record.get("url", ""), record.get("vcs_info", {}).get("commit_id", "")
    if not record:
        return f"{PACKAGE}=={version}"  # pip installed it from an index, and CI can do the same
    if commit:
        return f"git+{address}@{commit}"
    if "dir_info" in record:
        folder = Path(unquote(urlsplit(address).path))
        remote, commit = _git_output(folder, "remote", "get-url", "origin"), _git_output(folder, "rev-parse", "HEAD")
        if remote.startswith("https://") and commit and _git_output(folder, "branch", "-r", "--contains", commit):
            return f"git+{remote}@{commit}"
    raise BadInput("this trued was installed from a folder or file of this machine, which CI does not have", then=THEN)


def _git_output(folder: Path, *argv: str) -> str:
    return (ask_git(folder, *argv) or b"").decode(errors="replace").strip()
