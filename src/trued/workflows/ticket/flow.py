"""Ticket: fresh agents implement, verify, fix and write the pull request; each knows only summaries of the others'
work."""

from trued.model import Goal, Outcome, Plan, Verdict
from trued.run.run import Run
from trued.workflows.ticket.claims import ImplementerClaims, check_claims
from trued.workflows.ticket.events import IssuesFixed, RoundVerified, RoundWithoutProgress
from trued.workflows.ticket.issues import (
    Issue,
    Summary,
    compare_issues,
    files_beyond,
    open_issues,
    rejection_issues,
)
from trued.workflows.ticket.pictures import keep_pictures, pictures_of
from trued.workflows.ticket.pull_request import grade_finding, offer, succeeded
from trued.workflows.ticket.replies import Fixed, PullRequest, TicketImplemented, TicketVerified
from trued.workflows.ticket.task import criteria_to_verify, ticket_of, ticket_task
from trued.workflows.ticket.verifier_preview import look_at_pushed, open_preview


async def ticket(run: Run, goal: Goal) -> Outcome:
    plan = await run.seal(await run.plan(goal))
    verdict = await run.prove(plan) if run.branch.is_continued else run.take_feedback(plan)
    story = [] if verdict.holds else [await implement(run, verdict)]
    rounds = await verify_in_rounds(run, plan, story)
    outcome, ends = await run.finish(plan), 1
    while rejected := rejection_issues(await run.people.decisions()):  # people's reasons are the next round's issues
        rounds = await verify_in_rounds(run, plan, story, rejected, rounds)
        outcome, ends = await run.finish(plan), ends + 1
    return await deliver(run.scope(f"pull request {ends}"), outcome, story)


async def implement(run: Run, verdict: Verdict) -> Summary:
    """Have a fresh agent implement the ticket. What it claims about its work is compared with git."""
    wanted, before = ticket_of(run), run.branch.head
    built = await run.ask(
        "impl-agent",
        ticket_task(run, wanted.text),
        TicketImplemented,
        requirements=wanted.requirements,
        acceptance_criteria=wanted.acceptance,
        affected_areas="\n".join(wanted.areas),
        branch=run.branch.name,
        gaps=verdict.gaps,
    )
    claimed = ImplementerClaims(branch=built.branch_name, commit=built.commit_sha, files=built.files_changed)
    wrong = await check_claims(run, claimed, since=before)
    work = built.summary if built.success else f"It says that it is not done: {built.summary}"
    return Summary(who="impl-agent", says=" ".join((work, *(f"But {gap.what}." for gap in wrong))))


async def verify_in_rounds(
    run: Run, plan: Plan, story: list[Summary], issues: tuple[Issue, ...] = (), rounds: int = 0
) -> int:
    """Verify, fix and verify again, until there is no issue, a fix changes nothing, or the rounds are used up.

    `story`: summaries of the agents' work so far; this function adds the fixers' summaries. `issues`: issues to fix
    before the first round. `rounds`: the number of earlier rounds. Returns the number of the last round.
    """
    pictures: dict[str, str] = {}
    for number in range(rounds + 1, rounds + run.settings.rounds + 1):
        scope = run.scope(f"round {number}")
        fixed = await fix_issues(scope, number - 1, issues, pictures) if issues else None
        story += [Summary(who="fix-agent", says=fixed.summary)] if fixed else []
        last, issues = issues, await verify(scope, plan, story, pictures)
        fate = compare_issues(last, issues)
        ended = RoundVerified.of(number, issues, fate.sentence)
        await scope.record(ended)
        if stuck := bool(fixed and not fixed.files and fate.same):
            await scope.record(RoundWithoutProgress.of(ended))
        if stuck or not issues:
            break
    return number


async def verify(run: Run, plan: Plan, story: list[Summary], pictures: dict[str, str]) -> tuple[Issue, ...]:
    """Have a fresh agent test the work as its users would, and have the engine prove it. Returns the issues that the
    agent and the engine find.

    `pictures`: name → artifact; this function adds the agent's pictures.
    """
    wanted = ticket_of(run)
    async with open_preview(run) as preview:
        if preview.broken:
            down = Issue(severity="critical", description=f"the preview does not come up: {preview.broken}")
            return open_issues(await run.prove(plan), (), down)
        verifier = run.session("verify-agent", TicketVerified, before=preview.start).equipped(preview.equipment)
        verified = await verifier.ask(
            ticket_task(run, "\n".join(criterion.text for criterion in criteria_to_verify(run))),
            files_changed="\n".join(await run.branch.changes()),
            preview=preview.description,
            expected_pictures="\n".join(wanted.pictures),
            last_work=story[-1:],
        )
        pictures |= await keep_pictures(run, verifier, verified.named_pictures)
        seen = await look_at_pushed(run, preview)
        verdict = await run.prove(plan, objections=verified.objections, by=verifier)
        confirmed = verifier.last_reply  # another one, if `prove` asked again about issues without a case
        if confirmed != verified:
            pictures |= await keep_pictures(run, verifier, confirmed.named_pictures)
        await verifier.close()
    return open_issues(verdict, (*verified.issues, *confirmed.issues), *seen)


async def fix_issues(run: Run, number: int, issues: tuple[Issue, ...], pictures: dict[str, str]) -> IssuesFixed:
    """Have a fresh agent fix these issues. The agent knows only the issues, their pictures and the files concerned."""
    before = run.branch.head
    named = dict.fromkeys((*await run.branch.paths_in(issue.sentence for issue in issues), *await run.branch.changes()))
    files = await run.branch.contents(tuple(named))
    fixer = run.session("fix-agent", Fixed).equipped(pictures_of(issues, pictures))
    try:
        fixed = await fixer.ask(ticket_task(run), issues=issues, files_to_touch=files)
    finally:
        await fixer.close()
    changed = await run.branch.changes(before)
    beyond = files_beyond(changed, named, fixed.beyond)
    done = IssuesFixed(number=number, summary=fixed.changes_summary, files=changed, beyond=beyond)
    await run.record(done)
    return done


async def deliver(run: Run, outcome: Outcome, story: list[Summary]) -> Outcome:
    """Open a pull request for work that succeeded. For other work, open a draft if the settings ask for drafts;
    otherwise do nothing, so that no agent is paid for a text that nobody needs yet."""
    judged = outcome.verdict.requirements if outcome.verdict else ()
    success, draft = succeeded(run, outcome), run.settings.draft
    if success or draft:
        await run.session("pr-agent", PullRequest).ask_once_or_none(
            ticket_task(run, ticket_of(run).text),
            branch=run.branch.name,
            summaries=story,
            grades=[grade_finding(judgement) for judgement in judged],
        )
        await offer(run, draft=draft and not success)
    return outcome
