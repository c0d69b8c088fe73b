"""SWE-agent: every file of the data folder, counted as its manifest counts. No file reports usage by call."""

import pytest
from tests.conformance.figures import counted, folder, read, told

from refold.events.formats.swe_agent import FORMAT

pytestmark = pytest.mark.conformance

FILES = sorted(path.relative_to(folder()).as_posix() for path in (folder() / "swe_agent").iterdir())


@pytest.mark.parametrize("name", FILES)
def test_calls_and_results_are_those_of_the_manifest(name: str) -> None:
    assert told(read(FORMAT, name)) == counted(name)
