"""Describes a check in lines that a person reads before they approve it."""

from trued.model import BrowserCheck, Check, DependenciesCheck, ExamplesCheck, ManualCheck, PageBefore
from trued.reporting.views.cases import described
from trued.support.plain_text import plain_line
from trued.support.plurals import counted
from trued.support.visible_text import visible


def check_lines(check: Check, *, cases: bool) -> list[str]:
    """Lines that describe the check, with each of its cases if `cases` is true."""
    if isinstance(check, ExamplesCheck):
        listed = [f"  {described(example)}" for example in check.cases] if cases else []
        return [f"{counted(len(check.cases), 'case')}, run by the engine", *listed]
    if isinstance(check, ManualCheck):
        return ["by hand:", *(f"  [ ] {plain_line(step)}" for step in check.steps)]
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
    phrases = [*(f"first sees {text!r}" for text in first.sees), *(f"first hides {text!r}" for text in first.hides)]
    phrases += map(str, check.actions)
    phrases += [*(f"sees {text!r}" for text in check.sees), *(f"hides {text!r}" for text in check.hides)]
    phrases += [f"has {node}" for node in check.tree]
    phrases += [f"leads to {check.url}"] if check.url is not None else []
    return phrases + (["no error on the console"] if check.quiet else [])
