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
    "Answers": "489e5e477445",
    "Breakdown": "95319c657040",
    "BuildChecked": "57a593ff88e3",
    "Built": "0f4685fb3974",
    "Clarified": "bf4a811a1c64",
    "Coded": "de6d2e67a3c2",
    "Critique": "c33d53e60e7b",
    "Designed": "9eed765fdfe5",
    "Developed": "9eb3feef9da1",
    "Examined": "a35867e2a10a",
    "FeatureSpecified": "3c3935217984",
    "Fixed": "2d81ffc49e46",
    "Fixes": "c3eb354461c1",
    "Implemented": "ca2d60dc5858",
    "Initialized": "1e7f6f847ede",
    "PipelineReply": "8564a0ad8ba8",
    "ProposedPlan": "2eb8d3293d51",
    "PullRequest": "f75fff1d9512",
    "Researched": "3afc16c6fbf9",
    "Review": "01892ac90571",
    "Reviewed": "0f508f753375",
    "Specified": "b033653b205a",
    "TasksPlanned": "a81a50f251df",
    "Tested": "0ff3bdd39759",
    "TicketImplemented": "d9788411d580",
    "TicketVerified": "33b72368e01c",
    "Validated": "1ee572ca57c4",
    "Verified": "fb6c21322114",
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
    assert (EDITION, {one.__name__: digest(reply_schema(one))[:12] for one in ours}) == (11, RECORDED)
