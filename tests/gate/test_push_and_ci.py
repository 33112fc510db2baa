"""The gate before a push and in CI, with real repositories and remotes."""

import subprocess
from pathlib import Path
from xml.etree import ElementTree

import pytest

from tests.gate.yard import GREEN, RED, REQUIREMENTS, SECRET, Yard
from trued.gate.pushed_refs import MOST_BYTES
from trued.reporting.views.markdown import gate_summary

# -- a push ------------------------------------------------------------------------------------------------------------


@pytest.fixture
def bare_remote(yard: Yard) -> Path:
    place = yard.top / "remote.git"
    yard.git("init", "-q", "--bare", str(place))
    yard.git("remote", "add", "origin", str(place))
    return place


def refs(yard: Yard, remote: Path) -> dict[str, str]:
    lines = yard.git("for-each-ref", "--format=%(refname) %(objectname)", at=remote).stdout.splitlines()
    return dict(line.split(" ") for line in lines)


@pytest.mark.slow
@pytest.mark.spec("USE-5")
def test_what_is_red_is_not_pushed_and_what_is_green_is(yard: Yard, bare_remote: Path) -> None:
    former = yard.write(".git/hooks/pre-push", '#!/bin/sh\ncat > "$(git rev-parse --show-toplevel)/../told"\n')
    former.chmod(0o755)
    yard.install("git")
    yard.write("README.md", "work\n")
    yard.git("commit", "-qam", "claims to be done")
    refused = yard.git("push", "origin", "main", check=False)
    assert refused.returncode == 1
    assert "NOT PROVEN" in refused.stderr
    assert "slug: a held-out example fails" in refused.stderr
    assert SECRET not in refused.stderr
    assert refs(yard, bare_remote) == {}
    assert (yard.top / "told").read_text().startswith("refs/heads/main ")
    yard.write("slug.py", GREEN)
    still = yard.git("push", "origin", "main", check=False)
    assert still.returncode == 1  # the working tree is not what is pushed
    yard.git("commit", "-qam", "done")
    yard.git("tag", "-a", "v1", "-m", "one")
    yard.git("push", "--quiet", "origin", "main", "v1")
    assert set(refs(yard, bare_remote)) == {"refs/heads/main", "refs/tags/v1"}
    deleted = yard.git("push", "origin", ":v1")
    assert "refs/tags/v1 is deleted" in deleted.stderr


@pytest.mark.spec("LAW-9")
def test_the_pushed_copy_of_a_branch_is_not_its_base(yard: Yard, bare_remote: Path) -> None:
    start = yard.git("rev-parse", "HEAD").stdout.strip()
    yard.git("push", "-q", "-u", "origin", "main")
    yard.git("checkout", "-q", "-b", "work")
    yard.write("slug.py", GREEN)
    yard.git("commit", "-qam", "done")
    yard.git("push", "-q", "-u", "origin", "work")
    assert f"base {start[:12]}" in yard.install("git").stdout


@pytest.mark.slow
def test_the_base_itself_and_things_that_are_no_commit_go_through(yard: Yard, bare_remote: Path) -> None:
    yard.install("git")
    assert "adds nothing to the sealed base" in yard.git("push", "origin", "main").stderr
    blob = yard.git("rev-parse", "HEAD:slug.py").stdout.strip()
    yard.git("tag", "bytes", blob)
    assert "is a blob, not a commit" in yard.git("push", "origin", "bytes").stderr


@pytest.mark.slow
def test_a_former_hook_that_refuses_still_refuses(yard: Yard, bare_remote: Path) -> None:
    former = yard.write(".git/hooks/pre-push", "#!/bin/sh\necho mine >&2\nexit 7\n")
    former.chmod(0o755)
    yard.install("git")
    refused = yard.git("push", "origin", "main", check=False)
    assert refused.returncode == 1
    assert "mine" in refused.stderr
    assert refs(yard, bare_remote) == {}


def test_a_former_hook_finds_its_name_and_the_files_around_it(yard: Yard, bare_remote: Path) -> None:
    """As hooks of husky do: each starts a script of its own name in the folder above."""
    yard.git("config", "core.hooksPath", "tools/_")
    start = '#!/bin/sh\n. "$(dirname "$0")/start"\n'
    yard.write("tools/_/start", 'exec sh "$(dirname "$(dirname "$0")")/$(basename "$0")" "$@"\n')
    yard.write("tools/_/pre-push", start).chmod(0o755)
    yard.write("tools/pre-push", "cat >&2\nexit 7\n")
    yard.write("tools/_/.gitignore", "*\n")
    assert 'gate hook git "$@"' in yard.install("git").stderr  # for the tool that wrote this folder
    refused = yard.git("push", "origin", "main", check=False)
    assert (refused.returncode, "refs/heads/main" in refused.stderr) == (1, True), refused.stderr
    yard.write("tools/pre-push", "cat > told\n")
    yard.git("push", "origin", "main")
    assert (yard.repository / "told").read_text().startswith("refs/heads/main ")
    assert not list((yard.repository / "tools").glob("_.*"))  # where it ran
    yard.trued("gate", "remove", "git")
    assert (yard.repository / "tools" / "_" / "pre-push").read_text() == start


@pytest.mark.slow
def test_a_former_hook_that_goes_to_the_working_tree_from_its_own_place_gets_there(
    yard: Yard, bare_remote: Path
) -> None:
    text = '#!/bin/sh\nCDPATH= cd -- "$(dirname "$0")/../.." && test -f slug.py && echo arrived >&2\n'
    yard.write(".git/hooks/pre-push", text).chmod(0o755)
    yard.install("git")
    yard.variables["CDPATH"] = f".:{yard.top}"
    assert "arrived" in yard.git("push", "origin", "main", check=False).stderr


@pytest.mark.slow
def test_hooks_are_installed_where_git_looks_for_them_and_hold_for_all_worktrees(yard: Yard, bare_remote: Path) -> None:
    yard.git("config", "core.hooksPath", ".githooks")
    yard.install("git")
    hook = yard.repository / ".githooks" / "pre-push"
    assert hook.is_file()
    yard.git("config", "--unset", "core.hooksPath")
    yard.trued("gate", "remove", "git")
    assert not hook.parent.exists()
    yard.install("git")
    side = yard.top / "side"
    yard.git("worktree", "add", "-q", "-b", "side", str(side))
    (side / "README.md").write_text("work\n")
    yard.git("commit", "-qam", "claims to be done", at=side)
    assert yard.git("push", "origin", "side", at=side, check=False).returncode == 1


def wrong_commit(yard: Yard, branch: str) -> str:
    yard.git("switch", "-qc", branch, "main")
    yard.write("slug.py", f"{RED}# {branch}\n")
    yard.git("commit", "-qam", "claims to be done")
    return yard.git("rev-parse", "HEAD").stdout.strip()


@pytest.mark.slow
@pytest.mark.spec("LAW-4")
def test_a_liar_cannot_give_a_commit_another_tree_or_other_parents(yard: Yard, bare_remote: Path) -> None:
    yard.install("git")
    base = yard.git("rev-parse", "main").stdout.strip()
    yard.git("switch", "-qc", "done")
    yard.write("slug.py", GREEN)
    yard.git("commit", "-qam", "done")
    yard.git("push", "--quiet", "origin", "done")
    wrong = wrong_commit(yard, "liar")
    yard.git("replace", wrong, "done")
    replaced = yard.git("push", "origin", "liar", check=False)
    assert (replaced.returncode, "NOT PROVEN" in replaced.stderr) == (1, True)
    yard.git("replace", "-d", wrong)
    yard.git("replace", "--graft", base, wrong)  # as if the wrong work had always been below the base
    assert yard.git("push", "origin", "liar", check=False).returncode == 1
    yard.git("replace", "-d", base)
    yard.write(".git/info/grafts", f"{base} {wrong}\n")
    assert yard.git("push", "origin", "liar", check=False).returncode == 1
    assert set(refs(yard, bare_remote)) == {"refs/heads/done"}


@pytest.mark.spec("LAW-9")
def test_a_liar_cannot_put_another_repository_in_the_place_of_its_commit(yard: Yard) -> None:
    yard.install("git")
    wrong = wrong_commit(yard, "liar")
    twin = yard.top / f"{yard.repository.name}@{wrong}"
    yard.git("clone", "-q", str(yard.repository), str(twin))
    (twin / "slug.py").write_text(GREEN)
    yard.git("commit", "-qam", "done", at=twin)
    assert yard.trued("gate", "--head", "liar").returncode == 1
    ci = ("gate", "ci", "--base", "main", "--head", "liar", "--requirements", str(yard.requirements))
    assert yard.trued(*ci).returncode == 1


@pytest.mark.spec("USE-5")
@pytest.mark.slow
def test_a_push_is_judged_by_the_repository_that_pushes(yard: Yard, bare_remote: Path) -> None:
    yard.install("git")
    wrong_commit(yard, "liar")
    other = yard.top / "other"
    yard.git("init", "-q", str(other))
    yard.git("commit", "-qm", "nothing", "--allow-empty", at=other)
    place = f"--git-dir={yard.repository / '.git'}"
    refused = yard.git(place, "--work-tree=.", "push", "origin", "liar", at=other, check=False)
    assert (refused.returncode, "not from the repository of" in refused.stderr) == (1, True)
    assert refs(yard, bare_remote) == {}
    # an honest push may name its repository, too
    yard.write("slug.py", GREEN)
    yard.git("commit", "-qam", "done")
    yard.git(place, "--work-tree=.", "push", "--quiet", "origin", "liar")
    assert set(refs(yard, bare_remote)) == {"refs/heads/liar"}


@pytest.mark.spec("LAW-2")
def test_what_the_gate_cannot_find_is_not_pushed(yard: Yard, bare_remote: Path) -> None:
    yard.install("git")
    elsewhere = yard.top / "elsewhere"
    yard.git("clone", "-q", str(yard.repository), str(elsewhere))
    (elsewhere / "slug.py").write_text(f"{RED}# done\n")
    yard.git("commit", "-qam", "claims to be done", at=elsewhere)
    wrong = yard.git("rev-parse", "HEAD", at=elsewhere).stdout.strip()
    objects = {"GIT_ALTERNATE_OBJECT_DIRECTORIES": str(elsewhere / ".git" / "objects")}
    words = ["git", "push", "origin", f"{wrong}:refs/heads/liar"]
    surroundings = {**yard.variables, **objects}
    done = subprocess.run(words, cwd=yard.repository, env=surroundings, capture_output=True, text=True, check=False)
    assert (done.returncode, "is not in" in done.stderr) == (1, True)
    # a tag of the repository's own that leads there
    made = f"object {wrong}\ntype commit\ntag v1\ntagger A <a@example.org> 0 +0000\n\nv1\n"
    make = ["git", "hash-object", "-t", "tag", "-w", "--stdin"]
    tag = subprocess.run(make, cwd=yard.repository, env=surroundings, input=made, capture_output=True, text=True).stdout
    words[-1] = f"{tag.strip()}:refs/tags/v1"
    done = subprocess.run(words, cwd=yard.repository, env=surroundings, capture_output=True, text=True, check=False)
    assert (done.returncode, "is not in" in done.stderr) == (1, True), done.stderr
    assert refs(yard, bare_remote) == {}
    # without the gate's state nothing is checked, and that is said
    surroundings = {**yard.variables, "TRUED_HOME": str(yard.top / "another")}
    line = f"refs/heads/main {wrong} refs/heads/main {'0' * 40}\n"
    assert "nothing was checked" in yard.trued("gate", "hook", "git", stdin=line, variables=surroundings).stderr


@pytest.mark.parametrize("text", ["what is this", "a b c d", "refs/heads/x 0 refs/heads/x 0"])
def test_lines_that_git_never_wrote_are_one_sentence(yard: Yard, text: str) -> None:
    done = yard.trued("gate", "hook", "git", "origin", "url", stdin=text)
    assert done.returncode == 2
    assert "stdin:1: this is not what git writes" in done.stderr


@pytest.mark.spec("LAW-2")
def test_no_ref_hides_behind_more_refs_than_the_gate_reads(yard: Yard) -> None:
    yard.install("git")
    wrong = yard.git("commit-tree", "HEAD^{tree}", "-p", "HEAD", "-m", "wrong").stdout.strip()
    begins, ends = f"(delete) {'0' * 40} refs/heads/", f" {wrong}\n"
    deleted = f"{begins}{'x' * (2**16 - len(begins) - len(ends))}{ends}"
    assert MOST_BYTES % len(deleted) == 0  # a cut would leave whole lines
    text = deleted * (MOST_BYTES // len(deleted)) + f"refs/heads/x {wrong} refs/heads/x {'0' * 40}\n"
    done = yard.trued("gate", "hook", "git", "origin", "url", stdin=text)
    assert (done.returncode, "too many refs" in done.stderr) == (2, True)


# -- a build server ----------------------------------------------------------------------------------------------------


@pytest.mark.spec("USE-5")
def test_a_build_server_is_told_in_its_own_way(yard: Yard) -> None:
    said = yard.install("github", more=("--from", "trued==0.1.0")).stderr
    assert "secret TRUED_REQUIREMENTS" in said  # what a person has to set
    workflow = (yard.repository / ".github" / "workflows" / "trued-gate.yml").read_text()
    terms = workflow.partition("--terms ")[2].split()[0]
    base = yard.git("rev-parse", "HEAD").stdout.strip()
    yard.write("README.md", "work\n")
    yard.git("commit", "-qam", "claims to be done")
    told = yard.top / "summary.md"
    surroundings = {"GITHUB_ACTIONS": "true", "GITHUB_STEP_SUMMARY": str(told), "TRUED_REQUIREMENTS": REQUIREMENTS}
    files = {"--junit": yard.top / "gate.xml", "--summary": yard.top / "gate.md"}
    written = [word for flag, path in files.items() for word in (flag, str(path))]
    words = ("gate", "ci", "--base", base, "--terms", terms, *written)
    red = yard.trued(*words, variables=surroundings)
    assert red.returncode == 1, red.stderr
    assert red.stdout.startswith("::error title=trued gate::NOT PROVEN")
    assert "| slug | refuted |" in told.read_text()
    assert files["--summary"].read_text().strip() == told.read_text().strip()
    (failed,) = ElementTree.parse(files["--junit"]).iter("failure")
    assert failed.attrib["message"].startswith("refuted: ")
    uploaded = "".join(path.read_text() for path in files.values())  # a pull request's author can read it
    assert SECRET not in red.stdout + red.stderr + told.read_text() + uploaded
    yard.write("slug.py", GREEN)
    yard.git("commit", "-qam", "done")
    green = yard.trued(*words, variables=surroundings)
    assert (green.returncode, green.stdout[:8]) == (0, "::notice")
    other = {**surroundings, "TRUED_REQUIREMENTS": REQUIREMENTS.replace(SECRET, "Quux  Zebra")}
    refused = yard.trued(*words, variables=other)
    assert (refused.returncode, "--terms: " in refused.stderr) == (2, True)
    assert not list((yard.state / "ci").iterdir())


@pytest.mark.spec("USE-6")
def test_the_summary_shows_names_and_outputs_as_text() -> None:
    row = {"id": "a`b|c", "grade": "refuted", "why": "<img src=x> @everybody, see https://example.org"}
    told = gate_summary("not proven", {"requirements": [row], "undecided": []}).splitlines()[-1]
    assert (
        told.replace("\\", "")
        == "| a`b|c | refuted | &lt;img src=x&gt; @\u200beverybody, see https\u200b://example.org |"
    )
    assert all(f"\\{sign}" in told for sign in "`|.")


def test_requirements_in_the_repository_count_as_they_are_on_the_base(yard: Yard) -> None:
    yard.write("trued.yaml", REQUIREMENTS)
    yard.git("add", ".")
    yard.git("commit", "-qm", "requirements")
    base = yard.git("rev-parse", "HEAD").stdout.strip()
    yard.write("trued.yaml", REQUIREMENTS.replace(SECRET, "Quux  Zebra"))
    yard.git("commit", "-qam", "easier now")
    words = ("gate", "ci", "--base", base, "--requirements", "trued.yaml", "--accept", "tested")
    done = yard.trued(*words)
    assert (done.returncode, "trued.yaml differs from the base" in done.stderr) == (2, True)


@pytest.mark.slow
@pytest.mark.spec("LAW-9")
def test_a_branch_that_is_behind_is_judged_as_merged(yard: Yard) -> None:
    shout = "\n\n\n\ndef shout(text):\n    return text.upper()\n"
    yard.write("slug.py", RED + shout)
    yard.git("commit", "-qam", "shout")
    old = yard.git("rev-parse", "HEAD").stdout.strip()
    yard.write("tests/test_shout.py", "import slug\n\ndef test_shout():\n    assert slug.shout('a') == 'A'\n")
    yard.git("add", ".")
    yard.git("commit", "-qm", "a test")
    words = ("gate", "ci", "--base", "main", "--requirements", str(yard.requirements), "--head")
    # the liar begins where the test did not exist yet, and breaks what it tests
    yard.git("switch", "-qc", "liar", old)
    yard.write("slug.py", GREEN + shout.replace(".upper()", ""))
    yard.git("commit", "-qam", "done")
    refused = yard.trued(*words, "liar")
    assert (refused.returncode, "existing tests fail" in refused.stderr) == (1, True)
    # honest work that is as old passes
    yard.git("switch", "-qc", "honest", old)
    yard.write("slug.py", GREEN + shout)
    yard.git("commit", "-qam", "done")
    passed = yard.trued(*words, "honest")
    assert (passed.returncode, "the result of merging both is checked" in passed.stderr) == (0, True)
    # so it does in a shallow clone, if it has the commit where the work began; else more has to be fetched
    for depth, code in ((2, 0), (1, 2)):
        place = yard.top / f"shallow{depth}"
        address = f"file://{yard.repository}"
        yard.git("clone", "-q", "--depth", str(depth), "--no-single-branch", address, str(place), at=yard.top)
        remote = [one if one != "main" else "origin/main" for one in words]
        shallow = yard.trued(*remote, "origin/honest", "--repo", str(place))
        assert (shallow.returncode, "fetch more history" in shallow.stderr) == (code, code == 2), shallow.stderr
    # nothing can be said about work that conflicts
    yard.git("switch", "-q", "main")
    yard.write("slug.py", RED.replace("text", "words") + shout)
    yard.git("commit", "-qam", "other words")
    conflict = yard.trued(*words, "honest")
    assert (conflict.returncode, "in slug.py" in conflict.stderr) == (2, True)
    assert yard.trued(*words, old).returncode == 1  # main contains it: nothing was done
    assert not list((yard.state / "ci").iterdir())
