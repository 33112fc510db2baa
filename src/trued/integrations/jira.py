"""Fetch an issue from Jira Cloud or Server; errors become one sentence."""

from collections.abc import Iterator
from contextlib import closing, contextmanager
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from trued.errors import BadInput
from trued.integrations.http import TRIES, Service, redirected, refusal_of, unexpected_answer, unreachable

if TYPE_CHECKING:
    from jira import JIRA

NAME = "Jira"
TOKEN_ENV = "JIRA_TOKEN"  # noqa: S105 (a variable's name)
CLOUD = ".atlassian.net"
VERSIONS = ("3", "2")  # of the API: 3 returns documents, and only Cloud has it; 2 returns wiki text


def raw_issue(at: Service, key: str, doing: str) -> dict[str, Any]:
    """The issue as the newest available API returns it, together with the names that people see for its fields. Raises
    a TruedError for a refusal."""
    cloud = (urlsplit(at.url).hostname or "").endswith(CLOUD)
    with _translated_errors(at, doing):
        for version in VERSIONS[:1] if cloud else VERSIONS:
            if (found := _fetch_issue(at, key, version)) is not None:
                return found
    raise unexpected_answer(at, doing)


def _fetch_issue(at: Service, key: str, version: str, tries: int = TRIES) -> dict[str, Any] | None:
    """The issue as JSON; None if the server does not have this version of the API."""
    from jira import JIRAError

    try:
        with closing(_connection(at, version)) as jira:
            raw = jira.issue(key, expand="names").raw
            return raw if isinstance(raw, dict) else None
    except JIRAError as error:
        if error.status_code in (502, 503, 504) and tries > 1:
            return _fetch_issue(at, key, version, tries - 1)
        if error.status_code == 404 and not _is_about_the_issue(error.response):
            return None
        raise


def _connection(at: Service, version: str) -> "JIRA":
    from jira import JIRA

    jira = JIRA(
        server=at.url,
        options={"rest_api_version": version, "check_update": False},
        basic_auth=(at.user, at.token) if at.user else None,
        token_auth=None if at.user else at.token,
        get_server_info=False,
        max_retries=0,  # the library would wait before each retry: the user decides how long to wait
        timeout=at.timeout_s,
        logging=False,
    )
    jira._session.max_redirects = 0  # never send the token to another address
    return jira


@contextmanager
def _translated_errors(at: Service, doing: str) -> Iterator[None]:
    try:
        from jira import JIRAError
        from requests.exceptions import JSONDecodeError, RequestException, TooManyRedirects
    except ImportError:
        raise BadInput("Jira needs a library that is not installed", then="pip install 'trued[jira]'") from None
    try:
        yield
    except JIRAError as error:
        status, response = error.status_code or 0, error.response
        words = error.text if 400 <= status < 500 else ""
        raise refusal_of(at, status, words, response.headers if response is not None else {}, doing) from None
    except TooManyRedirects:
        raise redirected(at, doing) from None
    except (JSONDecodeError, AttributeError, KeyError, NotImplementedError, TypeError):
        raise unexpected_answer(at, doing) from None
    except RequestException as error:
        raise unreachable(at, error, doing) from None
    except ValueError:
        raise unexpected_answer(at, doing) from None


def _is_about_the_issue(response: Any) -> bool:
    """Whether a 404 means that the issue does not exist. It may also mean that the server does not have this version of
    the API."""
    try:
        return response is not None and bool(response.json().get("errorMessages"))
    except (ValueError, AttributeError):
        return False
