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
    "BuildChecked": "ecf4e79b2965",
    "Built": "63e60351b899",
    "Clarified": "5b734e2c79b9",
    "Coded": "8e159ac01494",
    "Critique": "5f9767d72da5",
    "Designed": "f4dcbd108a6b",
    "Developed": "9f4980e34aed",
    "Examined": "6e6711a3f7e9",
    "FeatureSpecified": "65404c6c434a",
    "Fixed": "1e36eb239063",
    "Fixes": "b985fc7db952",
    "Implemented": "0f0da942f221",
    "Initialized": "790b8e8a93d2",
    "PipelineReply": "3ed88ba8b24a",
    "ProposedPlan": "6b8b788cda10",
    "PullRequest": "5495fc4ea39c",
    "Researched": "254efaf32cb7",
    "Review": "c25b6364a150",
    "Reviewed": "82ee0ce81022",
    "Specified": "eaf239a72bd4",
    "TasksPlanned": "4916199486fe",
    "Tested": "08123d5a5338",
    "TicketImplemented": "a89118de88af",
    "TicketVerified": "5cb8e0ec57c9",
    "Validated": "ecd75964243c",
    "Verified": "e1b69fa838ad",
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
    assert (EDITION, {one.__name__: digest(reply_schema(one))[:12] for one in ours}) == (5, RECORDED)
