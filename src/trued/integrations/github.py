"""GitHub (github.com or a server of your own): names of repositories, and sessions that turn each error into one
sentence."""

import math
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from trued.errors import BadInput, TruedError
from trued.integrations.http import TRIES, Service, redirected, refusal_of, unexpected_answer, unreachable
from trued.support.lazy_regex import lazy_regex

if TYPE_CHECKING:
    from github import Github

NAME = "GitHub"
API = "https://api.github.com"
WEB = "https://github.com"
TOKEN_ENV = "GITHUB_TOKEN"  # noqa: S105 (a variable's name)
REPOSITORY = lazy_regex(r"[A-Za-z0-9][A-Za-z0-9-]{0,99}/(?!\.{1,2}$)[A-Za-z0-9._-]{1,100}")
_SSH = lazy_regex(r"(?:[\w.-]+@)?([A-Za-z0-9.-]+):(?!//)(.+)")


def web_address(api: str) -> str:
    """The address of the web pages that belong to an API address."""
    if api.rstrip("/") == API:
        return WEB
    parts = urlsplit(api)
    host = parts.netloc.removeprefix("api.") if parts.netloc.endswith(".ghe.com") else parts.netloc
    return f"{parts.scheme}://{host}{parts.path.rstrip('/').removesuffix('/api/v3')}"


def repository_of(address: str, api: str = API) -> str:
    """`owner/name`, from the address of a remote or a page on the GitHub server of `api`; "" for any other address."""
    address = address.strip()
    if "://" in address:
        try:
            parts = urlsplit(address)
            host, path = parts.hostname or "", parts.path
        except ValueError:
            return ""
        if parts.scheme not in ("https", "http", "ssh", "git", "git+ssh"):
            return ""
    elif match := _SSH.fullmatch(address):
        host, path = match.groups()
    else:
        return ""
    home = urlsplit(web_address(api)).hostname or ""
    if host.lower() not in (home, *(("www.github.com", "ssh.github.com") if home == "github.com" else ())):
        return ""
    name = "/".join(path.strip("/").split("/")[:2]).removesuffix(".git")
    return name if REPOSITORY.fullmatch(name) else ""


def check_repository(repository: str, where: str) -> str:
    if not REPOSITORY.fullmatch(repository):
        raise BadInput(f"{repository!r} is not a GitHub repository", where, 'write it as "owner/name"')
    return repository


@contextmanager
def github_session(at: Service, doing: str) -> "Iterator[Github]":
    """A GitHub session for one `with` block. An error inside the block is raised as a TruedError with one sentence for
    people. `doing`: what is attempted, for this sentence."""
    try:
        import github
        from requests.exceptions import RequestException
        from urllib3.util import Retry
    except ImportError:
        raise BadInput("GitHub needs a library that is not installed", then="pip install 'trued[forge]'") from None
    again = Retry(
        total=TRIES - 1,
        read=0,  # after one read timeout the next try would time out, too
        status_forcelist=(502, 503, 504),
        allowed_methods=("GET",),  # a request that changes something is never sent twice
        respect_retry_after_header=False,  # the user decides how long to wait
        raise_on_status=False,
        backoff_factor=0.2,
    )
    hub = github.Github(
        auth=github.Auth.Token(at.token) if at.token else None,
        base_url=at.url,
        timeout=math.ceil(at.timeout_s),
        retry=again,
        seconds_between_requests=None,
        seconds_between_writes=None,
        per_page=100,  # the most that GitHub lists at once
        lazy=True,  # request only the data that is used
    )
    try:
        yield hub
    except TruedError:
        raise
    except github.GithubException as error:
        raise refusal_of(at, error.status, _refusal_message(error.data), error.headers or {}, doing) from None
    except RequestException as error:
        raise unreachable(at, error, doing) from None
    except RuntimeError:  # how the library reports a redirection to another host
        raise redirected(at, doing) from None
    except (github.BadAttributeException, AssertionError, AttributeError, KeyError, TypeError, ValueError):
        raise unexpected_answer(at, doing) from None
    finally:
        hub.close()


def _refusal_message(data: object) -> str:
    """GitHub's message about a refusal, with the details that it lists; "" if there is none."""
    if not isinstance(data, dict):
        return ""
    listed = data.get("errors")
    details = (
        [error.get("message") if isinstance(error, dict) else error for error in listed]
        if isinstance(listed, list)
        else []
    )
    return "; ".join(str(message) for message in (data.get("message"), *details) if message)
