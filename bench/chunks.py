"""Whether a long plan stays usable: a chunk's time, journal, `ls`, `show` and report at 100 and at 1,000 chunks."""

from bench.overhead import module, said
from bench.show import Target, show

FEW, MANY = 100, 1000
GROWTH = 1.2


def main() -> bool:
    figures = {number: said(module("long_plan", number)) for number in (FEW, MANY)}
    rows = [
        [
            f"{number} chunks",
            f"{one['wall_s'] / number * 1000:.0f}",
            f"{one['cpu_s'] / number * 1000:.0f}",
            f"{one['journal_bytes'] / number / 1024:.1f}",
            f"{one['ls_s']:.2f}",
            f"{one['show_s']:.2f}",
            f"{one['report_s']:.2f}",
            f"{one['report_bytes'] / 1024 / 1024:.1f}",
        ]
        for number, one in figures.items()
    ]
    few, many = (figures[number]["wall_s"] / number for number in (FEW, MANY))
    header = [
        "purple, scripted",
        "ms a chunk",
        "CPU ms",
        "journal KiB a chunk",
        "ls s",
        "show s",
        "report s",
        "report MiB",
    ]
    target = Target(f"time a chunk at {MANY}, to that at {FEW}", many / few, GROWTH)
    return show("chunks", header, rows, [target], figures)
