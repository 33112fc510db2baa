"""Describes a check in lines for the terminal."""

from trued.cli.format import case, line
from trued.model import BrowserCheck, Check, DependenciesCheck, ExamplesCheck, ManualCheck, PageBefore
from trued.support.plurals import counted
from trued.support.visible_text import visible


def check_lines(check: Check, *, cases: bool) -> list[str]:
    """Lines that describe the check, with each of its cases if `cases` is true."""
    if isinstance(check, ExamplesCheck):
        listed = [f"  {case(one)}" for one in check.cases] if cases else []
        return [f"{counted(len(check.cases), 'case')}, run by the engine", *listed]
    if isinstance(check, ManualCheck):
        return ["by hand:", *(f"  [ ] {line(step)}" for step in check.steps)]
    if isinstance(check, BrowserCheck):
        return [visible(f"browser: {check.page}: {', '.join(_expected(check))}")]
    if isinstance(check, DependenciesCheck):
        declared = "exactly what they declare on the base" if check.unchanged else "no new package"
        return [f"dependencies: the manifests declare {declared}"]
    files = f" on {', '.join(check.files)}" if check.files else ""
    return [visible(f"{check.kind}: {check.command}{files}")]


def _expected(check: BrowserCheck) -> list[str]:
    """What the check does on the page, and what the page must and must not show, in words."""
    first = check.before or PageBefore()
    words = [*(f"first sees {one!r}" for one in first.sees), *(f"first hides {one!r}" for one in first.hides)]
    words += map(str, check.actions)
    words += [*(f"sees {one!r}" for one in check.sees), *(f"hides {one!r}" for one in check.hides)]
    words += [f"has {one}" for one in check.tree]
    words += [f"leads to {check.url}"] if check.url is not None else []
    return words + (["no error on the console"] if check.quiet else [])
