"""Settings: which layer takes precedence, and the line of every mistake."""

from pathlib import Path

import pytest

from trued.errors import BadInput
from trued.inputs.settings.folders import state_folder, user_config
from trued.inputs.settings.loader import load_settings
from trued.inputs.settings.template import starter_settings
from trued.model import Environment, ForgeSettings, Grade, Settings, TicketSettings
from trued.support.located import read_toml


@pytest.fixture
def places(tmp_path: Path) -> tuple[Path, Path]:
    project, user = tmp_path / "project", tmp_path / "user"
    project.mkdir()
    user.mkdir()
    return project, user


def write(folder: Path, text: str, name: str = "trued.toml") -> None:
    (folder / name).write_text(text)


@pytest.mark.spec("USE-7")
def test_a_flag_wins_over_the_environment_over_the_project_over_the_user_over_the_default(
    places: tuple[Path, Path],
) -> None:
    project, user = places
    assert load_settings({}, {}, project, user) == Settings()
    assert load_settings({}, {}, None, None) == Settings()
    write(user, "rounds = 4\ncap = 9\nidle_s = 5\nnetwork = 'none'\naccept = 'tested'\n")
    assert load_settings({}, {}, project, user).rounds == 4
    write(project, "rounds = 5\ncap = 8\nidle_s = 6\n")
    assert load_settings({}, {}, project, user).rounds == 5
    environ = {"TRUED_ROUNDS": "6", "TRUED_CAP": "7"}
    assert load_settings({"rounds": None}, environ, project, user).rounds == 6
    settings = load_settings({"rounds": 7, "yes": True}, environ, project, user)
    assert (settings.rounds, settings.cap, settings.idle_s, settings.network) == (7, 7, 6.0, "none")
    assert settings.accept is Grade.TESTED
    assert settings.yes


@pytest.mark.spec("AGT-1", "USE-9")
def test_one_agent_for_all_roles_replaces_what_lower_places_chose_a_role() -> None:
    assert load_settings({"agents": {"*": "command:x"}}, {}, None, None).agents == {"*": "command:x"}


def test_agents_are_chosen_role_by_role(places: tuple[Path, Path]) -> None:
    project, user = places
    write(user, "[agents]\ndefault = 'command:u'\nsolo = 'command:us'\n")
    write(project, "[agents]\npurple-team-b = 'command:pb'\n")
    assert load_settings({"agents": {"solo": "command:f"}}, {}, project, user).agents == {
        "*": "command:u",
        "solo": "command:f",
        "purple-team-b": "command:pb",
    }
    assert load_settings({"agents": {}}, {"TRUED_AGENT": "command:e"}, project, user).agents == {"*": "command:e"}


def test_settings_may_stand_in_pyproject(places: tuple[Path, Path]) -> None:
    project, user = places
    write(
        project,
        "[project]\nname = 'x'\n\n[tool.trued]\nrounds = 2\n[tool.trued.agents]\ndefault = 'a'\n",
        "pyproject.toml",
    )
    assert load_settings({}, {}, project, user).rounds == 2
    write(project, "cap = 1\n")
    with pytest.raises(BadInput, match="keep them in trued") as caught:
        load_settings({}, {}, project, user)
    assert caught.value.where == "pyproject.toml:4"


def test_a_pyproject_of_others_is_none_of_our_business(places: tuple[Path, Path]) -> None:
    write(places[0], "this is = not [toml", "pyproject.toml")
    assert load_settings({}, {}, *places) == Settings()


def test_readable_folders_count_from_the_file_that_names_them(places: tuple[Path, Path]) -> None:
    write(places[0], "readable = ['data', '/opt/x']\nvariables = ['LANG']\n")
    settings = load_settings({}, {}, *places)
    assert settings.readable == (str(places[0] / "data"), "/opt/x")
    assert settings.variables == ("LANG",)


@pytest.mark.spec("USE-7")
@pytest.mark.parametrize(
    ("text", "line", "what"),
    [
        ("cap = 1\nround = 3\n", 2, "did you mean rounds?"),
        ("zzz = 3\n", 1, "known are workflow, agents"),
        ("rounds = 'three'\n", 1, "rounds: it should be a valid integer"),
        ("rounds = true\n", 1, "rounds"),
        ("\n\nrounds = 0\n", 3, "greater than or equal to 1"),
        ("idle_s = 0\n", 1, "greater than 0"),
        ("sandbox = 'strong'\n", 1, "'auto', 'bubblewrap', 'landlock' or 'none'"),
        ("readable = 'x'\n", 1, "readable"),
        ("[environment]\npath = ['../x']\n", 2, "'../x' is not a path inside the project"),
        ("agents = 'x'\n", 1, "agents is not a table"),
        ("[agents]\ndefault = 'x'\nsolo = 5\n", 3, "agents.solo: it should be a valid string"),
        ("accept = 'tested'\n", 1, "your own settings"),
        ("# x\nallow_unsandboxed = true\n", 2, "your own settings"),
        ("yes = true\n", 1, "use the flag --yes"),
        ("rounds =\n", 1, "not TOML"),
        ("rounds = 1\nrounds = 2\n", 2, "not TOML"),
    ],
)
def test_a_mistake_in_the_projects_file_is_named_with_its_line(
    places: tuple[Path, Path], text: str, line: int, what: str
) -> None:
    write(places[0], text)
    with pytest.raises(BadInput) as caught:
        load_settings({}, {}, *places)
    assert caught.value.where == f"trued.toml:{line}", caught.value
    assert what in str(caught.value)
    assert caught.value.then


@pytest.mark.spec("USE-7")
def test_mistakes_in_the_environment_flags_and_the_users_file_are_named(places: tuple[Path, Path]) -> None:
    with pytest.raises(BadInput, match="TRUED_ROUNDS: rounds: it should be a valid integer"):
        load_settings({}, {"TRUED_ROUNDS": "x"}, None, None)
    with pytest.raises(BadInput, match="--cap"):
        load_settings({"cap": 0}, {}, None, None)
    with pytest.raises(BadInput, match="did you mean rounds"):
        load_settings({"round": 1}, {}, None, None)
    with pytest.raises(BadInput, match="unproven can never be enough"):
        load_settings({"accept": "unproven"}, {}, None, None)
    write(places[1], "accept = 'refuted'\n")
    with pytest.raises(BadInput, match="can never be enough"):
        load_settings({}, {}, *places)


@pytest.mark.spec("USE-6")
def test_a_repository_cannot_lower_the_bar_by_the_environment() -> None:
    environ = {"TRUED_ACCEPT": "tested", "TRUED_ALLOW_UNSANDBOXED": "1", "TRUED_YES": "1"}
    assert load_settings({}, environ, None, None) == Settings()


def test_private_state_and_own_settings_lie_where_the_environment_says() -> None:
    assert state_folder({"TRUED_HOME": "/x/y", "HOME": "/h"}) == Path("/x/y")
    assert state_folder({"XDG_STATE_HOME": "/s", "HOME": "/h"}) == Path("/s/trued")
    assert state_folder({"HOME": "/h"}) == Path("/h/.local/state/trued")
    assert user_config({"XDG_CONFIG_HOME": "/c", "HOME": "/h"}) == Path("/c/trued")
    assert user_config({"HOME": "/h"}) == Path("/h/.config/trued")


def test_the_starter_says_the_defaults(places: tuple[Path, Path]) -> None:
    write(places[0], starter_settings())
    assert load_settings({}, {}, *places) == Settings()
    lines = [
        line.removeprefix("# ") for line in starter_settings().partition("# [")[0].splitlines()
    ]  # without the tables, which are examples
    written = read_toml("\n".join(line for line in lines if " = " in line), "x").value
    defaults = Settings().model_dump(mode="json")
    assert written == {key: defaults[key] for key in written}
    assert len(written) >= 11


@pytest.mark.spec("AGT-1")
def test_how_agents_log_in_is_the_users_to_say_and_a_project_may_only_fill_what_is_left(
    places: tuple[Path, Path],
) -> None:
    project, user = places
    write(project, "[login]\nclaude = 'subscription'\ncodex = 'none'\n")
    assert load_settings({}, {}, project, user).login_of("claude:opus") == "subscription"
    write(user, "[login]\nclaude = 'key'\n")
    settings = load_settings({}, {}, project, user)
    assert [settings.login_of(one) for one in ("claude", "codex", "gemini")] == ["key", "none", "auto"]
    write(user, "[login]\ndefault = 'key'\n")
    settings = load_settings({"login": {"gemini": "none"}}, {}, project, user)
    assert [settings.login_of(one) for one in ("claude", "codex", "gemini")] == ["key", "key", "none"]


@pytest.mark.spec("USE-7")
@pytest.mark.parametrize(
    ("text", "line", "what"),
    [
        ("[login]\nclaude = 'keys'\n", 2, "did you mean key"),
        ("[login]\nclaude = 3\n", 2, "known are auto, key"),
        ("login = 'key'\n", 1, "login is not a table"),
        ("prompts = 'never'\n", 1, "'policy' or 'ask'"),
    ],
)
def test_a_login_policy_that_there_is_not_is_named_with_its_line(
    places: tuple[Path, Path], text: str, line: int, what: str
) -> None:
    write(places[0], text)
    with pytest.raises(BadInput, match=what) as caught:
        load_settings({}, {}, *places)
    assert caught.value.where == f"trued.toml:{line}"


@pytest.mark.parametrize("number", ["nan", "inf", "-inf", "1e400", "0"])
@pytest.mark.parametrize("key", ["wall_s", "idle_s"])
def test_a_limit_that_is_no_finite_time_is_refused_wherever_it_stands(
    places: tuple[Path, Path], key: str, number: str
) -> None:
    with pytest.raises(BadInput, match=r"greater than 0|finite") as caught:
        load_settings({}, {f"TRUED_{key.upper()}": number}, *places)
    assert caught.value.where == f"TRUED_{key.upper()}"
    with pytest.raises(BadInput, match=r"greater than 0|finite"):
        load_settings({key: float(number)}, {}, *places)
    write(places[0], f"{key} = {number}\n")
    with pytest.raises(BadInput, match=r"greater than 0|finite") as caught:
        load_settings({}, {}, *places)
    assert caught.value.where == "trued.toml:1"


@pytest.mark.parametrize("agent", ['command:"unbalanced', "command: ", "command:\udcff", "scripted:~nobody-here/x.py"])
def test_an_agent_that_could_never_be_begun_is_refused_wherever_it_stands(
    places: tuple[Path, Path], agent: str
) -> None:
    with pytest.raises(BadInput) as caught:
        load_settings({"agents": {"*": agent}}, {}, *places)
    assert caught.value.where == "--agent"
    with pytest.raises(BadInput) as caught:
        load_settings({}, {"TRUED_AGENT": agent}, *places)
    assert caught.value.where == "TRUED_AGENT"


def test_a_home_folder_that_nobody_knows_is_one_sentence() -> None:
    with pytest.raises(BadInput, match=r"TRUED_HOME: the home folder .* is unknown"):
        state_folder({"TRUED_HOME": "~nobody-here/state"})


def test_the_environment_of_checks_is_set_in_a_file_and_its_variables_by_name(places: tuple[Path, Path]) -> None:
    project, user = places
    write(
        project,
        '[environment]\nprepare = ["make"]\nvariables = ["SEEN", "UNSET"]\n'
        'services = [{command = ["db", "{port}"], port_env = "DB", ready = {within_s = 3}}]\n',
    )
    found = load_settings({}, {"SEEN": "1", "HIDDEN": "2"}, project, user).environment
    assert (found.prepare, found.variables) == (("make",), {"SEEN": "1"})
    assert found.services[0].ready.within_s == 3
    asked = Environment(prepare=("own",), variables={"OWN": "3"}).over(found)
    assert (asked.prepare, asked.variables, asked.services) == (("own",), {"SEEN": "1", "OWN": "3"}, found.services)
    write(project, '[environment]\nvariables = {MODE = "test"}\n')
    assert load_settings({}, {}, project, user).environment.variables == {"MODE": "test"}


@pytest.mark.spec("USE-7")
@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("environment = 3\n", ["trued.toml:1", "environment is not a table"]),
        ("[environment]\nprepares = []\n", ["trued.toml:2", "environment.prepares", "prepare"]),
        ("[environment]\nprepare = 'make'\n", ["trued.toml:2", "environment.prepare"]),
        ("[environment]\nvariables = [1]\n", ["trued.toml:2", "environment.variables"]),
        ("[environment]\nservices = [{port_env = 'X'}]\n", ["trued.toml:2", "environment.services"]),
    ],
)
def test_a_mistake_in_the_environment_of_checks_is_named_with_its_line(
    places: tuple[Path, Path], text: str, words: list[str]
) -> None:
    write(places[0], text)
    with pytest.raises(BadInput) as caught:
        load_settings({}, {}, places[0], None)
    assert all(word in str(caught.value) for word in words), str(caught.value)


@pytest.mark.spec("USE-6")
def test_a_repository_does_not_open_the_network_that_its_user_has_closed(tmp_path: Path) -> None:
    user, project = tmp_path / "user", tmp_path / "project"
    for folder, network in ((user, "none"), (project, "host")):
        folder.mkdir()
        (folder / "trued.toml").write_text(f'network = "{network}"\n')
    assert load_settings({}, {}, project, user).network == "none"
    assert load_settings({}, {}, project, None).network == "host"
    assert load_settings({"network": "loopback"}, {}, project, user).network == "loopback"
    assert load_settings({}, {}, None, None).network == "host"


# -- forges and tickets


def test_a_project_names_its_repository_and_its_user_the_addresses(places: tuple[Path, Path]) -> None:
    project, user = places
    write(
        project,
        '[forge]\nrepository = "acme/shop"\n[tickets]\nkind = "jira"\nproject = "SHOP"\nacceptance = ["Done when"]\n',
    )
    write(
        user,
        '[forge]\nurl = "https://git.example.com/api/v3"\ntoken_env = "MY_TOKEN"\nrepository = "me/other"\n'
        '[tickets]\nurl = "https://acme.atlassian.net"\nkind = "github"\n',
    )
    settings = load_settings({"forge": {"remote": "upstream"}}, {}, project, user)
    assert settings.forge == ForgeSettings(
        repository="acme/shop", url="https://git.example.com/api/v3", token_env="MY_TOKEN", remote="upstream"
    )
    assert settings.tickets == TicketSettings(
        kind="jira", url="https://acme.atlassian.net", project="SHOP", acceptance=("Done when",)
    )


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ('[forge]\nurl = "https://evil.example.com"', "trued.toml:2: a project's settings cannot set forge.url"),
        ('[forge]\ntoken_env = "AWS_SECRET"', "a project's settings cannot set forge.token_env"),
        ('[forge]\nremote = "evil"', "a project's settings cannot set forge.remote"),
        ('[tickets]\nurl = "https://evil.example.com"', "trued.toml:2: a project's settings cannot set tickets.url"),
        ('[tickets]\nuser_env = "HOME"', "a project's settings cannot set tickets.user_env"),
        ('[forge]\nrepo = "a/b"', "unknown setting forge.repo (did you mean"),
        ('[forge]\nkind = "gitlab"', "trued.toml:2: forge.kind"),
        ('[forge]\nrepository = "../x"', "trued.toml:2: forge.repository: '../x' is not a GitHub repository"),
        ("forge = 1", "forge is not a table"),
        ("[tickets]\nacceptance = [1]", "trued.toml:2: tickets.acceptance"),
    ],
)
def test_what_a_project_may_not_say_of_forges_is_refused_with_its_line(tmp_path: Path, line: str, words: str) -> None:
    write(tmp_path, f"{line}\n")
    with pytest.raises(BadInput) as error:
        load_settings({}, {}, tmp_path, None)
    assert words in str(error.value)


def test_who_keeps_pull_requests_at_home_is_not_overruled_by_a_repository(places: tuple[Path, Path]) -> None:
    project, user = places
    write(project, '[forge]\nkind = "github"\n')
    write(user, '[forge]\nkind = "local"\n')
    assert load_settings({}, {}, project, user).forge.kind == "local"
    assert load_settings({"forge": {"kind": "github"}}, {}, project, user).forge.kind == "github"


def test_a_users_own_addresses_are_looked_at_too(tmp_path: Path) -> None:
    for line, words in (
        ('url = "http://git.example.com"', "trued.toml:2: forge.url: git.example.com would get the token unencrypted"),
        ('token_env = "ghp-0123 45"', "is not the name of a variable"),
    ):
        write(tmp_path, f"[forge]\n{line}\n")
        with pytest.raises(BadInput) as error:
            load_settings({}, {}, None, tmp_path)
        assert words in str(error.value)


@pytest.mark.spec("TEAM-11")
def test_a_team_is_set_by_nested_words_and_what_is_wrong_is_named_with_its_line(tmp_path: Path) -> None:
    (tmp_path / "trued.toml").write_text(
        "[team]\nattempts = 4\nheal = false\nuat.after_feature = false\nuat.cycles = 2\nroles.qa = false\n"
        '[commands]\ntest = "make check"\n'
    )
    found = load_settings({}, {}, tmp_path, None)
    assert (found.team.attempts, found.team.heal, found.team.uat_after_feature, found.team.uat_after_all) == (
        4,
        False,
        False,
        True,
    )
    assert (found.team.cycles, found.team.off, found.commands.test) == (2, ("qa",), "make check")


@pytest.mark.spec("TEAM-11", "USE-7")
@pytest.mark.parametrize(
    ("line", "says"),
    [
        ("attempts = 0", "greater than or equal to 1"),
        ("uat.after_featur = true", "unknown setting team.uat.after_featur"),
        ("roles.dev = false", "team.roles.dev: a team without this role does nothing"),
        ("roles.qa = 1", "true or false"),
        ("uat.cycles = 0", "team.uat.cycles"),
    ],
)
def test_a_bad_word_for_a_team_is_one_sentence_with_its_line(tmp_path: Path, line: str, says: str) -> None:
    (tmp_path / "trued.toml").write_text(f"# mine\n[team]\n{line}\n")
    with pytest.raises(BadInput) as bad:
        load_settings({}, {}, tmp_path, None)
    assert says in str(bad.value)
    assert "trued.toml:3" in bad.value.where
