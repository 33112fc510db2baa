"""Sealing: makes the contract of a plan before anybody works on it, as one durable step."""

from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from typing import TypeAlias

from trued.errors import Stopped
from trued.inputs.requirements.coverage import user_requirements, with_named_commands, with_visible_checks
from trued.inputs.tickets.plan import servable_requirements
from trued.model import Answer, Contract, MissingFromEnvironment, Plan, Requirement, Requirements
from trued.model.events.proof import ContractSealed
from trued.proof.advice import project_files
from trued.proof.hashes import contract_hash
from trued.proof.room.environment import declarations_of
from trued.proof.seal import SealTerms, seal
from trued.proof.verdict.missing import missing_on_base
from trued.protocols import Workspace
from trued.run.examination.admissibility import is_open
from trued.run.examination.existing_tests import with_existing_tests
from trued.run.examination.independence import authors_of
from trued.run.examination.no_cases import examine_before_work
from trued.run.examination.readability import check_held_out
from trued.run.examination.start_command import server_finder, with_server
from trued.run.steps import Steps
from trued.support.hashing import digest

Ask: TypeAlias = Callable[[str, str], Awaitable[Answer]]  # name and text of a question → what a person decides


async def seal_plan(steps: Steps, plan: Plan, ask: Ask | None = None) -> Contract:
    """The plan's contract: every requirement, with cases by an examiner if it has no check, and the result of every
    check on the base.

    `ask`: called if this machine lacks what checks need. It asks a person whether to continue. After "redo" the checks
    run on the base again; no agent is called again. Raises `Stopped` if the person stops.
    """
    context, emit = steps.context, steps.emitter("seal")
    asked, commands = await _asked_requirements(steps, plan)
    environment, named = asked.environment, commands if not plan.author else ()
    provable = bool(commands) or _has_proof(asked.requirements, plan.requirements)
    examination = await examine_before_work(steps.below("seal"), asked, provable=provable)
    planned, without_server = servable_requirements(plan.signed_requirements, examination.asked.serve)
    asked = with_visible_checks(examination.asked, (*named, *planned))
    authors = {**examination.authors, **authors_of(plan.requirements, plan.author)}
    inputs = digest(plan.model_dump(mode="json"), asked.model_dump(mode="json"), list(examination.undecided))

    async def step() -> Contract:
        checked, unserved = asked, ""
        if without_server:  # nobody named one: try the start commands that the base shows
            server = await server_finder(steps, environment)()
            if server.serve:
                with_all_pages = with_visible_checks(examination.asked, (*named, *plan.signed_requirements))
                checked = with_all_pages.model_copy(update={"serve": server.serve})
            else:
                unserved = server.why
        to_seal, guards = await with_existing_tests(context.workspace, checked)
        hidden, why = await check_held_out(context, examination.hides, examined=bool(examination.authors))
        terms = SealTerms(
            hidden,
            why,
            authors=authors,
            guards=guards,
            caps=examination.caps,
            undecided=(*examination.undecided, *(without_server if unserved else ()), *plan.undecided),
            unserved=unserved,
        )
        async with context.turn():
            contract = await seal(context.workspace, to_seal, terms, tell=emit)
        number, name = len(contract.requirements), contract_hash(contract)
        emit(ContractSealed(contract=name, requirements=number, held_out=hidden, why=why))
        return contract

    while True:
        contract = await steps.compute(Contract, steps.key("seal"), inputs, step)
        lacking = await _lacking(context.workspace, contract)
        answer = await ask("environment", _question(lacking)) if lacking and ask else Answer.GO_ON
        if answer is Answer.STOP:
            raise Stopped("this machine lacks what the checks need; nothing was spent on the work")
        if answer is Answer.GO_ON:
            break
    await examination.close()
    return contract


async def _asked_requirements(steps: Steps, plan: Plan) -> tuple[Requirements, tuple[Requirement, ...]]:
    """The requirements of the user and of the plan, with environment and server. Also those requirements that ask only
    that a command succeeds, each again with this command as its check, unless they come from the user's file."""
    context = steps.context
    user_plan = plan if plan.source.file or plan.requirements else None
    requirements = user_requirements(user_plan, context.goal, context.requirements)
    user_file = context.requirements or Requirements(requirements=())
    environment = user_file.environment.over(context.settings.environment)
    served = {"environment": environment, "serve": user_file.serve or context.settings.serve}
    asked = user_file.model_copy(update={"requirements": requirements, **served})
    if context.requirements and not asked.serve:  # find a missing server before any agent is paid
        asked = await with_server(asked, server_finder(steps, environment))
    users_own = {requirement.id for requirement in user_file.requirements}
    return asked, with_named_commands(requirement for requirement in requirements if requirement.id not in users_own)


def _has_proof(asked: Iterable[Requirement], planned: Iterable[Requirement]) -> bool:
    """Whether some requirement can be proven without an examiner: it has a check, or the base's own tools check it."""
    return any(requirement.checks for requirement in (*asked, *planned)) or any(
        not is_open(requirement) for requirement in asked if not requirement.parts
    )


async def _lacking(workspace: Workspace, contract: Contract) -> dict[str, list[MissingFromEnvironment]]:
    """Requirement → what this machine lacks to judge it."""
    declared = (await declarations_of(workspace, contract.base)).names
    files = await project_files(workspace, contract.base)
    lacks = missing_on_base(contract, declared).items()
    return {name: [files.advise(part) for part in parts] for name, parts in lacks}


def _question(lacking: Mapping[str, Sequence[MissingFromEnvironment]]) -> str:
    lines = [f"  {name}: {part}" for name, parts in lacking.items() for part in parts]
    many = "1 requirement cannot" if len(lacking) == 1 else f"{len(lacking)} requirements cannot"
    ways = "yes: continue, and leave them unjudged; redo: it is fixed, check again; stop: end the run here"
    return "\n".join([f"On this machine {many} be judged.", *lines, f"Continue anyway? ({ways})"])
