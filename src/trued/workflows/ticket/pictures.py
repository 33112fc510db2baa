"""Pictures that agents leave in their clones, kept for people and for the agent that fixes what they show."""

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import PurePosixPath
from typing import Any

from trued.errors import StateFailed
from trued.run.agent_call import Equipment
from trued.run.run import Run
from trued.run.session import Session
from trued.support.hashing import digest
from trued.workflows.ticket.events import PicturesClaimed
from trued.workflows.ticket.issues import Issue

MOST_PICTURES, PICTURE_BYTES = 20, 5 * 2**20
MAGIC = (b"\x89PNG\r\n\x1a\n", b"\xff\xd8\xff")  # PNG and JPEG


async def keep_pictures(run: Run, session: Session[Any], names: Iterable[str]) -> dict[str, str]:
    """Keep the pictures that an agent left in its clone, for people and the next agent to see; no verdict depends on
    them. Returns name → artifact."""
    wanted = list(dict.fromkeys(filter(None, names)))[:MOST_PICTURES]
    if not wanted:
        return {}

    async def step() -> str:
        artifacts = dict(await _pictures(run, session, wanted))
        missing = tuple(run.context.redact([name for name in wanted if name not in artifacts]))
        claimed = PicturesClaimed(role=session.role.name, pictures=run.context.redact(artifacts), missing=missing)
        run.steps.emit("pictures", claimed)
        return json.dumps(artifacts)

    artifacts: dict[str, str] = json.loads(
        await run.steps.once(run.steps.key("pictures"), digest(wanted), step) or "{}"
    )
    return artifacts


def pictures_of(issues: Iterable[Issue], artifacts: Mapping[str, str]) -> Equipment:
    """The pictures that issues name, for the agent that fixes the issues: agents' pictures and the engine's own."""
    named = [issue.screenshot for issue in issues if issue.screenshot]
    engine_pictures = {f"{name}.png": name for name in named if re.fullmatch(r"[0-9a-f]{64}", name)}
    return Equipment(pictures={**engine_pictures, **{name: artifacts[name] for name in named if name in artifacts}})


async def _pictures(run: Run, session: Session[Any], names: Sequence[str]) -> list[tuple[str, str]]:
    workspace, clone = run.context.workspace, session.last.clone if session.last else session.clone
    try:
        leftover = await workspace.commit_clone(
            clone, run.branch.head, author=session.role.name, message="pictures", when=run.branch.when
        )
    except StateFailed:  # the clone is gone: the engine had dropped it before it was killed
        return []
    pictures = []
    for name in names:
        path = str(PurePosixPath(name)).removeprefix("./")
        content = await workspace.read(leftover.commit, path) if not path.startswith(("/", "..")) else None
        if content and len(content) <= PICTURE_BYTES and content.startswith(MAGIC):
            pictures.append((name, await workspace.save_artifact(content)))
    return pictures
