"""Copilot CLI sessions of the folder against its manifest, which counts no requests of theirs."""

import pytest
from tests.conformance.agreement import counts
from tests.conformance.manifest import counted, names, source
from tests.formats.checked import check

from refold.events.formats.copilot_cli import FORMAT

pytestmark = pytest.mark.conformance

REQUESTS = {"agent-sessions_large.jsonl": 4, "agent-sessions_small.jsonl": 5}


@pytest.mark.parametrize("name", names("copilot_cli"))
def test_the_counts_are_those_of_the_manifest(name: str) -> None:
    sessions = FORMAT.read(source("copilot_cli", name))
    for session in sessions:
        check(session)
    found, expected = counts(sessions), counted("copilot_cli")[name]
    assert (found.results, found.large, found.max_prompt_tokens) == expected[1:4]
    assert found.requests == REQUESTS[name]
