"""What all tests share: how long the crash sweep is."""

import pytest


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--all-kills", action="store_true", help="kill at every write, and hundreds of times at random")


@pytest.fixture(scope="session")
def all_kills(pytestconfig: pytest.Config) -> bool:
    return bool(pytestconfig.getoption("--all-kills"))
