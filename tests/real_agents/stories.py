"""The stories of the examples, told by a scripted model to real agents; a part is known by the shape of its answer."""

import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, TypeAlias

from examples.service import agents as service
from examples.shop import agents as shop
from tests.real_agents.model import Answer, Edit, Read, Run, Script, Write
from tests.real_agents.model.script import Step
from tests.real_agents.model.tools import ANSWER
from tests.real_agents.model.turn import Turn

PROGRAMS = Path(__file__).parents[2] / ".cache" / "agents" / "bin"
BROWSE = "chromium --headless --no-sandbox --disable-gpu --disable-dev-shm-usage --virtual-time-budget=3000 --dump-dom"
CARDS = "grep -o 'data-cents=\"[0-9]*\">[^<]*<'"

Part: TypeAlias = Callable[[Turn], list[Step]]


def environ(home: Path, path: str, url: str) -> dict[str, str]:
    """For `trued` as somebody starts it who has Claude Code, a key that is none, and a model on this machine."""
    home.mkdir(exist_ok=True)
    return {"PATH": f"{PROGRAMS}:{path}", "HOME": str(home), "ANTHROPIC_API_KEY": "none", "ANTHROPIC_BASE_URL": url}


def played(parts: Mapping[str, Part]) -> Callable[[Turn], Script]:
    """Parts by a field that only their answer has."""

    def choose(turn: Turn) -> Script:
        shape = next((turn.tools[name] for name in ANSWER if name in turn.tools), {})
        fields = shape.get("properties") or {}
        part = next((part for name, part in parts.items() if name in fields), None)
        return Script(part(turn) if part else [Answer({"status": "BLOCKED", "summary": "I have no part in this"})])

    return choose


# -- the shop


def implemented(turn: Turn) -> list[Step]:
    order = {"brief": "\n".join(turn.users)}
    reply = {**shop.IMPLEMENTED, "branch_name": shop.branch(order)}
    files: list[Step] = [Write(name, text) for name, text in shop.FILES.items()]
    return [*files, Read("pages.js"), Edit("pages.js", shop.HINGE, shop.HOOKED + shop.HINGE), Answer(reply)]


def verified(turn: Turn) -> list[Step]:
    """In a real browser, started by the agent's own shell; what it shows is what is answered."""
    url = shop.address({"brief": "\n".join(turn.users)})
    looks: list[Step] = [Run(f"{BROWSE} '{url}{page}' 2>/dev/null | {CARDS}") for page in shop.PAGES]
    cards = {
        (int(cents), said) for text in turn.texts for cents, said in re.findall(r'data-cents="(\d+)">([^<]*)<', text)
    }
    wrong = [(f"Earn {cents // 100 * 10} points", said) for cents, said in sorted(cards) if "Earn" not in said]
    issues = [
        {
            "severity": "critical",
            "description": "A card does not say how many points it earns",
            "location": "/collections/tea?shown=7",
            "expected": expected,
            "actual": actual,
        }
        for expected, actual in wrong
    ]
    return [
        *looks,
        Answer({"summary": "I looked", "passed": bool(cards) and not issues, "issues": issues, "screenshots": []}),
    ]


def fixed(_: Turn) -> list[Step]:
    return [Read("assets/loyalty.js"), Write("assets/loyalty.js", shop.ALWAYS), Answer(shop.FIXED)]


def written(_: Turn) -> list[Step]:
    return [Answer(shop.WRITTEN)]


SHOP: dict[str, Part] = {"files_changed": implemented, "issues": verified, "files_modified": fixed, "body": written}


# -- the service


def initialized(_: Turn) -> list[Step]:
    return [Answer(service.INITIALIZED)]


def coded(turn: Turn) -> list[Step]:
    feature = re.findall(r"# (?:Your task: |Continue with )(\w+)", "\n".join(turn.users))[-1]
    files: dict[str, str] = {**service.FILES[feature]}
    if feature != "look":
        files["links/service.py"] = service.composed(feature)
    known = [name for name in files if name == "links/service.py" and feature != "health"] + (
        ["links/page.py"] if feature == "look" else []
    )
    reply: dict[str, Any] = service.told(feature, f"{feature} works and is tested", sorted(files))
    reads: list[Step] = [Read(name) for name in known]
    return [
        *reads,
        *(Write(name, text) for name, text in files.items()),
        Run("python3 -c 'import links.service'"),
        Answer(reply),
    ]


SERVICE: dict[str, Part] = {"features": initialized, "tests_passing": coded}
