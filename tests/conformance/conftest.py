"""These tests read the files of the folder that REFOLD_DATA names; without it there is nothing here to collect."""

import os

import pytest

collect_ignore_glob = [] if os.environ.get("REFOLD_DATA") else ["test_*.py"]


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "conformance: reads the public transcripts of the folder REFOLD_DATA")
