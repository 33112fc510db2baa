"""The private bare repository with the base and results of all runs on one of the user's repositories."""

import asyncio
import hashlib
import os
import secrets
import time
from collections.abc import AsyncIterator, Collection, Iterable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from trued.errors import BadInput, StateFailed
from trued.support.lazy_regex import lazy_regex
from trued.support.path_sets import includes_path
from trued.workspace.git.batch import batch_input, parse_batch
from trued.workspace.git.command import SYNCED, WITHIN_S, Git, GitFailed, last_line
from trued.workspace.git.removal import remove_tree_now

# A `.gitattributes` file can ask git to convert files. These attributes overrule it, so files are stored byte for byte.
ATTRIBUTES = "* -text !eol -filter -ident !working-tree-encoding\n"
ENGINE = "trued"
LINK = "120000"  # git's mode of a symbolic link
UNDONE_READ = 50  # most undone files whose content is read, to be quoted: people and agents need no more
AT_ONCE = 32  # git processes at a time for the files of a commit: each needs some of the engine's file descriptors
LISTED = 7  # how many commits' file lists are cached, because base, start and head are read again and again
REMEMBERED, SMALL = 512, 1 << 16  # number and size of contents that are cached: manifests, settings, tests
_HASH = lazy_regex(r"[0-9a-f]{4,64}")
_REF = lazy_regex(rb"(?:[0-9a-f]{40}|[0-9a-f]{64})\n?")


ROLE = "Trued-Role"  # the last trailer of a commit in the user's name: the role that did the work
_TRAILERS = lazy_regex(r"(?:[A-Za-z][\w-]*: .*\n?)+")
_PERSON = lazy_regex(r"\s*([^<>\n]*[^<>\s])\s*<([^<>\s]+)>\s*")


@dataclass(frozen=True, slots=True)
class CommitAuthor:
    """Who made a commit (a role, or the engine) and when. A commit that is made again with the same author, tree,
    parents and message has the same hash.

    With a `person` ("Ada <ada@example.org>"), the commit is in that person's name, and its last trailer names the role.
    """

    name: str
    when: float
    person: str = ""

    def message(self, text: str) -> str:
        """The commit message: the text and, if a person is the author, a trailer that names the role."""
        text = text.replace("\0", "").strip()
        if not _PERSON.fullmatch(self.person):
            return f"{text}\n"
        above, _, last = text.rpartition("\n\n")
        return (
            f"{text}{'' if above and _TRAILERS.fullmatch(last) else chr(10)}\n{ROLE}: {' '.join(self.name.split())}\n"
        )

    def variables(self) -> dict[str, str]:
        """The variables that make git use this author. The committer is the person, or the engine if there is none."""
        stamp = f"@{int(self.when)} +0000"
        if person := _PERSON.fullmatch(self.person):
            return {
                f"GIT_{who}_{what}": value
                for who in ("AUTHOR", "COMMITTER")
                for what, value in (("NAME", person[1]), ("EMAIL", person[2]), ("DATE", stamp))
            }
        name = " ".join(self.name.split()).translate({ord("<"): None, ord(">"): None}) or ENGINE
        mail = "".join(character if character.isalnum() or character in "-_." else "-" for character in name)
        return {
            "GIT_AUTHOR_NAME": name,
            "GIT_AUTHOR_EMAIL": f"{mail}@trued.invalid",
            "GIT_AUTHOR_DATE": stamp,
            "GIT_COMMITTER_NAME": ENGINE,
            "GIT_COMMITTER_EMAIL": "engine@trued.invalid",
            "GIT_COMMITTER_DATE": stamp,
        }


class BroughtWork(Protocol):
    """A way to fetch work of other machines into a store."""

    async def bring(self, store: "Store") -> None:
        """Fetch the commits that the run needs and this store lacks."""
        ...


class Store:
    """A bare repository in the state folder. Refs of a run are below refs/trued/<run>/. Nothing is ever
    garbage-collected."""

    def __init__(self, repo: Path, home: Path, run: str) -> None:
        self.repo, self.run = repo, run
        self.travel: BroughtWork | None = None  # fetches work of other machines
        self.hang_timeout_s = 60.0  # a git that takes longer is taken to hang, on a pipe that an agent left for example
        real = os.path.realpath(repo)
        name = "".join(
            character if character.isalnum() and character.isascii() else "-" for character in Path(real).name
        )[:40]
        self.folder = home / "stores" / f"{name}-{hashlib.sha256(real.encode()).hexdigest()[:12]}.git"
        self.git = Git(self.folder, home / "runs" / run / "git.lock")
        # The object of a full hash never changes, so each hash is looked up only once.
        self._listed: dict[str, dict[str, tuple[str, str, str]]] = {}
        self._trees: dict[str, str] = {}
        self._changed: dict[tuple[str, str], tuple[str, ...]] = {}
        self._contents: dict[str, bytes] = {}

    def ref(self, name: str) -> str:
        """The full name of a ref of this run."""
        return f"refs/trued/{self.run}/{name}"

    # -- beginning --------------------------------------------------------------------------------------------------

    async def begin(self, base: str, *, depth: int = 0, beside: Mapping[str, str] | None = None) -> None:
        """Copy `base` with its history into the store, after waiting for git processes of a killed engine.

        `depth`: how many commits of the history to copy; 0 for all. `beside`: name of a ref → another commit of the
        same repository, which is also copied.
        """
        await self.git.wait_for_earlier_git()
        self._unlock()
        self.remove_broken_refs(*self._loose())
        if not self.folder.is_dir():
            await self._create(base)
        elif not self.travel and not beside and await self._stored_base() == base:
            return
        if self.travel:
            await self.travel.bring(self)
            if not beside and await self._stored_base() == base:
                return
        await self.bring_all(await self.source(), {"base": base, **(beside or {})}, depth=depth)

    async def _stored_base(self) -> str:
        """The base that the store already has; "" if it has none. It is usually read from a file, without starting
        git."""
        file = self.folder / self.ref("base")
        if file.is_file():
            return file.read_text(errors="replace").strip()
        code, commit, _ = await self.git.attempt("rev-parse", "--verify", "--quiet", self.ref("base"))
        return commit.decode().strip() if code == 0 else ""

    async def bring(self, source: str, commit: str, name: str, *, depth: int = 0) -> None:
        """Copy one commit from a folder of objects to the ref `name`."""
        await self.bring_all(source, {name: commit}, depth=depth)

    async def bring_all(self, source: str, commits: Mapping[str, str], *, depth: int = 0) -> None:
        """Copy commits by hash from a folder of objects. Git refuses an object whose hash is not the requested one.

        `depth`: how many commits of their history to copy; 0 for all. Raises BadInput if they cannot be copied.
        """
        trusting = {"GIT_CONFIG_GLOBAL": str(self.folder / "trusting")}
        quiet = ("--quiet", "--no-tags", "--no-write-fetch-head", "--no-auto-maintenance", "--no-recurse-submodules")
        history = f"--depth={depth}" if depth else "--update-shallow"
        try:
            await self.git(
                *(
                    "fetch",
                    *quiet,
                    history,
                    source,
                    *(f"+{commit}:{self.ref(name)}" for name, commit in commits.items()),
                ),
                variables=trusting,
                settings=(*SYNCED, "protocol.version=2"),
            )
        except GitFailed as error:
            names = " and ".join(commit[:12] for commit in commits.values())
            what = f"cannot copy {names} from {source}: {last_line(error.stderr)}"
            raise BadInput(what) from error

    def _unlock(self) -> None:
        """Remove the locks on the run's refs. Only a killed git can have left them."""
        for lock in (self.folder / "refs" / "trued" / self.run).rglob("*.lock"):
            lock.unlink(missing_ok=True)
        shallow = self.folder / "shallow.lock"  # other runs also use this lock; if it is old, a killed git left it
        if is_older(shallow, WITHIN_S):
            shallow.unlink(missing_ok=True)

    def _loose(self) -> list[str]:
        top = self.folder / "refs" / "trued" / self.run
        return [str(path.relative_to(top)) for path in top.rglob("*") if path.is_file()]

    def remove_broken_refs(self, *names: str) -> None:
        """Remove refs that a power cut left empty, because git can neither read nor overwrite them."""
        for name in names:
            file = self.folder / self.ref(name)
            if file.is_file() and not _REF.fullmatch(file.read_bytes()):
                file.unlink(missing_ok=True)

    async def _create(self, base: str) -> None:
        aside = self.folder.with_name(f".{self.folder.name}.{secrets.token_hex(4)}")
        try:
            self.folder.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            hashes = "sha256" if len(base) == len(hashlib.sha256().hexdigest()) else "sha1"
            await Git(aside)("init", "--quiet", "--bare", f"--object-format={hashes}", str(aside))
            (aside / "info").mkdir(exist_ok=True)
            (aside / "info" / "attributes").write_text(ATTRIBUTES)
            # Reading the repository is safe, whoever owns it: the user chose it, and hooks and filters are off.
            (aside / "trusting").write_text("[safe]\n\tdirectory = *\n")
            aside.rename(self.folder)
        except OSError as error:
            if not self.folder.is_dir():  # otherwise another process was quicker
                raise StateFailed(f"cannot make {self.folder}: {error.strerror}") from error
        finally:
            remove_tree_now(aside)

    async def source(self) -> str:
        """The user's git folder: `.git` or, in a linked worktree, the folder to which the file `.git` leads; the
        repository itself if it is bare."""
        dot = self.repo / ".git"
        if dot.is_dir():
            return str(dot)
        if not dot.exists() and (self.repo / "objects").is_dir() and (self.repo / "HEAD").is_file():
            return str(self.repo)  # bare
        git = Git(self.repo)
        code, out, stderr = await git.attempt(
            f"--git-dir={dot}", "rev-parse", "--path-format=absolute", "--git-common-dir"
        )
        if code != 0:
            raise BadInput(f"{self.repo} is no longer a git repository: {stderr.strip()}", then="restore it and resume")
        return out.decode().strip()

    # -- trees and commits ------------------------------------------------------------------------------------------

    @asynccontextmanager
    async def index(self, folder: Path) -> AsyncIterator[Path]:
        """Yield the path of a new temporary index, and remove the index afterwards."""
        path = folder / f"index.{secrets.token_hex(6)}"
        try:
            yield path
        finally:
            path.unlink(missing_ok=True)
            path.with_name(f"{path.name}.lock").unlink(missing_ok=True)

    async def has_commit(self, commit: str) -> bool:
        """Whether the store has this commit."""
        return (await self.git.attempt("cat-file", "-e", f"{commit}^{{commit}}"))[0] == 0

    async def tree(self, commit: str) -> str:
        """The hash of the commit's tree."""
        if commit in self._trees:
            return self._trees[commit]
        tree = await self.git.line("rev-parse", "--verify", "--quiet", f"{commit}^{{tree}}")
        if _REF.fullmatch(commit.encode()):
            self._trees = {**dict(list(self._trees.items())[-REMEMBERED:]), commit: tree}
        return tree

    async def check_out(self, commit: str, work: Path, index: Path) -> None:
        """Check out the commit in `work`. Files that are not in the index stay, unless they are in the way."""
        await self.git(
            *(f"--work-tree={work}", "read-tree", "--reset", "-u", commit),
            variables={"GIT_INDEX_FILE": str(index)},
        )

    async def commit(self, tree: str, parents: Sequence[str], author: CommitAuthor, message: str) -> str:
        """Make a commit from a tree; no ref points to it yet."""
        above = [word for parent in parents for word in ("-p", parent)]
        text = author.message(message).encode()
        return await self.git.line("commit-tree", tree, *above, stdin=text, variables=author.variables())

    async def set_ref(self, ref: str, commit: str) -> None:
        """Point a ref of this run to a commit. This also makes all earlier writes durable, so do it last."""
        await self.git("update-ref", self.ref(ref), commit, settings=SYNCED)

    async def refs(self, *prefixes: str) -> dict[str, str]:
        """Refs of this run below these prefixes: full name → commit."""
        lines = await self.git("for-each-ref", "--format=%(objectname) %(refname)", *map(self.ref, prefixes))
        pairs = [line.split(" ", 1) for line in lines.decode().splitlines()]
        return {name: commit for commit, name in pairs}

    async def commit_files(
        self, head: str, files: Mapping[str, bytes], author: CommitAuthor, message: str, scratch: Path
    ) -> str:
        """Commit these files, and no other change, on top of `head`. Returns the commit, or `head` if nothing would
        change."""
        paths = list(files)
        listed, hashes = await asyncio.gather(self.entries(head, paths), self._write_blobs(files.values()))
        if not paths or all(listed.get(path, ("", ""))[1] == known for path, known in zip(paths, hashes, strict=True)):
            return head
        starts = {path for path, content in files.items() if content.startswith(b"#!")}
        known = {path for path in paths if listed.get(path, ("",))[0] == "100755"}
        modes = {path: "100755" if path in starts | known else "100644" for path in paths}
        wanted = "".join(f"{modes[path]} {known}\t{path}\0" for path, known in zip(paths, hashes, strict=True))
        async with self.index(scratch) as index:
            variables = {"GIT_INDEX_FILE": str(index)}
            await self.git("read-tree", head, variables=variables)
            await self.git(
                *("update-index", "-z", "--add", "--replace", "--index-info"),
                stdin=wanted.encode(),
                variables=variables,
            )
            tree = await self.git.line("write-tree", variables=variables)
        commit = await self.commit(tree, [head], author, message)
        await self.set_ref(f"record/{commit}", commit)
        return commit

    async def commit_without_history(
        self, files: Mapping[str, bytes], author: CommitAuthor, message: str, scratch: Path
    ) -> str:
        """Make a commit without parents that contains exactly these files."""
        hashes = await self._write_blobs(files.values())
        wanted = "".join(f"100644 {known}\t{path}\0" for path, known in zip(files, hashes, strict=True))
        async with self.index(scratch) as index:
            variables = {"GIT_INDEX_FILE": str(index)}
            await self.git("update-index", "-z", "--add", "--index-info", stdin=wanted.encode(), variables=variables)
            tree = await self.git.line("write-tree", variables=variables)
        commit = await self.commit(tree, [], author, message)
        await self.set_ref(f"apart/{commit}", commit)
        return commit

    async def _write_blobs(self, contents: Iterable[bytes]) -> list[str]:
        """Write contents into the store, several at a time, because a plan can have hundreds of files. Returns their
        hashes."""
        room = asyncio.Semaphore(AT_ONCE)

        async def write(content: bytes) -> str:
            async with room:
                return await self.git.line("hash-object", "-w", "--stdin", stdin=content)

        return list(await asyncio.gather(*map(write, contents)))

    async def is_known_commit(self, commit: str) -> bool:
        """Whether `commit` is the hash, or the beginning of the hash, of a commit in the history of a ref of this
        run."""
        if not _HASH.fullmatch(commit):
            return False
        code, full_hash, _ = await self.git.attempt("rev-parse", "--verify", "--quiet", f"{commit}^{{commit}}")
        if code != 0:
            return False
        held = ("for-each-ref", "--count=1", "--format=%(refname)", f"--contains={full_hash.decode().strip()}")
        return bool(await self.git(*held, self.ref("")))

    async def restore_paths(
        self, tree: str, head: str, fixed: Collection[str], scratch: Path
    ) -> tuple[str, dict[str, bytes | None]]:
        """Change the `fixed` paths of `tree` back to their content in `head`. Returns the new tree and, for each path
        that was changed back, its content in `tree` (None if `tree` has no such file)."""
        wrong = [path for path in await self._changed_paths(head, tree) if _is_fixed(path, fixed)]
        if not wrong:
            return tree, {}
        return await self._replace_paths(tree, wrong, head, scratch), await self._read_undone(tree, wrong)

    async def keep_only_paths(
        self, tree: str, head: str, only: Collection[str], scratch: Path
    ) -> tuple[str, dict[str, bytes | None]]:
        """Change all paths of `tree` except the `only` paths back to their content in `head`. Returns the new tree and,
        for each path that was changed back, its content in `tree` (None if `tree` has no such file)."""
        differing = await self._changed_paths(head, tree)
        wanted = [path for path in differing if includes_path(only, path)]
        made = await self._replace_paths(head, wanted, tree, scratch) if wanted else await self.tree(head)
        return made, await self._read_undone(tree, [path for path in differing if path not in wanted])

    async def _changed_paths(self, head: str, tree: str) -> list[str]:
        """Paths that differ between the commit `head` and `tree`. Names that are not UTF-8 keep their bytes, so that no
        file is missed."""
        out = await self.git("diff-tree", "-r", "-z", "--name-only", "--no-renames", await self.tree(head), tree)
        return [path for path in out.decode(errors="surrogateescape").split("\0") if path]

    async def _replace_paths(self, tree: str, paths: Sequence[str], source: str, scratch: Path) -> str:
        """A copy of `tree` in which these paths are as in `source`."""
        out = await self.git("ls-tree", "-r", "-z", "--full-tree", source)
        rows = (row.partition("\t") for row in out.decode(errors="surrogateescape").split("\0") if row)
        entries = {path: about.split(" ") for about, _, path in rows}
        nothing = "0" * len(await self.tree(tree))
        gone = [f"0 {nothing}\t{path}\0" for path in paths if path not in entries]
        put = [f"{entries[path][0]} {entries[path][2]}\t{path}\0" for path in paths if path in entries]
        async with self.index(scratch) as index:
            variables = {"GIT_INDEX_FILE": str(index)}
            await self.git("read-tree", tree, variables=variables)
            await self.git(
                *("update-index", "-z", "--add", "--replace", "--index-info"),
                stdin="".join([*gone, *put]).encode(errors="surrogateescape"),
                variables=variables,
            )
            return await self.git.line("write-tree", variables=variables)

    async def _read_undone(self, tree: str, paths: Sequence[str]) -> dict[str, bytes | None]:
        """Path → content in `tree` (None: no such file). Only the first UNDONE_READ files are read; all other contents
        are given as b""."""
        names = [path.encode(errors="surrogateescape").decode(errors="backslashreplace") for path in paths]
        read = [await self.read(tree, path) for path in paths[:UNDONE_READ]]
        return {**dict.fromkeys(names, b""), **dict(zip(names, read, strict=False))}

    async def squash(
        self, head: str, onto: str, owned: Collection[str], author: CommitAuthor, message: str, scratch: Path
    ) -> str:
        """Squash everything that `head` adds to `onto` into one commit on `onto`. `owned` files stay as in `onto`.
        Returns the commit, or `onto` if nothing would change."""
        tree, _ = await self.restore_paths(await self.tree(head), onto, owned, scratch)
        if tree == await self.tree(onto):
            return onto
        commit = await self.commit(tree, [onto], author, message)
        await self.set_ref(f"taken/{commit}", commit)
        return commit

    # -- reading ----------------------------------------------------------------------------------------------------

    async def entries(self, commit: str, paths: Sequence[str] = ()) -> dict[str, tuple[str, str]]:
        """Path → (mode, blob) of all files of a commit, or of exactly the `paths`."""
        entries = await self._list(commit, paths)
        return {path: (mode, blob) for path, (mode, kind, blob) in entries.items() if kind == "blob"}

    async def links(self, commit: str) -> dict[str, str]:
        """Path → commit, for the submodules of a commit."""
        return {path: name for path, (_, kind, name) in (await self._list(commit)).items() if kind == "commit"}

    async def _list(self, commit: str, paths: Sequence[str] = ()) -> dict[str, tuple[str, str, str]]:
        if not paths and commit in self._listed:
            return self._listed[commit]
        literal = {"GIT_LITERAL_PATHSPECS": "1"}
        out = await self.git("ls-tree", "-r", "-z", "--full-tree", commit, "--", *paths, variables=literal)
        entries: dict[str, tuple[str, str, str]] = {}
        for line in out.decode(errors="backslashreplace").split("\0"):
            if line:
                about, _, path = line.partition("\t")
                mode, kind, name = about.split(" ")
                entries[path] = mode, kind, name
        if not paths and _REF.fullmatch(commit.encode()):
            self._listed = {**dict(list(self._listed.items())[-LISTED:]), commit: entries}
        return entries

    async def read(self, commit: str, path: str) -> bytes | None:
        """The content of one file; None if the commit does not have it. Raises GitFailed for an unknown commit."""
        if commit in self._listed:
            _, kind, blob = self._listed[commit].get(path, ("", "", ""))
            return await self.read_blob(blob) if kind == "blob" else None
        code, out, _ = await self.git.attempt("cat-file", "blob", f"{commit}:{path}")
        if code == 0:
            return out
        await self.git("cat-file", "-e", f"{commit}^{{tree}}")  # raises GitFailed if the commit itself is unknown
        named = (await self.entries(commit)).get(path) if "\\x" in path else None  # a name that is not UTF-8
        return await self.git("cat-file", "blob", named[1]) if named else None

    async def read_all(self, commit: str, paths: Iterable[str]) -> dict[str, bytes]:
        """Path → content of these files, except those that the commit lacks. One git process reads them all."""
        listed = await self.entries(commit)
        blobs = {path: listed[path][1] for path in paths if path in listed}
        known = {blob: self._contents[blob] for blob in blobs.values() if blob in self._contents}
        lacking = list(dict.fromkeys(blob for blob in blobs.values() if blob not in known))
        contents = await self._read_blobs(lacking) if lacking else {}
        for blob, content in contents.items():
            self._remember(blob, content)
        return {path: contents[blob] if blob in contents else known[blob] for path, blob in blobs.items()}

    async def _read_blobs(self, blobs: Sequence[str]) -> dict[str, bytes]:
        output = await self.git("cat-file", "--batch", stdin=batch_input(blobs))
        contents: dict[str, bytes] = {}
        for blob, answer in zip(blobs, parse_batch(output), strict=True):
            if answer.name != blob or answer.kind != "blob" or answer.content is None:
                raise StateFailed(f"{self.folder} lost {blob[:12]}: {answer.name} {answer.kind}")
            contents[blob] = answer.content
        return contents

    async def read_blob(self, blob: str) -> bytes:
        """The content of one blob of the store."""
        if blob not in self._contents:
            content = await self.git("cat-file", "blob", blob)
            self._remember(blob, content)
            return content
        return self._contents[blob]

    def _remember(self, blob: str, content: bytes) -> None:
        if len(content) <= SMALL:
            while len(self._contents) >= REMEMBERED:
                self._contents.pop(next(iter(self._contents)))
            self._contents[blob] = content

    async def changed_files(self, base: str, head: str) -> tuple[str, ...]:
        """Paths that differ between two commits."""
        if (base, head) in self._changed:
            return self._changed[base, head]
        out = await self.git("diff-tree", "-r", "-z", "--name-only", "--no-renames", base, head)
        paths = tuple(path for path in out.decode(errors="backslashreplace").split("\0") if path)
        if _REF.fullmatch(base.encode()) and _REF.fullmatch(head.encode()):
            self._changed = {**dict(list(self._changed.items())[-LISTED:]), (base, head): paths}
        return paths


def _is_fixed(path: str, fixed: Collection[str]) -> bool:
    """Whether the path is fixed. Paths below a fixed path are also fixed: an agent might have put a folder in place of
    a fixed file."""
    return includes_path(fixed, path) or any(path.startswith(f"{folder}/") for folder in fixed)


def is_older(file: Path, seconds: float) -> bool:
    """Whether the file exists and was last changed more than `seconds` ago."""
    try:
        return time.time() - file.lstat().st_mtime > seconds
    except OSError:
        return False
