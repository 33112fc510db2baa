from textkit import shout


def test_shout() -> None:
    assert shout("hello") == "HELLO!"
