"""Step keys: the names under which the journal stores steps and events. Only this module numbers and parses keys.

A key is a path of scopes and a name: `feature F1/task F1-T2/dev#3` is the third time that `dev` is asked for task
F1-T2 of feature F1. Keys are stored, so their format must never change.
"""

import re

LANDING = "land onto "
AMENDMENT = "amend#"
# Beginnings of step names, without scopes, by which the journal finds these steps.
PROOF, FINISH = "prove#", "finish#"
JUDGED = (PROOF, FINISH, AMENDMENT)  # a run's verdict is read from one of these
CONTRACTS = ("seal#", "sealed anew#", AMENDMENT)
DECISIONS = ("by hand ", "decided#")
SENT = "sent#"  # a step that records what was sent to the shared store; a workflow can also use this name
SENT_KEY = f"^{SENT}[0-9a-f]{{16}}$"  # a regular expression for both Python and Postgres


EXAMINERS = ("examiner", "second-examiner")  # roles that know held-out cases
_AGAIN = " (asked again, "


def numbered(name: str, number: int) -> str:
    """The key of the n-th step with this name: `dev#3`."""
    return f"{name}#{number}"


def scope_of(key: str) -> str:
    """The scopes of a step, without a final slash: `chunk 1A` for `chunk 1A/purple-team-a#2`."""
    return key.rpartition("/")[0]


def outer_scope(key: str) -> str:
    """The outermost scope: `feature F1` for `feature F1/task F1-T2/dev#3`; "" for a step without a scope."""
    return key.partition("/")[0] if "/" in key else ""


def asked_again(key: str, number: int) -> str:
    """The key under which a question is asked for the `number`th time. A question that paused the run is asked again
    when the run is resumed."""
    return key if number == 1 else f"{key}{_AGAIN}{number})"


def asked_first(key: str) -> str:
    """The key under which the question was asked for the first time."""
    return key.partition(_AGAIN)[0]


def inner_scope(key: str) -> str:
    """The innermost scope: `task F1-T2` for `feature F1/task F1-T2/dev#3`."""
    return scope_of(key).rpartition("/")[2]


def label_of(key: str) -> str:
    """A step's name with its number, without its scopes: `dev#3` for `feature F1/task F1-T2/dev#3`."""
    return key.rpartition("/")[2] or key


def step_name(key: str) -> str:
    """A step's name without scopes and number: `dev` for `feature F1/task F1-T2/dev#3`."""
    return label_of(key).partition("#")[0]


def is_examiners(key: str, role: str = "") -> bool:
    """Whether an event with this key or role belongs to an examiner, so that any text in it might quote a case."""
    return role in EXAMINERS or step_name(key) in EXAMINERS


def call_name(key: str) -> str:
    """A call's name with its scopes, without its number: `feature F1/dev` for `feature F1/dev#3`. All asks of this call
    have the same name."""
    return key.partition("#")[0]


def comments_key(key: str, stop: int = 0) -> str:
    """The key of the step in which a call gets people's comments. `stop`: 0 before the call begins; n after the n-th
    time that a comment has stopped the call."""
    return f"{key} comments{f' {stop}' if stop else ''}"


def is_comments(key: str) -> bool:
    """Whether a step's result is the comments that a call was given."""
    return re.search(r"#\d+ comments(?: \d+)?$", key) is not None


def is_sent(key: str) -> bool:
    """Whether a step records what was sent to the hub's store. Its key ends with 16 hex digits. The key of a workflow's
    own step called `sent` ends with a small number instead."""
    return re.search(SENT_KEY, key) is not None


def task_scope(key: str) -> str:
    """The scopes of a step down to its task, such as `feature F1/task F1-T2`. If no scope is a task, the first scope;
    "" for a step of the run itself."""
    scopes = key.split("/")[:-1]
    depth = next((number for number, scope in enumerate(scopes, 1) if scope.startswith("task ")), 1)
    return "/".join(scopes[:depth])


def feature_scope(key: str) -> str:
    """The scope of the feature that a step belongs to, such as `feature F1`; "" if there is none."""
    scope = outer_scope(key)
    return scope if scope.startswith("feature ") else ""


def landing_key(onto: str) -> str:
    """The key of a landing on a branch."""
    return f"{LANDING}{onto}"


def is_landing(key: str) -> bool:
    """Whether a step belongs to a landing, not to the run's own work."""
    return key.startswith(LANDING)


def is_verdict(key: str) -> bool:
    """Whether a step's result is a verdict, on some of the run's work or on all of it."""
    return label_of(key).startswith((PROOF, FINISH))


def is_final_verdict(key: str) -> bool:
    """Whether a step's result is the verdict on all of the run's work."""
    return key.startswith(FINISH)


def is_task_verdict(key: str) -> bool:
    """Whether a step's result is a verdict on some of the run's work, such as one task."""
    return label_of(key).startswith(PROOF)


def is_contract(key: str) -> bool:
    """Whether a step's result is a contract, or an amendment with a contract."""
    return label_of(key).startswith(CONTRACTS)


def amendment_key(number: int) -> str:
    """The key of the n-th amendment of a run's contract."""
    return f"{AMENDMENT}{number}"


def is_amendment(key: str) -> bool:
    return key.startswith(AMENDMENT)


def is_decision(key: str) -> bool:
    """Whether the workflow reads people's decisions in this step."""
    return label_of(key).startswith(DECISIONS)


def landing_part(onto: str, proof: str) -> str:
    """The scope of one landing; `proof`: a hash of commit, target and contract."""
    return f"{landing_key(onto)}/{proof}"


def is_landing_record(key: str) -> bool:
    """Whether a step's result is the record of a landing, which is written before the branch is moved."""
    return is_landing(key) and key.endswith("/landing")
