"""The schema of every reply, as runs of this edition have recorded it."""

import importlib
import pkgutil
from collections.abc import Iterator

import pytest

from trued import workflows
from trued.model import Reply
from trued.run import run
from trued.run.context import EDITION
from trued.run.session import reply_schema
from trued.support.hashing import digest

# The hash of a schema is an input of recorded steps. A schema contains the docstrings and descriptions of the reply and
# of the values in it (`Status`, `Source`, `Finding`, …). After a change, raise EDITION and write the new hashes here.
RECORDED = {
    "Answers": "8b37674d6da2",
    "Breakdown": "d6860c7878e6",
    "BuildChecked": "40963d19f165",
    "Built": "a9aa89e38494",
    "Clarified": "5b734e2c79b9",
    "Coded": "99c684e34c9a",
    "Critique": "9b51cd1fc258",
    "Designed": "b8dddcbbf74a",
    "Developed": "372f81ad9016",
    "Examined": "2612a9380e0b",
    "FeatureSpecified": "65404c6c434a",
    "Fixed": "1e36eb239063",
    "Fixes": "b985fc7db952",
    "Implemented": "9577c2ac1099",
    "Initialized": "790b8e8a93d2",
    "PipelineReply": "fc6dc8b59a44",
    "ProposedPlan": "6b8b788cda10",
    "PullRequest": "5495fc4ea39c",
    "Researched": "669a74528871",
    "Review": "511442aa656b",
    "Reviewed": "659623b978b8",
    "Specified": "bc6348a9c6bc",
    "TasksPlanned": "1926e550bbd2",
    "Tested": "38c9187d803a",
    "TicketImplemented": "a89118de88af",
    "TicketVerified": "e19c0ada8766",
    "Validated": "bc3306f6f2a1",
    "Verified": "392d1d8637e5",
}


def subclasses(of: type[Reply]) -> Iterator[type[Reply]]:
    for one in of.__subclasses__():
        yield from (one, *subclasses(one))


@pytest.mark.spec("RUN-3")
def test_no_schema_changes_within_an_edition() -> None:
    for module in pkgutil.walk_packages(workflows.__path__, f"{workflows.__name__}."):
        importlib.import_module(module.name)
    assert run.ProposedPlan in subclasses(Reply)
    ours = {one for one in subclasses(Reply) if one.__module__.startswith("trued.")}
    assert (EDITION, {one.__name__: digest(reply_schema(one))[:12] for one in ours}) == (6, RECORDED)
