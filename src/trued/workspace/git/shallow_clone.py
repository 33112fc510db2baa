"""Makes a `.git` for a clean room, like that of a shallow clone, because a project's code or tests might run git."""

import hashlib
import re
import shutil
import zlib
from pathlib import Path

from trued.support.lazy_regex import lazy_regex
from trued.workspace.git.command import as_alternate
from trued.workspace.git.store import Store

BRANCH = "main"
TEMPLATES = Path("/usr/share/git-core/templates")  # what git itself copies into a new repository
SHA1 = 40  # characters of a SHA-1 hash
FAST = ("core.fsync=none", "core.compression=0", "pack.threads=1")  # for a repository that is removed with its room
_ORIGIN = lazy_regex(r'^\[remote "origin"\]\s*\n(?:[ \t]+.*\n)*?[ \t]+url\s*=\s*(\S+)', re.MULTILINE)
_CREDENTIALS = lazy_regex(r"(?<=://)[^/@]*@")


async def make_shallow_clone(store: Store, base: str, commit: str, work: Path, index: Path, git_folder: Path) -> None:
    """Make a repository at `git_folder`, with one commit of the files in `work`, so that `git status` is clean.

    `index`: the index file of the checkout; it is moved into the new repository. Call this before any code of the
    commit has run in `work`. The new commit has the subject and the parent of `commit`, and the author of `base`, so
    that it does not reveal the engine. The repository contains nothing else of the store.
    """
    objects = git_folder / "objects"
    if TEMPLATES.is_dir():
        shutil.copytree(TEMPLATES, git_folder)
    for folder in ("objects/info", "objects/pack", "refs/heads", "refs/tags", "info", "logs/refs/heads"):
        (git_folder / folder).mkdir(parents=True, exist_ok=True)
    variables = {
        "GIT_INDEX_FILE": str(index),
        "GIT_OBJECT_DIRECTORY": str(objects),
        "GIT_ALTERNATE_OBJECT_DIRECTORIES": as_alternate(store.folder / "objects"),
    }
    await store.git(f"--work-tree={work}", "add", "--all", settings=FAST, variables=variables)
    tree = (await store.git("write-tree", settings=FAST, variables=variables)).decode().strip()
    await store.git(
        *("pack-objects", "-q", "--revs", "--window=0", str(objects / "pack" / "pack")),
        stdin=f"{tree}\n".encode(),
        settings=FAST,
        variables=variables,
    )
    name, content, parent = _commit_of(await _commits(store, base, commit), tree)
    (objects / name[:2]).mkdir(exist_ok=True)
    (objects / name[:2] / name[2:]).write_bytes(zlib.compress(content))
    index.replace(git_folder / "index")
    origin = _origin(store.repo / ".git" / "config")
    files = {
        "HEAD": f"ref: refs/heads/{BRANCH}\n",
        f"refs/heads/{BRANCH}": f"{name}\n",
        "config": _config(name, origin),
        "shallow": f"{name}\n" if parent else "",
        "packed-refs": f"# pack-refs with: peeled fully-peeled sorted \n{name} refs/remotes/origin/{BRANCH}\n"
        if origin
        else "",
    }
    for path, text in files.items():
        if text:
            (git_folder / path).write_text(text)


async def _commits(store: Store, base: str, commit: str) -> list[bytes]:
    """The raw texts of the commits `base` and `commit`."""
    out = await store.git("cat-file", "--batch", stdin=f"{base}\n{commit}\n".encode())
    texts = []
    while out:
        head, _, rest = out.partition(b"\n")
        size = int(head.rpartition(b" ")[2])
        texts.append(rest[:size])
        out = rest[size + 1 :]
    return texts


def _commit_of(texts: list[bytes], tree: str) -> tuple[str, bytes, bytes]:
    """Hash, content and parent of a new commit with this tree, made from the texts of base and commit."""
    (ours, _), (theirs, message) = (text.partition(b"\n\n")[::2] for text in texts)
    person = _line(ours, b"author").rsplit(b" ", 2)[0]
    when = b" ".join(_line(theirs, b"committer").rsplit(b" ", 2)[1:])
    parent = _line(theirs, b"parent")
    lines = [b"tree " + tree.encode(), *([b"parent " + parent] if parent else [])]
    lines += [b"%s %s %s" % (role, person, when) for role in (b"author", b"committer")]
    text = b"\n".join(lines) + b"\n\n" + message.split(b"\n", 1)[0] + b"\n"
    content = b"commit %d\0" % len(text) + text
    hashed = hashlib.sha1 if len(tree) == SHA1 else hashlib.sha256
    return hashed(content).hexdigest(), content, parent


def _line(head: bytes, name: bytes) -> bytes:
    return next((line[len(name) + 1 :] for line in head.split(b"\n") if line.startswith(name + b" ")), b"")


def _origin(config: Path) -> str:
    """The address of the user's `origin`, without credentials; "" if there is none."""
    try:
        origin = _ORIGIN.search(config.read_text(errors="replace"))
    except OSError:
        return ""
    return _CREDENTIALS.sub("", origin[1]) if origin else ""


def _config(name: str, origin: str) -> str:
    core = ["filemode = true", "bare = false", "logallrefupdates = true"]
    if len(name) == SHA1:
        text = _section("core", "repositoryformatversion = 0", *core)
    else:
        text = _section("core", "repositoryformatversion = 1", *core)
        text += _section("extensions", "objectformat = sha256")
    if origin:
        text += _section('remote "origin"', f"url = {origin}", "fetch = +refs/heads/*:refs/remotes/origin/*")
        text += _section(f'branch "{BRANCH}"', "remote = origin", f"merge = refs/heads/{BRANCH}")
    return text


def _section(title: str, *lines: str) -> str:
    return "".join([f"[{title}]\n", *(f"\t{line}\n" for line in lines)])
