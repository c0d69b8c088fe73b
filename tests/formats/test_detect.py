"""Telling a format by content, never by a name."""

import gzip
import json
import re
from pathlib import Path

import pytest
from tests.formats.reading import DATA, excerpt, lines

from refold.events import FormatError, LogError, RefoldError
from refold.events._zstd import packed
from refold.events.formats import FORMATS, Format, Source, detect, named, read

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


USER = '{"type":"user","uuid":"u","parentUuid":null,"sessionId":"s","message":{"role":"user","content":"hi"}}'


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ('{"messages":' + "[" * 3000 + "]" * 3000 + "}", "its JSON is nested too deeply to be read"),
        ('{"type":"user","x":' + "[" * 3000 + "]" * 3000 + '}\n{"a":1}\n', "its JSON is nested too deeply to be read"),
        ('[{"n":' + "9" * 5000 + "}]", r"not JSON: the number 99999999999999999999\.\.\. is too large"),
        ('[{"n":1e400}]', "not JSON: the number 1e400 is too large"),
        ('{"messages": [ {"role": "user"', "not JSON: .* column 31"),
        ("x" * 101, "the line is longer than 100 bytes, the most that is read"),
    ],
)
def test_what_cannot_be_read_at_all_is_refused_with_the_cause(text: str, reason: str) -> None:
    with pytest.raises(FormatError, match=f"^thing: {reason}"):
        detect(Source(text.encode(), "thing", max_line=100 if len(text) == 101 else 1 << 20))


def test_a_line_that_is_too_deep_is_left_out_and_named() -> None:
    (session,) = read(Source(f"{USER}\n{'[' * 3000}{']' * 3000}\n".encode(), "thing"))

    assert session.partial
    assert session.notes == ("line 2 is nested too deeply and is left out",)


def test_a_line_that_is_too_long_is_refused_with_its_cause_once_it_is_met() -> None:
    with pytest.raises(FormatError, match=r"^thing: the line is longer than 1000 bytes, the most that is read"):
        read(Source(f"{USER}\n{USER.replace('hi', 'x' * 1000)}\n".encode(), "thing", max_line=1000))


def test_a_number_that_no_header_of_dsh_can_hold_is_named() -> None:
    header = b'{"type":"session","version":0,"id":"s","createdAt":1e400,"cwd":"/"}\n'
    with pytest.raises(LogError, match=r"^log:1: the header cannot be read: the number 1e400 is too large$"):
        read(Source(header, "log"), "dsh")


def test_a_source_in_pieces_is_read_as_one_that_is_whole() -> None:
    for name in EXCERPTS:
        whole = excerpt(name)
        data = whole.data
        pieces = Source(lambda data=data: (data[at : at + 7] for at in range(0, len(data), 7)), name)
        if name != SPELLINGS:
            assert read(pieces) == read(whole)


def test_a_format_can_be_named() -> None:
    plain = Source(json.dumps([{"role": "user", "content": "go"}]).encode(), "plain")

    assert read(plain, "openai_chat") == read(plain, named("openai_chat")) == read(plain)
    with pytest.raises(FormatError, match=r"no format is called 'gpt'; there are .*claude_code"):
        named("gpt")


SIBLINGS = {  # one file can be both: spans of a framework's trace are OpenTelemetry's, a run's list is a chat's
    ("mini_swe_agent", "openai_chat"),
    ("pydantic_ai", "otel_genai"),
    ("langchain", "otel_genai"),
}


@pytest.mark.parametrize("name", [*(name for name in EXCERPTS if name != SPELLINGS), EXAMPLE.name])
def test_a_source_of_another_format_is_refused_and_its_own_named(name: str) -> None:
    source = Source(EXAMPLE.read_bytes(), name) if name == EXAMPLE.name else excerpt(name)
    own = detect(source).name

    for other in {known.name for known in FORMATS} - {own} - {wanted for mine, wanted in SIBLINGS if mine == own}:
        with pytest.raises(FormatError, match=rf"^{re.escape(name)}: is no .* \({other}\): it looks like {own}$"):
            read(source, other)


@pytest.mark.parametrize("form", [form for form in FORMATS if form.name != "dsh"], ids=lambda form: form.name)
def test_records_of_nobody_s_format_are_refused_by_every_reader_that_is_forced(form: Format) -> None:
    rows = lines({"type": "user", "content": "go"}, {"type": "tool_use", "id": "c"}, {"type": "tool_result", "id": "c"})
    with pytest.raises(FormatError):
        read(rows, form)


def test_reading_leaves_the_decoded_document_as_it_was() -> None:
    for name in EXCERPTS:
        source = excerpt(name)
        read(source) if name != SPELLINGS else None
        if name.endswith(".json"):
            assert source.document() == json.loads(source.data)


def test_no_format_reads_what_only_its_file_name_would_tell() -> None:
    names = {Path(name).suffix for name in EXCERPTS}
    assert ".json" in names
    with pytest.raises(FormatError):
        detect(Source(b"plain text", "session.jsonl"))


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (gzip.compress(b'{"role": "user"}', mtime=0), "is gzip-compressed: unpack it first"),
        ('[{"role": "user", "content": "go"}]'.encode("utf-16"), "is UTF-16 text: convert it to UTF-8 first"),
        (b"".join(packed([b'{"role": "user", "content": "go"}\n'])), "is zstd-compressed and holds no DSH log: unpack"),
    ],
)
def test_bytes_that_must_be_decoded_first_are_named(data: bytes, said: str) -> None:
    with pytest.raises(FormatError, match=said):
        read(Source(data, "x"))


WITHOUT_ZIP = sorted(path.name for path in DATA.iterdir() if path.is_file() and path.suffix != ".eval")


@pytest.mark.parametrize("name", WITHOUT_ZIP)
def test_a_byte_order_mark_changes_nothing(name: str) -> None:
    data = (DATA / name).read_bytes()
    try:
        expected = detect(Source(data, name)), read(Source(data, name))
    except RefoldError:
        expected = None

    marked = [Source(b"\xef\xbb\xbf" + data, name), Source(lambda: (b"\xef", b"\xbb", b"\xbf" + data), name)]

    for source in marked:
        try:
            assert (detect(source), read(source)) == expected
        except RefoldError:
            assert expected is None
