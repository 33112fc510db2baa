"""Ticket: a fresh agent implements, one verifies, one mends, one tells; whoever leads them holds summaries only."""

from trued import (
    Claimed,
    Finding,
    Goal,
    Issue,
    Mended,
    Outcome,
    Plan,
    Round,
    Run,
    Summary,
    Verdict,
    compared,
    open_issues,
    rejections,
)
from trued.workflows.ticket.replies import Fixed, Implemented, PullRequest, Verified


async def ticket(run: Run, goal: Goal) -> Outcome:
    plan = await run.seal(await run.plan(goal))
    verdict = await run.prove(plan) if run.goes_on else run.open(plan)
    story = [] if verdict.holds else [await implement(run, verdict)]
    rounds = await looked_at(run, plan, story)
    outcome, ends = await run.finish(plan), 1
    while rejected := rejections(await run.decided()):  # by people who looked: the next round's issues
        rounds = await looked_at(run, plan, story, rejected, rounds)
        outcome, ends = await run.finish(plan), ends + 1
    return await delivered(run.scope(f"pull request {ends}"), outcome, story)


async def implement(run: Run, verdict: Verdict) -> Summary:
    """One fresh agent with the ticket's own words. What it says of its work is held against git."""
    told, before = run.ticket, run.head
    built = await run.ask(
        "impl-agent",
        run.task(told.text),
        Implemented,
        requirements=told.requirements,
        acceptance_criteria=told.acceptance,
        affected_areas="\n".join(told.areas),
        branch=run.branch,
        gaps=verdict.gaps,
    )
    claimed = Claimed(branch=built.branch_name, commit=built.commit_sha, files=built.files_changed)
    wrong = await run.claims(claimed, since=before)
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
        found = Round.of(number, issues, fate)
        await scope.told("round", found)
        if stuck := bool(mended and not mended.files and fate.same):
            await scope.told("no progress", found)
        if stuck or not issues:
            break
    return number


async def verify(run: Run, plan: Plan, story: list[Summary]) -> tuple[Issue, ...]:
    """A fresh pair of eyes on the work as its users would see it; then evidence of our own. Both have a say."""
    told = run.ticket
    async with run.preview() as preview:
        if preview.broken:
            down = Issue(severity="critical", description=f"the preview does not come up: {preview.broken}")
            return open_issues(await run.prove(plan), (), down)
        eyes = run.session("verify-agent", Verified, before=preview.up)
        verified = await eyes.ask(
            run.task("\n".join(one.text for one in told.acceptance or told.requirements)),
            files_changed="\n".join(await run.changes()),
            preview=preview.words,
            expected_pictures="\n".join(told.pictures),
            last_work=story[-1:],
        )
        await run.claimed_pictures(eyes, (*verified.screenshots, *(one.screenshot for one in verified.issues)))
        verdict = await run.prove(plan, objections=verified.objections, by=eyes)
        await eyes.close()
    return open_issues(verdict, verified.issues)


async def mend(run: Run, number: int, issues: tuple[Issue, ...]) -> Mended:
    """One fresh agent with these issues and these files, and nothing else."""
    before = run.head
    named = dict.fromkeys((*await run.named_in(one.sentence for one in issues), *await run.changes()))
    files = await run.contents(tuple(named))
    fixed = await run.ask("fix-agent", run.task(), Fixed, issues=issues, files_to_touch=files)
    mended = Mended.of(number, fixed.changes_summary, await run.changes(before), named, fixed.beyond)
    await run.told("mended", mended)
    return mended


async def delivered(run: Run, outcome: Outcome, story: list[Summary]) -> Outcome:
    """What is proven is offered; what waits for a person is written up for then; of the rest a draft, if wanted."""
    judged = outcome.verdict.requirements if outcome.verdict else ()
    success, draft = run.succeeded(outcome), run.settings.draft
    if success or draft or outcome.state == "waiting":
        await run.session("pr-agent", PullRequest).tolerant(
            run.task(run.ticket.text),
            branch=run.branch,
            summaries=story,
            grades=[Finding(what=f"{one.id} is {one.grade}", where=one.text) for one in judged],
        )
    if success or draft:
        await run.offer(draft=draft and not success)
    return outcome
