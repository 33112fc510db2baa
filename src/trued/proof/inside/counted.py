"""Runs inside the sandbox: pytest with a counting plugin that names every id and how it ended.

Standard library and pytest only, no import of this package: the interpreter is the project's. pytest, its plugins and
all that they import are loaded before the project's folders are on the path.
"""

import importlib
import importlib.util
import json
import os
import sys

MOST_TEXT = 4000  # of one failure; the rest is in the output


class Supplied:
    """Finds the engine's own pytest for an interpreter that has none."""

    def __init__(self, folders):
        self.folders = folders

    def find_spec(self, name, path=None, target=None):
        folder = self.folders.get(name)
        if folder is None:
            return None
        if folder.endswith(".py"):
            return importlib.util.spec_from_file_location(name, folder)
        start = os.path.join(folder, "__init__.py")
        return importlib.util.spec_from_file_location(name, start, submodule_search_locations=[folder])


def speaker(channel, nonce):
    def say(**record):
        line = (nonce + " " + json.dumps(record) + "\n").encode()
        while line:
            line = line[os.write(channel, line) :]

    return say


class Registrar:
    """Brings the trusted plugins in under their own names, without asking any metadata in the checkout."""

    def __init__(self, plugins):
        self.plugins = plugins

    def pytest_addoption(self, parser, pluginmanager):
        for name, module in self.plugins:
            if not pluginmanager.has_plugin(name) and not pluginmanager.is_registered(module):
                pluginmanager.register(module, name)


class Counting:
    def __init__(self, order, say, pytest):
        self.order, self.say, self.pytest = order, say, pytest
        self.left_out = []

    def pytest_configure(self, config):
        files = self.order["files"]
        if files is not None:
            config.args[:] = files
        else:
            known = {argument.split("::")[0] for argument in config.args}
            config.args.extend(one for one in self.order["more"] if one not in known)

    def wanted(self, item):
        ids, whole = self.order["ids"], self.order["whole"]
        return ids is None or item.nodeid in ids or item.nodeid.split("::")[0] in whole

    def pytest_collection_modifyitems(self, session, config, items):
        seen, kept = set(), []
        for item in items:
            if item.nodeid in seen:
                continue
            seen.add(item.nodeid)
            if self.wanted(item):
                kept.append(item)
            else:
                self.left_out.append(item.nodeid)
        if self.order["reverse"]:
            kept.reverse()
        kept.append(self.canary(session))
        items[:] = kept
        self.say(left_out=self.left_out[:1000])

    pytest_collection_modifyitems.pytest_impl = {"trylast": True}

    def canary(self, session):
        import pathlib

        path = pathlib.Path(self.order["canary"])
        module = self.pytest.Module.from_parent(session, path=path)
        return self.pytest.Function.from_parent(module, name=path.stem)

    def pytest_collectreport(self, report):
        if report.failed:
            self.say(collect=report.nodeid, outcome="failed", text=str(report.longrepr)[-MOST_TEXT:])
        elif report.skipped:
            self.say(collect=report.nodeid, outcome="skipped", text=str(report.longrepr)[-MOST_TEXT:])

    def pytest_runtest_logreport(self, report):
        outcome = report.outcome
        if hasattr(report, "wasxfail"):
            outcome = "xfailed" if report.skipped else "xpassed"
        text = report.longreprtext[-MOST_TEXT:] if report.failed else ""
        self.say(id=report.nodeid, when=report.when, outcome=outcome, seconds=report.duration, text=text)

    def pytest_sessionfinish(self, session, exitstatus):
        self.say(finished=int(exitstatus))


def load(plugins, say):
    loaded = []
    for name, module in plugins:
        try:
            loaded.append((name, importlib.import_module(module)))
        except Exception as error:
            say(plugin=name, text=str(error)[:300])
    return loaded


def main():
    order = json.loads(sys.stdin.buffer.read())
    channel = int(os.environ.pop("TRUED_CHANNEL"))
    os.set_inheritable(channel, False)
    say = speaker(channel, order["nonce"])
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.close(nothing)
    os.environ["PYTEST_DISABLE_PLUGIN_AUTOLOAD"] = "1"
    if order["supplied"]:
        sys.meta_path.insert(0, Supplied(order["supplied"]))
    pytest = importlib.import_module("pytest")
    for name in ("_pytest.assertion.rewrite", "_pytest.config", "_pytest.main", "_pytest.python", "unittest", "doctest"):
        importlib.import_module(name)
    counting = Counting(order, say, pytest)
    Counting.pytest_collection_modifyitems = pytest.hookimpl(trylast=True)(Counting.pytest_collection_modifyitems)
    registrar = Registrar(load(order["plugins"], say))
    say(started=True)
    sys.path[:0] = order["paths"]
    sys.argv = ["pytest", *order["arguments"]]
    code = pytest.main(list(order["arguments"]), plugins=[registrar, counting])
    say(ended=int(code), pytest=pytest.__version__)
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(int(code))


if __name__ == "__main__":
    main()
