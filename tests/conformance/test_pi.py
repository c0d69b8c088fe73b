"""pi: every file of the data folder, counted as its manifest counts."""

import pytest
from tests.conformance.figures import counted, folder, read, share, told
from tests.formats.reading import of

from refold.events import EndSeed, SurfaceRewind, UserMessage
from refold.events.formats.pi import FORMAT

pytestmark = pytest.mark.conformance

FILES = sorted(path.relative_to(folder()).as_posix() for path in (folder() / "pi").iterdir())


@pytest.mark.parametrize("name", FILES)
def test_calls_and_results_are_those_of_the_manifest(name: str) -> None:
    assert told(read(FORMAT, name)) == counted(name)


def test_the_long_session_shows_its_compactions_its_aborts_and_its_branch() -> None:
    (session,) = read(FORMAT, "pi/pi-mono_before-compaction.jsonl")

    assert sum(event.source == "compaction" for event in of(session, UserMessage)) == 2
    assert len(of(session, SurfaceRewind)) == 18 + 1  # aborted, failed
    assert [seed.inherited for seed in of(session, EndSeed)] == [True]
    assert session.notes == ("6 calls have no result",)


@pytest.mark.parametrize("name", ["pi/pi-mono_before-compaction.jsonl", "pi/kimchi-dev_statsuline.jsonl"])
def test_the_surface_is_as_long_as_the_reported_prompts_say(name: str) -> None:
    assert 0.5 < share(read(FORMAT, name)[0]) < 1.5
