"""Runs inside the sandbox, in pytest: gives tests a page in the engine's Chromium, and keeps pictures of each test.

Tests get the fixtures that pytest-playwright has. If the project has that plugin, the plugin's own fixtures are used,
with the engine's browser. No server is started here: tests start their own.
"""

from __future__ import annotations

import os
import types
from typing import Any

import pytest

FLAGS = ["--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run", "--mute-audio"]
VIEW = {"width": 1280, "height": 720}
LOOK_MS = 10_000
MOST = 200  # at most this many tests keep pictures; the engine chooses among them
# Options of pytest-playwright → their defaults here. Pictures and recordings are always taken.
OPTIONS = {
    **{"--base-url": "", "--browser": "chromium", "--browser-channel": "", "--device": "", "--output": ""},
    **{"--slowmo": "0", "--tracing": "off", "--video": "off", "--screenshot": "off"},
}
MARKS = (
    "skip_browser(name): not in this browser",
    "only_browser(name): in this one only",
    "browser_context_args(**how)",
)


STAGE = {"chromium": ""}  # set by the script that loads this module


def pytest_addoption(parser: Any) -> None:
    group = parser.getgroup("pages")
    for name, usual in OPTIONS.items():
        add(group, name, default=usual)
    add(group, "--headed", action="store_true", default=False)
    add(group, "--full-page-screenshot", action="store_true", default=False)
    try:
        parser.addini("base_url", "where pages without a host are", default="")
    except ValueError:
        pass  # pytest-base-url defines it


def add(group: Any, name: str, **settings: Any) -> None:
    try:
        group._addoption(name, dest="pages_" + name.strip("-").replace("-", "_"), **settings)
    except ValueError:
        pass  # another plugin defines it


def pytest_configure(config: Any) -> None:
    for mark in MARKS:
        config.addinivalue_line("markers", mark)


@pytest.fixture(scope="session")
def base_url(pytestconfig: Any) -> str:
    return str(getattr(pytestconfig.option, "pages_base_url", "") or pytestconfig.getini("base_url"))


@pytest.fixture(scope="session")
def playwright() -> Any:
    from playwright.sync_api import sync_playwright

    with sync_playwright() as driver:
        yield driver


@pytest.fixture(scope="session")
def browser_name() -> str:
    return "chromium"


@pytest.fixture(scope="session")
def browser_channel() -> None:
    return None


@pytest.fixture(scope="session")
def is_chromium() -> bool:
    return True


@pytest.fixture(scope="session")
def is_firefox() -> bool:
    return False


@pytest.fixture(scope="session")
def is_webkit() -> bool:
    return False


@pytest.fixture(scope="session")
def device() -> None:
    return None


@pytest.fixture(scope="session")
def browser_type(playwright: Any) -> Any:
    return playwright.chromium


@pytest.fixture(scope="session")
def browser_type_launch_args() -> dict[str, Any]:
    return launched({}, STAGE["chromium"])


@pytest.fixture(scope="session")
def launch_browser(browser_type: Any, browser_type_launch_args: dict[str, Any]) -> Any:
    def launch(**more: Any) -> Any:
        return browser_type.launch(**{**browser_type_launch_args, **more})

    return launch


@pytest.fixture(scope="session")
def browser(launch_browser: Any) -> Any:
    browser = launch_browser()
    yield browser
    browser.close()


@pytest.fixture(scope="session")
def browser_context_args(base_url: str) -> dict[str, Any]:
    return {"viewport": VIEW, "reduced_motion": "reduce", **({"base_url": base_url} if base_url else {})}


@pytest.fixture
def new_context(browser: Any, browser_context_args: dict[str, Any], request: Any) -> Any:
    mark = request.node.get_closest_marker("browser_context_args")
    arguments_of_mark = dict(mark.kwargs) if mark else {}
    contexts: list[Any] = []

    def make(**more: Any) -> Any:
        contexts.append(browser.new_context(**{**browser_context_args, **arguments_of_mark, **more}))
        return contexts[-1]

    yield make
    for context in contexts:
        context.close()


@pytest.fixture
def context(new_context: Any) -> Any:
    return new_context()


@pytest.fixture
def page(context: Any) -> Any:
    return context.new_page()


def for_pytest_playwright() -> Any:
    """A plugin for projects that have pytest-playwright. It lets the project's own fixtures use the engine's
    Chromium."""
    plugin = types.ModuleType("trued_launching")

    @pytest.fixture(scope="session")
    def browser_type_launch_args(browser_type_launch_args: dict[str, Any]) -> dict[str, Any]:
        return launched(browser_type_launch_args, STAGE["chromium"])

    plugin.__dict__["browser_type_launch_args"] = browser_type_launch_args
    return plugin


def launched(arguments: dict[str, Any], chromium: str) -> dict[str, Any]:
    kept_arguments = {
        name: value for name, value in arguments.items() if name not in ("channel", "executable_path", "headless")
    }
    args = [*FLAGS, *(flag for flag in arguments.get("args") or () if flag not in FLAGS)]
    return {**kept_arguments, "executable_path": chromium, "headless": True, "args": args}


class Keeping:
    """Records what a test does in the browser, and takes a picture at its end."""

    def __init__(self, folder: str, channel: Any) -> None:
        self.folder, self.channel = folder, channel
        self.seen: set[str] = set()
        self.recorded: list[Any] = []  # contexts whose recording was started here

    @pytest.hookimpl(hookwrapper=True)
    def pytest_fixture_setup(self, fixturedef: Any, request: Any) -> Any:
        outcome = yield
        if fixturedef.argname == "context" and outcome.excinfo is None:
            try:
                outcome.get_result().tracing.start(screenshots=True, snapshots=True)
                self.recorded.append(outcome.get_result())
            except Exception:
                return  # not a browser context, or recorded already

    @pytest.hookimpl(hookwrapper=True, tryfirst=True)
    def pytest_runtest_teardown(self, item: Any) -> Any:
        fixtures = getattr(item, "funcargs", {})
        if item.nodeid not in self.seen and len(self.seen) < MOST and ("page" in fixtures or "context" in fixtures):
            self.seen.add(item.nodeid)
            self.keep(item.nodeid, fixtures)
        yield

    def keep(self, test: str, fixtures: dict[str, Any]) -> None:
        number = len(self.seen)
        record: dict[str, Any] = {"shot": "", "trace": "", "test": test, "url": "", "viewport": ""}
        try:
            page = fixtures.get("page") or fixtures["context"].pages[-1]
            record["url"], size = str(page.url), page.viewport_size or {}
            record["viewport"] = "%sx%s" % (size.get("width", "?"), size.get("height", "?"))
            record["chromium"] = str(page.context.browser.version)
            page.screenshot(path=os.path.join(self.folder, "%d.png" % number), animations="disabled", timeout=LOOK_MS)
            record["shot"] = "%d.png" % number
        except Exception as error:
            record["lost"] = str(error).partition("\n")[0][:200]
        try:
            context = fixtures.get("context") or fixtures["page"].context
            self.recorded.remove(context)
            context.tracing.stop(path=os.path.join(self.folder, "%d.zip" % number))
            record["trace"] = "%d.zip" % number
        except Exception as error:
            record["lost"] = str(error).partition("\n")[0][:200]
        self.channel.say(**record)
