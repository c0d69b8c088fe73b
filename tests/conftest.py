"""What every test here may ask for: the seed of generated input, and the official packages."""

import os
import shutil
from collections.abc import Iterator

import pytest
from tests.oracle_client import Oracle, install

SEED = os.environ.get("REFOLD_SEED", "20260821")


def pytest_report_header() -> str:
    return f"seed of generated input: {SEED} (set REFOLD_SEED to change it)"


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    for reports in terminalreporter.stats.values():
        for report in reports:
            for name, value in getattr(report, "user_properties", ()):
                if report.when == "call":
                    terminalreporter.write_line(f"{report.head_line}: {name}: {value}")


@pytest.fixture(scope="session")
def seed() -> str:
    return SEED


@pytest.fixture(scope="session")
def oracle() -> Iterator[Oracle]:
    if shutil.which("node") is None:
        missing = "node not found: the official packages were not asked"
        if os.environ.get("CI") == "true":
            pytest.fail(missing)
        pytest.skip(missing)
    oracle = Oracle(install())
    yield oracle
    oracle.close()
