"""The formats of pi, Kimi, OpenCode, OpenHands, SWE-agent, mini-swe-agent and Inspect are told by content alone."""

import pytest
from tests.conformance.figures import folder, source

from refold.events.formats import FORMATS

pytestmark = pytest.mark.conformance

MINE = ("pi", "kimi_cli", "opencode", "openhands", "swe_agent", "mini_swe_agent", "inspect_ai")
DIRECTORIES = ("opencode/agent-sessions_storage_v2", "openhands/v1_cd945624")
FILES = [path.relative_to(folder()).as_posix() for path in sorted(folder().glob("*/*")) if path.is_file()]


@pytest.mark.parametrize("name", [*FILES, *DIRECTORIES])
def test_a_transcript_is_recognised_by_its_own_format_alone(name: str) -> None:
    found = [form.name for form in FORMATS if form.name in MINE and form.detect(source(name))]

    owner = name.partition("/")[0]
    assert found == ([owner] if owner in MINE else [])
