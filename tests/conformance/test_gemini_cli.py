"""Gemini CLI recordings of the folder against its manifest."""

import pytest
from tests.conformance.agreement import counts, weighed
from tests.conformance.manifest import counted, names, source
from tests.formats.checked import check

from refold.events.formats.gemini_cli import FORMAT

pytestmark = pytest.mark.conformance

# The manifest counts messages of type `gemini`; this file holds two of type `model` besides.
DIFFERENT = {"agent-sessions_large.json": {"requests": 4}}


@pytest.mark.parametrize("name", names("gemini_cli"))
def test_the_counts_are_those_of_the_manifest(name: str) -> None:
    (session,) = FORMAT.read(source("gemini_cli", name))
    check(session)
    assert counts([session]) == counted("gemini_cli")[name]._replace(**DIFFERENT.get(name, {}))


@pytest.mark.parametrize("name", names("gemini_cli"))
def test_prompts_are_about_as_large_as_reported(name: str) -> None:
    (session,) = FORMAT.read(source("gemini_cli", name))
    found = weighed(session)
    assert found is not None
    assert 0.7 < found[0] < 1.2
    assert found[1] < 1.3
