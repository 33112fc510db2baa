"""Ticket: a fresh agent implements, one verifies, one mends, one tells; whoever leads them holds summaries only."""

from trued import Finding, Goal, Outcome, Plan, Run, Verdict
from trued.workflows.ticket.delivery import (
    check_claims,
    keep_pictures,
    offer,
    preview,
    succeeded,
    ticket_of,
    ticket_task,
)
from trued.workflows.ticket.events import IssuesFixed, RoundVerified, RoundWithoutProgress
from trued.workflows.ticket.issues import (
    Claimed,
    Issue,
    Summary,
    compared,
    files_beyond,
    open_issues,
    rejections,
)
from trued.workflows.ticket.replies import Fixed, Implemented, PullRequest, Verified


async def ticket(run: Run, goal: Goal) -> Outcome:
    plan = await run.seal(await run.plan(goal))
    verdict = await run.prove(plan) if run.branch.is_continued else run.open(plan)
    story = [] if verdict.holds else [await implement(run, verdict)]
    rounds = await looked_at(run, plan, story)
    outcome, ends = await run.finish(plan), 1
    while rejected := rejections(await run.people.decisions()):  # by people who looked: the next round's issues
        rounds = await looked_at(run, plan, story, rejected, rounds)
        outcome, ends = await run.finish(plan), ends + 1
    return await delivered(run.scope(f"pull request {ends}"), outcome, story)


async def implement(run: Run, verdict: Verdict) -> Summary:
    """One fresh agent with the ticket's own words. What it says of its work is held against git."""
    told, before = ticket_of(run), run.branch.head
    built = await run.ask(
        "impl-agent",
        ticket_task(run, told.text),
        Implemented,
        requirements=told.requirements,
        acceptance_criteria=told.acceptance,
        affected_areas="\n".join(told.areas),
        branch=run.branch.name,
        gaps=verdict.gaps,
    )
    claimed = Claimed(branch=built.branch_name, commit=built.commit_sha, files=built.files_changed)
    wrong = await check_claims(run, claimed, since=before)
    said = built.summary if built.success else f"It says that it is not done: {built.summary}"
    return Summary(who="impl-agent", says=" ".join((said, *(f"But {one.what}." for one in wrong))))


async def looked_at(run: Run, plan: Plan, story: list[Summary], issues: tuple[Issue, ...] = (), rounds: int = 0) -> int:
    """Verify, mend, verify again: until nothing is found, nothing moves, or the rounds are used up."""
    for number in range(rounds + 1, rounds + run.settings.rounds + 1):
        scope = run.scope(f"round {number}")
        mended = await mend(scope, number - 1, issues) if issues else None
        story += [Summary(who="fix-agent", says=mended.summary)] if mended else []
        last, issues = issues, await verify(scope, plan, story)
        fate = compared(last, issues)
        await scope.record(RoundVerified.of(number, issues, fate.sentence))
        if stuck := bool(mended and not mended.files and fate.same):
            await scope.record(RoundWithoutProgress.of(number, issues, fate.sentence))
        if stuck or not issues:
            break
    return number


async def verify(run: Run, plan: Plan, story: list[Summary]) -> tuple[Issue, ...]:
    """A fresh pair of eyes on the work as its users would see it; then evidence of our own. Both have a say."""
    told = ticket_of(run)
    async with preview(run) as shown:
        if shown.broken:
            down = Issue(severity="critical", description=f"the preview does not come up: {shown.broken}")
            return open_issues(await run.prove(plan), (), down)
        eyes = run.session("verify-agent", Verified, before=shown.up)
        verified = await eyes.ask(
            ticket_task(run, "\n".join(one.text for one in told.acceptance or told.requirements)),
            files_changed="\n".join(await run.branch.changes()),
            preview=shown.words,
            expected_pictures="\n".join(told.pictures),
            last_work=story[-1:],
        )
        await keep_pictures(run, eyes, (*verified.screenshots, *(one.screenshot for one in verified.issues)))
        verdict = await run.prove(plan, objections=verified.objections, by=eyes)
        await eyes.close()
    return open_issues(verdict, verified.issues)


async def mend(run: Run, number: int, issues: tuple[Issue, ...]) -> IssuesFixed:
    """One fresh agent with these issues and these files, and nothing else."""
    before = run.branch.head
    named = dict.fromkeys((*await run.branch.paths_in(one.sentence for one in issues), *await run.branch.changes()))
    files = await run.branch.contents(tuple(named))
    fixed = await run.ask("fix-agent", ticket_task(run), Fixed, issues=issues, files_to_touch=files)
    changed = await run.branch.changes(before)
    beyond = files_beyond(changed, named, fixed.beyond)
    mended = IssuesFixed(number=number, summary=fixed.changes_summary, files=changed, beyond=beyond)
    await run.record(mended)
    return mended


async def delivered(run: Run, outcome: Outcome, story: list[Summary]) -> Outcome:
    """What is proven is offered; what waits for a person is written up for then; of the rest a draft, if wanted."""
    judged = outcome.verdict.requirements if outcome.verdict else ()
    success, draft = succeeded(run, outcome), run.settings.draft
    if success or draft or outcome.state == "waiting":
        await run.session("pr-agent", PullRequest).try_once(
            ticket_task(run, ticket_of(run).text),
            branch=run.branch.name,
            summaries=story,
            grades=[Finding(what=f"{one.id} is {one.grade}", where=one.text) for one in judged],
        )
    if success or draft:
        await offer(run, draft=draft and not success)
    return outcome
