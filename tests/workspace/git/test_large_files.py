"""Large files and submodules are copied into the clean room by hash; missing ones are reported."""

import hashlib
from pathlib import Path

import pytest

from tests.workspace.conftest import Begin, git_in

LARGE = b"\0\1\2 large enough" * 1000


def pointer(content: bytes) -> str:
    name = hashlib.sha256(content).hexdigest()
    return f"version https://git-lfs.github.com/spec/v1\noid sha256:{name}\nsize {len(content)}\n"


def with_large_file(repo: Path, stored: bytes | None) -> None:
    """Commit a pointer, and store the content (if given) where git-lfs keeps it."""
    (repo / ".gitattributes").write_text("*.bin filter=lfs diff=lfs merge=lfs -text\n")
    (repo / "large.bin").write_text(pointer(LARGE))
    git_in(repo, "add", "-A")
    git_in(repo, "commit", "-q", "-m", "large")
    if stored is not None:
        name = hashlib.sha256(LARGE).hexdigest()
        place = repo / ".git" / "lfs" / "objects" / name[:2] / name[2:4] / name
        place.parent.mkdir(parents=True)
        place.write_bytes(stored)


@pytest.mark.spec("LAW-4")
async def test_a_large_file_that_the_base_names_is_brought_by_its_hash(repo: Path, begin: Begin) -> None:
    with_large_file(repo, LARGE)
    workspace = begin()
    await workspace.begin()
    async with workspace.room(workspace.base) as room:
        assert (room / "large.bin").read_bytes() == LARGE
    assert workspace.missing_content(workspace.base) == ()


@pytest.mark.spec("LAW-4")
@pytest.mark.parametrize("stored", [None, b"something else", LARGE[:-1] + b"!"], ids=["absent", "short", "other"])
async def test_another_content_under_its_name_is_not_brought_and_that_is_said(
    repo: Path, begin: Begin, stored: bytes | None
) -> None:
    with_large_file(repo, stored)
    workspace = begin()
    await workspace.begin()
    async with workspace.room(workspace.base) as room:
        assert (room / "large.bin").read_text() == pointer(LARGE)
    assert "git lfs pull" in workspace.missing_content(workspace.base)[0]


@pytest.mark.spec("LAW-4")
async def test_a_large_file_that_only_the_head_names_stays_a_pointer(repo: Path, begin: Begin) -> None:
    with_large_file(repo, LARGE)
    workspace = begin()
    await workspace.begin()
    other = LARGE + b"more"
    name = hashlib.sha256(other).hexdigest()
    place = repo / ".git" / "lfs" / "objects" / name[:2] / name[2:4] / name
    place.parent.mkdir(parents=True)
    place.write_bytes(other)
    head = await workspace.commit_files(workspace.base, {"large.bin": pointer(other).encode()}, message="x", when=1.0)
    async with workspace.room(head) as room:
        assert (room / "large.bin").read_text() == pointer(other)


def with_submodule(repo: Path, library: Path) -> str:
    """Add a library as a submodule, as `git submodule add` does."""
    library.mkdir()
    git_in(library, "init", "-q", "-b", "main")
    (library / "lib.py").write_text("VALUE = 7\n")
    git_in(library, "add", "-A")
    git_in(library, "-c", "user.name=a", "-c", "user.email=a@b", "commit", "-q", "-m", "library")
    git_in(repo, "-c", "protocol.file.allow=always", "submodule", "--quiet", "add", str(library), "vendor/lib")
    git_in(repo, "commit", "-q", "-m", "with a library")
    return git_in(library, "rev-parse", "HEAD")


@pytest.mark.spec("LAW-4")
async def test_a_submodule_that_the_base_names_is_brought_at_its_commit(
    repo: Path, begin: Begin, tmp_path: Path
) -> None:
    with_submodule(repo, tmp_path / "library")
    (repo / "vendor" / "lib" / "lib.py").write_text("VALUE = 'not committed'\n")
    workspace = begin()
    await workspace.begin()
    async with workspace.room(workspace.base) as room:
        assert (room / "vendor" / "lib" / "lib.py").read_text() == "VALUE = 7\n"
        assert not (room / "vendor" / "lib" / ".git").exists()
    assert workspace.missing_content(workspace.base) == ()


@pytest.mark.spec("LAW-4")
async def test_a_submodule_that_a_commit_moves_is_brought_at_the_commit_that_it_names_if_it_is_here(
    repo: Path, begin: Begin, tmp_path: Path
) -> None:
    with_submodule(repo, tmp_path / "library")
    base, inner = git_in(repo, "rev-parse", "HEAD"), repo / "vendor" / "lib"
    (inner / "lib.py").write_text("VALUE = 8\n")
    git_in(inner, "-c", "user.name=a", "-c", "user.email=a@b", "commit", "-qam", "moved")
    git_in(repo, "commit", "-qam", "moved")
    (repo / "other").mkdir()
    git_in(repo, "update-index", "--add", "--cacheinfo", f"160000,{git_in(inner, 'rev-parse', 'HEAD')},other")
    git_in(repo, "commit", "-qm", "added")
    head = git_in(repo, "rev-parse", "HEAD")
    git_in(repo, "checkout", "-q", base)
    workspace = begin()
    await workspace.begin()
    await workspace.store.git("fetch", "-q", str(repo), f"{head}:refs/trued/head")
    async with workspace.room(head) as room:
        assert (room / "vendor" / "lib" / "lib.py").read_text() == "VALUE = 8\n"
        assert list((room / "other").iterdir()) == []  # only the base says which folders are submodules
    assert [one.split(":")[0] for one in workspace.missing_content(head)] == ["other"]
    assert {"vendor/lib/lib.py"} == {one for one in await workspace.blobs(head) if one.startswith(("vendor", "other"))}


@pytest.mark.spec("LAW-4")
async def test_a_submodule_that_is_not_here_is_said(repo: Path, begin: Begin, tmp_path: Path) -> None:
    with_submodule(repo, tmp_path / "library")
    git_in(repo, "submodule", "--quiet", "deinit", "-f", "--all")
    modules = repo / ".git" / "modules"
    modules.rename(tmp_path / "gone")
    workspace = begin()
    await workspace.begin()
    async with workspace.room(workspace.base) as room:
        assert list((room / "vendor" / "lib").iterdir()) == []
    assert "git submodule update --init" in workspace.missing_content(workspace.base)[0]
