"""What a run may have of a worker's machine is decided by the worker's own options, whatever an asker names."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from trued.engine.inputs import Inputs
from trued.hub.workers import Offer, what_is_missing, what_is_withheld
from trued.model import Settings, Ticket
from trued.model.settings import ForgeSettings

pytestmark = pytest.mark.spec("HUB-7")


@pytest.fixture
def offer(tmp_path: Path) -> Offer:
    for name in ("open", "repo"):
        (tmp_path / name).mkdir()
    (tmp_path / "open" / "link").symlink_to(tmp_path)
    may: dict[str, Any] = {"readable": (str(tmp_path / "open"),), "repositories": (str(tmp_path / "repo"),)}
    return Offer("w1", "runs", 1, ("claude", "codex"), ("bubblewrap",), variables=("OPEN",), **may)


def asked(pictures: tuple[str, ...] = (), **settings: object) -> Inputs:
    named: dict[str, Any] = {"pictures": pictures}
    given: dict[str, Any] = {
        "settings": Settings.model_validate(settings),
        "ticket": Ticket.model_construct(**named),
    }
    return Inputs.model_construct(**given)


def test_variables_files_and_repositories_that_its_options_do_not_name_are_withheld(
    offer: Offer, tmp_path: Path
) -> None:
    def withheld(inputs: Inputs, repository: str | None = None) -> str:
        return what_is_withheld(offer, inputs, {"OPEN", "SECRET"}, repository)

    secret, inside = str(tmp_path / "secret"), str(tmp_path / "open" / "file")
    assert withheld(asked()) == ""
    assert withheld(asked(variables=("OPEN", "NOT_SET"), readable=(inside,)), str(tmp_path / "repo")) == ""
    assert withheld(asked(("docs/in-every-clone.png", inside))) == ""
    assert withheld(asked(variables=("OPEN", "SECRET"))) == "the variable SECRET"
    assert withheld(asked(forge=ForgeSettings(url="https://evil.example", token_env="SECRET"))) == "the variable SECRET"
    evil = asked(forge=ForgeSettings(url="https://evil.example", token_env="SECRET"))
    assert what_is_withheld(offer, evil, {"SECRET"}, None, calls_servers=False) == ""  # it opens no pull request
    assert withheld(asked(), "") == "the repository "  # which would be the worker's own folder
    assert withheld(asked(forge=ForgeSettings(kind="local", token_env="SECRET"))) == ""  # nobody is given it
    for path in (secret, str(tmp_path), f"{inside}/../../secret", str(tmp_path / "open" / "link" / "secret")):
        assert withheld(asked(readable=(path,))) == f"the file {path}"
        assert withheld(asked((path,))) == f"the file {path}"
        assert withheld(asked(), path) == f"the repository {path}"


def test_agents_and_sandbox_levels_that_its_options_do_not_name_are_not_run(offer: Offer) -> None:
    assert what_is_missing(offer, asked(agents={"*": "claude:opus", "reviewer": "codex"}), "bubblewrap") == ""
    assert what_is_missing(offer, asked(agents={"*": "command:rm -r ."}), "bubblewrap") == "the agent command"
    for name, lacking in (("claude", "codex"), ("codex", "claude")):  # one worker makes all calls of a run
        one = replace(offer, agents=(name,))
        assert (
            what_is_missing(one, asked(agents={"*": "claude", "reviewer": "codex"}), "bubblewrap")
            == f"the agent {lacking}"
        )
    assert what_is_missing(offer, asked(agents={"*": "claude"}), "none") == "the sandbox level none"
