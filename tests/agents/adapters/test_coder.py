"""Raw models: their names, the keys that they get, and one complete turn."""

import json
import uuid
from pathlib import Path
from typing import Any

import pytest

from tests.agents.supervisor.world import World
from tests.real_agents.model import Answer, ModelServer, Run, Script, Step, Write
from trued.agents.adapters import agent_of, capabilities_of, login_of
from trued.agents.adapters.coder import build_program, fold
from trued.agents.driver.discovery import InstalledProgram
from trued.agents.driver.providers import MAKERS, PROVIDERS
from trued.agents.driver.transcript import Transcript
from trued.errors import BadInput
from trued.wire import Amount, Confinement, Usage
from trued.workspace.sandbox.levels import level_state

KEY = "sk-planted-key-of-the-user-0123456789"


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("coder", "is incomplete"),
        ("coder:", "is incomplete"),
        ("coder:anthropic", "has no model"),
        ("coder:anthropic: ", "has no model"),
        ("coder:nobody:model", "no provider 'nobody' is known"),
    ],
)
def test_a_name_that_says_too_little_is_refused_in_a_sentence(name: str, said: str) -> None:
    with pytest.raises(BadInput, match=said) as refused:
        agent_of(name)
    assert "coder:PROVIDER:MODEL" in str(refused.value)


@pytest.mark.spec("AGT-4")
@pytest.mark.parametrize("provider", PROVIDERS)
def test_only_the_key_of_the_provider_that_is_named_is_let_through(provider: str, tmp_path: Path) -> None:
    every = {name: KEY for known in PROVIDERS.values() for name in (*known.keys, *known.along)}
    login = login_of(f"coder:{provider}:model", "auto", every, tmp_path)
    assert set(login.variables) == {*PROVIDERS[provider].keys, *PROVIDERS[provider].along}
    assert login_of(f"coder:{provider}:model", "none", every, tmp_path).variables == ()
    assert not login_of(f"coder:{provider}:model", "auto", {}, tmp_path).ready


@pytest.mark.parametrize(
    ("name", "vendor"),
    [
        ("anthropic:claude-sonnet-4-5", "anthropic"),
        ("openai:gpt-5", "openai"),
        ("google-gla:gemini-2.5-pro", "google"),
        ("openrouter:anthropic/claude-sonnet-4.5", "anthropic"),
        ("openrouter:somebody/model", ""),
        ("openai-chat:gpt-5", "openai"),
        ("openai-chat:our-own-model", ""),
        ("ollama:qwen3:8b", ""),
        ("alibaba:qwen3-coder-plus", "qwen"),
    ],
)
def test_whose_model_it_is_is_known_by_the_provider_or_else_by_its_name(name: str, vendor: str) -> None:
    assert capabilities_of(f"coder:{name}").vendor == vendor


def test_one_maker_has_one_name() -> None:
    assert {known.vendor for known in PROVIDERS.values()} - {""} <= set(MAKERS.values())


@pytest.mark.spec("AGT-4")
def test_its_key_goes_by_stdin_and_is_blank_in_its_environment(tmp_path: Path) -> None:
    order = World(tmp_path / "w").order("coder:google-gla:gemini-2.5-pro", tools=("read",), allowance=Amount(tokens=9))
    program = build_program(order, InstalledProgram("python"))
    assert program.adapt is not None
    adapted = program.adapt({"GEMINI_API_KEY": KEY, "LANG": "C"})
    told = json.loads(adapted.stdin)
    assert (told["model"], told["keys"], told["tokens"]) == ("google:gemini-2.5-pro", {"GEMINI_API_KEY": KEY}, 9)
    assert order.folder in told["instructions"]
    assert adapted.variables == {"GEMINI_API_KEY": ""}
    assert KEY not in " ".join(adapted.argv)


def transcript(tmp_path: Path, *events: dict[str, Any], **changes: Any) -> tuple[Transcript, list[str]]:
    kinds: list[str] = []
    found = Transcript(
        World(tmp_path / "w").order("coder:openai:gpt-5", **changes), lambda kind, **_: kinds.append(kind)
    )
    for event in events:
        fold(event, found)
    return found, kinds


def test_what_it_tells_is_understood(tmp_path: Path) -> None:
    found, kinds = transcript(
        tmp_path,
        {"type": "session", "native": "s"},
        {"type": "alive"},
        {"type": "says", "text": "I look."},
        {"type": "usage", "sent": 100, "said": 10, "cached": 60},
        {"type": "tool", "name": "grep", "id": "1", "what": "{}"},
        {"type": "tool ended", "id": "1", "failed": False},
        {"type": "compacted"},
        {"type": "usage", "sent": 200, "said": 20, "cached": 0},
        {"type": "finished", "reply": {"summary": "done"}},
    )
    assert kinds == ["session", "says", "usage", "tool", "tool ended", "compacted", "usage"]
    assert found.usage == Usage(300, 30, 60, 220, estimated=False, requests=2, compactions=1)
    assert (found.structured, found.finished, found.running) == ({"summary": "done"}, True, set())


@pytest.mark.spec("RUN-7")
def test_a_refusal_is_known_by_its_status_and_its_headers(tmp_path: Path) -> None:
    told = {"type": "refused", "text": "no", "status": 429, "headers": {"retry-after": "90"}}
    found, _ = transcript(tmp_path, told)
    assert found.refusal is not None
    assert (found.refusal.kind, found.refusal.until > 0) == ("rate", True)


@pytest.mark.spec("AGT-5")
@pytest.mark.parametrize(("prompts", "asks"), [("policy", False), ("ask", True)])
def test_a_tool_that_its_role_does_not_have_is_refused_or_asked_for(tmp_path: Path, prompts: str, asks: bool) -> None:
    found, kinds = transcript(tmp_path, {"type": "denied", "tool": "write_file", "what": "x"}, prompts=prompts)
    assert kinds == ["permission"]
    assert bool(found.question) is asks


@pytest.mark.spec("AGT-1", "AGT-3", "AGT-6")
async def test_it_writes_a_file_runs_a_command_and_answers_by_contract(tmp_path: Path) -> None:
    world = World(tmp_path / "world", level="bubblewrap" if level_state("bubblewrap").works else "none")
    steps: list[Step] = [Write("made.txt", "made\n"), Run("cat made.txt; env"), Answer({"summary": "done"})]
    with ModelServer(Script(steps)) as model:
        order = world.order(
            "coder:openai-chat:gpt-5",
            session=str(uuid.uuid4()),
            tools=("read", "edit", "execute"),
            confinement=Confinement(level=world.level, network="host"),
        )
        variables = {"OPENAI_API_KEY": KEY, "OPENAI_BASE_URL": f"{model.url}/v1"}
        report = await world.runtime(variables=lambda _: variables).work(order, world.tell)
    assert (report.state, report.reply, report.asks) == ("done", {"summary": "done"}, 1), report.why
    assert (world.clone / "made.txt").read_text() == "made\n"
    assert [path.name for path in world.clone.iterdir()] == ["made.txt"]
    total = model.total()
    assert (report.usage.tokens_in, report.usage.tokens_out, report.usage.requests) == (total.sent, total.said, 3)
    assert set(model.asked[0].tools) == {
        "read_file",
        "list_files",
        "write_file",
        "edit_file",
        "run_command",
        "final_result",
    }
    assert "OPENAI" not in model.asked[-1].texts[-1], "neither key nor address is in a command's environment"
    assert KEY not in world.files() + json.dumps([one.body for one in model.seen])
    assert not world.left()
