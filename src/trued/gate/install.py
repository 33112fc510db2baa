"""Installs and removes a gate, amends its contract, and records attestations."""

import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path

from trued.engine.worktree import Checkout
from trued.errors import BadInput, TruedError
from trued.gate import claude, git_hook, github_ci
from trued.gate.judge import Judge, Strictness, seal
from trued.gate.package_source import package_source
from trued.gate.state import (
    Attestation,
    Gate,
    GateAmendment,
    GateStore,
    InstalledFile,
    check_outside,
    is_inside,
    terms_hash,
)
from trued.inputs.project.kind import files_to_read, project_kind
from trued.inputs.requirements.file import load_requirements
from trued.model import Approval, Contract, Grade
from trued.proof.hashes import contract_hash
from trued.protocols import Emit

PLACES = ("claude", "git", "github")


@dataclass(frozen=True, slots=True)
class GateOptions:
    """The options of `trued gate install` and `amend`; None keeps the current value."""

    requirements: Path | None = None
    base: str | None = None
    accept: Grade | None = None
    attempts: int | None = None
    within_s: float | None = None
    shared: bool = False  # install in the shared settings of Claude Code, not in the user's own
    source: str = ""  # what pip installs in CI; "": the gate's source or, if it has none, this installation's

    def settings(self) -> dict[str, object]:
        chosen = {"accept": self.accept, "attempts": self.attempts, "within_s": self.within_s}
        return {name: value for name, value in chosen.items() if value is not None}


@dataclass(frozen=True, slots=True)
class GateSite:
    """A repository with a gate: its checkout, the gate's store, and how hooks call trued there."""

    checkout: Checkout
    store: GateStore
    command: str  # the command that starts trued, quoted for a shell
    sandbox: str = "auto"
    allow_unsandboxed: bool = False

    def strictness(self, accept: Grade) -> Strictness:
        return Strictness(accept, self.sandbox, self.allow_unsandboxed)

    def judge(self, gate: Gate, emit: Emit) -> Judge:
        return Judge(self.checkout, self.store, gate, self.strictness(gate.accept), emit)


async def install_gate(site: GateSite, places: Iterable[str], options: GateOptions, *, emit: Emit) -> Gate:
    """Seal the contract if there is none, and install the gate in `places`.

    Raises BadInput, before anything is written, if a different contract is already sealed.
    """
    check_outside(site.store.home, site.checkout.root)
    places = list(places)
    gate, contract, text = site.store.gate(), None, b""
    package = options.source or (gate.package if gate else "")
    if "github" in places:
        package = package_source(package, site.checkout.root)
    if gate is None:
        gate, contract, text = await _seal_contract(site, options, None, emit)
    elif _is_different(site, gate, options):
        raise BadInput(
            "another contract is already sealed here", then="change it with `trued gate amend`, or remove the gate"
        )
    gate = gate.model_copy(update={"package": package or gate.package})
    for place in _in_order(places):
        installed = {**gate.installed, place: _install_in(site, gate, place, options)}
        gate = gate.model_copy(update={"installed": installed})
        site.store.save(gate, contract, text)
        contract = None
    site.store.record("installed", places=list(places), contract=gate.contract, base=gate.base)
    return gate


def remove_gate(site: GateSite, places: Iterable[str]) -> list[str]:
    """Remove the gate from `places`, and the contract when no place is left. Returns the places from which the gate was
    removed."""
    gate = site.store.gate()
    if gate is None:
        return []
    installed = dict(gate.installed)
    gone = [place for place in places if place in installed]
    for place in gone:
        {"claude": claude.remove, "git": git_hook.remove, "github": github_ci.remove}[place](installed.pop(place))
        site.store.save(gate.model_copy(update={"installed": dict(installed)}))
    if gone:
        site.store.record("removed", places=gone)
    if not installed:
        site.store.remove()
    return gone


async def amend_contract(site: GateSite, options: GateOptions, *, who: str, why: str, emit: Emit) -> Gate:
    """Change the contract or the settings, record who and why, and write the installed files again."""
    gate = existing_gate(site)
    before = gate
    changed = gate.model_copy(update=options.settings())
    contract, text = None, b""
    if options.requirements or options.base is not None or not _has_contract(site, gate):
        changed, contract, text = await _seal_contract(site, options, changed, emit)
    what = _describe_changes(before, changed)
    note = GateAmendment(who=who, why=why, at=time.time(), what=what, contract=changed.contract)
    changed = changed.model_copy(update={"amendments": (*gate.amendments, note)})
    places = {place: _install_in(site, changed, place, options) for place in _in_order(changed.installed)}
    changed = changed.model_copy(update={"installed": places})
    site.store.save(changed, contract, text)
    site.store.record("amended", who=who, why=why, changed=what, contract=changed.contract)
    return changed


async def attest_requirement(site: GateSite, requirement: str, *, who: str, why: str, emit: Emit) -> Gate:
    """Record that a person accepts one requirement, for the working tree in its current state only. Raises BadInput if
    the requirement is unknown, or if a check refutes it."""
    gate = existing_gate(site)
    known = [contracted.id for contracted in site.store.contract(gate).requirements]
    if requirement not in known:
        raise BadInput(f"there is no requirement {requirement!r}", then=f"known: {', '.join(known)}")
    judged = await site.judge(gate, emit).judge_worktree()
    if any(
        judged_requirement.id == requirement and judged_requirement.grade is Grade.REFUTED
        for judged_requirement in judged.verdict.requirements
    ):
        raise BadInput(f"a check refutes {requirement}", then="fix the work, or amend the contract")
    approval = Approval(requirement=requirement, who=who, why=why, at=time.time(), contract=gate.contract)
    gate = gate.model_copy(update={"attested": (*gate.attested, Attestation(tree=judged.tree, approval=approval))})
    site.store.save(gate)
    site.store.record("attested", requirement=requirement, who=who, why=why, tree=judged.tree)
    return gate


def find_problems(site: GateSite, gate: Gate, places: Iterable[str] = PLACES) -> list[str]:
    """What is wrong with the files installed in `places` (changed since the installation, unreadable, or no longer
    used), one sentence each."""
    looks: dict[str, Callable[[InstalledFile], str]] = {
        "claude": claude.problem,
        "git": lambda installed: git_hook.problem(installed, site.checkout.hooks),
        "github": github_ci.problem,
    }
    problems = []
    for place, installed in gate.installed.items():
        if place not in places:
            continue
        try:
            problems.append(looks[place](installed))
        except TruedError as error:
            problems.append(str(error))
    return [problem for problem in problems if problem]


# -- the contract ------------------------------------------------------------------------------------------------------


async def _seal_contract(
    site: GateSite, options: GateOptions, gate: Gate | None, emit: Emit
) -> tuple[Gate, Contract, bytes]:
    checkout = site.checkout
    named = options.requirements or (Path(gate.requirements_file) if gate else None)
    file = named
    if gate and named and not options.requirements and not named.is_file():
        file = site.store.sealed_requirements(named.suffix)  # the user may move or delete the file
    if file is None or named is None or not file.is_file():
        what = f"there is no file {named}" if named else "no requirements are given"
        raise BadInput(what, then="pass --requirements FILE")
    base = _base(checkout, options, gate)
    fresh = gate or Gate(repository=str(checkout.common), root=str(checkout.root), base=base).model_copy(
        update=options.settings()
    )
    text, requirements = file.read_bytes(), load_requirements(file)
    strictness = site.strictness(fresh.accept)
    contract = await seal(checkout, file, base, named=named, store=site.store, strictness=strictness, emit=emit)
    update = {
        "base": base,
        "requirements_file": str(named.resolve()),
        "terms": terms_hash(requirements),
        "contract": contract_hash(contract),
        "sealed_at": time.time(),
    }
    return fresh.model_copy(update=update), contract, text


def _base(checkout: Checkout, options: GateOptions, gate: Gate | None) -> str:
    if options.base is None:
        if base := gate.base if gate else checkout.start():
            return base
        raise BadInput(
            f"the repository {checkout.root} has no commits yet",
            then="make a first commit: the gate judges what changes after it",
        )
    commit = checkout.named_commit(options.base)
    if not commit:
        raise BadInput(
            f"{checkout.root} has no commit {options.base!a}", then="pass the commit that the work starts from"
        )
    return commit


def _is_different(site: GateSite, gate: Gate, options: GateOptions) -> bool:
    """Whether these options ask for something other than the sealed contract and settings."""
    if options.base is not None and site.checkout.commit(options.base) != gate.base:
        return True
    if options.requirements and options.requirements.is_file():
        copy = site.store.folder / "requirements"
        if not copy.is_file() or copy.read_bytes() != options.requirements.read_bytes():
            return True
    return any(getattr(gate, name) != value for name, value in options.settings().items())


def existing_gate(site: GateSite) -> Gate:
    """The gate of this repository. Raises BadInput if there is none."""
    gate = site.store.gate()
    if gate is None:
        raise BadInput("no gate is installed here", then="install one: `trued gate install claude --requirements FILE`")
    return gate


def _has_contract(site: GateSite, gate: Gate) -> bool:
    try:
        site.store.contract(gate)
    except TruedError:
        return False
    return True


def _describe_changes(before: Gate, after: Gate) -> str:
    names = ("terms", "base", "accept", "attempts", "within_s")
    parts = [
        f"{name} {str(getattr(before, name))[:12]} → {str(getattr(after, name))[:12]}"
        for name in names
        if getattr(before, name) != getattr(after, name)
    ]
    return "; ".join(parts) or "sealed again"


def _in_order(places: Iterable[str]) -> list[str]:
    """The places in the order of their installation. GitHub comes first: if its workflow is refused, nothing has been
    written yet."""
    return sorted(places, key=lambda place: place != "github")


# -- the places --------------------------------------------------------------------------------------------------------


def _install_in(site: GateSite, gate: Gate, place: str, options: GateOptions) -> InstalledFile:
    known = gate.installed.get(place)
    root = site.checkout.root
    if known and place != "git":
        root = _root_of(known, claude.name(known) if place == "claude" else github_ci.FILE, root)
    if place == "claude":
        settings = claude.SHARED if options.shared else claude.name(known) if known else claude.LOCAL
        if known and claude.name(known) != settings:
            claude.remove(known)
            known = None
        # if trued itself fails, exit with 1: Claude Code treats 2 as a block, which the agent could not resolve
        return claude.install(root, f"{site.command} {claude.OURS} || exit 1", gate.within_s, known, file=settings)
    if place == "git":
        return git_hook.install(site.checkout.hooks, f"{site.command} {git_hook.OURS}", known)
    named = _name_inside(Path(gate.requirements_file), root)
    content = github_ci.workflow(
        source=package_source(options.source or gate.package, root),
        accept=str(gate.accept),
        terms=gate.terms,
        requirements=named,
        within_s=gate.within_s,
        node=_needs_node(site.checkout, gate.base),
    )
    return github_ci.install(root, content, known)


def github_steps(site: GateSite, gate: Gate) -> list[str]:
    """What a person has to do on GitHub before the installed workflow works."""
    file = gate.requirements_file
    return github_ci.to_do(file, in_repository=bool(_name_inside(Path(file), site.checkout.root)))


def _name_inside(file: Path, root: Path) -> str:
    """The file's path in the repository; "" if it is outside."""
    return file.relative_to(root).as_posix() if is_inside(file, root) and file.is_relative_to(root) else ""


def _needs_node(checkout: Checkout, base: str) -> bool:
    paths = checkout.paths(base)
    texts = {path: (checkout.read(base, path) or b"").decode(errors="replace") for path in files_to_read(paths)}
    return "Node" in project_kind(paths, texts.get).names


def _root_of(installed: InstalledFile, name: str, otherwise: Path) -> Path:
    """The worktree in which the file `name` is installed; `otherwise` if that worktree is gone. A repository may have
    several worktrees."""
    path = Path(installed.path)
    top = path.parents[len(Path(name).parts) - 1]
    return top if top / name == path and top.is_dir() else otherwise
