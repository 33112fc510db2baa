import subprocess
import sys


def tally(*words, text=""):
    return subprocess.run([sys.executable, "-m", "tally", *words], input=text, capture_output=True, text=True)


def test_a_ledger(tmp_path):
    book = tmp_path / "book.txt"
    assert tally("add", str(book), "tea", "2").returncode == 0
    assert tally("add", str(book), "tea", "3").stdout == "tea 5\n"
