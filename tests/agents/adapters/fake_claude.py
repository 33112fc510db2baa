#!/usr/bin/env python3
"""Plays Claude Code's command line for quick tests: with the same flags, events and sessions.

The brief says what it does, a JSON object after the word PLAY: {"reply": {…}} and more (see `main`). No model is used.
"""

import json
import os
import re
import subprocess
import sys
import time
from pathlib import Path
from typing import Any


def flag(name: str) -> str:
    return sys.argv[sys.argv.index(name) + 1] if name in sys.argv else ""


def tell(**event: Any) -> None:
    print(json.dumps({"session_id": flag("--session-id") or flag("--resume"), **event}), flush=True)


def main() -> int:
    if "--version" in sys.argv:
        print("2.1.197 (Claude Code)")
        return 0
    brief, session = sys.stdin.read(), flag("--session-id") or flag("--resume")
    place = Path.home() / ".claude" / "projects" / f"{session}.jsonl"
    if "--session-id" in sys.argv and place.exists():
        print(f"Error: Session ID {session} is already in use.", file=sys.stderr)
        return 1
    if "--resume" in sys.argv and not place.exists():
        print(f"No conversation found with session ID: {session}", file=sys.stderr)
        return 1
    place.parent.mkdir(parents=True, exist_ok=True)
    with place.open("a") as file:
        file.write(json.dumps({"brief": brief, "argv": sys.argv[1:], "environment": dict(os.environ)}) + "\n")
    turn = len(place.read_text().splitlines())
    tell(type="system", subtype="init", tools=flag("--tools").split(","))
    found = re.search(r"PLAY (\{.*\})", brief) or re.search(r"PLAY (\{.*\})", first(place))
    play = json.loads(found[1]) if found else {}
    return act(play.get(f"turn {turn}", play), turn)


def first(place: Path) -> str:
    return str(json.loads(place.read_text().splitlines()[0])["brief"])


def act(play: dict[str, Any], turn: int) -> int:
    for name, text in play.get("writes", {}).items():
        Path(name).write_text(text)
    usage = {"input_tokens": play.get("sent", 100), "output_tokens": 10}
    use = [{"type": "tool_use", "id": "t1", "name": play.get("tool", "Bash"), "input": {"command": "true"}}]
    tell(type="assistant", message={"id": f"m{turn}", "content": use, "usage": usage})
    if command := play.get("runs"):
        subprocess.run(command, shell=True, check=False)
    if play.get("sleeps"):
        time.sleep(play["sleeps"])
    tell(type="user", message={"content": [{"type": "tool_result", "tool_use_id": "t1"}]})
    if play.get("silent"):
        time.sleep(play["silent"])
    if play.get("retries"):
        tell(type="system", subtype="api_retry", error=play["retries"], error_status=play.get("status"), attempt=1)
        time.sleep(play.get("after", 0))
    if play.get("odd"):
        print(json.dumps({"type": "assistant", "message": 7}), flush=True)
        print("{ not JSON", flush=True)
    result: dict[str, Any] = {"type": "result", "subtype": "success", "is_error": False, "usage": usage, "result": ""}
    result |= {"total_cost_usd": play.get("cost", 0.01), "permission_denials": play.get("denials", [])}
    if error := play.get("error"):
        result |= {"is_error": True, "result": error, "api_error_status": play.get("status")}
    elif "text" in play:
        result["result"] = play["text"]
    elif "reply" in play:
        result["structured_output"] = play["reply"]
    if not play.get("never ends its turn"):
        tell(**result)
    return int(play.get("code", 1 if error else 0))


if __name__ == "__main__":
    sys.exit(main())
