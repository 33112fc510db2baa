"""Without a forge: writes a pull request as a Markdown file with its pictures beside it. Nothing leaves the machine."""

import json
import re
from pathlib import Path, PurePosixPath
from urllib.parse import quote

from trued.errors import BadInput
from trued.protocols import ForgePullRequest, PullRequestProposal
from trued.support.atomic_files import write
from trued.support.lazy_regex import lazy_regex
from trued.support.user_git import ask_git

FILE = "pull-request.md"
PICTURES = "pictures"
_MARK = lazy_regex(r"<!-- pull request (\{.*\}) -->\n")


class LocalForge:
    """Keeps one pull request per folder. A new pull request of the same branch replaces it; a pull request of another
    branch is refused."""

    name = "local"
    remote = ""

    def __init__(self, folder: Path, root: Path) -> None:
        self._folder, self._root = folder, root

    def ready(self) -> None:
        try:
            self._folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            what = f"cannot write a pull request to {self._folder}: {error.strerror}"
            raise BadInput(what, then="choose a folder that you can write to") from error

    def offered(self, branch: str) -> ForgePullRequest | None:
        found = self._stored_pull_request()
        return found[1] if found and found[0] == branch else None

    def offer(self, offer: PullRequestProposal) -> ForgePullRequest:
        self.ready()
        if (found := self._stored_pull_request()) and found[0] != offer.branch:
            what = f"{self._folder / FILE} holds the pull request of {found[0]}"
            raise BadInput(what, then="move that file away first")
        title = " ".join(offer.title.split())
        known = {"branch": offer.branch, "onto": offer.onto, "head": offer.head, "draft": offer.draft, "title": title}
        mark = json.dumps(known).replace("-", "\\u002d").replace(">", "\\u003e")  # cannot end the HTML comment
        body = offer.body.replace("\r\n", "\n")
        write(self._folder / FILE, f"<!-- pull request {mark} -->\n{_title_heading(title)}{body}")
        return ForgePullRequest(1, str(self._folder / FILE), "open", title, body, offer.draft, offer.head)

    def picture(self, commit: str, path: str) -> str:
        """Copy the file from the commit to the folder of the pull request; return the copy's relative address. Raises
        BadInput if the commit does not have the file."""
        name = f"{commit[:12]}-{PurePosixPath(path).name}"
        content = ask_git(self._root, "cat-file", "blob", f"{commit}:{path}")
        if content is None:
            what = f"there is no file {path} in commit {commit[:12]}"
            raise BadInput(what, str(self._root), "pass a path that this commit has")
        (self._folder / PICTURES).mkdir(parents=True, exist_ok=True)
        write(self._folder / PICTURES / name, content, sync=False)
        return f"{PICTURES}/{quote(name)}"

    def _stored_pull_request(self) -> tuple[str, ForgePullRequest] | None:
        """Branch and pull request of the existing file; None if there is none."""
        path = self._folder / FILE
        try:
            text = path.read_bytes().decode("utf-8", "replace")
        except FileNotFoundError:
            return None
        except OSError as error:
            raise BadInput(f"cannot read {path}: {error.strerror}", then="move it away") from error
        match = _MARK.match(text)
        try:
            known = json.loads(match[1]) if match else {}
            branch, title, draft, head = str(known["branch"]), str(known["title"]), bool(known["draft"]), known["head"]
        except (ValueError, KeyError):
            raise BadInput(f"{path} is not a pull request of trued", then="move it away") from None
        body = text[match.end() if match else 0 :].removeprefix(_title_heading(title))
        return branch, ForgePullRequest(1, str(path), "open", title, body, draft, str(head))


def _title_heading(title: str) -> str:
    """The title as a heading, with its markup escaped: an agent may have written it."""
    words = re.sub(r"([\\`*_<\[\]&!])", r"\\\1", title)
    return f"# {words}\n\n"
