"""Claims of an implementer: each claim that git refutes is a gap."""

import pytest

from trued.workflows.ticket.claims import ImplementerClaims, claim_mismatches


@pytest.mark.spec("TIC-2")
def test_each_claim_that_git_does_not_bear_out_is_a_gap_of_its_own() -> None:
    honest = ImplementerClaims(branch="fix/X-1", commit="abc", files=("./a.py",))
    assert claim_mismatches(honest, "fix/X-1", ["a.py"], known=True) == ()
    lying = ImplementerClaims(branch="main", commit="f00", files=("a.py", "b.py"))
    gaps = [gap.what for gap in claim_mismatches(lying, "fix/X-1", ["a.py", "c.py"], known=False)]
    assert gaps == [
        "the implementer names the branch main, but the work is on fix/X-1",
        "the implementer names the commit f00, which is not on fix/X-1",
        "changed but not named: c.py",
        "named but not changed: b.py",
    ]
