"""Each coding agent's transcripts are told by their content, among all the transcripts of the folder."""

import pytest
from tests.conformance.manifest import everything, source

from refold.events.formats import claude_code, codex, copilot_cli, gemini_cli, qwen_code

pytestmark = pytest.mark.conformance

FORMATS = {module.FORMAT.name: module.FORMAT for module in (claude_code, codex, copilot_cli, gemini_cli, qwen_code)}


@pytest.mark.parametrize(("folder", "name"), everything())
def test_a_transcript_is_recognised_by_its_own_format_alone(folder: str, name: str) -> None:
    found = source(folder, name)
    expected = [folder] if folder in FORMATS else []
    assert [form.name for form in FORMATS.values() if form.detect(found)] == expected
