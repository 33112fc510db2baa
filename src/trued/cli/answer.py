"""The command `answer`. It imports little, so that it is quick: a run may be waiting for the answer."""

from typing import Annotated

import typer
from rich.text import Text

from trued.cli.context import AsJson, open_store, selected_run
from trued.cli.terminal import hint, out, outside_agents, print_json, whoami
from trued.engine.approvals import answer_question
from trued.errors import BadInput
from trued.support.plain_text import plain

app = typer.Typer(rich_markup_mode=None)

Words = Annotated[
    list[str] | None,
    typer.Argument(
        metavar="[RUN] ANSWER", show_default=False, help="The run, and your answer: yes, stop, redo, or your own words."
    ),
]


@app.command()
def answer(
    arguments: Words = None,
    comment: Annotated[
        str, typer.Option("-m", "--comment", help="With redo: what to change.", show_default=False)
    ] = "",
    question: Annotated[
        str,
        typer.Option(
            metavar="KEY", help="If several questions are open: the question's key, or part of it.", show_default=False
        ),
    ] = "",
    as_json: AsJson = False,
) -> None:
    """Answer a run's question (yes, stop or redo), or an agent's question in your own words.

    The first answer counts. A run that asks at its own terminal continues at once; any other run needs `trued resume`.
    """
    outside_agents("answer")
    parts = arguments or []
    if not 1 <= len(parts) <= 2:
        raise BadInput(
            "the answer has to be one argument" if parts else "an answer is missing",
            then='use: trued answer RUN yes|stop|redo, or trued answer RUN "your own words"',
        )
    with open_store() as store:
        if len(parts) == 1 and any(run.id == parts[0] for run in store.journal.runs()):
            raise BadInput(f"{parts[0]} is a run, not an answer", then=f"trued answer {parts[0]} ANSWER")
        record = selected_run(store, parts[0] if len(parts) == 2 else None)
        answered = answer_question(store, record.id, parts[-1], comment=comment, who=whoami(), key=question)
        driven = bool(store.journal.driver(record.id))
    if as_json:
        print_json(answered.model_dump(mode="json"))
    else:
        out().print(Text(f"{record.id}: {plain(answered.key)}: {answered.answer}"), soft_wrap=True)
    hint(f"the run continues: trued watch {record.id}" if driven else f"continue with: trued resume {record.id}")
