"""`backlog.md`: what a team has to do. The engine writes it for people, and parses it again with their edits."""

from collections.abc import Sequence

from trued.errors import BadInput
from trued.workflows.team.backlog.items import Backlog, written
from trued.workflows.team.backlog.reading import NAME, parse_backlog


def reopened(text: str, names: Sequence[str], file: str = NAME) -> str:
    """Reopen these tasks, stories and features in the text of the backlog. Of a story or a feature, the failed tasks
    are reopened. The feature is in progress again, and its UAT is pending. Raises BadInput for an unknown id, or for a
    file that cannot be parsed."""
    backlog = parse_backlog(text, file)
    for name in names:
        if not backlog.holds(name):
            known = ", ".join(other.id for other in backlog.features)
            raise BadInput(f"the backlog has no task, story or feature {name!r}", file, f"its features are {known}")
        feature = backlog.feature(name)
        criteria = [
            task.id
            for story in feature.stories
            for task in story.tasks
            if task.id == name or (name in (story.id, feature.id) and task.state == "failed")
        ]
        for task in criteria:
            backlog = backlog.with_task(task, state="open", attempts=0)
        backlog = backlog.with_feature(feature.id, status="in_progress", uat="pending")
    return render(backlog)


def render(backlog: Backlog) -> str:
    """The text of the whole file."""
    text = written(backlog)
    parts = [text, *(feature.text for feature in backlog.features)]
    return "".join(
        part if part.endswith("\n") or position == len(parts) - 1 or not part else f"{part}\n"
        for position, part in enumerate(parts)
    )
