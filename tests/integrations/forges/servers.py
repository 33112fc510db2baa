"""GitHub and Jira on the loopback: they keep state, and check every request against the vendors' own descriptions.

with github_server(bare) as github, jira_server() as jira:
    github.issue(12, "Show points", "- [ ] …")
    github.url, github.token, github.pulls, github.asked, github.faults.append(rate_limited())
"""

import base64
import json
import subprocess
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from graphql import build_schema, graphql_sync
from werkzeug.wrappers import Request, Response

from tests.integrations.forges.answering import Answering, serving
from tests.integrations.forges.described_api import FOLDER, described

TOKEN = "t0ken-of-a-test-0123456789"
READ_ONLY = "t0ken-that-may-only-read-0123456789"


@dataclass(slots=True)
class Pull:
    """A pull request as the forge stores it."""

    number: int
    branch: str
    onto: str
    title: str
    body: str
    draft: bool
    state: str = "open"
    merged: bool = False


def _json(value: object, status: int = 200) -> Response:
    return Response(json.dumps(value), status, content_type="application/json; charset=utf-8")


def _refused(status: int, message: str, *errors: str) -> Response:
    listed = [{"resource": "PullRequest", "code": "custom", "message": one} for one in errors]
    url = "https://docs.github.com/rest"
    return _json({"message": message, "documentation_url": url, **({"errors": listed} if listed else {})}, status)


class GitHub(Answering):
    """A GitHub with one repository; its branches are those of a real bare repository."""

    def __init__(self, bare: Path | None, repository: str, private: bool) -> None:
        super().__init__()
        self.bare, self.repository, self.private = bare, repository, private
        self.owner, self.name = repository.split("/")
        self.token = TOKEN
        self.read_only = READ_ONLY
        self.pulls: list[Pull] = []
        self.issues: dict[int, dict[str, Any]] = {}
        self.archived = False
        self.api = described("github")

    # -- what tests say

    def issue(self, number: int, title: str, body: str | None, labels: Sequence[str] = (), kind: str = "") -> None:
        own: dict[str, Any] = {"number": number, "title": title, "body": body, "labels": list(labels)}
        own["html_url"] = f"{self.url}/{self.repository}/issues/{number}"
        if kind:
            own["type"] = {"id": 1, "node_id": "x", "name": kind, "description": None}
        self.issues[number] = {**self.api.smallest("issue"), **own}

    def close(self, number: int, *, merged: bool = False) -> None:
        pull = self._pull(number)
        assert pull is not None
        pull.state, pull.merged = "closed", merged

    def offers(self, branch: str) -> list[Pull]:
        return [one for one in self.pulls if one.branch == branch]

    # -- what it answers

    def check(self, request: Request) -> str:
        if request.path == "/graphql":
            return ""  # the answering code checks it against GitHub's GraphQL schema
        return self.api.against(request)

    def answer(self, request: Request) -> Response:
        response = self._answer(request)
        if request.path != "/graphql" and response.status_code in (200, 201, 403, 404, 422):
            listed = response.status_code in (200, 201) or request.method != "GET"
            if listed and (wrong := self.api.against_answer(request, response)):
                self.wrong.append(wrong)
        return response

    def _answer(self, request: Request) -> Response:
        given = request.headers.get("Authorization", "").rpartition(" ")[2]
        if given and given not in (self.token, self.read_only):
            return _refused(401, "Bad credentials")
        if request.path == "/graphql":
            return self._mutation(request) if given == self.token else _refused(401, "Requires authentication")
        parts = request.path.strip("/").split("/")
        if parts[:3] != ["repos", self.owner, self.name] or (self.private and not given):
            return _refused(404, "Not Found")
        if request.method != "GET" and given != self.token:
            return _refused(403, "Resource not accessible by personal access token")
        rest = parts[3:]
        if not rest:
            return _json(self._repository(given))
        number = int(rest[1]) if len(rest) > 1 else 0
        if rest[0] == "issues":
            return _json(self.issues[number]) if number in self.issues else _refused(404, "Not Found")
        if number and (pull := self._pull(number)):
            return self._one(request, pull)
        if number:
            return _refused(404, "Not Found")
        return self._opened(request.get_json()) if request.method == "POST" else self._listed(request)

    def _repository(self, given: str) -> dict[str, Any]:
        push = given == self.token
        own = {
            "name": self.name,
            "full_name": self.repository,
            "private": self.private,
            "archived": self.archived,
            "default_branch": "main",
            "html_url": f"{self.url}/{self.repository}",
            "url": f"{self.url}/repos/{self.repository}",
        }
        allowed = {"admin": False, "maintain": False, "push": push, "triage": push, "pull": True}
        shown = {**self.api.smallest("full-repository"), **own}
        return {**shown, "permissions": allowed} if given else {k: v for k, v in shown.items() if k != "permissions"}

    def _listed(self, request: Request) -> Response:
        state, head = request.args.get("state", "open"), request.args.get("head", "")
        found = [one for one in self.pulls if state in ("all", one.state)]
        if head:
            found = [one for one in found if f"{self.owner}:{one.branch}" == head]
        newest = sorted(found, key=lambda one: one.number, reverse=request.args.get("direction", "desc") == "desc")
        size, page = int(request.args.get("per_page", 30)), int(request.args.get("page", 1))
        return _json([self._shown(one, "pull-request-simple") for one in newest[(page - 1) * size : page * size]])

    def _opened(self, body: dict[str, Any]) -> Response:
        owner, colon, name = body["head"].rpartition(":")
        if colon and owner != self.owner:
            return _refused(422, "Validation Failed", "head is invalid")
        if not self.commit_of(name) or not self.commit_of(body["base"]):
            return _refused(422, "Validation Failed", "head or base is invalid")
        if self.commit_of(name) == self.commit_of(body["base"]):
            return _refused(422, "Validation Failed", f"No commits between {body['base']} and {name}")
        if any(one.branch == name and one.state == "open" and one.onto == body["base"] for one in self.pulls):
            return _refused(422, "Validation Failed", f"A pull request already exists for {self.owner}:{name}.")
        number = len(self.pulls) + len(self.issues) + 1
        words = {"title": body["title"], "body": body.get("body", ""), "draft": body.get("draft", False)}
        self.pulls.append(Pull(number, name, body["base"], **words))
        return _json(self._shown(self.pulls[-1], "pull-request"), 201)

    def _one(self, request: Request, pull: Pull) -> Response:
        if request.method == "PATCH":
            changes = request.get_json()
            pull.title, pull.body = changes.get("title", pull.title), changes.get("body", pull.body)
            pull.onto, pull.state = changes.get("base", pull.onto), changes.get("state", pull.state)
        return _json(self._shown(pull, "pull-request"))

    def _shown(self, pull: Pull, schema: str) -> dict[str, Any]:
        shown: dict[str, Any] = self.api.smallest(schema)
        shown |= {
            "number": pull.number,
            "node_id": f"PR_{pull.number}",
            "state": pull.state,
            "title": pull.title,
            "body": pull.body,
            "draft": pull.draft,
            "html_url": f"{self.url}/{self.repository}/pull/{pull.number}",
            "url": f"{self.url}/repos/{self.repository}/pulls/{pull.number}",
            "merged_at": "2026-01-02T00:00:00Z" if pull.merged else None,
        }
        if "merged" in shown:
            shown["merged"] = pull.merged
        for side, branch in (("head", pull.branch), ("base", pull.onto)):
            label = f"{self.owner}:{branch}"
            shown[side] = {**shown[side], "ref": branch, "label": label, "sha": self.commit_of(branch) or "0" * 40}
        return shown

    def _mutation(self, request: Request) -> Response:
        def drafted(draft: bool) -> Any:
            def resolved(_: object, input: dict[str, str]) -> dict[str, Any]:
                pull = self._pull(int(input["pullRequestId"].removeprefix("PR_")))
                assert pull is not None
                pull.draft = draft
                return {"pullRequest": {"id": input["pullRequestId"], "isDraft": draft}}

            return lambda info, input: resolved(info, input)

        schema = build_schema((FOLDER / "github.graphql").read_text())
        root = {"convertPullRequestToDraft": drafted(True), "markPullRequestReadyForReview": drafted(False)}
        said = request.get_json()
        done = graphql_sync(schema, said["query"], root, variable_values=said["variables"])
        self.wrong += [f"graphql: {error.message}" for error in done.errors or ()]
        return _json(done.formatted)

    # -- what it knows

    def _pull(self, number: int) -> Pull | None:
        return next((one for one in self.pulls if one.number == number), None)

    def commit_of(self, branch: str) -> str:
        if self.bare is None:
            return ""
        command = ["git", "-C", str(self.bare), "rev-parse", "--verify", "-q", f"refs/heads/{branch}"]
        return subprocess.run(command, capture_output=True, text=True, timeout=30, check=False).stdout.strip()


class Jira(Answering):
    """Issues by key; `/rest/api/3` answers with documents (Cloud), `/rest/api/2` with wiki text (Server)."""

    def __init__(self, *, cloud: bool) -> None:
        super().__init__()
        self.user, self.token, self.cloud = "ada@example.com", TOKEN, cloud
        self.issues: dict[str, dict[str, Any]] = {}
        self.names: dict[str, str] = {"summary": "Summary", "description": "Description"}
        self.api = described("jira-cloud" if cloud else "jira-server")

    def issue(self, key: str, summary: str, description: object, kind: str = "Story", **fields: Any) -> None:
        """Add an issue; `description` and further fields as this kind of Jira stores them: a document, or wiki text."""
        own = {"summary": summary, "description": description, "issuetype": {"name": kind}, "labels": []}
        self.issues[key] = {**own, **fields}

    def check(self, request: Request) -> str:
        at_home = request.path.startswith("/rest/api/3" if self.cloud else "/rest/api/2")
        return self.api.against(request) if at_home else ""

    def answer(self, request: Request) -> Response:
        response = self._answer(request)
        if response.status_code == 200 and (wrong := self.api.against_answer(request, response)):
            self.wrong.append(wrong)
        return response

    def _answer(self, request: Request) -> Response:
        if not request.path.startswith(f"/rest/api/{3 if self.cloud else 2}/issue/"):
            return Response("<html>Oops, you've found a dead link</html>", 404, content_type="text/html")
        basic = base64.b64encode(f"{self.user}:{self.token}".encode()).decode()
        if request.headers.get("Authorization") not in (f"Basic {basic}", f"Bearer {self.token}"):
            return _json({"errorMessages": ["You are not authenticated."], "errors": {}}, 401)
        key = request.path.rpartition("/")[2]
        if key not in self.issues:
            words = "Issue does not exist or you do not have permission to see it."
            return _json({"errorMessages": [words], "errors": {}}, 404)
        fields = self.issues[key]
        names = {"names": {name: self.names.get(name, name) for name in fields}}
        expanded = names if "names" in request.args.get("expand", "") else {}
        own = f"{self.url}{request.path}"
        return _json({"id": "10001", "key": key, "self": own, "expand": "names,schema", "fields": fields, **expanded})


@contextmanager
def github_server(
    bare: Path | None = None, repository: str = "acme/shop", *, private: bool = False
) -> Iterator[GitHub]:
    server = GitHub(bare, repository, private)
    with serving(server):
        yield server


@contextmanager
def jira_server(*, cloud: bool = True) -> Iterator[Jira]:
    server = Jira(cloud=cloud)
    with serving(server):
        yield server
