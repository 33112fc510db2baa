"""Splits shell command lines into words, without running them: enough to know which programs they start."""

import shlex

from trued.support.lazy_regex import lazy_regex

_OPERATORS = frozenset("();<>|&")
_ASSIGNMENT = lazy_regex(r"\w+=")


def shell_words(command: str) -> list[str]:
    """The words and operators of a command line as a POSIX shell splits them; empty if a quote is not closed."""
    try:
        lexer = shlex.shlex(command, posix=True, punctuation_chars=True)
        lexer.whitespace_split = True
        return list(lexer)
    except ValueError:
        return []


def is_operator(word: str) -> bool:
    """Whether the word counts as an operator: `&&`, `|`, `>` or the like. The empty word also counts as one, because a
    program cannot have that name."""
    return set(word) <= _OPERATORS


def started_commands(command: str) -> list[list[str]]:
    """Every simple command of a line, without operators and without variables that are set before a command. The file
    of a redirection counts as a command, too."""
    commands: list[list[str]] = [[]]
    for word in shell_words(command):
        if is_operator(word):
            commands.append([])
        elif commands[-1] or not _ASSIGNMENT.match(word):
            commands[-1].append(word)
    return [command for command in commands if command]


def unsupported_operator(command: str) -> str:
    """The first operator of a line that `sequential_commands` does not support, such as `|`; "" if there is none."""
    return next((word for word in shell_words(command) if word and is_operator(word) and word != "&&"), "")


def sequential_commands(command: str) -> list[list[str]]:
    """The commands of a line like `a && b`; empty if the line has another operator (such as `|` or `;`) or an unclosed
    quotation mark, or if a command after the first is `cd`."""
    steps: list[list[str]] = [[]]
    for word in shell_words(command):
        if word == "&&":
            steps.append([])
        elif is_operator(word):
            return []
        else:
            steps[-1].append(word)
    simple = all(steps) and not any(step[0] == "cd" for step in steps[1:])
    return steps if simple else []
