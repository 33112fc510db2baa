"""Installs and removes a gate, amends its contract, and records attestations."""

import time
from collections.abc import Iterable
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path

from trued.engine.worktree import Checkout
from trued.errors import BadInput, TruedError
from trued.gate import claude
from trued.gate import git_hook as prepush
from trued.gate import github_ci as github
from trued.gate.judge import Bar, Judge, seal
from trued.gate.state import Amendment, Attested, Gate, Installed, Keep, inside, refuse_inside, terms_of
from trued.inputs.requirements.file import load_requirements
from trued.model import Approval, Contract, Grade
from trued.proof.contract import contract_hash
from trued.protocols import Tell

PLACES = ("claude", "git", "github")


@dataclass(frozen=True, slots=True)
class Wanted:
    """Options given on the command line; None leaves the present value."""

    requirements: Path | None = None
    base: str | None = None
    accept: Grade | None = None
    attempts: int | None = None
    within_s: float | None = None

    def settings(self) -> dict[str, object]:
        given = {"accept": self.accept, "attempts": self.attempts, "within_s": self.within_s}
        return {name: value for name, value in given.items() if value is not None}


@dataclass(frozen=True, slots=True)
class Grounds:
    """A repository with a gate: its checkout, the gate's store, and how hooks call trued there."""

    checkout: Checkout
    keep: Keep
    command: str  # starts this program; quoted for a shell
    sandbox: str = "auto"
    allow_unsandboxed: bool = False

    def bar(self, accept: Grade) -> Bar:
        return Bar(accept, self.sandbox, self.allow_unsandboxed)

    def judge(self, gate: Gate, tell: Tell) -> Judge:
        return Judge(self.checkout, self.keep, gate, self.bar(gate.accept), tell)


async def install(grounds: Grounds, places: Iterable[str], wanted: Wanted, *, tell: Tell) -> Gate:
    """Seal the contract if there is none, and install the gate in `places`.

    Raises BadInput, before anything is written, if a different contract is already sealed.
    """
    refuse_inside(grounds.keep.home, grounds.checkout.root)
    gate, contract, text = grounds.keep.gate(), None, b""
    if gate is None:
        gate, contract, text = await _sealed(grounds, wanted, None, tell)
    elif _differs(grounds, gate, wanted):
        raise BadInput(
            "another contract is already sealed here", then="change it with `trued gate amend`, or remove the gate"
        )
    for place in places:
        gate = gate.model_copy(update={"installed": {**gate.installed, place: _installed(grounds, gate, place)}})
        grounds.keep.write(gate, contract, text)
        contract = None
    grounds.keep.record("installed", places=list(places), contract=gate.contract, base=gate.base)
    return gate


def remove(grounds: Grounds, places: Iterable[str]) -> list[str]:
    """Remove the gate from `places`, and the contract with the last one. Returns the places it was installed in."""
    gate = grounds.keep.gate()
    if gate is None:
        return []
    installed = dict(gate.installed)
    gone = [place for place in places if place in installed]
    for place in gone:
        {"claude": claude.remove, "git": prepush.remove, "github": github.remove}[place](installed.pop(place))
        grounds.keep.write(gate.model_copy(update={"installed": dict(installed)}))
    if gone:
        grounds.keep.record("removed", places=gone)
    if not installed:
        grounds.keep.forget()
    return gone


async def amend(grounds: Grounds, wanted: Wanted, *, who: str, why: str, tell: Tell) -> Gate:
    """Change the contract or the settings, record who and why, and write the installed files again."""
    gate = _standing(grounds)
    before = gate
    changed = gate.model_copy(update=wanted.settings())
    contract, text = None, b""
    if wanted.requirements or wanted.base is not None or not _readable(grounds, gate):
        changed, contract, text = await _sealed(grounds, wanted, changed, tell)
    what = _what(before, changed)
    note = Amendment(who=who, why=why, at=time.time(), what=what, contract=changed.contract)
    changed = changed.model_copy(update={"amendments": (*gate.amendments, note)})
    places = {place: _installed(grounds, changed, place) for place in changed.installed}
    changed = changed.model_copy(update={"installed": places})
    grounds.keep.write(changed, contract, text)
    grounds.keep.record("amended", who=who, why=why, changed=what, contract=changed.contract)
    return changed


async def attest(grounds: Grounds, requirement: str, *, who: str, why: str, tell: Tell) -> Gate:
    """Record that a person accepts one requirement of the work as it is now."""
    gate = _standing(grounds)
    known = [one.id for one in grounds.keep.contract(gate).requirements]
    if requirement not in known:
        raise BadInput(f"there is no requirement {requirement!r}", then=f"known: {', '.join(known)}")
    found = await grounds.judge(gate, tell).now()
    if any(one.id == requirement and one.grade is Grade.REFUTED for one in found.verdict.requirements):
        raise BadInput(f"a check refutes {requirement}", then="fix the work, or amend the contract")
    word = Approval(requirement=requirement, who=who, why=why, at=time.time(), contract=gate.contract)
    gate = gate.model_copy(update={"attested": (*gate.attested, Attested(tree=found.tree, approval=word))})
    grounds.keep.write(gate)
    grounds.keep.record("attested", requirement=requirement, who=who, why=why, tree=found.tree)
    return gate


def troubles(gate: Gate) -> list[str]:
    """What was changed in the installed files since, one sentence each."""
    looks = {"claude": claude.trouble, "git": prepush.trouble, "github": github.trouble}
    found = []
    for place, installed in gate.installed.items():
        try:
            found.append(looks[place](installed))
        except TruedError as error:
            found.append(str(error))
    return [one for one in found if one]


# -- the contract ------------------------------------------------------------------------------------------------------


async def _sealed(grounds: Grounds, wanted: Wanted, gate: Gate | None, tell: Tell) -> tuple[Gate, Contract, bytes]:
    checkout = grounds.checkout
    file = wanted.requirements or (Path(gate.requirements_file) if gate else None)
    if file is None or not file.is_file():
        what = f"there is no file {file}" if file else "no requirements are given"
        raise BadInput(what, then="pass --requirements FILE")
    base = _base(checkout, wanted, gate)
    fresh = gate or Gate(repository=str(checkout.common), root=str(checkout.root), base=base).model_copy(
        update=wanted.settings()
    )
    text, asked = file.read_bytes(), load_requirements(file)
    contract = await seal(checkout, file, base, keep=grounds.keep, bar=grounds.bar(fresh.accept), tell=tell)
    update = {
        "base": base,
        "requirements_file": str(file.resolve()),
        "terms": terms_of(asked),
        "contract": contract_hash(contract),
        "sealed_at": time.time(),
    }
    return fresh.model_copy(update=update), contract, text


def _base(checkout: Checkout, wanted: Wanted, gate: Gate | None) -> str:
    if wanted.base is None:
        return gate.base if gate else checkout.start()
    found = checkout.commit(wanted.base)
    if not found:
        raise BadInput(
            f"{checkout.root} has no commit {wanted.base!a}", then="pass the commit that the work starts from"
        )
    return found


def _differs(grounds: Grounds, gate: Gate, wanted: Wanted) -> bool:
    """Whether these options ask for something other than the sealed contract and settings."""
    if wanted.base is not None and grounds.checkout.commit(wanted.base) != gate.base:
        return True
    if wanted.requirements and wanted.requirements.is_file():
        copy = grounds.keep.folder / "requirements"
        if not copy.is_file() or copy.read_bytes() != wanted.requirements.read_bytes():
            return True
    return any(getattr(gate, name) != value for name, value in wanted.settings().items())


def _standing(grounds: Grounds) -> Gate:
    gate = grounds.keep.gate()
    if gate is None:
        raise BadInput("no gate is installed here", then="`trued gate install claude --requirements FILE`")
    return gate


def _readable(grounds: Grounds, gate: Gate) -> bool:
    try:
        grounds.keep.contract(gate)
    except TruedError:
        return False
    return True


def _what(before: Gate, after: Gate) -> str:
    names = ("terms", "base", "accept", "attempts", "within_s")
    parts = [
        f"{name} {str(getattr(before, name))[:12]} → {str(getattr(after, name))[:12]}"
        for name in names
        if getattr(before, name) != getattr(after, name)
    ]
    return "; ".join(parts) or "sealed again"


# -- the places --------------------------------------------------------------------------------------------------------


def _installed(grounds: Grounds, gate: Gate, place: str) -> Installed:
    known = gate.installed.get(place)
    root = grounds.checkout.root
    if known and place != "git":
        root = _root_of(known, claude.FILE if place == "claude" else github.FILE, root)
    if place == "claude":
        # a failure of ours exits with 1: Claude Code takes a 2 for a block, which the agent could not resolve
        return claude.install(root, f"{grounds.command} {claude.OURS} || exit 1", gate.within_s, known)
    if place == "git":
        return prepush.install(grounds.checkout.hooks, f"{grounds.command} {prepush.OURS}", known)
    file = Path(gate.requirements_file)
    named = file.relative_to(root).as_posix() if inside(file, root) and file.is_relative_to(root) else ""
    content = github.workflow(
        version=version("trued"),
        accept=str(gate.accept),
        terms=gate.terms,
        requirements=named,
        within_s=gate.within_s,
    )
    return github.install(root, content, known)


def _root_of(installed: Installed, name: str, otherwise: Path) -> Path:
    """The worktree in which it was installed before: a repository may have several."""
    path = Path(installed.path)
    top = path.parents[len(Path(name).parts) - 1]
    return top if top / name == path and top.is_dir() else otherwise
