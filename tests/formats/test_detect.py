"""Telling a format by content, never by a name."""

import json
from pathlib import Path

import pytest
from tests.formats.reading import DATA, excerpt

from refold.events import FormatError, LogError
from refold.events.formats import FORMATS, Source, detect, named, read

EXCERPTS = sorted(path.name for path in DATA.iterdir() if path.suffix != ".md")
EXAMPLE = Path(__file__).parents[2] / "examples" / "session.v4.jsonl.zstd"
SPELLINGS = "langchain_dumps.json"  # three lists under names of our own


@pytest.mark.parametrize("name", [name for name in EXCERPTS if name != SPELLINGS])
def test_each_excerpt_is_told_whatever_its_name(name: str) -> None:
    form = detect(Source((DATA / name).read_bytes(), "misleading.claude.jsonl"))

    known = [known.name for known in FORMATS]
    owner = next((prefix for prefix in sorted(known, key=len, reverse=True) if name.startswith(prefix)), None)
    families = {"otel": "otel_genai", "anthropic": "anthropic_messages"}
    assert form.name == (owner or families[name.partition("_")[0]])


@pytest.mark.parametrize("version", range(6))
def test_a_dsh_log_is_told_by_its_header(version: int) -> None:
    header = {"type": "session", "version": version, "id": "s", "createdAt": 1, "cwd": "/"}
    assert detect(Source(json.dumps(header).encode() + b"\n", "log")).name == "dsh"


def test_a_packed_log_is_told_by_its_magic_number_and_read() -> None:
    (session,) = read(Source(EXAMPLE.read_bytes(), "log"))

    assert detect(Source(EXAMPLE.read_bytes(), "log")).name == "dsh"
    assert (session.id, session.parent, session.partial) == ("s-one", None, False)
    assert session.events[-1].type == "turn/end"


@pytest.mark.parametrize("data", [b"", b" \n", b"\x00\x01", b"hello", b"{}", b"[]", b"null", b'{"a": 1}\n{"b": 2}\n'])
def test_what_no_format_knows_is_refused_with_what_was_tried(data: bytes) -> None:
    with pytest.raises(FormatError, match=r"thing: is (empty|in no format that refold reads; tried .*openai_chat)"):
        detect(Source(data, "thing"))


@pytest.mark.parametrize("text", ["[" * 3000 + "]" * 3000, '{"messages":' * 3000 + "1" + "}" * 3000])
def test_what_is_nested_too_deeply_is_refused(text: str) -> None:
    with pytest.raises(FormatError):
        read(Source(text.encode(), "deep"))
    for form in FORMATS:
        with pytest.raises((FormatError, LogError)):
            read(Source(text.encode(), "deep"), form)


def test_a_format_can_be_named() -> None:
    plain = Source(json.dumps([{"role": "user", "content": "go"}]).encode(), "plain")

    assert read(plain, "openai_chat") == read(plain, named("openai_chat")) == read(plain)
    with pytest.raises(FormatError, match=r"no format is called 'gpt'; there are .*claude_code"):
        named("gpt")


def test_a_source_of_another_format_is_refused_by_name() -> None:
    with pytest.raises(FormatError):
        read(excerpt("openai_chat_request.json"), "langchain")


def test_no_format_reads_what_only_its_file_name_would_tell() -> None:
    names = {Path(name).suffix for name in EXCERPTS}
    assert ".json" in names
    with pytest.raises(FormatError):
        detect(Source(b"plain text", "session.jsonl"))
