"""Inspect: every file of the data folder, counted as its manifest counts."""

import pytest
from tests.conformance.figures import counted, folder, read, share, told

from refold.events.formats.inspect_ai import FORMAT

pytestmark = pytest.mark.conformance

FILES = sorted(path.relative_to(folder()).as_posix() for path in (folder() / "inspect_ai").iterdir())


@pytest.mark.parametrize("name", FILES)
def test_calls_and_results_are_those_of_the_manifest(name: str) -> None:
    assert told(read(FORMAT, name)) == counted(name)


@pytest.mark.parametrize("name", FILES)
def test_the_surface_is_as_long_as_the_reported_prompts_say(name: str) -> None:
    """The image's own bytes are not counted as text; its tokens are most of that prompt."""
    assert 0.15 < share(read(FORMAT, name)[0]) < 1.5
