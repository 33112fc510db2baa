"""A bare repository, as forges have, with a branch that can be offered."""

import shutil
import subprocess
from pathlib import Path

import pytest

from trued.protocols import PullRequestProposal

PICTURE = b"\x89PNG\r\n\x1a\n a picture"


def git(folder: Path, *words: str) -> str:
    command = ["git", "-C", str(folder), "-c", "user.name=Ada", "-c", "user.email=ada@example.com", *words]
    return subprocess.run(command, capture_output=True, text=True, timeout=60, check=True).stdout.strip()


@pytest.fixture(scope="session")
def shop(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A repository with `main`, and `feat/SHOP-7-points` one commit ahead."""
    folder = tmp_path_factory.mktemp("forges")
    bare, clone = folder / "shop.git", folder / "clone"
    subprocess.run(["git", "init", "-q", "--bare", "-b", "main", str(bare)], check=True, timeout=60)
    subprocess.run(["git", "init", "-q", "-b", "main", str(clone)], check=True, timeout=60)
    (clone / "shop.py").write_text("points = 0\n")
    git(clone, "add", ".")
    git(clone, "commit", "-qm", "base")
    git(clone, "checkout", "-qb", "feat/SHOP-7-points")
    (clone / "proof of it.png").write_bytes(PICTURE)
    git(clone, "add", ".")
    git(clone, "commit", "-qm", "points")
    git(clone, "push", "-q", str(bare), "main", "feat/SHOP-7-points")
    return bare


@pytest.fixture
def bare(shop: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(shop, tmp_path / "shop.git", symlinks=True))


@pytest.fixture(scope="session")
def offer(shop: Path) -> PullRequestProposal:
    head = git(shop, "rev-parse", "feat/SHOP-7-points")
    return PullRequestProposal("feat/SHOP-7-points", "main", "Show points", "It shows *points*.\n", head)
