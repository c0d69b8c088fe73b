"""Qwen Code recordings of the folder against its manifest."""

import pytest
from tests.conformance.agreement import counts
from tests.conformance.manifest import counted, names, source
from tests.formats.checked import check

from refold.events.formats.qwen_code import FORMAT

pytestmark = pytest.mark.conformance

# The manifest counts lines; two of the three have one uuid, which makes them one record.
DIFFERENT = {"agent-sessions_019f0000-0000-7000-8000-000000000004.jsonl": {"requests": 2}}


@pytest.mark.parametrize("name", names("qwen_code"))
def test_the_counts_are_those_of_the_manifest(name: str) -> None:
    (session,) = FORMAT.read(source("qwen_code", name))
    check(session)
    assert counts([session]) == counted("qwen_code")[name]._replace(**DIFFERENT.get(name, {}))
