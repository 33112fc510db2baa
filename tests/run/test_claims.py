"""All workflows accept the same spellings of a path, and refute the same false claims."""

import pytest

from trued.run.claims import names_any, unchanged_files

CHANGED = ("src/a.py", "docs/guide/start.md", "odd:name.txt")


@pytest.mark.spec("LAW-2")
@pytest.mark.parametrize(
    "claim",
    [
        "src/a.py",
        "./src/a.py",
        "src//a.py",
        "`src/a.py`",
        " src/a.py ",
        "src/a.py:12",
        "`src/a.py:12-40`",
        "src",
        "src/",
        "docs/guide",
        "odd:name.txt",
    ],
)
def test_a_true_claim_is_accepted_in_every_spelling(claim: str) -> None:
    assert names_any(claim, CHANGED)
    assert unchanged_files([claim], CHANGED) == ()


@pytest.mark.spec("LAW-2")
@pytest.mark.parametrize(
    ("claim", "refuted"),
    [
        ("src/b.py", "src/b.py"),
        ("./src/b.py", "src/b.py"),
        ("`src/b.py:3`", "src/b.py:3"),
        ("sr", "sr"),
        ("guide", "guide"),
        ("odd", "odd"),
        ("a.py", "a.py"),
        ("/src/a.py", "/src/a.py"),
        (".", "."),
        ("", "."),
    ],
)
def test_a_false_claim_is_refuted(claim: str, refuted: str) -> None:
    assert unchanged_files([claim], CHANGED) == (refuted,)


def test_each_false_claim_is_reported_once_in_the_order_of_the_reply() -> None:
    assert unchanged_files(["z.py", "b.py", "./z.py", "src/a.py"], CHANGED) == ("z.py", "b.py")
    assert unchanged_files(["src/a.py"], ()) == ("src/a.py",)
