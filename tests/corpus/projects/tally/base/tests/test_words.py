import subprocess
import sys


def tally(*words, text=""):
    return subprocess.run([sys.executable, "-m", "tally", *words], input=text, capture_output=True, text=True)


def test_lines():
    assert tally("lines", text="a\nb\n").stdout == "2\n"


def test_words():
    assert tally("words", text="b a b").stdout == "b 2\na 1\n"


def test_top():
    assert tally("words", "--top", "1", text="b a b").stdout == "b 2\n"


def test_a_bad_top():
    done = tally("words", "--top", "none", text="a")
    assert (done.returncode, done.stdout) == (2, "")
