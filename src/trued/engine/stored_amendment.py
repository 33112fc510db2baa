"""Amendment: a person's change of a sealed contract, as the journal keeps it."""

from trued.model import Contract, Value, Verdict


class Amendment(Value):
    """A person's change of a sealed contract, as the journal keeps it."""

    who: str
    why: str
    what: tuple[str, ...]
    before: tuple[str, ...]  # keys of the steps that were taken under the earlier contract
    contract: Contract  # in force from here on
    verdict: Verdict | None = None  # by the new contract, on the commit of the final verdict, if there was one
