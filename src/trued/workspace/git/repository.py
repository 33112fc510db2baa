"""Reads the user's repository, checks whether a run can start there, and makes its first commit if it has none."""

import contextlib
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from trued.errors import BadInput
from trued.workspace.git.command import SETTINGS, git_command, git_environment, last_line, printable_path
from trued.workspace.git.commit_lookup import is_git_folder
from trued.workspace.git.store import ENGINE, ROLE, CommitAuthor

# For git's --format. Only the last trailer counts: the engine appends it, and agents may write others before it.
ROLES = f"%(trailers:key={ROLE},valueonly,separator=%x2C)"


@dataclass(frozen=True, slots=True)
class Repository:
    """What a run needs to know about the user's repository when it starts."""

    root: Path
    head: str  # "" if nothing has been committed yet
    branch: str  # "" when the head is detached
    common: Path  # the .git that all worktrees share
    taken: bool = False  # a branch called "trued" blocks our branches `trued/…`
    dirty: tuple[str, ...] = ()  # paths with uncommitted changes; the run starts from HEAD, without them


def open_repository(path: str | Path, *, status: bool = True, empty: bool = False) -> Repository:
    """The repository around `path`. Raises BadInput with one sentence if a run cannot start there.

    Without `status` the working tree is not compared with HEAD, and no filter of the user runs. `empty`: accept a
    repository without commits.
    """
    where = _resolve_path(path)
    if not where.exists():
        raise BadInput(f"{where} does not exist", then="use a folder inside a git repository")
    folder = where if where.is_dir() else where.parent
    root, common = _root_and_common(folder)
    code, head, stderr = _git(root, "rev-parse", "--verify", "--quiet", "HEAD^{commit}")
    if code != 0 and stderr.strip():
        raise BadInput(f"git cannot read {root}: {last_line(stderr)}")
    if code != 0 and not empty:
        raise BadInput(f"the repository {root} has no commit yet", then="commit something: a run starts from a commit")
    _, branch, _ = _git(root, "symbolic-ref", "--quiet", "--short", "HEAD")
    taken, _, _ = _git(root, "show-ref", "--verify", "--quiet", "refs/heads/trued")
    return Repository(root, head.strip(), branch.strip(), common, taken == 0, _dirty(root) if status else ())


def person_of(root: Path, environ: Mapping[str, str]) -> str:
    """The user's name and address in the git configuration of this repository, "Ada <ada@example.org>"; "" if not
    set."""
    names = ("PATH", "HOME", "XDG_CONFIG_HOME", "GIT_CONFIG_GLOBAL", "GIT_AUTHOR_NAME", "GIT_AUTHOR_EMAIL")
    variables = {name: environ[name] for name in names if name in environ} | {"GIT_CONFIG_NOSYSTEM": "1"}
    argv = ("git", "-c", "user.useConfigOnly=true", "-c", "safe.directory=*", "var", "GIT_AUTHOR_IDENT")
    ran = subprocess.run(
        argv, cwd=root, env=variables, stdin=subprocess.DEVNULL, capture_output=True, timeout=120, check=False
    )
    name, _, rest = ran.stdout.decode(errors="replace").strip().partition(" <")
    mail = rest.rpartition(">")[0]
    return f"{name} <{mail}>" if ran.returncode == 0 and name and mail else ""


def create_root_commit(repository: Repository, branch: str, when: float) -> str:
    """Make an empty first commit in a repository that has none, and start the run's branch with it. Returns the
    commit."""
    variables = CommitAuthor("trued", when).variables()
    _, tree, _ = _git(repository.root, "hash-object", "-t", "tree", "-w", "--stdin")
    code, commit, stderr = _git(repository.root, "commit-tree", tree.strip(), "-m", "nothing yet", variables=variables)
    if code == 0:
        code, _, stderr = _git(repository.root, "update-ref", f"refs/heads/{branch}", commit.strip(), "")
    if code != 0:
        raise BadInput(f"git cannot create the branch {branch}: {last_line(stderr)}")
    return commit.strip()


@dataclass(frozen=True, slots=True)
class EarlierRunBranch:
    """A branch that an earlier run left."""

    branch: str
    tip: str
    state: str  # the workflow's state file, as the engine wrote it last


def find_earlier_run(root: Path, branch: str, file: str) -> EarlierRunBranch | None:
    """The branch that an earlier run left, with the newest version of `file` that the engine committed there; None if
    the engine committed none. An agent cannot fake a commit of the engine, because an agent's work is committed under
    the name of its role (as author or last trailer)."""
    tip = tip_of(root, branch)
    arguments = ("--no-merges", "--topo-order", f"--format=%an%x09%cn%x09%H%x09{ROLES}", tip, "--", file)
    for line in _git(root, "log", *arguments)[1].splitlines() if tip else ():
        author, committer, commit, roles = line.rsplit("\t", 3)
        code, state, _ = _git(root, "cat-file", "blob", f"{commit}:{file}")
        by_engine = roles.rpartition(",")[2] == ENGINE if roles else author == committer == ENGINE
        if by_engine and code == 0:
            return EarlierRunBranch(branch, tip, state)
    return None


@dataclass(frozen=True, slots=True)
class BranchStart:
    """The user's commit from which a run's branch started, or why it is unknown."""

    base: str = ""
    why: str = ""
    landed: bool = False  # all commits of the run's branch are already on a branch of the user


def find_branch_start(root: Path, tip: str) -> BranchStart:
    """Find the newest commit of the user in the history of a run's branch. A commit counts as the user's if it is on a
    branch other than `trued/*`, because agents work in clones and push nowhere. If the author or a trailer of the found
    commit shows that a run made it, the start counts as unknown."""
    detached = _git(root, "symbolic-ref", "--quiet", "HEAD")[0] != 0
    users = ("--exclude=trued/*", "--branches", "--exclude=*/trued/*", "--remotes", *(("HEAD",) if detached else ()))
    code, listed, stderr = _git(root, "rev-list", "--boundary", tip, "--not", *users)
    if code != 0:
        return BranchStart(why=f"git cannot list its commits: {last_line(stderr)}")
    lines = listed.split()
    if not lines:
        return BranchStart(why="all of its commits are already on a branch of yours", landed=True)
    below = [line[1:] for line in lines if line.startswith("-")]
    if not below:
        return _start_without_commits(root, tip)
    newest = _git(root, "merge-base", "--independent", *below)[1].split()
    if len(newest) != 1:
        return BranchStart(
            why=f"its history has {len(newest) or len(below)} of your commits, and none is an ancestor of another"
        )
    names, _, roles = _git(root, "show", "--no-patch", f"--format=%an%n%cn%x09{ROLES}", newest[0])[1].partition("\t")
    if ENGINE in names.splitlines() or roles.strip():
        return BranchStart(why=f"{newest[0][:12]}, which is on a branch of yours, was itself made by a run")
    return BranchStart(newest[0])


def _start_without_commits(root: Path, tip: str) -> BranchStart:
    """The start of a branch without commits of the user: the empty root commit that a run makes in a repository without
    commits. If the branch has no such commit, the start is unknown."""
    roots = _git(root, "rev-list", "--max-parents=0", tip)[1].split()
    if len(roots) == 1 and not _git(root, "ls-tree", roots[0])[1]:
        return BranchStart(roots[0])
    return BranchStart(why="no branch of yours contains a commit of its history")


def resolve_ancestor(root: Path, tip: str, name: str) -> str:
    """The commit of the revision `name`, if it is a proper ancestor of `tip`; otherwise ""."""
    code, full_hash, _ = _git(root, "rev-parse", "--verify", "--quiet", "--end-of-options", f"{name}^{{commit}}")
    commit = full_hash.strip()
    above = code == 0 and commit != tip and _git(root, "merge-base", "--is-ancestor", commit, tip)[0] == 0
    return commit if above else ""


def tip_of(root: Path, branch: str) -> str:
    """The commit of a branch; "" if there is no such branch."""
    code, tip, _ = _git(root, "rev-parse", "--verify", "--quiet", "--end-of-options", f"refs/heads/{branch}^{{commit}}")
    return tip.strip() if code == 0 else ""


def blocking_file(root: Path, folder: str) -> str:
    """A file or link in HEAD that prevents creating this folder, because it has the path of the folder or of one of its
    parents; "" if there is none."""
    parts = folder.strip("/").split("/")
    above = ["/".join(parts[:depth]) for depth in range(1, len(parts) + 1)]
    _, listed, _ = _git(root, "ls-tree", "-z", "HEAD", "--", *above)
    entries = [entry.partition("\t") for entry in listed.split("\0") if entry]
    # If git looks for `docs/feature`, it also lists whatever else is in `docs`.
    return next((path for kind, _, path in entries if " tree " not in kind and path in above), "")


def list_branches(root: Path, prefix: str) -> tuple[str, ...]:
    """Branches below a prefix, the newest first."""
    arguments = ("for-each-ref", "--sort=-committerdate", "--format=%(refname:lstrip=2)", f"refs/heads/{prefix}")
    return tuple(_git(root, *arguments)[1].split())


def _resolve_path(path: str | Path) -> Path:
    try:
        return Path(path).expanduser().resolve()
    except RuntimeError:
        raise BadInput(f"there is no folder {str(path)!a}", then="use a folder inside a git repository") from None
    except FileNotFoundError:
        raise BadInput("the current folder no longer exists", then="change to another one") from None


def _root_and_common(folder: Path) -> tuple[Path, Path]:
    code, out, stderr = _git(
        folder, "rev-parse", "--path-format=absolute", "--is-bare-repository", "--git-common-dir", "--show-toplevel"
    )
    answers = out.split("\n")
    if answers[0] == "true":
        raise BadInput(f"{folder} is a bare repository", then="use a clone of it that has a working tree")
    if "dubious ownership" in stderr:
        raise BadInput(
            f"{folder} belongs to another user",
            then=f"if you trust it: git config --global --add safe.directory {folder}",
        )
    if code != 0 and "work tree" in stderr:
        raise BadInput(f"{folder} is inside a .git folder", then="use the folder of the working tree")
    if code != 0:
        raise BadInput(f"{folder} is not in a git repository", then="run `git init` and commit, then try again")
    if len(answers) != 4 or printable_path(out) != out:
        raise BadInput(f"the path {str(folder)!a} has a line break in it, or is not UTF-8", then="rename the folder")
    nearest = next(
        (
            candidate
            for candidate in (folder, *folder.parents)
            if (candidate / ".git").exists() or is_git_folder(candidate)
        ),
        folder,
    )
    if (
        is_git_folder(nearest) and not (nearest / ".git").exists()
    ):  # not trusted: a commit can bring it, with any settings
        raise BadInput(f"{nearest} looks like a bare repository", then="use the folder that contains the working tree")
    return Path(answers[2]), Path(answers[1])


def _dirty(root: Path) -> tuple[str, ...]:
    # The user's own filters can run now, as in any `git status`. Nothing is written, not even the index.
    arguments = ("status", "--porcelain=v1", "-z", "--no-renames", "--ignore-submodules=all")
    code, out, _ = _git(root, *arguments, variables=_only_users_filters(root))
    return tuple(printable_path(entry[3:]) for entry in out.split("\0") if len(entry) > 3) if code == 0 else ()


def _only_users_filters(root: Path) -> dict[str, str]:
    """Environment variables with which git uses the user's own filters, but no filters from the repository's own
    configuration, which could have come with the repository. If the repository adds a `process` to a filter of the
    user, that filter is not run at all, because a `process` can be emptied but not unset."""
    _, listed, _ = _git(root, "config", "--list", "--includes", "--show-scope", "-z")
    users: dict[str, str] = {}
    named: set[str] = set()
    fields = listed.split("\0")
    for scope, entry in zip(fields[::2], fields[1::2], strict=False):
        key, _, value = entry.partition("\n")
        if key.startswith("filter."):
            named.add(key)
            users |= {key: value} if scope in ("system", "global") else {}
    # variables are used, because a name with "=" in it cannot be given on the command line
    pairs = [(key, users.get(key, "false" if key.endswith(".required") else "")) for key in sorted(named)]
    numbered = {f"GIT_CONFIG_KEY_{number}": key for number, (key, _) in enumerate(pairs)}
    numbered |= {f"GIT_CONFIG_VALUE_{number}": value for number, (_, value) in enumerate(pairs)}
    return {**numbered, "GIT_CONFIG_COUNT": str(len(pairs))}


def _git(folder: Path, *arguments: str, variables: Mapping[str, str] | None = None) -> tuple[int, str, str]:
    variables = {**git_environment(), **(variables or {})}
    for name in ("GIT_CONFIG_GLOBAL", "HOME"):  # so that the user's safe.directory and global ignore file apply
        variables.pop(name)
    with contextlib.suppress(RuntimeError):  # no HOME, and a user unknown to the system
        variables["HOME"] = str(Path.home())
    argv = git_command(
        arguments, always=[setting for setting in SETTINGS if not setting.startswith("core.excludesFile")]
    )
    try:
        ran = subprocess.run(
            argv, cwd=folder, env=variables, stdin=subprocess.DEVNULL, capture_output=True, timeout=120, check=False
        )
    except FileNotFoundError:
        raise BadInput("git is not installed", then="install git 2.36 or newer") from None
    except (OSError, subprocess.TimeoutExpired) as error:
        raise BadInput(f"git does not answer in {folder}: {error}", then="try `git status` there") from None
    return ran.returncode, ran.stdout.decode(errors="surrogateescape"), ran.stderr.decode(errors="replace")
