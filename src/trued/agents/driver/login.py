"""Finds how an agent would log in, without a request: from variables and from files in the user's HOME."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from trued.agents import credentials
from trued.agents.driver.agent import Login


@dataclass(frozen=True, slots=True)
class LoginMethod:
    """Which credentials an agent gets from the user: names of variables and files, without their content."""

    how: str  # key | token | file; "": none
    says: str
    variables: tuple[str, ...] = ()  # names in the user's environment
    files: tuple[str, ...] = ()  # below HOME, copied for the agent while it works
    ready: bool = True  # as far as we can tell, the agent could log in


def choose_login(login: Login, policy: str, variables: Mapping[str, str], home: Path, now: float) -> LoginMethod:
    """Choose credentials by the user's policy. With the policy `auto`, the choice is the one that the agent itself
    would make (see `Login`)."""
    along = tuple(name for name in login.along if variables.get(name))
    if not (login.keys or login.tokens or login.files):
        return LoginMethod("", "needs no login that trued knows of", along)
    if policy == "none":
        return LoginMethod("", "is given no login: the policy is none")
    keys = [name for name in login.keys if variables.get(name)] if policy in ("auto", "key") else []
    tokens = [name for name in login.tokens if variables.get(name)] if policy in ("auto", "subscription") else []
    files, trouble = _credential_files(login, home, now) if policy in ("auto", "subscription") else ([], "")
    if login.together and (keys or files):
        missing = " and ".join(filter(None, [_key(keys), _file(login, files)]))
        return LoginMethod("key" if keys else "file", f"would use {missing}", (*keys, *along), tuple(files))
    if first := [name for name in keys if name not in login.weak]:
        return LoginMethod("key", f"would use {_key(first)}", (*first, *along))
    if tokens:
        return LoginMethod("token", f"would use {tokens[0]} (from your environment: a subscription)", (*tokens, *along))
    if files:
        return LoginMethod("file", f"would use a copy of {_file(login, files)}", along, tuple(files))
    if keys:
        return LoginMethod("key", f"would use {_key(keys)}", (*keys, *along))
    says = trouble or ("is not logged in" if policy == "auto" else f"has no {policy} to log in with")
    return LoginMethod("", says, along, ready=False)


def _key(names: list[str]) -> str:
    return f"{names[0]} (from your environment)" if names else ""


def _file(login: Login, names: list[str]) -> str:
    return f"~/{names[0]} (your {'log-in' if login.together else 'subscription'})" if names else ""


def _credential_files(login: Login, home: Path, now: float) -> tuple[list[str], str]:
    """All existing credential files, if one of them looks valid and has not expired. Otherwise no files, and what is
    wrong with the existing ones ("" if no file exists)."""
    files = {
        name: content for name in login.files if (content := credentials.read_credentials(home / name)) is not None
    }
    trouble = ""
    for name, content in files.items():
        value = credentials.parse_credentials(content)
        if value is None or not credentials.has_secret(value):
            trouble = trouble or f"~/{name} contains no login"
        elif credentials.is_expired(value, now):
            trouble = f"the login in ~/{name} has expired"
        else:
            return list(files), ""
    return [], trouble
