"""Many inputs for each parser: `python -m tests.fuzz [--inputs N] [--seed TEXT] [TARGET …]`; an input is its number."""

import argparse
import sys
import time
import traceback
from collections import Counter

from tests.fuzz.mutation import Mutator
from tests.fuzz.targets import TARGETS

SHOWN = 10  # failures that are printed in full; more are counted


def main() -> int:
    wanted = argparse.ArgumentParser(prog="python -m tests.fuzz", description=__doc__)
    wanted.add_argument("targets", nargs="*", choices=[[], *TARGETS], default=[], metavar="TARGET")
    wanted.add_argument("--inputs", type=int, default=100_000)
    wanted.add_argument("--seed", default=time.strftime("%Y-%m-%d"))
    wanted.add_argument("--only", type=int, help="just this number: to see one failure again")
    given = wanted.parse_args()
    failures = 0
    for name in given.targets or TARGETS:
        numbers = range(given.inputs) if given.only is None else (given.only,)
        failures += fuzz(name, given.seed, numbers)
    return 1 if failures else 0


def fuzz(name: str, seed: str, numbers: "range | tuple[int, ...]") -> int:
    began, slowest, seen, failures = time.monotonic(), 0.0, Counter[str](), 0
    for number in numbers:
        start = time.monotonic()
        try:
            seen[TARGETS[name](Mutator((seed, name, number))).decode()] += 1
        except Exception:  # noqa: BLE001 - whatever it is, it is what we look for
            failures += 1
            if failures <= SHOWN:
                print(f"{name} --seed {seed} --only {number}\n{traceback.format_exc()}", file=sys.stderr)
        slowest = max(slowest, time.monotonic() - start)
    came = ", ".join(f"{count} {what}" for what, count in seen.most_common())
    seconds = time.monotonic() - began
    print(f"{name}: {len(numbers)} inputs, {failures} failures, {seconds:.0f} s, slowest {slowest:.2f} s; {came}")
    return failures


if __name__ == "__main__":
    sys.exit(main())
