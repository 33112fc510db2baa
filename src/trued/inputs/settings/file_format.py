"""The tables of trued.toml as people write them, with the rules for their values."""

import re
import shlex
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any, TypeAlias

from pydantic import AfterValidator, BaseModel, BeforeValidator, Field, create_model

from trued.errors import BadInput
from trued.inputs.settings.limits import read_amount
from trued.inputs.validation import ProjectPath, RuleBroken, rule
from trued.integrations.github import check_repository
from trued.integrations.http import check_address
from trued.model import Commands, Environment, ForgeSettings, Rate, RunLimits, Settings, TicketSettings, Value

ALL_ROLES = "*"  # stands for all roles that are not named; settings files write `default` instead


# -- values


def expand_home(path: str) -> Path:
    """The path with `~` replaced by the home folder. Raises RuleBroken if that folder is unknown."""
    try:
        return Path(path).expanduser()
    except RuntimeError:
        raise RuleBroken(f"the home folder in {path!r} is unknown", "write the whole path") from None


def check_agent(agent: str) -> str:
    """Return the agent unchanged. Raises RuleBroken for an agent that could never start, so that no run with this agent
    is stored."""
    kind, _, rest = agent.partition(":")
    then = "write command:PROGRAM ARGS"
    try:
        agent.encode()
        words = shlex.split(rest) if kind == "command" else [rest]
    except ValueError as error:
        what = "is not UTF-8" if isinstance(error, UnicodeError) else "has a quotation mark that is never closed"
        raise RuleBroken(f"the agent {agent!a} {what}", then) from None
    if not agent.strip() or "\0" in rest or (kind == "command" and not (words and words[0])):
        raise RuleBroken(f"the agent {agent!a} names no program", then)
    if kind == "scripted":
        expand_home(rest)
    return agent


def _amount(of: str, *, more_than_0: bool = False) -> BeforeValidator:
    def read(value: Any) -> float:
        number = read_amount(of, value)
        if more_than_0 and not number:
            raise RuleBroken("it should be greater than 0")
        return number

    return BeforeValidator(read)


def _address(of: str) -> AfterValidator:
    def check(url: str) -> str:
        try:
            return check_address(url, of) if url else url
        except BadInput as error:
            raise RuleBroken(error.what, error.then) from None

    return AfterValidator(check)


def _repository(name: str) -> str:
    try:
        return check_repository(name, "") if name else name
    except BadInput as error:
        raise RuleBroken(error.what, error.then) from None


def _by_name(variables: Any) -> Any:
    """Turn a list of variable names into a table without values: the values are taken from the environment."""
    if not isinstance(variables, list):
        return variables
    if not all(isinstance(name, str) and name for name in variables):
        raise RuleBroken("it should be a list of names", "write [NAME, …], or {NAME = value}")
    return dict.fromkeys(variables)


def _refuse_off(plays: bool) -> bool:
    if not plays:
        raise RuleBroken("a team without this role does nothing", "leave it on")
    return plays


Money: TypeAlias = Annotated[float, _amount("usd")]
Seconds: TypeAlias = Annotated[float, _amount("time")]
Tokens: TypeAlias = Annotated[int, _amount("tokens")]
Calls: TypeAlias = Annotated[int, _amount("calls")]
TokenVariable: TypeAlias = Annotated[
    str,
    rule(
        lambda name: bool(re.fullmatch(r"\w*", name)),
        "it is not the name of a variable",
        "the token itself belongs in no file",
    ),
]
AgentName: TypeAlias = Annotated[str, AfterValidator(check_agent)]


# -- tables


class LimitTable(Value):  # the amounts of a `Limit` as people write them: "1.5M", "2h"
    usd: Money = 0.0
    tokens: Tokens = 0
    calls: Calls = 0
    time: Seconds = 0.0


class RateTable(Value):
    """`{in = 3, out = 15, cached = 0.3}`: dollars for a million tokens."""

    in_: Money = Field(alias="in")
    out: Money
    cached: Money | None = None

    def rate(self) -> Rate:
        cached = self.in_ if self.cached is None else self.cached
        return Rate(usd_in=self.in_, usd_out=self.out, usd_cached=cached)


class LimitsTable(LimitTable):
    quota: Annotated[int, _amount("quota")] = 0
    feature: LimitTable = LimitTable()
    task: LimitTable = LimitTable()
    roles: dict[str, LimitTable] = Field(default_factory=dict)
    call_usd: Annotated[float, _amount("call_usd", more_than_0=True)] = 0.0
    call_tokens: Annotated[int, _amount("call_tokens", more_than_0=True)] = 0
    ceiling: RateTable | None = None

    def limits(self) -> RunLimits:
        given = self.model_dump(exclude_unset=True, exclude={"ceiling"})
        return RunLimits(**given, **({"ceiling": self.ceiling.rate()} if self.ceiling else {}))


class EnvironmentTable(Environment):
    path: tuple[ProjectPath, ...] = ()
    # A name without a value gets the value that it has in the environment.
    variables: Annotated[dict[str, str | None], BeforeValidator(_by_name)] = Field(default_factory=dict)  # type: ignore[assignment]


class UatTable(Value):
    after_feature: bool = True
    after_all: bool = True
    cycles: int = Field(default=3, ge=1)


class TeamRolesTable(Value):
    """Which roles of a team take part. PM and dev cannot be left out: without them nobody would plan or work."""

    pm: Annotated[bool, AfterValidator(_refuse_off)] = True
    techlead: bool = True
    dev: Annotated[bool, AfterValidator(_refuse_off)] = True
    qa: bool = True
    uat: bool = True


class TeamTable(Value):
    attempts: int = Field(default=10, ge=1)
    heal: bool = True
    uat: UatTable = UatTable()
    roles: TeamRolesTable = TeamRolesTable()

    def settings(self) -> dict[str, Any]:
        """The fields of TeamSettings that the table sets."""
        given = self.model_dump(exclude_unset=True)
        uat, roles = given.pop("uat", {}), given.pop("roles", {})
        given |= {key if key == "cycles" else f"uat_{key}": value for key, value in uat.items()}
        return given | ({"off": tuple(name for name, plays in roles.items() if not plays)} if roles else {})


class ForgeTable(ForgeSettings):
    repository: Annotated[str, AfterValidator(_repository)] = ""
    url: Annotated[str, _address("forge")] = ""
    token_env: TokenVariable = ""


class TicketsTable(TicketSettings):
    url: Annotated[str, _address("tickets")] = ""
    token_env: TokenVariable = ""
    user_env: TokenVariable = ""


class HubTable(Value):
    """The addresses of the hub. They are the user's own and may contain a password, so no run stores them."""

    url: str = ""
    store: str = ""  # the bare repository through which machines exchange commits


TABLES: dict[str, Any] = {
    "agents": dict[str, AgentName],
    "limits": LimitsTable,
    "prices": dict[str, RateTable],
    "environment": EnvironmentTable,
    "team": TeamTable,
    "commands": Commands,
    "forge": ForgeTable,
    "tickets": TicketsTable,
    "hub": HubTable,
}


def file_model(keys: tuple[str, ...]) -> type[BaseModel]:
    """A model of a settings file with these keys. A key has the type that TABLES gives it, or else its type in
    Settings."""
    known: dict[str, Any] = {**Settings.model_fields, "hub": Field(default_factory=HubTable)}
    fields: dict[str, Any] = {key: (TABLES.get(key, known[key].annotation), known[key]) for key in keys}
    return create_model("SettingsFile", __base__=Value, **fields)


def _as_given(table: BaseModel) -> dict[str, Any]:
    return table.model_dump(exclude_unset=True)


def _by_role(table: dict[str, str]) -> dict[str, str]:
    return {ALL_ROLES if name == "default" else name: value for name, value in table.items()}


# Key → how its table is converted for Settings. `_as_given` keeps only the keys that are set, so that tables of several
# files can be merged key by key.
CONVERSIONS: dict[str, Callable[[Any], Any]] = {
    "agents": _by_role,
    "login": _by_role,
    "limits": LimitsTable.limits,
    "prices": lambda prices: {model: rate.rate() for model, rate in prices.items()},
    "environment": _as_given,
    "team": TeamTable.settings,
    "commands": _as_given,
    "preview": _as_given,
    "forge": _as_given,
    "tickets": _as_given,
}
