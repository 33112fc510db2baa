"""Pull requests on GitHub."""

from typing import TYPE_CHECKING
from urllib.parse import quote

from trued.errors import BadInput
from trued.integrations.github import github_session, web_address
from trued.integrations.http import Service, missing_token, unexpected_answer
from trued.protocols import ForgePullRequest, PullRequestProposal
from trued.support.plain_text import plain_line

if TYPE_CHECKING:
    from github.PullRequest import PullRequest
    from github.Repository import Repository

BODY_LIMIT = 65_536  # at most this many characters of a body; GitHub refuses more
TITLE_LIMIT = 256
CUT = "\n\n*The rest is cut: a pull request holds no more than 65,536 characters. All of it is in the run's report.*\n"
ALREADY = "already exists"


class GitHubForge:
    """Opens a pull request, or updates the open one of the same branch."""

    name = "github"

    def __init__(self, at: Service, repository: str, remote: str = "origin", pushed_to: str = "") -> None:
        self._at, self._repository, self._pushed_to = at, repository, pushed_to or repository
        self._remote = remote

    @property
    def remote(self) -> str:
        return self._remote

    def ready(self) -> None:
        doing = f"offer a pull request in {self._repository}"
        if not self._at.token:
            raise missing_token(self._at, doing)
        with github_session(self._at, doing) as hub:
            target = hub.get_repo(self._repository)
            self._check(target, self._repository, doing)
            source = target if self._pushed_to == self._repository else hub.get_repo(self._pushed_to)
            self._check(source, self._pushed_to, doing)
            permissions = source.raw_data.get("permissions")
            if not isinstance(permissions, dict) or not permissions.get("push"):
                what = f"the token in {self._at.token_env} may not push to {self._pushed_to}"
                raise BadInput(what, self._at.host, "use a token with write access")

    def offered(self, branch: str) -> ForgePullRequest | None:
        doing = f"look for the pull request of {branch} in {self._repository}"
        with github_session(self._at, doing) as hub:
            found = self._pulls(hub.get_repo(self._repository), branch)
            return self._pull_request(found[0], doing) if found else None

    def offer(self, offer: PullRequestProposal) -> ForgePullRequest:
        doing = f"offer a pull request of {offer.branch} in {self._repository}"
        if not self._at.token:
            raise missing_token(self._at, doing)
        with github_session(self._at, doing) as hub:
            repository = hub.get_repo(self._repository)
            pull = self._existing_open(repository, offer) or self._create(repository, offer)
            return self._pull_request(self._update(pull, offer, doing), doing)

    def picture(self, commit: str, path: str) -> str:
        """The address of the file's content. In a private repository, only people with access to the repository can
        open it."""
        return f"{web_address(self._at.url)}/{self._pushed_to}/blob/{quote(commit)}/{quote(path)}?raw=true"

    def _check(self, repository: "Repository", name: str, doing: str) -> None:
        data = repository.raw_data
        if not isinstance(data, dict) or not isinstance(data.get("full_name"), str):
            raise unexpected_answer(self._at, doing)
        if data["full_name"].lower() != name.lower():  # renamed: GitHub accepts no writes under the old name
            what = f"{name} was renamed to {self._at.safe_message(data['full_name'])}"
            then = "set the new name with `git remote set-url`, or as [forge] repository in trued.toml"
            raise BadInput(what, self._at.host, then)
        if data.get("archived"):
            raise BadInput(f"{name} is archived", self._at.host, "choose another one: [forge] repository in trued.toml")

    # -- steps of opening a pull request

    def _pulls(self, repository: "Repository", branch: str) -> "list[PullRequest]":
        """Pull requests of this branch, the newest first."""
        head = f"{self._pushed_to.partition('/')[0]}:{branch}"
        listed = repository.get_pulls(state="all", sort="created", direction="desc", head=head)
        first = listed.get_page(0)  # the newest hundred pull requests of one branch are enough
        # A server that does not know the `head` filter lists the pull requests of all branches.
        return sorted((pull for pull in first if pull.head.ref == branch), key=lambda pull: pull.number, reverse=True)

    def _existing_open(self, repository: "Repository", offer: PullRequestProposal) -> "PullRequest | None":
        return next((pull for pull in self._pulls(repository, offer.branch) if pull.state == "open"), None)

    def _create(self, repository: "Repository", offer: PullRequestProposal) -> "PullRequest":
        import github

        own = self._pushed_to == self._repository
        head = offer.branch if own else f"{self._pushed_to.partition('/')[0]}:{offer.branch}"
        title, body = title_of(offer), body_of(offer)
        try:
            return repository.create_pull(base=offer.onto, head=head, title=title, body=body, draft=offer.draft)
        except github.GithubException as error:
            # Somebody else has just opened the pull request: return it, so that it is updated.
            if error.status == 422 and ALREADY in str(error.data) and (there := self._existing_open(repository, offer)):
                return there
            raise

    def _update(self, pull: "PullRequest", offer: PullRequestProposal, doing: str) -> "PullRequest":
        title, body = title_of(offer), body_of(offer)
        if pull.state != "open":
            raise unexpected_answer(self._at, doing)
        if (pull.title, pull.body or "", pull.base.ref) != (title, body, offer.onto):
            pull.edit(title=title, body=body, base=offer.onto)
            if pull.title != title:
                raise unexpected_answer(self._at, doing)
        if pull.draft != offer.draft:
            if offer.draft:
                pull.convert_to_draft()
            else:
                pull.mark_ready_for_review()
        return pull

    def _pull_request(self, pull: "PullRequest", doing: str) -> ForgePullRequest:
        if not isinstance(pull.number, int) or pull.state not in ("open", "closed"):
            raise unexpected_answer(self._at, doing)
        return ForgePullRequest(
            number=pull.number,
            url=pull.html_url,
            state="merged" if pull.merged_at else "open" if pull.state == "open" else "closed",
            title=pull.title,
            body=pull.body or "",
            draft=bool(pull.draft),
            head=pull.head.sha,
        )


def title_of(offer: PullRequestProposal) -> str:
    return plain_line(offer.title, TITLE_LIMIT)


def body_of(offer: PullRequestProposal) -> str:
    """The body as GitHub stores it: with LF line endings, cut at GitHub's limit."""
    body = offer.body.replace("\r\n", "\n")
    return body if len(body) <= BODY_LIMIT else f"{body[: BODY_LIMIT - len(CUT)]}{CUT}"
