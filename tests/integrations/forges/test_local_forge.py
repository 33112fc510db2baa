"""Pull requests as files, and the choice of a repository's forge."""

import subprocess
from dataclasses import replace
from pathlib import Path

import pytest

from tests.integrations.forges.conftest import PICTURE
from trued.errors import BadInput
from trued.integrations.forges import forge_of
from trued.integrations.forges.github import GitHubForge
from trued.integrations.forges.local import LocalForge
from trued.model import ForgeSettings
from trued.protocols import PullRequestProposal


@pytest.mark.spec("TIC-9")
def test_without_a_forge_the_pull_request_is_a_file_that_the_next_offer_brings_up_to_date(
    shop: Path, offer: PullRequestProposal, tmp_path: Path
) -> None:
    forge = LocalForge(tmp_path / "a folder", shop)
    forge.ready()
    assert forge.remote == ""
    assert forge.offered(offer.branch) is None
    shown = forge.picture(offer.head, "proof of it.png")
    first = forge.offer(replace(offer, title="Points -->\n# not a heading", body=f"![proof]({shown})\r\n", draft=True))
    text = Path(first.url).read_text()
    assert text.count("-->") == 2  # one ends our comment, one is in the title
    assert "# Points --> # not a heading\n\n![proof](pictures/" in text
    assert (Path(first.url).parent / "pictures" / f"{offer.head[:12]}-proof of it.png").read_bytes() == PICTURE
    assert forge.offered(offer.branch) == first
    again = forge.offer(offer)
    assert (again.number, again.draft, again.body) == (1, False, offer.body)
    assert forge.offered(offer.branch) == again
    assert [path.name for path in (tmp_path / "a folder").iterdir() if path.is_file()] == ["pull-request.md"]


def test_a_file_that_is_not_ours_is_not_written_over(shop: Path, offer: PullRequestProposal, tmp_path: Path) -> None:
    forge = LocalForge(tmp_path, shop)
    forge.offer(offer)
    with pytest.raises(BadInput, match=f"holds the pull request of {offer.branch}"):
        forge.offer(replace(offer, branch="fix/another"))
    (tmp_path / "pull-request.md").write_text("# My own notes\n")
    with pytest.raises(BadInput, match="is not a pull request of trued"):
        forge.offer(offer)
    assert (tmp_path / "pull-request.md").read_text() == "# My own notes\n"


def test_a_picture_that_is_not_there_and_a_folder_that_cannot_be(
    shop: Path, offer: PullRequestProposal, tmp_path: Path
) -> None:
    with pytest.raises(BadInput, match=r"there is no file nothing\.png in commit"):
        LocalForge(tmp_path, shop).picture(offer.head, "nothing.png")
    (tmp_path / "file").write_text("")
    with pytest.raises(BadInput, match="cannot write a pull request"):
        LocalForge(tmp_path / "file" / "folder", shop).ready()


# -- which forge


def cloned(folder: Path, origin: str) -> Path:
    subprocess.run(["git", "init", "-q", str(folder)], check=True, timeout=60)
    if origin:
        subprocess.run(["git", "-C", str(folder), "remote", "add", "origin", origin], check=True, timeout=60)
    return folder


@pytest.mark.parametrize(
    ("origin", "address"),
    [
        ("https://github.com/acme/shop.git", "https://github.com/acme/shop/blob"),
        ("git@github.com:acme/shop.git", "https://github.com/acme/shop/blob"),
        ("ssh://git@github.com/acme/shop", "https://github.com/acme/shop/blob"),
        ("https://user:secret@github.com/acme/shop", "https://github.com/acme/shop/blob"),
        ("https://github.com.example.com/acme/shop", ""),
        ("https://example.com/github.com/acme/shop", ""),
        ("../github.com/acme/shop", ""),
        ("https://github.com/acme", ""),
        ("https://github.com/acme/..", ""),
        ("", ""),
    ],
)
def test_the_forge_is_found_by_the_remote(origin: str, address: str, tmp_path: Path) -> None:
    forge = forge_of(ForgeSettings(), {}, cloned(tmp_path / "clone", origin), tmp_path / "out")
    assert forge.name == ("github" if address else "local")
    if address:
        assert forge.picture("abc", "a.png") == f"{address}/abc/a.png?raw=true"
        assert forge.remote == "origin"


def test_what_is_set_stands_above_what_is_found(tmp_path: Path) -> None:
    clone = cloned(tmp_path / "clone", "https://github.com/acme/shop")
    assert forge_of(ForgeSettings(kind="local"), {}, clone, tmp_path).name == "local"
    own = ForgeSettings(kind="github", repository="acme/web", url="http://127.0.0.1:9/api/v3")
    forge = forge_of(own, {}, clone, tmp_path)
    assert isinstance(forge, GitHubForge)
    assert forge.picture("abc", "a.png").startswith("http://127.0.0.1:9/acme/web/")
    with pytest.raises(BadInput, match="is not a GitHub repository"):
        forge_of(ForgeSettings(kind="github"), {}, cloned(tmp_path / "bare", ""), tmp_path)
    with pytest.raises(BadInput, match="is not a GitHub repository"):
        forge_of(ForgeSettings(kind="github", repository="../x"), {}, clone, tmp_path)
    with pytest.raises(BadInput, match="is not a remote"):
        forge_of(ForgeSettings(remote="--upload-pack=x"), {}, clone, tmp_path)


def test_of_a_fork_the_branch_is_offered_to_where_it_came_from(tmp_path: Path) -> None:
    clone = cloned(tmp_path / "clone", "https://github.com/ada/shop")
    forge = forge_of(ForgeSettings(repository="acme/shop"), {}, clone, tmp_path)
    assert forge.picture("abc", "a.png").startswith("https://github.com/ada/shop/")  # where the branch was pushed


@pytest.mark.parametrize(
    ("url", "token", "words"),
    [
        ("http://git.example.com/api/v3", "t", "would get the token unencrypted"),
        ("https://user:pass@git.example.com", "t", "has a password in it"),
        ("file:///etc/passwd", "t", "is not an address of GitHub"),
        ("https://exa mple.com", "t", "is not an address of GitHub"),
        ("https://[", "t", "is not an address of GitHub"),
        ("https://git.example.com/api/v3", "two words", "GITHUB_TOKEN does not hold a token"),
        ("https://git.example.com/api/v3", "a\r\nX-Evil: 1", "GITHUB_TOKEN does not hold a token"),
    ],
)
def test_a_token_goes_over_tls_to_an_address_that_is_one(url: str, token: str, words: str, tmp_path: Path) -> None:
    settings = ForgeSettings(kind="github", repository="acme/shop", url=url)
    with pytest.raises(BadInput, match=words) as error:
        forge_of(settings, {"GITHUB_TOKEN": token}, cloned(tmp_path / "clone", ""), tmp_path)
    assert "\n" not in str(error.value)
    assert "pass@" not in str(error.value)
