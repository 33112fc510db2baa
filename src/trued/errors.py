"""Every exception that trued raises on purpose, as one tree.

TruedError
├── BadInput        the user can fix it: a file, a flag, a key; says where (file:line) and what to do
│   └── Untrusted   found in a repository that the user has not trusted yet
├── Busy            another process drives this run or has locked the journal
│   └── Fenced      another process has taken over the run: this one may write nothing more
├── Postponed       a call has to wait: the hub's limit for its agent is reached, or an earlier attempt might still run
├── StateFailed     private state cannot be read or written: disk full, read-only, corrupted
├── Diverged        replay reached a step whose inputs differ from those in the journal
├── AgentFailed     an agent process or its provider failed, or its replies never fitted the reply contract
├── ForgeFailed     a forge or tracker is unreachable, failed, or returned something unexpected
├── CannotJudge     the environment of the checks failed: neither pass nor fail
└── Ended           the run stops here; this is not an error
    ├── Waiting     a person's answer or approval is missing
    ├── LimitReached money, tokens, calls or time are used up, or a provider refuses work for a long time
    ├── Stopped     a person answered "stop"
    ├── Cancelled   a person cancelled the run
    └── Interrupted the process was asked to stop; the run can be resumed
"""


class TruedError(Exception):
    """The message is one sentence for a person: what is wrong, where, and what to do. `code` is the exit code."""

    code = 1


class BadInput(TruedError):
    """`what`: what is wrong. `where`: the place (`file:line`, a flag, a host), or "". `then`: what the user should do,
    or ""."""

    code = 2

    def __init__(self, what: str, where: str = "", then: str = "") -> None:
        self.what, self.where, self.then = what, where, then
        sentence = f"{f'{where}: ' if where else ''}{what}{f' ({then})' if then else ''}"
        super().__init__(" ".join(sentence.splitlines()))  # names from outside can contain line breaks


class Untrusted(BadInput):
    pass


class Busy(TruedError):
    code = 2


class Fenced(Busy):
    code = 130  # as after an interrupt: nothing was wrong with the command, and the run is not over


class Postponed(TruedError):
    code = 4


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
