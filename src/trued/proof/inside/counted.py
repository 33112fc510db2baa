"""Runs inside the sandbox: pytest with a counting plugin that names every id and how it ended.

Standard library and pytest only, no import of this package: the interpreter is the project's. pytest, its plugins and
all that they import are loaded before the project's folders are on the path.
"""

from __future__ import annotations

import fnmatch
import importlib
import importlib.util
import json
import os
import pathlib
import sys
from typing import Any

MOST_TEXT = 4000  # of one failure; the rest is in the output
EARLY = ("_pytest.assertion.rewrite", "_pytest.config", "_pytest.main", "_pytest.python", "unittest", "doctest")


class Supplied:
    """Finds the engine's own pytest for an interpreter that has none."""

    def __init__(self, places: dict[str, str]) -> None:
        self.places = places

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> Any:
        place = self.places.get(name)
        if place is None:
            return None
        if place.endswith(".py"):
            return importlib.util.spec_from_file_location(name, place)
        start = os.path.join(place, "__init__.py")
        return importlib.util.spec_from_file_location(name, start, submodule_search_locations=[place])


class Channel:
    """Says one record a line, each with the nonce."""

    def __init__(self, number: int, nonce: str) -> None:
        self.number, self.nonce = number, nonce

    def say(self, **record: Any) -> None:
        line = (self.nonce + " " + json.dumps(record) + "\n").encode()
        while line:
            line = line[os.write(self.number, line) :]


class Registrar:
    """Brings the trusted plugins in under their own names, without asking any metadata in the checkout."""

    def __init__(self, plugins: list[tuple[str, Any]]) -> None:
        self.plugins = plugins

    def pytest_addoption(self, parser: Any, pluginmanager: Any) -> None:
        for name, module in self.plugins:
            if not pluginmanager.has_plugin(name) and not pluginmanager.is_registered(module):
                pluginmanager.register(module, name)


class Counting:
    """The plugin: chooses what is run, adds the canary, and reports every outcome."""

    def __init__(self, order: dict[str, Any], channel: Channel, pytest: Any) -> None:
        self.order, self.channel, self.pytest = order, channel, pytest
        self.ids = None if order["ids"] is None else frozenset(order["ids"])
        self.marked: set[str] = set()
        self.collectors: dict[str, set[str]] = {}

    def pytest_configure(self, config: Any) -> None:
        self.channel.say(doctests=bool(config.getoption("doctestmodules", False)))
        if self.order["files"] is not None:
            config.args[:] = self.order["files"]
            return
        for one in self.order["more"]:
            self.include(config, one)

    def include(self, config: Any, named: str) -> None:
        """A file that the check names is collected whatever it is called. Arguments that overlap are avoided:
        some versions of pytest then forget the rest of the folder."""
        file = pathlib.Path(self.order["room"], named)
        patterns = config.getini("python_files")
        if file.is_file() and not any(fnmatch.fnmatch(file.name, pattern) for pattern in patterns):
            patterns.append(file.name)
        places = [pathlib.Path(self.order["room"], argument.split("::")[0]) for argument in config.args]
        if not any(place == file or place in file.parents for place in places):
            config.args.append(named)

    def pytest_collection_modifyitems(self, session: Any, items: list[Any]) -> None:
        # They are written in the code under test, and cannot be frozen.
        doctests = [item for item in items if type(item).__name__ == "DoctestItem" and str(item.path).endswith(".py")]
        items[:] = [item for item in items if item not in doctests]
        marks = ("skip", "skipif", "xfail")
        self.marked = {item.nodeid for item in items if any(item.get_closest_marker(mark) for mark in marks)}
        first = {item.nodeid: item for item in reversed(items)}
        kept = [item for item in items if first[item.nodeid] is item and self.wanted(item.nodeid)]
        self.channel.say(left_out=[name for name in first if not self.wanted(name)][:1000])
        if self.order["reverse"]:
            kept.reverse()
        items[:] = [*kept, self.canary(session)]

    def wanted(self, name: str) -> bool:
        return self.ids is None or name in self.ids or name.split("::")[0] in self.order["whole"]

    def canary(self, session: Any) -> Any:
        path = pathlib.Path(self.order["canary"])
        module = self.pytest.Module.from_parent(session, path=path)
        return self.pytest.Function.from_parent(module, name=path.stem)

    def pytest_collectstart(self, collector: Any) -> None:
        self.collectors.setdefault(collector.nodeid, set()).add(type(collector).__name__)

    def pytest_collectreport(self, report: Any) -> None:
        if not report.passed and self.collectors.get(report.nodeid) != {"DoctestModule"}:
            self.channel.say(collect=report.nodeid, outcome=report.outcome, text=str(report.longrepr)[-MOST_TEXT:])

    def pytest_runtest_logreport(self, report: Any) -> None:
        outcome = report.outcome
        if hasattr(report, "wasxfail"):
            outcome = "xfailed" if report.skipped else "xpassed"
        if report.skipped and report.nodeid in self.marked:
            outcome = "marked"
        elif report.skipped:
            outcome = "skipped"  # also what is declared a failure to be expected while it runs
        text = report.longreprtext[-MOST_TEXT:] if report.failed else ""
        self.channel.say(id=report.nodeid, when=report.when, outcome=outcome, seconds=report.duration, text=text)


def load(plugins: list[list[str]], channel: Channel) -> list[tuple[str, Any]]:
    loaded = []
    for name, module in plugins:
        try:
            loaded.append((name, importlib.import_module(module)))
        except Exception as error:
            channel.say(plugin=name, text=str(error)[:300])
    return loaded


def main() -> None:
    order = json.loads(sys.stdin.buffer.read())
    number = int(os.environ.pop("TRUED_CHANNEL"))
    os.set_inheritable(number, False)
    channel = Channel(number, order["nonce"])
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.close(nothing)
    os.environ["PYTEST_DISABLE_PLUGIN_AUTOLOAD"] = "1"
    if order["supplied"]:
        sys.meta_path.insert(0, Supplied(order["supplied"]))
        pluggy: Any = importlib.import_module("pluggy")
        pluggy.__version__ = order["pluggy"]  # else it looks for metadata that were not brought along
    pytest = importlib.import_module("pytest")
    for name in EARLY:
        importlib.import_module(name)
    last = pytest.hookimpl(trylast=True)  # after every plugin that chooses tests by name or mark
    last(Counting.pytest_collection_modifyitems)  # marks the function itself
    plugins = [Registrar(load(order["plugins"], channel)), Counting(order, channel, pytest)]
    channel.say(started=True)
    sys.path[:0] = order["paths"]
    sys.argv = ["pytest", *order["arguments"]]
    code = int(pytest.main(list(order["arguments"]), plugins=plugins))
    files = [getattr(module, "__file__", None) for module in list(sys.modules.values())]
    channel.say(ran=[one for one in files if isinstance(one, str) and one.startswith(tuple(order["paths"]))])
    channel.say(ended=code, pytest=pytest.__version__)
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code)


if __name__ == "__main__":
    main()
