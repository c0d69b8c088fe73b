"""OpenCode: the storage directory of the data folder. Its manifest counts the 23 files, not what they tell."""

import pytest
from tests.conformance.figures import read, told

from refold.events.formats.opencode import FORMAT

pytestmark = pytest.mark.conformance


def test_the_directory_holds_two_sessions_with_three_answers_and_two_results() -> None:
    sessions = read(FORMAT, "opencode/agent-sessions_storage_v2")

    assert [session.id for session in sessions] == ["s_stage0_small", "s_stage0_large"]
    assert told(sessions) == (3, 2, 0)
