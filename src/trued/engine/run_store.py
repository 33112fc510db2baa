"""RunStore: everything stored about runs, read from the journal and the state folder. It starts and drives nothing.

Commands that only look at runs load nothing heavier than this module.
"""

import json
from collections import OrderedDict
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar

from trued.engine.journals.opening import open_journal
from trued.errors import BadInput
from trued.inputs.settings.folders import FILE, user_config
from trued.inputs.settings.hub import STORE_VARIABLE, VARIABLE, hub_address, store_address
from trued.model import Approval, Event, Grade, ProcessedDecisions, RunRecord
from trued.model.step_keys import (
    AMENDMENT,
    CONTRACTS,
    DECISIONS,
    FINISH,
    PROOF,
    is_amendment,
    is_contract,
    is_decision,
    is_final_verdict,
    is_task_verdict,
    step_name,
)
from trued.support.path_sets import paths_outside
from trued.support.redaction import SHORTEST, Redactor, secrets_in

if TYPE_CHECKING:  # contracts, verdicts and inputs are imported where they are read, because `ls` reads none
    from trued.engine.inputs import Inputs
    from trued.engine.stored_amendment import Amendment
    from trued.engine.stored_evidence import StoredEvidence
    from trued.engine.travel import Travel
    from trued.engine.verdict_so_far import VerdictSoFar
    from trued.model import Contract, Evidence, Verdict
    from trued.protocols import Journal, JournalStore
    from trued.workspace.git.hub_store import HubStore
    from trued.workspace.git.workspace import GitWorkspace

REGRADED = ("done", "not proven", "waiting", "unjudged")  # in these states a decision or amendment changes the grade
ESTIMATES = ("call_usd", "call_tokens", "ceiling")  # stored with the limits, although they limit nothing themselves
# for at most this many runs, contract and verdict so far are cached: a page reads them after every step of a run
KEPT = 8

EventListener: TypeAlias = Callable[[RunRecord, Event], None]


class RunStore:
    """All runs of one state folder, or of the hub that the user's settings name: records, inputs, events, contracts,
    verdicts, approvals, amendments.

    `listen` is called with every event that is written through this store. `read_only`: nothing is created or changed.
    `watches`: the caller reads the same runs again and again. To save memory, the evidence of contracts and of
    the newest verdicts is then parsed only when it is used (`StoredEvidence`).
    """

    def __init__(
        self,
        home: Path,
        environ: Mapping[str, str],
        *,
        listen: EventListener | None = None,
        read_only: bool = False,
        watches: bool = False,
        journal: "JournalStore | None" = None,
    ) -> None:
        """`journal`: an open journal to use; it is closed with this store."""
        self.home, self.environ, self.listen, self._watches = home, environ, listen, watches
        self.hub = hub_address(environ)  # "": the journal is in the state folder
        self.hub_store = store_address(environ) if self.hub else ""  # "": work stays on the machine where it began
        travels = bool(self.hub_store)
        self.journal: JournalStore = journal or open_journal(home, self.hub, travels=travels, read_only=read_only)
        self._travels: dict[str, Travel] = {}
        self._contracts = OrderedDict[str, "tuple[int, Contract]"]()  # run → hash of the contract's text, contract
        self._so_far = OrderedDict[str, "VerdictSoFar"]()

    def __enter__(self) -> "RunStore":
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.close()

    def close(self) -> None:
        self.journal.close()

    # -- a run and its places ------------------------------------------------------------------------------------------

    def folder(self, run_id: str) -> Path:
        """The run's private folder; it may not exist yet."""
        return self.home / "runs" / run_id

    def inputs(self, run_id: str) -> "Inputs":
        from trued.engine.inputs import Inputs

        return Inputs.model_validate_json(self.journal.inputs(run_id))

    def stored_inputs(self, run_id: str) -> dict[str, Any]:
        """The inputs as JSON, without validation, which would take longer than the rest of a short command. The key
        `settings` is always there, perhaps with an empty value."""
        found: dict[str, Any] = json.loads(self.journal.inputs(run_id) or "{}")
        return {**found, "settings": found.get("settings", {})}

    def has_limits(self, run_id: str) -> bool:
        """Whether the run was started with a limit, or people changed its limits since."""
        given = self.stored_inputs(run_id)["settings"].get("limits", {})
        limits = [value for name, value in given.items() if name not in ESTIMATES]
        return any(map(_is_set, limits)) or bool(self.journal.limit_changes(run_id))

    def accepted(self, run_id: str) -> Grade:
        """The lowest grade with which a requirement of this run counts as met."""
        return Grade(self.stored_inputs(run_id)["settings"].get("accept", Grade.ATTESTED))

    def writer(self, record: RunRecord) -> "Journal":
        """The run's journal, to write to. If the hub has a store for work, new work is sent there before a step is
        recorded."""
        journal = self.journal.of(record.id, partial(self.listen, record) if self.listen else None)
        if not (travel := self.travel(record)):
            return journal
        from trued.engine.travel import TravellingJournal

        return TravellingJournal.of(journal, travel)

    def travel(self, record: RunRecord) -> "Travel | None":
        """The object that moves the run's work between machines; None if the hub has no store for work. Raises BadInput
        if the address of this store is invalid."""
        if not self.hub_store:
            return None
        if record.id not in self._travels:
            from trued.engine.travel import Travel

            self._travels[record.id] = Travel(self.open_hub_store(), self.journal, record, self.home, self.environ)
        return self._travels[record.id]

    def open_hub_store(self) -> "HubStore":
        """The hub's store for work, through which work moves between machines. Raises BadInput if its address is
        invalid."""
        from trued.workspace.git.hub_store import HubStore  # imported here, because few users have a store

        return HubStore(self.hub_store, self.environ)

    def workspace(self, record: RunRecord, inputs: "Inputs") -> "GitWorkspace":
        """The run's git workspace, with the limits on what its agents may read and reach."""
        from trued.wire import Confinement  # imported here, because most commands touch no files of a run
        from trued.workspace.git.workspace import GitWorkspace

        pictures = [
            picture for picture in (inputs.ticket.pictures if inputs.ticket else ()) if Path(picture).is_absolute()
        ]
        travel = self.travel(record)
        here = (travel.hub.folder,) if travel else ()
        hidden = [str(path) for path in (*inputs.held_out_paths(), *here)]
        confinement = Confinement(
            level=travel.level(inputs) if travel else inputs.level,
            readable=(*inputs.settings.readable, *pictures),
            network=inputs.settings.network,
            hidden=tuple(hidden),
        )
        workspace = GitWorkspace(Path(record.repository), self.home, record.id, record.branch, record.base, confinement)
        workspace.start, workspace.author = inputs.start or record.base, inputs.author
        workspace.kept = workspace.environments = self.home
        if travel:
            workspace.store.travel, workspace.publishes = travel, travel.is_origin
        return workspace

    def secret_values(self, inputs: "Inputs") -> dict[str, str]:
        """Name → value of every secret that must not appear in anything stored."""
        settings = inputs.settings
        names = (*settings.variables, settings.forge.token_env, settings.tickets.token_env)
        given = {name: self.environ[name] for name in names if name in self.environ}
        password = self.journal.password()
        opens = {VARIABLE: password} if len(password) >= SHORTEST else {}
        return {**secrets_in(self.environ), **given, **opens, **self._store_password()}

    def _store_password(self) -> dict[str, str]:
        password = self.open_hub_store().password if self.hub_store else ""
        return {STORE_VARIABLE: password} if len(password) >= SHORTEST else {}

    def private_files(self) -> tuple[Path, ...]:
        """Files that give access to the journal or to the hub's store: no agent may see them."""
        named = self.hub and (VARIABLE not in self.environ or (self.hub_store and STORE_VARIABLE not in self.environ))
        own = ((user_config(self.environ) / FILE),) if named else ()
        reach = self.open_hub_store().private_files() if self.hub_store else ()
        return (*self.journal.private_files(), *own, *reach)

    def redact(self, inputs: "Inputs") -> Callable[[Any], Any]:
        """A function that removes the secrets from a string, or from the strings in a list or dict."""
        return Redactor(self.secret_values(inputs)).within

    # -- contract and verdicts -----------------------------------------------------------------------------------------

    def contract(self, run_id: str) -> "Contract | None":
        """The contract in force: the sealed contract, with later amendments and replaced cases. None if no contract is
        sealed yet."""
        keys = [key for key, _, _ in self.journal.steps(run_id, *CONTRACTS) if is_contract(key)]
        found = self.journal.step(run_id, keys[-1]) if keys else None
        if not found:
            return None
        known, kept = self._contracts.get(run_id, (0, None))
        if kept is None or known != hash(found):
            kept = self._read_contract(keys[-1], found)
            _keep(self._contracts, run_id, (hash(found), kept))
        return kept

    def sealed_contract(self, run_id: str) -> "Contract":
        """The contract in force. Raises BadInput if no contract is sealed yet."""
        if (contract := self.contract(run_id)) is None:
            raise BadInput(f"run {run_id} has no contract yet", then=f"`trued resume {run_id}` seals one")
        return contract

    def _read_contract(self, key: str, found: str) -> "Contract":
        from trued.engine.stored_amendment import Amendment
        from trued.model import Contract

        text, facts = self._parted(found, *(["contract"] if is_amendment(key) else []), "base_facts")
        read = Amendment.model_validate_json(text).contract if is_amendment(key) else Contract.model_validate_json(text)
        return read if facts is None else read.model_copy(update={"base_facts": facts})

    def _parted(self, text: str, *place: str) -> "tuple[str, StoredEvidence | None]":
        """Split a step's result into the JSON without the evidence at `place`, and that evidence. If `watches` is
        false, return the whole text and None."""
        from trued.engine.stored_evidence import StoredEvidence

        return StoredEvidence.taken_out_of(text, *place) if self._watches else (text, None)

    def amendments(self, run_id: str) -> "list[Amendment]":
        """Every amendment of the contract, oldest first."""
        from trued.engine.stored_amendment import Amendment

        keys = [key for key, _, _ in self.journal.steps(run_id, AMENDMENT) if is_amendment(key)]
        return [Amendment.model_validate_json(self.journal.step(run_id, key) or "") for key in keys]

    def verdict(self, run_id: str) -> "Verdict | None":
        """The verdict on the finished work, with approvals applied. Until the work is finished, this verdict has the
        newest judgement of each requirement. None if nothing has been judged."""
        from trued.proof.verdict.conclusion import apply_approvals

        last = self.final_verdict(run_id) or self._verdict_so_far(run_id)
        return apply_approvals(last, self.approvals(run_id)) if last else None

    def final_verdict(self, run_id: str) -> "Verdict | None":
        """The newest verdict on the finished work, without approvals: from the step `finish`, or from an amendment that
        judged the work again. None if the run has never finished."""
        for key, _, _ in reversed(self.journal.steps(run_id, FINISH, AMENDMENT)):
            found = self.journal.step(run_id, key) if is_final_verdict(key) or is_amendment(key) else None
            verdict = self._read_verdict(key, found) if found else None
            if verdict:
                return verdict
        return None

    def _read_verdict(self, key: str, found: str) -> "Verdict | None":
        """The verdict in the result of a final step or an amendment; None if the amendment judged nothing."""
        from trued.engine.stored_amendment import Amendment
        from trued.model import Verdict

        text, facts = self._parted(found, *(["verdict"] if is_amendment(key) else []), "evidence")
        read = Amendment.model_validate_json(text).verdict if is_amendment(key) else Verdict.model_validate_json(text)
        return read if facts is None or read is None else read.model_copy(update={"evidence": facts})

    def task_verdicts(self, run_id: str) -> "list[Verdict]":
        """Verdicts on single tasks, oldest first."""
        return self._task_verdicts(run_id, [key for key, _, _ in self.journal.steps(run_id, PROOF)])

    def task_verdicts_since_finish(self, run_id: str) -> "list[Verdict]":
        """Verdicts on single tasks since the run last finished, oldest first. All of them if it has never finished."""
        keys = [key for key, _, _ in self.journal.steps(run_id, PROOF, FINISH)]
        finished = [number for number, key in enumerate(keys, 1) if is_final_verdict(key)]
        return self._task_verdicts(run_id, keys[finished[-1] :] if finished else keys)

    def is_halted_at_work(self, run_id: str) -> bool:
        """Whether the run finished, continued to work, and halted before it finished again, for example at an agent's
        question. If so, an agent has replied since the final verdict, and its reply may contain objections."""
        from trued.model.events.call import CallAnswered
        from trued.model.events.proof import VerdictReached
        from trued.model.events.run import RunEnded

        finished = answered = 0
        halted = False
        for event in self.journal.events_of_kind(
            run_id, VerdictReached.KIND, CallAnswered.KIND, RunEnded.KIND, lean=True
        ):
            if event.kind == VerdictReached.KIND and event.key == step_name(FINISH):
                finished = event.id
            elif event.kind == CallAnswered.KIND:
                answered = event.id
            elif ended := RunEnded.read(event):
                halted = ended.halted
        return halted and answered > finished > 0

    def _task_verdicts(self, run_id: str, keys: list[str]) -> "list[Verdict]":
        from trued.model import Verdict

        found = [self.journal.step(run_id, key) or "" for key in keys if is_task_verdict(key)]
        return [Verdict.model_validate_json(verdict) for verdict in found]

    def evidence(self, run_id: str) -> "tuple[Evidence, ...]":
        """The evidence of all verdicts of the run, oldest first, each piece once. The verdicts on single tasks come
        before the verdicts on the finished work."""
        keys = [key for key, _, _ in self.journal.steps(run_id, FINISH, AMENDMENT)]
        found = [(key, self.journal.step(run_id, key)) for key in keys if is_final_verdict(key) or is_amendment(key)]
        whole = [self._read_verdict(key, text) for key, text in found if text]
        verdicts = [*self.task_verdicts(run_id), *filter(None, whole)]
        return tuple({fact.id: fact for verdict in verdicts for fact in verdict.evidence}.values())

    def latest_verdicts(self, run_id: str) -> "dict[str, Verdict]":
        """Requirement → the verdict that counts for it: the final verdict or, if there is none, the newest verdict on a
        task that judged this requirement."""
        if final := self.final_verdict(run_id):
            return {requirement.id: final for requirement in final.requirements}
        return {
            requirement.id: verdict for verdict in self.task_verdicts(run_id) for requirement in verdict.requirements
        }

    def _verdict_so_far(self, run_id: str) -> "Verdict | None":
        """The newest verdict on each requirement, as one verdict; None until the first task is judged."""
        from trued.engine.verdict_so_far import VerdictSoFar

        found = self._so_far.get(run_id) or _keep(self._so_far, run_id, VerdictSoFar())
        for number, key, _, value in self.journal.steps_after(run_id, found.last, PROOF):
            if is_task_verdict(key):
                found.add(number, value)
        return found.stored_verdict if self._watches else found.verdict

    def owned_files(self, run_id: str) -> tuple[str, ...]:
        """Files that the engine writes, and that are no part of the run's work."""
        from trued.workflows.registry import descriptor

        final, inputs = self.final_verdict(run_id), self.inputs(run_id)
        if final and final.owned:
            return final.owned
        return descriptor(inputs.settings.workflow).owned_files(inputs.settings, inputs.goal)

    # -- approvals -----------------------------------------------------------------------------------------------------

    def approvals(self, run_id: str) -> list[Approval]:
        """Approvals and rejections. An approval of the whole contract is left out if the contract has changed since. If
        a decision no longer applies to the work that was judged last, its `stale` says why."""
        given = self.journal.approvals(run_id)
        contract = self.contract(run_id) if given else None
        if contract is None:
            return given
        from trued.proof.hashes import contract_hash
        from trued.run.approvals import ChangesSince, asked_of, current_decisions, head_by_decision

        name = contract_hash(contract)
        given = [approval for approval in given if not approval.is_of_contract or approval.contract in ("", name)]
        latest = self.latest_verdicts(run_id)
        at = {name: verdict.commit for name, verdict in latest.items()}
        owned = {path for verdict in latest.values() for path in verdict.owned}
        record = self.journal.run(run_id)

        def compare(before: str, after: str) -> ChangesSince:
            from trued.workspace.git.changes_since import changes_since

            found = changes_since(Path(record.repository), self.home, run_id, before, after)
            return ChangesSince(paths_outside(found[1], owned), found[0]) if found else ChangesSince(known=False)

        asked = {requirement.id: asked_of(requirement) for requirement in contract.requirements}
        return current_decisions(given, at, head_by_decision(self._processed_decisions(run_id)), compare, asked)

    def unprocessed_approvals(self, run_id: str) -> list[Approval]:
        """Approvals and rejections that the run's workflow still has to process, under the contract in force."""
        given = self.journal.approvals(run_id)
        contract = self.contract(run_id) if given else None
        if contract is None:
            return []
        from trued.run.approvals import unprocessed_decisions

        asked = {requirement.id for requirement in contract.requirements}
        every = records_approvals(self.journal.run(run_id))
        return unprocessed_decisions(given, self._processed_decisions(run_id), asked, every=every)

    def _processed_decisions(self, run_id: str) -> list[ProcessedDecisions]:
        """The decisions that the run's workflow has processed so far."""
        keys = [key for key, _, _ in self.journal.steps(run_id, *DECISIONS) if is_decision(key)]
        return [ProcessedDecisions.model_validate_json(self.journal.step(run_id, key) or "") for key in keys]


Key = TypeVar("Key")
Kept = TypeVar("Kept")


def _is_set(limit: Any) -> bool:
    """Whether a stored limit is set, that is, not 0; for a dict of limits, whether one of them is set."""
    return any(map(_is_set, limit.values())) if isinstance(limit, dict) else bool(limit)


def _keep(kept: OrderedDict[Key, Kept], key: Key, value: Kept) -> Kept:
    """Cache the value; drop the oldest if there are more than KEPT."""
    kept[key] = value
    while len(kept) > KEPT:
        kept.popitem(last=False)
    return value


def records_approvals(record: RunRecord) -> bool:
    """Whether the run's workflow writes approvals on its branch."""
    from trued.workflows.registry import find_descriptor  # imported here, because few commands need it

    workflow = find_descriptor(record.workflow)
    return workflow is not None and workflow.records_approvals
