from inkwell import words


def test_shout():
    assert words.shout("ink") == "INK!"


def test_count():
    assert words.count("a b  c") == 3


def test_initials():
    expected = "A.L."
    assert words.initials("ada lovelace") == expected


def test_initials_of_nobody():
    assert words.initials("") == ""
