"""Programs as people install them, in made-up homes: each is found, with exactly the folders that it needs."""

import os
from pathlib import Path

import pytest

from trued.agents.driver.discovery import InstalledProgram, find_program, program_version

NODE = "#!/usr/bin/env node\n"


class Machine:
    """A user's HOME and PATH."""

    def __init__(self, top: Path) -> None:
        self.home = top / "home" / "ann"
        self.home.mkdir(parents=True)
        (self.home / "private").write_text("what nobody shall see")
        self.path: list[str] = []

    def file(self, name: str, text: str = "\x7fELF") -> Path:
        file = self.home / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
        file.chmod(0o755)
        return file

    def link(self, name: str, target: str) -> Path:
        link = self.home / name
        link.parent.mkdir(parents=True, exist_ok=True)
        link.symlink_to(target)
        return link

    def on_path(self, *names: str) -> None:
        self.path += [str(self.home / name) for name in names]

    def found(self, program: str = "claude") -> InstalledProgram:
        there = find_program(program, ":".join(self.path), str(self.home))
        assert there is not None
        assert os.access(there.path, os.X_OK)
        for one in there.readable:
            assert not self.home.is_relative_to(one), "all of HOME is shown"
            assert Path(one).exists()
        assert self.sees(there, there.path)
        assert self.sees(there, os.path.realpath(there.path))
        assert not self.sees(there, "private")
        return there

    def sees(self, there: InstalledProgram, name: str) -> bool:
        path = self.home / name
        return any(path.is_relative_to(one) for one in there.readable)


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    return Machine(tmp_path)


def test_what_is_not_there_is_not_found(machine: Machine) -> None:
    machine.file("bin/claude").chmod(0o644)
    assert find_program("claude", str(machine.home / "bin"), str(machine.home)) is None
    assert find_program("claude", "", str(machine.home)) is None


@pytest.mark.spec("AGT-1")
def test_npm_with_a_prefix_under_home(machine: Machine) -> None:
    script = machine.file(".npm-global/lib/node_modules/@x/claude/cli.js", NODE)
    machine.link(".npm-global/bin/claude", "../lib/node_modules/@x/claude/cli.js")
    machine.file("other/node")
    machine.on_path(".npm-global/bin", "other")
    there = machine.found()
    assert there.path == str(machine.home / ".npm-global/bin/claude")  # the link is started, so that imports are found
    assert machine.sees(there, str(script.parent))
    assert machine.sees(there, "other/node")
    assert not machine.sees(there, ".npm-global/lib/other")


@pytest.mark.spec("AGT-1")
def test_nvm_keeps_node_beside_it(machine: Machine) -> None:
    machine.file(".nvm/versions/node/v22/lib/node_modules/x/cli.js", NODE)
    machine.file(".nvm/versions/node/v22/bin/node")
    machine.link(".nvm/versions/node/v22/bin/claude", "../lib/node_modules/x/cli.js")
    machine.on_path(".nvm/versions/node/v22/bin")
    there = machine.found()
    assert machine.sees(there, ".nvm/versions/node/v22/bin/node")
    assert not machine.sees(there, ".nvm/alias")


@pytest.mark.spec("AGT-1")
def test_a_native_program_with_a_version_in_its_path(machine: Machine) -> None:
    machine.file(".local/share/claude/versions/2.1.197")
    machine.link(".local/bin/claude", str(machine.home / ".local/share/claude/versions/2.1.197"))
    machine.on_path(".local/bin")
    there = machine.found()
    assert there.path.endswith(".local/bin/claude")
    assert not machine.sees(there, ".local/share/claude/settings.json")
    assert not machine.sees(there, ".local/share/keyrings")


@pytest.mark.spec("AGT-1")
def test_tools_of_pipx_and_uv_with_an_interpreter_under_home(machine: Machine) -> None:
    machine.file(".local/share/uv/python/cpython-3.12/bin/python3.12")
    machine.file(".local/share/uv/tools/agent/pyvenv.cfg")
    machine.link(".local/share/uv/tools/agent/bin/python", "../../../python/cpython-3.12/bin/python3.12")
    shebang = f"#!{machine.home}/.local/share/uv/tools/agent/bin/python\n"
    machine.file(".local/share/uv/tools/agent/bin/claude", shebang)
    machine.link(".local/bin/claude", "../share/uv/tools/agent/bin/claude")
    machine.on_path(".local/bin")
    there = machine.found()
    assert machine.sees(there, ".local/share/uv/tools/agent/lib")
    assert machine.sees(there, ".local/share/uv/python/cpython-3.12/lib")
    assert not machine.sees(there, ".local/share/uv/tools/another")


@pytest.mark.spec("AGT-1", "USE-6")
@pytest.mark.parametrize("where", ["claude", "bin/claude", ".local/bin/claude"])
def test_a_program_alone_shows_itself_alone(machine: Machine, where: str) -> None:
    file = machine.file(where)
    machine.on_path(str(Path(where).parent))
    assert machine.found().readable == (str(file),)


@pytest.mark.spec("USE-6")
def test_packages_and_links_directly_in_home_do_not_open_it(machine: Machine) -> None:
    machine.file("node_modules/x/cli.js", NODE)
    machine.file("node")
    machine.link("claude", "node_modules/x/cli.js")
    machine.on_path("")
    there = machine.found()
    assert there.path == str(machine.home / "node_modules/x/cli.js")  # a link directly in HOME cannot be made visible
    assert set(there.readable) == {str(machine.home / "node_modules"), str(machine.home / "node")}
    machine.file("pyvenv.cfg")
    machine.file("bin/python3")
    machine.file("bin/agent", f"#!{machine.home}/bin/python3\n")
    machine.on_path("bin")
    machine.found("agent")


@pytest.mark.spec("AGT-1")
def test_a_chain_of_links_and_a_circle(machine: Machine) -> None:
    machine.file("tools/agent-3/agent")
    machine.link("tools/current", "agent-3")
    machine.link("tools/bin/agent", "../current/agent")
    machine.link("bin/claude", "../tools/bin/agent")
    machine.on_path("bin")
    there = machine.found()
    assert machine.sees(there, "tools/bin/agent")
    machine.link("bin/circle", "circle")
    assert find_program("circle", ":".join(machine.path), str(machine.home)) is None


@pytest.mark.spec("AGT-1")
def test_shims_of_version_managers_are_looked_behind(machine: Machine) -> None:
    machine.file(".asdf/shims/claude", "#!/usr/bin/env bash\nexec asdf exec claude\n")
    machine.file(".asdf/installs/nodejs/22.1.0/lib/node_modules/x/cli.js", NODE)
    machine.link(".asdf/installs/nodejs/22.1.0/bin/claude", "../lib/node_modules/x/cli.js")
    machine.file(".asdf/installs/nodejs/22.1.0/bin/node")
    machine.on_path(".asdf/shims")
    there = machine.found()
    assert there.path.endswith("22.1.0/bin/claude")  # node is in the same folder, which is first on PATH
    assert machine.sees(there, ".asdf/installs/nodejs/22.1.0/bin/node")
    machine.file(".volta/bin/volta-shim")
    machine.link(".volta/bin/codex", "volta-shim")
    machine.file(".volta/tools/image/packages/@x/codex/lib/node_modules/@x/codex/bin/codex.js", NODE)
    machine.link(".volta/tools/image/packages/@x/codex/bin/codex", "../lib/node_modules/@x/codex/bin/codex.js")
    machine.on_path(".volta/bin")
    there = machine.found("codex")
    assert ".volta/tools/image/packages" in there.path
    assert there.variables == {"VOLTA_HOME": str(machine.home / ".volta")}


def test_packages_of_pnpm_lie_in_one_store(machine: Machine) -> None:
    store = ".local/share/pnpm/global/5/.pnpm"
    machine.file(f"{store}/x@1/node_modules/x/cli.js", NODE)
    machine.link(".local/share/pnpm/bin/claude", f"{machine.home}/{store}/x@1/node_modules/x/cli.js")
    machine.on_path(".local/share/pnpm/bin")
    assert machine.sees(machine.found(), f"{store}/dependency@2")


@pytest.mark.spec("AGT-1")
def test_a_version_is_asked_for_with_nothing_of_the_users(machine: Machine, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ANTHROPIC_API_KEY", "planted-key")
    seen = machine.home / "seen"
    asks = machine.file(
        "bin/asks", f"#!/bin/sh\nenv > {seen}\necho welcome\necho 'agent 1.2.3'\nyes 4 | head -c 99999\n"
    )
    assert program_version(str(asks)) == "agent 1.2.3"
    variables = dict(line.split("=", 1) for line in seen.read_text().splitlines() if "=" in line)
    assert variables.keys() - {"PWD", "SHLVL", "_", "OLDPWD"} == {"HOME", "PATH", "NO_COLOR"}
    assert variables["HOME"] != str(machine.home)
    assert program_version(str(machine.file("bin/fails", "#!/bin/sh\nexit 3\n"))) == ""
    assert program_version(str(machine.file("bin/broken", "#!/nowhere/at/all\n"))) == ""


def test_the_version_of_a_package_is_read_and_not_asked_for(machine: Machine) -> None:
    script = machine.file("lib/node_modules/@x/agent/dist/cli.js", "#!/bin/sh\ntouch started\n")
    machine.file("lib/node_modules/@x/agent/package.json", '{"name": "@x/agent", "version": "0.61.0"}')
    assert program_version(str(script)) == "0.61.0"
