"""What the agents of a handoff reply. Every field is a claim, and is checked."""

from collections.abc import Mapping

from pydantic import Field

from trued.model import Disputes, Reply, Value


class Planned(Value):
    """One feature, as it will appear in the feature list."""

    id: str = Field(default="", description="short, like feat_001_login; generated if you give none")
    category: str = "functional"
    description: str = Field(description="what must hold, in the words of the specification")
    priority: str = Field(default="medium", description="critical, high, medium or low")
    steps: tuple[str, ...] = Field(description="how to see that it holds, step by step")
    test_command: str = Field(default="", description="the command that will run its tests")
    verification_method: str = Field(default="automated", description="automated, e2e (a browser) or manual (a person)")
    verification_tool: str = ""
    depends_on: tuple[str, ...] = ()


class Initialized(Reply):
    """A specification as features, in the order of work, and how the project is run."""

    features: tuple[Planned, ...] = Field(min_length=1)
    start: str = Field(default="", description="the command that starts the app")
    test: str = Field(default="", description="the command that runs all tests")
    set_up: tuple[str, ...] = Field(
        default=(), description="commands that a fresh clone needs beyond installing what the manifests name"
    )


class Coded(Reply):
    """A coder's report on its one feature. The engine checks all of it."""

    passes: bool = Field(description="whether the feature is complete, as far as you saw it yourself")
    implemented: tuple[str, ...]
    files: tuple[str, ...] = Field(default=(), description="every file that you changed")
    tests: tuple[str, ...] = Field(default=(), description="files or ids of the tests that show it")
    tests_passing: int = 0
    tests_total: int = 0
    notes: tuple[str, ...] = ()
    set_up: tuple[str, ...] = Field(
        default=(), description="commands that a fresh clone needs beyond installing what the manifests name"
    )
    continue_from: str = Field(default="", description="path:line, where the next agent should begin")
    proposed: tuple[Planned, ...] = Field(default=(), description="features that the list lacks; a person decides")
    disputes: Disputes = ()


REPLIES: Mapping[str, tuple[type[Reply], ...]] = {  # role → the replies that it can be asked for
    "initializer": (Initialized,),
    "coder": (Coded,),
}
