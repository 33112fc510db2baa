"""Reply schemas that got fields later: a run that began before still gets the schema without them, and resumes."""

import hashlib
import json

import pytest

from trued.run.context import EDITION
from trued.run.examination.replies import Answers, Examined
from trued.run.session import reply_schema

# hash of the schema before pages had actions, as journals of earlier runs have it
BEFORE_ACTIONS = "93820936b6333e6646e7b86886953d69c64c3d658a40b86594013e7282342abc"


@pytest.mark.spec("RUN-3", "DAY-3")
def test_the_examiners_schema_without_its_later_fields_is_the_one_that_older_runs_recorded() -> None:
    text = json.dumps(reply_schema(Examined, 1), indent=1, ensure_ascii=False)
    assert hashlib.sha256(text.encode()).hexdigest() == BEFORE_ACTIONS
    assert "actions" in json.dumps(reply_schema(Examined, EDITION))
    assert reply_schema(Answers, 1) == reply_schema(Answers, EDITION), "nothing was added to it"
