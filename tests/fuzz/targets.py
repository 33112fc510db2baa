"""What is fuzzed: each makes one input, feeds it, and fails if anything but a refusal or the truth comes of it."""

from collections.abc import Callable

from tests.fuzz import answers, exchanges, hooks, junit, receipts, refusals, reports, requirements_files
from tests.fuzz.mutation import Mutator

TARGETS: dict[str, Callable[[Mutator], bytes]] = {
    "requirements": requirements_files.feed,
    "reports": reports.feed,
    "junit": junit.feed,
    "answers": answers.feed,
    "exchanges": exchanges.feed,
    "hooks": hooks.feed,
    "receipts": receipts.feed,
    "refusals": refusals.feed,
}
