"""Agents that may write only one document, or everything except a folder."""

from pathlib import Path

import pytest

from trued.workspace.git.workspace import GitWorkspace

WHEN = 1.0
DOCUMENT = "docs/feature/slug/research/impact.md"


async def cloned(workspace: GitWorkspace) -> Path:
    work, _ = await workspace.clone("a", workspace.base, token="1")
    return work


def put(work: Path, path: str | bytes, text: str = "x\n") -> None:
    place = Path(work, path if isinstance(path, str) else path.decode(errors="surrogateescape"))
    place.parent.mkdir(parents=True, exist_ok=True)
    place.write_text(text)


@pytest.mark.spec("PIPE-2")
async def test_an_agent_with_one_document_leaves_that_document_and_nothing_else(workspace: GitWorkspace) -> None:
    work = await cloned(workspace)
    put(work, DOCUMENT, "findings\n")
    put(work, "docs/feature/slug/memory.md", "forged\n")
    put(work, b"docs/feature/slug/memory/\xff.mem.md")
    put(work, "code.py")
    taken = await workspace.commit_clone(
        "a", workspace.base, author="researcher", message="m", when=WHEN, only=(DOCUMENT,), fixed=()
    )
    assert await workspace.changed_files(workspace.base, taken.commit) == (DOCUMENT,)
    assert taken.undone["docs/feature/slug/memory.md"] == b"forged\n"
    assert taken.undone.keys() == {
        "docs/feature/slug/memory.md",
        "docs/feature/slug/memory/\\xff.mem.md",
        "code.py",
    }


@pytest.mark.spec("PIPE-2")
async def test_below_an_owned_folder_nothing_of_an_agent_stays_whatever_it_is_called(workspace: GitWorkspace) -> None:
    work = await cloned(workspace)
    put(work, "docs/feature/slug/memory/other.mem.md")
    put(work, b"docs/feature/slug/\xfe")
    put(work, "docs/feature/slugs.md")
    taken = await workspace.commit_clone(
        "a", workspace.base, author="implementer", message="m", when=WHEN, fixed=("docs/feature/slug/",)
    )
    assert await workspace.changed_files(workspace.base, taken.commit) == ("docs/feature/slugs.md",)
    assert len(taken.undone) == 2


@pytest.mark.slow
@pytest.mark.spec("PIPE-10")
async def test_where_the_document_was_not_written_nothing_is_taken(workspace: GitWorkspace) -> None:
    work = await cloned(workspace)
    put(work, "code.py")
    taken = await workspace.commit_clone("a", workspace.base, author="r", message="m", when=WHEN, only=(DOCUMENT,))
    assert taken.commit == workspace.base
    assert taken.undone == {"code.py": b"x\n"}
