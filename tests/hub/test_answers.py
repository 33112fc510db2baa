"""Two people answer the same question on two machines at the same moment: one answer counts, and the other is told."""

import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import psycopg
import pytest

from tests.cli.bare_inputs import BARE_INPUTS
from tests.hub.conftest import Hub, record
from trued.engine.approvals import answer_question
from trued.engine.run_store import RunStore
from trued.errors import BadInput
from trued.model import Question

RUN, KEY = "r-asks", "chunk 1A/confirm#1"
SAID = {"ann": "yes", "bob": "redo"}


def _answer(hub: Hub, home: Path, who: str) -> Question | BadInput:
    """What this person's machine gets back."""
    with RunStore(home / who, {}, journal=hub.opened(who)) as store:
        try:
            return answer_question(store, RUN, SAID[who], comment=f"by {who}", who=who, key=KEY)
        except BadInput as refused:
            return refused


@pytest.mark.spec("RUN-8", "HUB-1")
def test_of_two_machines_that_answer_at_once_one_wins_and_the_other_learns_whose_answer_counts(
    hub: Hub, tmp_path: Path
) -> None:
    store = hub.opened()
    store.add(record(RUN), BARE_INPUTS)
    with store.claim(RUN):
        assert store.of(RUN).question(KEY, "Go on?", ["yes", "redo"]) is None
    waiting = "select count(*) from pg_stat_activity where wait_event_type = 'Lock' and application_name = 'trued'"
    with ThreadPoolExecutor(2) as machines:
        with psycopg.connect(hub.server.url) as holding:  # until both have read that the question is open
            holding.execute(f"select 1 from {hub.schema}.question where run = '{RUN}' for update")
            asked = {who: machines.submit(_answer, hub, tmp_path, who) for who in SAID}
            while hub.execute(waiting) != [(2,)] and not any(one.done() for one in asked.values()):
                time.sleep(0.01)
            assert not any(one.done() for one in asked.values())
        got = {who: one.result() for who, one in asked.items()}
    (winner,) = [who for who, one in got.items() if isinstance(one, Question)]
    (loser,) = SAID.keys() - {winner}
    assert f"{winner} has answered {KEY} already: {SAID[winner]} (by {winner})" in str(got[loser])
    (question,) = store.questions(RUN)
    assert (question.answer, question.comment, question.who) == (SAID[winner], f"by {winner}", winner)
    assert [one.data["who"] for one in store.events(RUN) if one.kind == "said"] == [winner]
