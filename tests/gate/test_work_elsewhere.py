"""Work outside the working tree's visible files counts as work, too."""

import json
from collections.abc import Callable

import pytest

from tests.gate.yard import GREEN, RED, SECRET, Yard
from trued.engine.worktree import MOST_INSIDE

WRONG = RED + "# done\n"


def on_a_branch(yard: Yard) -> None:
    """Hide work in a commit on another branch, then check out the user's branch again."""
    yard.git("switch", "-qc", "done")
    yard.write("slug.py", WRONG)
    yard.git("commit", "-qam", "done")
    yard.git("switch", "-q", "main")


def stashed(yard: Yard) -> None:
    yard.write("slug.py", WRONG)
    yard.git("stash", "-q")


def stashed_as_new(yard: Yard) -> None:
    yard.write("slugs.py", WRONG)
    yard.git("stash", "-qu")


def excluded(yard: Yard) -> None:
    """Hide a new file from git with an exclude rule."""
    yard.write("slugs.py", WRONG)
    exclude = yard.repository / ".git" / "info" / "exclude"
    exclude.parent.mkdir(exist_ok=True)
    exclude.write_text("slugs.py\n")


def excluded_by_a_setting(yard: Yard) -> None:
    yard.write("slugs.py", WRONG)
    (yard.top / "rules").write_text("slugs.py\n")
    yard.git("config", "core.excludesFile", str(yard.top / "rules"))


def in_a_repository_inside(yard: Yard) -> None:
    yard.write("slugs/slug.py", WRONG)
    yard.git("init", "-q", at=yard.repository / "slugs")


def in_a_submodule(yard: Yard) -> None:
    yard.write("sub/slug.py", WRONG)


def in_a_new_worktree(yard: Yard) -> None:
    """Leave changes uncommitted in another worktree, and end the turn in the first one."""
    yard.git("worktree", "add", "-q", "-b", "elsewhere", str(yard.top / "elsewhere"))
    (yard.top / "elsewhere" / "slug.py").write_text(WRONG)


def under_a_tag(yard: Yard) -> None:
    yard.git("checkout", "-q", "--detach")
    yard.write("slug.py", WRONG)
    yard.git("commit", "-qam", "done")
    yard.git("tag", "-a", "-m", "done", "finished")
    yard.git("checkout", "-q", "main")


def on_a_branch_without_commits(yard: Yard) -> None:
    yard.write("slug.py", WRONG)
    yard.git("symbolic-ref", "HEAD", "refs/heads/nothing")


def in_the_index_only(yard: Yard) -> None:
    """Hide changed files with git's assume-unchanged and skip-worktree flags."""
    yard.write("slug.py", WRONG)
    yard.git("update-index", "--assume-unchanged", "slug.py")
    yard.git("update-index", "--skip-worktree", "README.md")
    yard.write("README.md", "nothing\n")


def with_remote(yard: Yard) -> None:
    """Add a remote that has the user's branch."""
    yard.git("init", "-q", "--bare", str(yard.top / "remote"), at=yard.top)
    yard.git("remote", "add", "origin", str(yard.top / "remote"))
    yard.git("push", "-q", "-u", "origin", "HEAD:main")


def pushed(yard: Yard) -> None:
    """Push a branch, and remove it here."""
    on_a_branch(yard)
    yard.git("push", "-q", "origin", "done")
    yard.git("branch", "-qD", "done")


def pushed_without_a_branch(yard: Yard) -> None:
    yard.write("slug.py", WRONG)
    yard.git("add", "slug.py")
    tree = yard.git("write-tree").stdout.strip()
    commit = yard.git("commit-tree", "-m", "done", "-p", "HEAD", tree).stdout.strip()
    yard.git("-c", "core.logAllRefUpdates=false", "push", "-q", "origin", f"{commit}:refs/heads/done")
    yard.git("reset", "-q", "--hard")


def pushed_by_address(yard: Yard) -> None:
    on_a_branch(yard)
    yard.git("push", "-q", str(yard.top / "remote"), "done")
    yard.git("branch", "-qD", "done")


def fetched(yard: Yard) -> None:
    """Fetch a colleague's branch, look at it, and go back."""
    other = yard.top / "colleague"
    yard.git("clone", "-q", str(yard.top / "remote"), str(other), at=yard.top)
    yard.git("switch", "-qc", "theirs", at=other)
    (other / "slug.py").write_text(WRONG)
    yard.git("commit", "-qam", "theirs", at=other)
    yard.git("push", "-q", "origin", "theirs", at=other)
    yard.git("fetch", "-q")
    yard.git("checkout", "-q", "--detach", "origin/theirs")
    yard.git("checkout", "-q", "main")


def fetched_without_reflogs(yard: Yard) -> None:
    yard.git("config", "core.logAllRefUpdates", "false")
    fetched(yard)


def undone(yard: Yard) -> None:
    """Commit by mistake, and take that back."""
    yard.write("slug.py", WRONG)
    yard.git("commit", "-qam", "too early")
    yard.git("reset", "-q", "--hard", "HEAD~1")
    yard.git("switch", "-qc", "empty")
    yard.git("switch", "-q", "main")


def pushed_as_it_was(yard: Yard) -> None:
    yard.git("push", "-q", "origin", "HEAD:refs/heads/backup")


def pushed_green(yard: Yard) -> None:
    """Commit a first attempt, correct it, and push that."""
    on_a_branch(yard)
    yard.git("switch", "-q", "done")
    yard.write("slug.py", GREEN)
    yard.git("commit", "-qa", "--amend", "-m", "done")
    yard.git("push", "-q", "origin", "done")
    yard.git("switch", "-q", "main")
    yard.git("branch", "-qD", "done")


SEEN_FIRST = (on_a_branch, excluded)
HIDDEN = (
    stashed,
    stashed_as_new,
    excluded_by_a_setting,
    in_a_repository_inside,
    in_a_submodule,
    in_the_index_only,
)


def with_submodule(yard: Yard) -> None:
    other = yard.top / "other"
    yard.git("clone", "-q", str(yard.repository), str(other), at=yard.top)
    yard.git("submodule", "--quiet", "add", str(other), "sub")
    yard.git("commit", "-qm", "with a submodule")


def caught(yard: Yard, ways: tuple[Callable[[Yard], None], ...]) -> None:
    """Try each way to hide work in a separate session: each is blocked. Then undo it for the next one."""
    yard.install("claude")
    start, excluding = yard.git("rev-parse", "HEAD").stdout.strip(), yard.repository / ".git" / "info" / "exclude"
    for number, hide in enumerate(ways):
        session = f"s{number}"
        yard.prompt("work", session)
        hide(yard)
        assert yard.stop(session, prompt_id="work").get("decision") == "block", hide.__name__
        yard.git("update-index", "--no-assume-unchanged", "slug.py")
        yard.git("update-index", "--no-skip-worktree", "README.md")
        yard.git("config", "--unset", "core.excludesFile", check=False)
        excluding.unlink(missing_ok=True)
        yard.git("stash", "clear")
        yard.git("branch", "-qD", "done", check=False)
        yard.git("reset", "-q", "--hard", start)
        yard.git("clean", "-qffdx", "-e", ".claude")
        yard.git("submodule", "--quiet", "foreach", "git checkout -q -- .")


@pytest.mark.spec("DAY-10")
@pytest.mark.slow
def test_a_liar_does_not_hide_its_work_where_the_working_tree_does_not_show_it(yard: Yard) -> None:
    caught(yard, SEEN_FIRST)


@pytest.mark.slow
@pytest.mark.spec("DAY-10")
def test_neither_stash_nor_settings_nor_repositories_inside_hide_work(yard: Yard) -> None:
    with_submodule(yard)
    caught(yard, HIDDEN)


@pytest.mark.slow
@pytest.mark.spec("DAY-10")
def test_work_is_judged_where_the_turn_began_though_the_agent_went_elsewhere(yard: Yard) -> None:
    """Another worktree with older files, in which everything passes, is not judged in place of the work."""
    yard.install("claude")
    yard.write("slug.py", GREEN)
    yard.git("commit", "-qam", "good")
    other = yard.top / "other"
    yard.git("worktree", "add", "-q", "--detach", str(other), "HEAD")
    yard.prompt("work")
    yard.write("slug.py", WRONG)
    assert yard.stop(prompt_id="work", cwd=str(other))["decision"] == "block"


@pytest.mark.many(1)
@pytest.mark.spec("DAY-10")
@pytest.mark.parametrize("hide", [excluded, in_a_repository_inside, on_a_branch, None])
def test_nothing_is_hidden_where_the_turn_began_by_going_elsewhere(
    yard: Yard, hide: Callable[[Yard], None] | None
) -> None:
    """Whoever only goes to a worktree in which everything passes, without work to hide, is not blocked."""
    yard.install("claude")
    other = yard.top / "other"
    yard.git("worktree", "add", "-q", "-b", "good", str(other), "HEAD")
    (other / "slug.py").write_text(GREEN)
    yard.git("commit", "-qam", "good", at=other)
    yard.prompt("work")
    if hide:
        hide(yard)
    answer = yard.stop(prompt_id="work", cwd=str(other))
    assert answer.get("decision") == ("block" if hide else None)


def under_a_tag_and_behind_an_empty_worktree(yard: Yard) -> None:
    (yard.repository / ".git" / "worktrees" / "x").mkdir(parents=True)
    under_a_tag(yard)


@pytest.mark.many(1)
@pytest.mark.spec("DAY-10")
@pytest.mark.parametrize(
    "hide",
    [in_a_new_worktree, under_a_tag, under_a_tag_and_behind_an_empty_worktree, on_a_branch_without_commits],
)
def test_neither_worktrees_nor_tags_nor_an_empty_branch_hide_work(yard: Yard, hide: Callable[[Yard], None]) -> None:
    yard.install("claude")
    yard.prompt("work")
    hide(yard)
    assert yard.stop(prompt_id="work").get("decision") == "block"


@pytest.mark.spec("DAY-10")
@pytest.mark.parametrize("hide", [pushed, pushed_without_a_branch, pushed_by_address])
@pytest.mark.many(1)
def test_work_that_was_pushed_and_removed_here_is_judged(yard: Yard, hide: Callable[[Yard], None]) -> None:
    with_remote(yard)
    yard.install("claude")
    yard.prompt("work")
    hide(yard)
    assert yard.stop(prompt_id="work").get("decision") == "block"
    yard.prompt("question")  # what earlier turns left is no work of this one
    assert "decision" not in yard.stop(prompt_id="question")


@pytest.mark.spec("DAY-10")
@pytest.mark.parametrize("act", [fetched, fetched_without_reflogs, undone, pushed_as_it_was, pushed_green])
@pytest.mark.many(1)
def test_what_was_fetched_or_undone_is_no_work(yard: Yard, act: Callable[[Yard], None]) -> None:
    with_remote(yard)
    yard.install("claude")
    yard.prompt("question")
    act(yard)
    assert "decision" not in yard.stop(prompt_id="question")


@pytest.mark.spec("DAY-10")
def test_what_another_session_pushes_from_its_worktree_is_its_own_work(yard: Yard) -> None:
    with_remote(yard)
    yard.install("claude")
    other = yard.top / "other"
    yard.git("worktree", "add", "-q", "-b", "beside", str(other))
    yard.prompt("task", "s2", cwd=str(other))
    yard.prompt("question", "s1")
    (other / "slug.py").write_text(WRONG)
    yard.git("commit", "-qam", "half of it", at=other)
    yard.git("push", "-q", "origin", "beside", at=other)
    yard.git("checkout", "-q", "--detach", "HEAD~1", at=other)
    yard.git("checkout", "-q", "beside", at=other)
    assert "decision" not in yard.stop("s1", prompt_id="question")
    assert yard.stop("s2", prompt_id="task", cwd=str(other))["decision"] == "block"


@pytest.mark.slow
@pytest.mark.spec("DAY-10")
def test_an_agent_does_not_leave_its_gate_by_going_to_a_repository_with_another(yard: Yard) -> None:
    """An agent may install a gate where there is none, with requirements that hold already."""
    yard.install("claude")
    yard.prompt("work")
    yard.write("slug.py", WRONG)
    other = yard.top / "other"
    yard.git("clone", "-q", str(yard.repository), str(other), at=yard.top)
    easy = yard.top / "easy.yaml"
    easy.write_text(yard.requirements.read_text().replace(SECRET, "Quux  Zebra").replace('"a"', '"A"'))
    installed = yard.trued("gate", "install", "claude", "--requirements", str(easy), at=other)
    assert installed.returncode == 0, installed.stderr
    (other / "README.md").write_text("work\n")
    assert yard.trued("gate", at=other).returncode == 0
    assert yard.stop(prompt_id="work", cwd=str(other)).get("decision") == "block"


@pytest.mark.many(1)
@pytest.mark.spec("DAY-10")
@pytest.mark.parametrize("name", ["contract.json", "gate.json"])
def test_a_gate_that_cannot_judge_does_not_hide_what_another_one_refuses(name: str, yard: Yard) -> None:
    """An agent may install a gate elsewhere, and break it."""
    yard.install("claude")
    before = {*(yard.state / "gates").glob(f"*/{name}")}
    other = yard.top / "other"
    yard.git("clone", "-q", str(yard.repository), str(other), at=yard.top)
    installed = yard.trued("gate", "install", "claude", "--requirements", str(yard.requirements), at=other)
    assert installed.returncode == 0, installed.stderr
    (broken,) = {*(yard.state / "gates").glob(f"*/{name}")} - before
    broken.write_text("{")
    yard.prompt("work", cwd=str(other))
    yard.write("slug.py", WRONG)
    (other / "slug.py").write_text(WRONG)
    answer = yard.trued(
        *("gate", "hook", "claude"),
        stdin=json.dumps({"hook_event_name": "Stop", "session_id": "s1", "prompt_id": "work", "cwd": str(other)}),
        variables={"CLAUDE_PROJECT_DIR": str(yard.repository)},
    )
    assert json.loads(answer.stdout)["decision"] == "block"
    assert json.loads(answer.stdout)["systemMessage"].count("could not judge") == 1


@pytest.mark.spec("DAY-10")
def test_a_folder_that_the_agent_removed_is_no_repository_that_cannot_be_read(yard: Yard) -> None:
    yard.install("claude")
    yard.prompt("work")
    yard.write("slug.py", GREEN)
    assert "could not judge" not in yard.stop(prompt_id="work", cwd=str(yard.repository / "build")).get(
        "systemMessage", ""
    )


@pytest.mark.spec("DAY-10")
def test_work_in_a_submodule_is_not_passed_over_in_silence(yard: Yard) -> None:
    with_submodule(yard)
    yard.install("claude")
    yard.write("slug.py", GREEN)
    yard.git("commit", "-qam", "good")
    yard.prompt("work")
    in_a_submodule(yard)
    assert "not judged: sub" in yard.stop(prompt_id="work").get("systemMessage", "")


@pytest.mark.spec("DAY-10")
def test_whoever_only_checks_out_an_existing_branch_is_not_blocked(yard: Yard) -> None:
    yard.install("claude")
    yard.git("switch", "-qc", "good")
    yard.write("slug.py", GREEN)
    yard.git("commit", "-qam", "good")
    yard.prompt("look")
    yard.git("switch", "-q", "main")
    assert "decision" not in yard.stop(prompt_id="look")
    # but whoever loses good work that was not committed has changed files
    yard.write("slug.py", GREEN + "# more\n")
    yard.prompt("work")
    yard.git("checkout", "-q", "--", "slug.py")
    assert yard.stop(prompt_id="work")["decision"] == "block"


@pytest.mark.slow
@pytest.mark.spec("DAY-10")
def test_a_question_is_not_blocked_because_another_session_works_in_another_worktree(yard: Yard) -> None:
    yard.install("claude")
    other = yard.top / "other"
    yard.git("worktree", "add", "-q", "-b", "beside", str(other))
    yard.prompt("task", "s2", cwd=str(other))
    yard.prompt("question", "s1")
    (other / "slug.py").write_text(WRONG)
    yard.git("commit", "-qam", "half of it", at=other)
    (other / "slug.py").write_text(RED + "# other\n")
    assert "decision" not in yard.stop("s1", prompt_id="question")
    assert yard.stop("s2", prompt_id="task", cwd=str(other))["decision"] == "block"


@pytest.mark.spec("DAY-10")
def test_a_liar_does_not_hide_its_commits_behind_a_session_that_it_makes_up(yard: Yard) -> None:
    yard.install("claude")
    other = yard.top / "other"
    yard.git("worktree", "add", "-q", "-b", "beside", str(other))
    yard.prompt("work", "s1")
    yard.prompt("made up", "s2", cwd=str(other))
    yard.prompt("made up, too", "s3")  # in the liar's own worktree
    (other / "slug.py").write_text(WRONG)
    yard.git("commit", "-qam", "half of it", at=other)
    assert yard.stop("s1", prompt_id="work")["decision"] == "block"


@pytest.mark.spec("DAY-10")
def test_the_gate_is_not_switched_off_by_a_tag_named_like_a_hash(yard: Yard) -> None:
    yard.install("claude")
    yard.git("tag", yard.git("rev-parse", "HEAD").stdout.strip())
    yard.prompt("work")
    yard.write("slug.py", WRONG)
    assert yard.stop(prompt_id="work")["decision"] == "block"


@pytest.mark.spec("DAY-10")
def test_looking_at_an_old_commit_in_another_worktree_is_no_work(yard: Yard) -> None:
    yard.write("slug.py", WRONG)
    yard.git("commit", "-qam", "red")
    yard.write("slug.py", GREEN)
    yard.git("commit", "-qam", "green")
    yard.install("claude")
    yard.prompt("question")
    yard.git("worktree", "add", "-q", "--detach", str(yard.top / "old"), "HEAD~1")
    (yard.repository / ".git" / "worktrees" / "x").mkdir()  # as git leaves it when it is interrupted
    assert "decision" not in yard.stop(prompt_id="question")


@pytest.mark.spec("DAY-10")
def test_what_the_user_allows_claude_code_is_no_work(yard: Yard) -> None:
    yard.install("claude")
    yard.prompt("question")
    settings = yard.repository / ".claude" / "settings.local.json"
    settings.write_text(settings.read_text().replace("{", '{"permissions": {"allow": ["Bash(ls)"]},', 1))
    assert "decision" not in yard.stop(prompt_id="question")


@pytest.mark.slow
@pytest.mark.spec("DAY-10")
def test_work_on_a_branch_is_judged_though_an_older_branch_is_checked_out(yard: Yard) -> None:
    yard.install("claude")
    yard.git("switch", "-qc", "good")
    yard.write("slug.py", GREEN)
    yard.git("commit", "-qam", "good")
    yard.git("switch", "-q", "main")
    yard.prompt("look")
    yard.git("switch", "-q", "good")
    assert "decision" not in yard.stop(prompt_id="look")
    yard.git("switch", "-q", "main")
    yard.prompt("work")
    on_a_branch(yard)
    yard.git("switch", "-q", "good")
    assert yard.stop(prompt_id="work")["decision"] == "block"


@pytest.mark.slow
@pytest.mark.spec("DAY-10")
def test_whoever_only_commits_fetches_or_ignores_what_was_there_is_not_blocked(yard: Yard) -> None:
    with_submodule(yard)
    yard.install("claude")
    yard.write("notes.txt", "the user's own unfinished work")
    yard.write("draft.txt", "more of it")

    def commit_a_part() -> None:
        yard.git("add", "notes.txt")
        yard.git("commit", "-qm", "a part of what was there")

    def commit_the_rest() -> None:
        yard.git("add", "draft.txt")
        yard.git("commit", "-qm", "the rest")

    def ignore_what_is_not_there() -> None:
        exclude = yard.repository / ".git" / "info" / "exclude"
        exclude.parent.mkdir(exist_ok=True)
        exclude.write_text("*.log\n")

    def make_a_branch_and_look_at_it() -> None:
        yard.git("branch", "later")
        yard.git("fetch", "-q", str(yard.top / "other"))
        yard.git("stash", "list")

    acts = (commit_a_part, ignore_what_is_not_there, commit_the_rest, make_a_branch_and_look_at_it)
    for number, act in enumerate(acts):
        yard.prompt(f"p{number}")
        act()
        assert "decision" not in yard.stop(prompt_id=f"p{number}"), act.__name__


@pytest.mark.slow
@pytest.mark.spec("DAY-10")
def test_repositories_inside_that_are_not_looked_at_are_named_where_a_turn_seems_to_change_nothing(yard: Yard) -> None:
    yard.install("claude")
    for number in range(MOST_INSIDE):
        yard.git("clone", "-q", "--shared", str(yard.repository), f"r{number:02}")
    yard.prompt("before")
    assert "unknown" not in yard.stop(prompt_id="before")["systemMessage"]
    yard.git("clone", "-q", "--shared", str(yard.repository), "r99")
    yard.prompt("work")
    yard.write("r99/slug.py", WRONG)
    answer = yard.stop(prompt_id="work")
    assert "decision" not in answer
    assert "unknown whether this turn changed repositories inside this one: r99/" in answer["systemMessage"]
