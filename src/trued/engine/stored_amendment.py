"""Amendment: a person's change of a sealed contract, as the journal keeps it."""

from trued.model import Contract, Value, Verdict


class Amendment(Value):
    """A person's change of a sealed contract, as the journal keeps it."""

    who: str
    why: str
    what: tuple[str, ...]
    before: tuple[str, ...]  # keys of the steps that were taken under the earlier contract
    contract: Contract  # in force from here on
    verdict: Verdict | None = None  # if the run had ended: the same commit, judged by the new contract
