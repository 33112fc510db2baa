"""What all tests share: interpreters for checks and commands, the length of the crash sweep, which of many are run."""

import sys
from collections import defaultdict
from collections.abc import Iterator

import pytest
from hypothesis import HealthCheck, settings

from tests.postgres import PostgresServer
from tests.proof.trial import bare_interpreter
from tests.warm import Warm, warm


def pytest_configure() -> None:
    """No test is timed, nor fails by chance: a busy machine or a lucky draw would fail it for nothing.

    New examples are looked for with `--hypothesis-profile exploring`.
    """
    # Compiled tests are kept, also where Python was told to write no bytecode: without them each worker spends half a
    # minute on compiling all tests anew. What tests start is told what this machine says.
    sys.dont_write_bytecode = False
    untimed = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow], database=None)
    settings.register_profile("exploring", untimed)
    settings.register_profile("the same each time", untimed, derandomize=True)
    settings.load_profile("the same each time")


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--all-kills", action="store_true", help="kill at every write, and hundreds of times at random")


@pytest.fixture(scope="session")
def all_kills(pytestconfig: pytest.Config) -> bool:
    return bool(pytestconfig.getoption("--all-kills"))


@pytest.fixture(scope="session", autouse=True)
def bare(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Checks run in an interpreter with nothing in it, the same on every machine: pytest comes from the engine.

    The one on the path may be a script of a version manager, which takes longer to begin than a check; and what is
    installed there is loaded into every check.
    """
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("VIRTUAL_ENV", str(bare_interpreter(tmp_path_factory.mktemp("bare"))))
        yield


@pytest.fixture(scope="session")
def waiting(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Warm]:
    """An interpreter that has loaded everything: most of a short command's time goes into imports."""
    with warm(tmp_path_factory.mktemp("warm")) as one:
        yield one


@pytest.fixture(scope="session")
def postgres_server() -> Iterator[PostgresServer]:
    server = PostgresServer()
    yield server
    server.remove()


@pytest.fixture
def postgres(postgres_server: PostgresServer) -> PostgresServer:
    """A Postgres that runs, whatever an earlier test did to it."""
    postgres_server.start()
    return postgres_server


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Of tests that are marked as many, so many stay in `make test`, evenly chosen; all others are slow."""
    many: dict[tuple[object, int], list[pytest.Item]] = defaultdict(list)
    for item in items:
        if (mark := item.get_closest_marker("many")) is not None:
            many[getattr(item, "function", None), mark.args[0]].append(item)
    for (_, stay), alike in many.items():
        chosen = {place * len(alike) // stay for place in range(stay)}
        for place, item in enumerate(alike):
            if place not in chosen:
                item.add_marker(pytest.mark.slow)
