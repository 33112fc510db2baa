"""`backlog.md`: what a team has to do. The engine writes it for people, and parses it again with their edits."""

from collections.abc import Sequence

from trued.errors import BadInput
from trued.workflows.team.backlog.items import ARCHIVE, Backlog, written
from trued.workflows.team.backlog.reading import NAME, parse_backlog

LONG = 200  # a file with more tasks than this is too long to read


def archive(backlog: Backlog) -> str:
    """The archive file: the stories of archived features; "" if there are none."""
    away = [feature.whole_text for feature in backlog.features if feature.is_away]
    return "".join(("# Backlog, archived\n", *away)) if away else ""


def put_away(backlog: Backlog) -> Backlog:
    """The backlog, short enough for people to read. If it has more than LONG tasks, the stories of completed features
    are moved to the archive, one feature after the other, until it is short enough."""
    open_tasks = backlog.counts[2]
    if open_tasks <= LONG:
        return backlog
    features = list(backlog.features)
    for position, feature in enumerate(features):
        _, _, tasks, completed = feature.tally
        if completed:
            features[position] = feature.away
            open_tasks -= tasks
            if open_tasks <= LONG:
                break
    return backlog.model_copy(update={"features": tuple(features)})


def with_archive(backlog: Backlog, text: str) -> Backlog:
    """The backlog with the stories of archived features restored from the archive's text."""
    held = {feature.id: feature for feature in parse_backlog(text, ARCHIVE).features}
    for feature in backlog.features:
        if feature.archived and feature.id in held and not feature.stories:
            backlog = backlog.with_part(feature.changed(stories=held[feature.id].stories))
    return backlog


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
