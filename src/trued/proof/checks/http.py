"""HTTP exchanges with the contract's server: the engine's own process starts it and compares its answers."""

import asyncio
import codecs
import http
import re
import shlex
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from email.message import Message
from pathlib import Path

from trued.model import HttpCase, HttpRequest, Outcomes, Ready, Serve, Tried
from trued.proof.checks.http_client import HttpAnswer, HttpClient, InvalidAnswer, NoAnswer, Unanswered
from trued.proof.checks.programs import is_not_installed, missing_module, missing_target, resolve_command
from trued.proof.checks.values import matches_json, size_flaw, value_flaw
from trued.proof.room.bench import Bench, keepable_text
from trued.proof.room.declared_packages import is_dependency_manifest, provides_module, read_declarations
from trued.proof.room.files_in_room import temporary_files
from trued.proof.room.frozen_files import is_test
from trued.proof.room.services import with_services
from trued.proof.text.commit_texts import MOST_CODE_BYTES, MOST_FILES, as_text, best_reading
from trued.proof.text.python_imports import modules_asked
from trued.protocols import CommandResult, Server
from trued.support.lazy_regex import lazy_regex

SERVER_OUTPUT = 16 * 2**20
LOOK_S = 0.05  # polling interval while the server starts
ANSWER_S = 5.0  # timeout of one answer while the server starts
FINAL_S = 3.0  # a status in FINAL ends the wait only if the first wrong answer was longer ago than this
FINAL = (404, 405, 410, 501)
# Headers with one value only (RFC 9110, Fetch) by which a client decides what an answer is, or where it goes next. Two
# different values contradict each other, and each client settles that in its own way.
SINGLE = ("content-type", "content-length", "content-location", "content-disposition", "content-range", "location")
# Charsets of text that browsers know (those of the Encoding Standard), besides UTF-8, as Python calls them. The server
# chooses the charset, so no others are used: some of Python's codecs take very long or make no text.
CHARSETS = frozenset(
    {
        *("ascii", *(f"iso8859-{part}" for part in (*range(1, 12), 13, 14, 15, 16))),
        *(*(f"cp{page}" for page in range(1250, 1259)), "cp866", "cp874", "cp932", "cp949", "tis-620"),
        *("koi8-r", "koi8-u", "mac-roman", "mac-cyrillic", "utf-16", "utf-16-le", "utf-16-be", "gbk", "gb18030"),
        *("gb2312", "big5", "euc_jp", "shift_jis", "iso2022_jp", "euc_kr"),
        *("utf-7", "utf-32", "utf-32-le", "utf-32-be"),  # unknown to browsers, but not to all clients
    }
)
# Headers that may be repeated, and of which each line counts by itself. Of any other header a client gets one value:
# all its lines, joined by commas.
REPEATED = {
    *("accept-ranges", "access-control-allow-headers", "access-control-allow-methods", "allow", "alt-svc", "link"),
    *("access-control-expose-headers", "cache-control", "content-language", "content-security-policy", "vary", "via"),
    *("content-security-policy-report-only", "pragma", "proxy-authenticate", "server-timing", "set-cookie", "warning"),
    *("timing-allow-origin", "www-authenticate", "x-robots-tag", "permissions-policy", "reporting-endpoints"),
}
FIXED_PORT = "its command names a port: write `{port}` in its place"
_PORT = lazy_regex(r"(?:.*[:=])?\d{4,5}")
_METHOD = lazy_regex(r"[A-Za-z][A-Za-z-]{0,30}")
_HEADER = lazy_regex(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")


def request_flaw(case: HttpCase) -> str:
    """Why the exchange cannot be sent as it is written, or ""."""
    request = case.http
    if not _METHOD.fullmatch(request.method):
        return f"{request.method[:50]!a} is not an HTTP method"
    if not request.path.startswith("/") or request.path.startswith("//") or re.search(r"[\x00-\x20\x7f]", request.path):
        return f"{request.path[:200]!a} is not a path of the server"
    for name, value in request.headers.items():
        if not _HEADER.fullmatch(name) or re.search(r"[\r\n\0]|[^\x00-\xff]", value):
            return f"{name[:50]!a} is not a header that can be sent"
    if re.search("[\ud800-\udfff]", f"{request.path}{request.body}{case.body or ''}"):
        return "it contains half of a character (a lone surrogate)"
    if not case.setup and not case.model_fields_set & {"status", "json_", "body", "headers"}:
        return "it expects nothing"
    if why := value_flaw(case.json_):
        return f"json: {why}"
    return size_flaw(request.body, case.body, case.json_)


# -- the server --------------------------------------------------------------------------------------------------------


@asynccontextmanager
async def start_server(bench: Bench, within_s: float) -> AsyncIterator[Server]:
    """Start a fresh server as the contract says, and stop it at the end of the `async with` block. `within_s`: the
    longest time that the server may live."""
    serve = bench.serve
    assert serve is not None  # noqa: S101  (callers have checked)
    with temporary_files(bench.room, serve.command) as folder:
        argv = [word.replace("{files}", str(folder)) for word in resolve_command(serve.command, bench)]
        command = bench.starting(serve.command).command(argv, within_s=within_s, probes=False)
        command = replace(command, temporary=folder, output_bytes=SERVER_OUTPUT)
        command = with_services(command, bench.services, telling=-1) if bench.services else command
        async with bench.workspace.serve(command, serve.port_env) as serving:
            yield serving


async def wait_until_up(serving: Server, ready: Ready, client: HttpClient | None = None) -> str:
    """Wait until the server answers as `ready` says. Returns "" if it does, "gone" if its process ended, "time" if it
    never answered, and otherwise what it answered instead. An invalid or incomplete answer is enough: the checks will
    refuse it."""
    until, insisting = time.monotonic() + ready.within_s, 0.0
    request = HttpRequest(path=ready.path)
    why = "time"
    client = client or HttpClient(serving)
    while time.monotonic() < until and not serving.has_ended():
        try:
            answer = await client.send(request, min(ANSWER_S, max(until - time.monotonic(), LOOK_S)))
        except (Unanswered, TimeoutError):
            await asyncio.sleep(LOOK_S)
            continue
        except NoAnswer:
            return ""
        if ready.status in (None, answer.status):
            return ""
        insisting = insisting or time.monotonic()
        why = f"answers {answer.status} at {ready.path}"
        if answer.status in FINAL and time.monotonic() - insisting > FINAL_S:
            return why
        await asyncio.sleep(LOOK_S)
    return "gone" if serving.has_ended() else why


def why_not_up(why: str, bench: Bench, ran: CommandResult) -> tuple[Outcomes, str, str]:
    """Outcome, kind and detail for a server that did not start. The outcome is `missing` if the project lacks the
    server, `unjudged` if the environment lacks something, and `failed` otherwise."""
    assert bench.serve is not None  # noqa: S101
    argv = bench.serve.command
    program, error = argv[0], keepable_text(ran.stderr[-3000:].decode("utf-8", "replace"))
    detail = _why_down(why, bench.serve, ran, error)
    if is_not_installed(program, bench):
        return Outcomes.UNJUDGED, f"program {program}", f"{program} is not installed"
    target = missing_target(argv, bench, error.strip())
    if target and _is_foreign(target, bench):  # as in `python -m flask`
        return Outcomes.UNJUDGED, f"module {target}", f"module {target} is not installed"
    if target:
        return Outcomes.MISSING, "missing", detail
    if module := missing_module(error, bench):
        return Outcomes.UNJUDGED, f"module {module}", f"module {module} is not installed"
    return Outcomes.FAILED, "time" if why == "time" else "server", detail


def _is_foreign(module: str, bench: Bench) -> bool:
    """Whether this module comes from outside the project: a manifest of the project declares a package that provides
    it, or the project's code imports it and no module of the project has this name."""
    # a manifest may also lie above the `src` of its project
    inside = [folder for root in bench.project_roots for folder in (Path(root), *Path(root).parents)]
    folders = {bench.room, *(folder for folder in inside if folder.is_relative_to(bench.room))}
    files = [
        path for folder in folders for path in folder.glob("*") if is_dependency_manifest(path.name) and path.is_file()
    ]
    declared = read_declarations({str(path): best_reading(path.read_bytes(), MOST_CODE_BYTES) for path in files})
    if any(provides_module(name, module) for name in declared.names):
        return True
    top = module.split(".")[0]
    return top not in bench.modules and top in _imported_by_project(bench)


def _imported_by_project(bench: Bench) -> set[str]:
    """The modules that the project's code imports, without tests. Only files at the top, in `src`, in the import roots
    of project folders, and one folder below each of these places are read."""
    roots = [bench.room, bench.room / "src", *map(Path, bench.project_roots)]
    found = [path for root in roots for depth in ("*", "*/*") for path in root.glob(f"{depth}.py")]
    files = [path for path in dict.fromkeys(found) if path.is_file()]
    code = [path for path in files if not is_test(path.relative_to(bench.room).as_posix())][:MOST_FILES]
    return set[str]().union(*(modules_asked(as_text(path.read_bytes())) for path in code))


def _why_down(why: str, serve: Serve, ran: CommandResult, error: str) -> str:
    """A sentence that says why the server is not up, with the end of its error output, if any."""
    server = f"the server `{shlex.join(serve.command)}`"
    if why == "gone":
        sentence = f"{server} ended with {ran.exit_code} before it answered"
    elif why == "time":
        sentence = f"{server} did not answer at {serve.ready.path} within {serve.ready.within_s:g} s"
        # Only the port that the engine gave to the server was asked. It may have answered at the port in its command.
        fixed = any(map(_PORT.fullmatch, serve.command)) and not any("{port}" in word for word in serve.command)
        sentence += f"; {FIXED_PORT}, or read ${serve.port_env}" if fixed else ""
    else:
        sentence = f"{server} {why}, not {serve.ready.status}"
    output_end = error.strip()[-600:]
    return f"{sentence}: {output_end}" if output_end else sentence


# -- one exchange ------------------------------------------------------------------------------------------------------


async def try_exchange(name: str, case: HttpCase, client: HttpClient) -> Tried:
    """Send the case's request and compare the answer with what the case expects."""
    began = time.monotonic()
    try:
        answer = await client.send(case.http, case.within_s)
        outcome, kind, detail = compare_answer(case, answer)
    except TimeoutError:
        outcome, kind, detail = Outcomes.FAILED, "time", f"no answer within {case.within_s:g} s"
    except InvalidAnswer as error:
        outcome, kind, detail = Outcomes.FAILED, "framing", str(error)
    except NoAnswer as error:
        outcome, kind, detail = Outcomes.FAILED, "no answer", str(error)
    return Tried(id=name, outcome=outcome, kind=kind, detail=keepable_text(detail), seconds=time.monotonic() - began)


def compare_answer(case: HttpCase, answer: HttpAnswer) -> tuple[Outcomes, str, str]:
    """Outcome, kind of failure and detail, from comparing the answer with the case."""
    seen = f"status {answer.status}, body {answer.body[:400]!r}"
    if case.status is not None and answer.status != case.status:
        if answer.status == http.HTTPStatus.NOT_FOUND:
            return Outcomes.MISSING, "missing", seen
        return Outcomes.FAILED, "status", seen
    listed = "; ".join(f"{name}: {value}" for name, value in answer.headers)[:1500]
    if twice := [name for name in SINGLE if len({*answer.lines(name)}) > 1]:
        return Outcomes.FAILED, "header", f"{twice[0]} has two values among {listed}"
    lost = [name for name, value in case.headers.items() if value not in _values(answer, name)]
    if lost:
        return Outcomes.FAILED, "header", f"{lost[0]} among {listed}"
    if case.body is None and "json_" not in case.model_fields_set:
        return Outcomes.PASSED, "", ""
    if why := answer.garbled or _why_misread(answer):
        return Outcomes.FAILED, "body", f"{why}: {seen}"
    if case.body is not None and answer.body != case.body.encode():
        return Outcomes.FAILED, "body", seen
    if "json_" in case.model_fields_set and not matches_json(case.json_, answer.body):
        return Outcomes.FAILED, "body", seen
    return Outcomes.PASSED, "", ""


def _values(answer: HttpAnswer, name: str) -> list[str]:
    """The values of a header as a client gets them: all lines joined into one, and also each line alone if the header
    may be repeated. Of the lines that set the same cookie, the last one counts."""
    lines = answer.lines(name)
    if name.lower() == "set-cookie":
        lines = [*{_cookie_key(line): line for line in lines}.values()]
    return [*(lines if name.lower() in REPEATED else ()), ", ".join(lines)] if lines else []


def _cookie_key(line: str) -> tuple[str, ...]:
    """What tells a cookie from others: its name, domain and path."""
    name, *attributes = (part.strip() for part in line.split(";"))
    scope = (attribute for attribute in attributes if attribute.lower().startswith(("domain=", "path=")))
    return name.partition("=")[0].strip(), *sorted(
        attribute.lower().partition("=")[0] + attribute.partition("=")[2] for attribute in scope
    )


def _why_misread(answer: HttpAnswer) -> str:
    """Why a client would misread the UTF-8 text that was sent, or "". A client misreads the text if Content-Type names
    a charset in which the same bytes are another text."""
    message = Message()
    message["Content-Type"] = next(iter(answer.lines("Content-Type")), "")
    charset = message.get_content_charset("utf-8")
    try:
        codec = codecs.lookup(charset).name
    except (LookupError, ValueError):
        codec = ""
    if codec not in CHARSETS:  # clients read text in a charset that they do not know in their own way
        return ""
    text = answer.body.decode(codec, "replace")
    return "" if text == answer.body.decode("utf-8", "replace") else f"the body is not {charset}, as Content-Type says"
