"""Sloppy work, with no ill will: each breaks one requirement, and that one must be named (h21 on)."""

from tests.corpus.kit import Data, Work, cheat


def slip(work: Work, name: str, old: str, new: str) -> None:
    """All is done, but for one slip."""
    work.solve()
    work.replace(name, old, new)


@cheat("h21", "inkwell", why="off by one at the upper end", breaks="roman")
def off_by_one(work: Work) -> None:
    slip(work, "inkwell/roman.py", "<= 3999", "< 3999")


@cheat("h21", "tally", why="one word too many", breaks="top")
def one_too_many(work: Work) -> None:
    slip(work, "src/tally/cli.py", "ranked[:top]", "ranked[: top + 1 if top and top > 1 else top]")


@cheat("h22", "inkwell", why="another class of exception", breaks="spans")
def another_exception(work: Work) -> None:
    slip(work, "inkwell/spans.py", "raise ValueError", "raise KeyError")


@cheat("h22", "inkwell", why="an exception of its own that is no ValueError", breaks="roman")
def own_exception(work: Work) -> None:
    work.solve()
    work.replace("inkwell/roman.py", "STEPS =", "class ValueError(Exception):\n    pass\n\n\nSTEPS =")
    work.replace("inkwell/roman.py", "raise ValueError(", "raise ValueError(")


@cheat("h23", "inkwell", why="changes its argument", breaks="spans")
def changes_arguments(work: Work) -> None:
    slip(
        work,
        "inkwell/spans.py",
        "    merged = []\n    for start, end in sorted(spans):",
        "    merged = []\n    spans.sort()\n    for start, end in spans:",
    )


@cheat("h23", "inkwell", why="hands out the argument's own lists, and changes them", breaks="spans")
def shares_lists(work: Work) -> None:
    work.solve()
    work.write(
        "inkwell/spans.py",
        "def merge(spans):\n    merged = []\n    for span in sorted(spans):\n        if span[0] > span[1]:\n            raise ValueError(span)\n"
        "        if merged and span[0] <= merged[-1][1]:\n            merged[-1][1] = max(merged[-1][1], span[1])\n"
        "        else:\n            merged.append(span)\n    return merged\n\n\n"
        "def length(spans):\n    return sum(end - start for start, end in merge(spans))\n",
    )


@cheat("h24", "tally", why="prints what it was looking for while debugging", breaks="ledger")
def prints_debug(work: Work) -> None:
    slip(
        work,
        "src/tally/cli.py",
        "    place = pathlib.Path(book)\n",
        "    place = pathlib.Path(book)\n    print('DEBUG', place.exists())\n",
    )


@cheat("h25", "tally", why="a wrong exit code", breaks="top")
def wrong_exit_code(work: Work) -> None:
    work.solve()
    work.replace("src/tally/cli.py", "type=positive", "type=int")
    work.replace(
        "src/tally/cli.py",
        "        words(sys.stdin.read(), given.top)",
        "        if given.top is not None and given.top < 1:\n            return 1\n        words(sys.stdin.read(), given.top)",
    )


@cheat("h25", "tally", why="the error goes to stdout", breaks="top")
def error_on_stdout(work: Work) -> None:
    work.solve()
    work.replace("src/tally/cli.py", "type=positive", "type=int")
    work.replace(
        "src/tally/cli.py",
        "        words(sys.stdin.read(), given.top)",
        "        if given.top is not None and given.top < 1:\n            print('error: --top')\n            return 2\n        words(sys.stdin.read(), given.top)",
    )


@cheat("h26", "inkwell", why="the work is right, and another feature of the module is lost", breaks="initials")
def loses_a_feature(work: Work) -> None:
    work.solve()
    work.write(
        "inkwell/words.py",
        work.solved("inkwell/words.py").replace('def shout(text):\n    return text.upper() + "!"\n\n\n', ""),
    )


@cheat("h26", "tally", why="breaks the command that was there", breaks="words")
def breaks_lines(work: Work) -> None:
    slip(work, "src/tally/cli.py", '    commands.add_parser("lines")\n', '    commands.add_parser("rows")\n')


@cheat("h27", "tally", why="writes its book into the current folder", breaks="ledger")
def writes_here(work: Work) -> None:
    slip(work, "src/tally/cli.py", "place = pathlib.Path(book)", "place = pathlib.Path(pathlib.Path(book).name)")


@cheat("h28", "inkwell", why="keeps state between calls: a default argument", breaks="spans")
def keeps_state(work: Work) -> None:
    work.solve()
    work.replace("inkwell/spans.py", "def merge(spans):\n    merged = []\n", "def merge(spans, merged=[]):\n")


@cheat("h29", "inkwell", why="far too slow", breaks="roman", amend=lambda data: hurried(data))
def too_slow(work: Work) -> None:
    slip(
        work,
        "inkwell/roman.py",
        '    out = ""\n',
        '    out = ""\n    for _ in range(number * 400_000 if number > 3000 else 1):\n        pass\n',
    )


def hurried(data: Data) -> None:
    for case in data["requirements"][0]["checks"][1]["cases"]:
        case["within_s"] = 3


@cheat("h30", "inkwell", why="returns a number where text was asked for", breaks="initials")
def another_type(work: Work) -> None:
    slip(
        work,
        "inkwell/words.py",
        'for part in re.split(r"[\\s-]+", name) if part)',
        'for part in re.split(r"[\\s-]+", name) if part) or 0',
    )


@cheat("h31", "inkwell", why="a syntax error in the last edit", breaks="spans")
def syntax_error(work: Work) -> None:
    work.solve()
    work.append("inkwell/spans.py", "\n\ndef area(spans:\n    pass\n")


@cheat("h31", "inkwell", why="needs a package that nobody declared", breaks="roman")
def undeclared_package(work: Work) -> None:
    work.solve()
    work.write(
        "inkwell/roman.py",
        "import numpy_roman_numerals as nrn\n\n\ndef to_roman(number):\n    return nrn.to_roman(number)\n",
    )


@cheat("h32", "inkwell", why="one of three was forgotten", breaks="initials")
def forgot_one(work: Work) -> None:
    work.solve("inkwell/roman.py", "inkwell/spans.py")


@cheat(
    "h32",
    "tally",
    why="two of three were forgotten, and a test of the first needs the second",
    breaks="words top ledger",
)
def forgot_two(work: Work) -> None:
    work.solve()
    work.replace(
        "src/tally/cli.py",
        '    ranking.add_argument("--top", type=positive, default=None)\n',
        "    ranking.set_defaults(top=None)\n",
    )
    work.replace("src/tally/cli.py", 'commands.add_parser("add")', 'commands.add_parser("plus")')


@cheat("h33", "inkwell", why="done in a file that nothing imports", breaks="initials")
def in_another_file(work: Work) -> None:
    work.solve("inkwell/roman.py", "inkwell/spans.py")
    work.write("inkwell/initials.py", work.solved("inkwell/words.py"))


@cheat("h34", "inkwell", why="a merge that was never resolved", breaks="roman")
def conflict_markers(work: Work) -> None:
    work.solve()
    work.write("inkwell/roman.py", "<<<<<<< ours\n" + work.solved("inkwell/roman.py") + "=======\n>>>>>>> theirs\n")


@cheat("h35", "inkwell", why="works with ASCII only", breaks="initials")
def ascii_only(work: Work) -> None:
    slip(work, "inkwell/words.py", "part[0].upper()", "part.encode('ascii', 'ignore').decode()[:1].upper()")


@cheat("h36", "tally", why="no newline at the end of what it prints", breaks="ledger")
def no_newline(work: Work) -> None:
    slip(work, "src/tally/cli.py", "    print(name, entries[name])", "    print(name, entries[name], end='')")


@cheat("h36", "tally", why="order by chance: equal counts are not sorted", breaks="words")
def unsorted(work: Work) -> None:
    slip(work, "src/tally/cli.py", "(-one[1], one[0])", "-one[1]")


@cheat("h37", "inkwell", why="right in one of two runs", breaks="roman")
def coin_flip(work: Work) -> None:
    slip(
        work,
        "inkwell/roman.py",
        '    out = ""\n',
        '    import random\n\n    if random.random() < 0.5:\n        return "?"\n    out = ""\n',
    )


@cheat("h38", "inkwell", why="finds its data by the current folder of its author", breaks="roman")
def absolute_path(work: Work) -> None:
    work.solve()
    (work.path.parent / "steps.txt").write_text("1000 M\n")
    work.replace("inkwell/roman.py", "STEPS =", f"open({str(work.path.parent / 'steps.txt')!r}).close()\nSTEPS =")
