"""Finds the lines of a Go or Rust source file that may load code or start a program. Does no I/O."""

import re
from collections.abc import Collection

from trued.proof.dependencies.harmless_modules import is_harmless_in_go
from trued.proof.dependencies.source_text import Words
from trued.support.lazy_regex import lazy_regex

_STARTS_COMPILED = lazy_regex(
    r"os/exec|\.Command(?:Context)?\(|StartProcess|process::\s*(?:\{[^}]*)?Command|\bCommand::new|libc::"
)
_COMPILED_WORDS = lazy_regex(r"Command(?:Context|::new)?\((?:ctx,\s*)?\"([^\"]*)\"([^;]*)")
# Go: comments and strings; imports, alone or in a group, with their strings set aside; directives to the toolchain.
_GO_ASIDE = lazy_regex(r"//[^\n]*|/\*.*?\*/|\"(?:\\.|[^\"\\\n])*\"|`[^`]*`|'(?:\\.|[^'\\\n])+'", re.DOTALL)
_GO_IMPORT = lazy_regex(r"\bimport\s*(?:\(([^()]*)\)|([\w.]*\s*\0\d+\0))")
_GO_IMPORTED = lazy_regex(r"(?<![\w.])([\w.]*+)\s*\0(\d+)\0")
_GO_DIRECTIVE = lazy_regex(r"//go:(?!(?:build|embed|noinline|nosplit|norace|noescape|debug|fix)\b)")
_LEADS_OUT_OF_RUST = lazy_regex(r"\bextern\s*(?:\"|\{)|#!?\[\s*link|\bunsafe\b|\basm!|cargo::?\w+")


def hidden_in_go(text: str, own_names: Collection[str]) -> set[str]:
    """Imports of packages that may load or start something, the lines that use these packages, and all `//go:`
    directives that are not known as harmless."""
    hidden = {line.strip() for line in text.splitlines() if _GO_DIRECTIVE.match(line)}
    aside: list[str] = []

    def set_aside(match: re.Match[str]) -> str:
        aside.append(match[0])
        return " " if match[0].startswith("/") else f"\0{len(aside) - 1}\0"

    code = _GO_ASIDE.sub(set_aside, text)
    for group, single in _GO_IMPORT.findall(code):
        for name, at in _GO_IMPORTED.findall(group or single):
            path = aside[int(at)].strip('"`')
            top = path.split("/")[0]
            if "\\" not in path and (is_harmless_in_go(path) or "." in top or top in own_names):
                continue
            hidden.add(f"import {path}")
            used = re.compile(rf"\b{re.escape(name or path.split('/')[-1])}\.")
            hidden |= {line.strip() for line in text.splitlines() if used.search(line)}
            if path == "C":  # the comment above the import is compiled
                hidden.add(re.split(r'import\s+"C"', text)[0])
    return hidden


def hidden_in_rust(text: str) -> set[str]:
    """Lines that link or call foreign code, or are unsafe, and lines of a build script that instruct Cargo."""
    return {line.strip() for line in text.splitlines() if _LEADS_OUT_OF_RUST.search(line)}


def commands_in_go_or_rust(text: str) -> dict[str, list[Words]]:
    """Line → the commands that it starts."""
    commands: dict[str, list[Words]] = {}
    for line in text.splitlines() if re.search(r"\bprocess\b|os/exec|StartProcess|syscall|libc", text) else ():
        if _STARTS_COMPILED.search(line) and not line.lstrip().startswith("//"):
            command = _COMPILED_WORDS.search(line)
            imports = re.fullmatch(r'\s*(?:import\s*)?"os/exec"\s*|\s*use\s+std::process::Command;\s*', line)
            words = (command[1], *re.findall(r'"([^"]*)"', command[2]), "") if command else ("",)
            if not imports:
                commands.setdefault(line.strip(), []).append(words)
    return commands
