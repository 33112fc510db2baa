"""If a check cannot run on this machine, no agent is blocked for it; whoever makes a check impossible is."""

import pytest

from tests.gate.yard import GREEN, RED, REQUIREMENTS, Yard

PROGRAM = "no-such-program"
LACKING = f"""  - id: spoken
    text: slugs are spoken
    checks:
      - kind: examples
        cases:
          - {{run: ["{PROGRAM}", "A"], stdout: "a"}}
"""
PACKAGE = "quuxslugs"


@pytest.mark.spec("DAY-2", "DAY-10")
@pytest.mark.slow
def test_a_program_that_this_machine_lacks_blocks_nobody_and_hides_nothing_else(yard: Yard) -> None:
    yard.requirements.write_text(REQUIREMENTS + LACKING)
    yard.install("claude")
    yard.prompt("lie")
    yard.write("slug.py", f"{RED}# done\n")
    assert yard.stop(prompt_id="lie")["decision"] == "block"
    yard.prompt("work")
    yard.write("slug.py", GREEN)
    answer = yard.stop(prompt_id="work")
    assert "decision" not in answer
    assert f"the program {PROGRAM} is not installed" in answer["systemMessage"]
    assert "could not judge: 1 of 2 requirements met" in answer["systemMessage"]
    # another worktree that only a person can help does not hide red work in this one
    other = yard.top / "other"
    yard.git("worktree", "add", "-q", "--detach", str(other), "HEAD")
    (other / "slug.py").write_text(GREEN)
    yard.prompt("elsewhere")
    yard.write("slug.py", f"{RED}# done again\n")
    assert yard.stop(prompt_id="elsewhere", cwd=str(other))["decision"] == "block"


@pytest.mark.slow
@pytest.mark.spec("DAY-2", "DAY-10", "LAW-2")
def test_a_package_that_the_work_declares_and_nobody_can_install_excuses_no_work(yard: Yard) -> None:
    settings = yard.top / "home" / ".config" / "pip" / "pip.conf"
    settings.parent.mkdir(parents=True)
    settings.write_text("[global]\nproxy = http://127.0.0.1:9\nretries = 0\n")
    yard.install("claude")
    yard.prompt("work")
    yard.write("requirements.txt", f"{PACKAGE}\n")
    yard.write("slug.py", f"import {PACKAGE}\n{RED}")
    answer = yard.stop(prompt_id="work")
    assert answer["decision"] == "block"
    assert PACKAGE in answer["reason"]
