"""What this package raises on purpose.

TruedError
├── BadInput        the user can mend it: a file, a flag, a key; carries where (file:line) and what to do
│   └── Untrusted   found in a repository and not yet trusted by the user
├── Busy            another process drives this run, or holds the journal
├── StateFailed     private state cannot be written: disk full, read-only, corrupted
├── Diverged        replay met a step whose inputs are not those of the journal
├── AgentFailed     an agent process or provider broke, or never kept its contract
├── ForgeFailed     a forge or tracker cannot be reached, broke, or answers nonsense
├── CannotJudge     the environment of evidence broke: neither pass nor fail
└── Ended           the run cannot go on now, and that is no error
    ├── Waiting     a person's word is missing
    ├── LimitReached money, tokens, calls or time are used up, or a provider lets nobody go on for long
    ├── Stopped     a person said stop when asked
    ├── Cancelled   somebody asked for it
    └── Interrupted the process was told to stop; the run can be resumed
"""


class TruedError(Exception):
    """One sentence for a person: what, where, what to do. `code` is the exit code that it stands for."""

    code = 1


class BadInput(TruedError):
    code = 2

    def __init__(self, what: str, where: str = "", then: str = "") -> None:
        self.what, self.where, self.then = what, where, then
        sentence = f"{f'{where}: ' if where else ''}{what}{f' ({then})' if then else ''}"
        super().__init__(" ".join(sentence.splitlines()))  # a name from outside may hold line ends


class Untrusted(BadInput):
    pass


class Busy(TruedError):
    code = 2


class StateFailed(TruedError):
    code = 6


class Diverged(TruedError):
    code = 2


class AgentFailed(TruedError):
    code = 5


class ForgeFailed(TruedError):
    code = 5


class CannotJudge(TruedError):
    code = 6


class Ended(TruedError):
    pass


class Waiting(Ended):
    code = 3


class LimitReached(Ended):
    code = 4


class Stopped(Ended):
    code = 1


class Cancelled(Ended):
    code = 1


class Interrupted(Ended):
    code = 130
