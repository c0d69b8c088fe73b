"""These tests import frameworks that only `make hosts` installs: they are collected where -m names the marker alone."""

from pathlib import Path

import pytest


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    return None if config.option.markexpr == "hosts" else True
