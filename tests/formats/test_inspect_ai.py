"""Inspect eval logs: an excerpt of one of its own test logs, and small logs made up to show each rule."""

import json
from io import BytesIO
from typing import Any
from zipfile import ZIP_DEFLATED, ZipFile

import pytest
import zstandard
from tests.formats.checked import read, read_file, surface
from tests.formats.reading import answers, of, results, said

from refold.events import FormatError, Opaque, RequestContext, RequestHeader, ToolResult, Usage
from refold.events.formats._source import Session, Source
from refold.events.formats.inspect_ai import FORMAT

EVAL = {"task": "t", "model": "openai/gpt-4o"}


def log(*samples: dict[str, Any]) -> str:
    return json.dumps({"version": 2, "eval": EVAL, "samples": list(samples)})


def sample(*events: dict[str, Any], **fields: Any) -> dict[str, Any]:
    return {"id": 1, "epoch": 1, "uuid": "main", "events": list(events), **fields}


def user(text: str) -> dict[str, Any]:
    return {"role": "user", "content": text, "source": "input"}


def assistant(text: str, *call_ids: str) -> dict[str, Any]:
    calls = [{"id": each, "function": "bash", "arguments": {"cmd": each}} for each in call_ids]
    return {"role": "assistant", "content": text, "tool_calls": calls}


def tool(call_id: str, text: str, **fields: Any) -> dict[str, Any]:
    return {"role": "tool", "content": text, "tool_call_id": call_id, "function": "bash", **fields}


def model(prompt: list[dict[str, Any]], answer: dict[str, Any] | None, **fields: Any) -> dict[str, Any]:
    usage = fields.pop("usage", None)
    output = {"choices": [{"message": answer}] if answer else [], "usage": usage}
    return {"event": "model", "model": "openai/gpt-4o", "input": prompt, "output": output, **fields}


def one(source: str | bytes) -> Session:
    (session,) = read(FORMAT, source)
    return session


def test_cached_tokens_are_inside_the_input_where_the_total_says_so() -> None:
    (session,) = read_file(FORMAT, "inspect_ai_browser.json")

    assert [answer.usage for answer in answers(session)] == [Usage(1124, 23), Usage(1568 - 1024, 17, 1024)]


def test_cached_tokens_are_beside_the_input_where_the_total_says_so() -> None:
    usage = {"input_tokens": 10, "output_tokens": 5, "input_tokens_cache_read": 7, "total_tokens": 22}

    session = one(log(sample(model([user("go")], assistant("done"), usage=usage))))

    assert [answer.usage for answer in answers(session)] == [Usage(10, 5, 7)]


def test_attachments_are_put_back() -> None:
    (session,) = read_file(FORMAT, "inspect_ai_browser.json")

    assert surface(session)[0].startswith("user: Use the web browser tool to navigate to https://www.aisi.gov.uk/.")
    (result,) = results(session)
    assert said(result).startswith('[132] link "We are now the AI Security Institute"')
    assert len(said(result)) == 1546


def test_model_tools_and_provider_are_known() -> None:
    (session,) = read_file(FORMAT, "inspect_ai_browser.json")

    (header,) = of(session, RequestHeader)
    assert json.loads(header.tools)[0]["name"] == "web_browser_go"
    assert header.config == '{"parallel_tool_calls":false}'
    assert [(each.provider, each.model) for each in of(session, RequestContext)] == [("openai", "gpt-4o-mini")]


def test_a_result_that_a_later_prompt_holds_cleared_is_replaced() -> None:
    first, second = [user("go")], [user("go"), assistant("", "a"), tool("a", "long listing")]
    third = [user("go"), assistant("", "a"), tool("a", "(cleared)"), assistant("on"), user("more")]

    session = one(log(sample(model(first, assistant("", "a")), model(second, assistant("on")), model(third, None))))

    (cleared,) = (event for event in of(session, ToolResult) if event.replaces)
    assert said(cleared) == "(cleared)"
    assert "tool: long listing" not in surface(session)


def test_an_error_is_what_the_model_is_told() -> None:
    failed = tool("a", "", error={"type": "timeout", "message": "too slow"})

    session = one(
        log(sample(model([user("go")], assistant("", "a")), model([user("go"), assistant("", "a"), failed], None)))
    )

    assert [(said(each), each.is_error) for each in results(session)] == [("too slow", True)]


def test_a_sub_agents_conversation_is_a_session_of_its_own() -> None:
    def span(span_id: str, kind: str, parent: str | None = None) -> dict[str, Any]:
        return {"event": "span_begin", "id": span_id, "type": kind, "parent_id": parent}

    events = (
        span("react", "agent"),
        model([user("go")], assistant("", "a"), span_id="react"),
        span("call", "tool", "react"),
        span("helper", "agent", "call"),
        model([user("help me")], assistant("helped"), span_id="helper"),
        model([user("go"), assistant("", "a"), tool("a", "helped")], assistant("done"), span_id="react"),
        span("score", "scorer"),
        model([user("grade this")], assistant("C"), span_id="score"),
    )

    main, helper, grader = read(FORMAT, log(sample(*events)))

    assert surface(main) == ["user: go", "assistant: ", "tool: helped", "assistant: done"]
    assert (surface(helper), helper.parent) == (["user: help me", "assistant: helped"], "main")
    assert (surface(grader), grader.parent) == (["user: grade this", "assistant: C"], None)


def test_an_image_is_carried_through() -> None:
    picture = {"type": "image", "image": "tc://x", "detail": "auto"}
    prompt = [{"role": "user", "source": "input", "content": [{"type": "text", "text": "what?"}, picture]}]
    old = {
        "id": 3,
        "epoch": 2,
        "transcript": {"events": [model(prompt, assistant("a hedgehog"))], "content": {"x": "d"}},
    }

    session = one(log(old))

    assert session.id == "3-epoch-2"
    image = '{"type":"image","image":"d","detail":"auto"}'
    assert Opaque(image) in next(event.content for event in session.events if event.type == "user/message")  # type: ignore[attr-defined]


def test_an_answer_from_inspects_own_cache_was_not_billed() -> None:
    usage = {"input_tokens": 10, "output_tokens": 5}

    session = one(log(sample(model([user("go")], assistant("done"), usage=usage, cache="read"))))

    assert [answer.usage for answer in answers(session)] == [None]


def test_a_log_without_events_is_read_from_its_messages() -> None:
    session = one(log(sample(messages=[user("go"), assistant("", "a"), tool("a", "x"), assistant("done")])))

    assert surface(session) == ["user: go", "assistant: ", "tool: x", "assistant: done"]
    assert "the log kept no events: usage, times and resets are not known" in session.notes


def test_each_sample_is_a_session_and_an_archive_reads_like_its_json() -> None:
    samples = [sample(model([user(name)], assistant("yes")), uuid=name) for name in ("one", "two")]
    packed = BytesIO()
    with ZipFile(packed, "w", ZIP_DEFLATED) as archive:
        archive.writestr("header.json", json.dumps({"version": 2, "eval": EVAL}))
        for place, each in enumerate(samples, 9):
            archive.writestr(f"samples/{place}_epoch_1.json", json.dumps(each))

    assert read(FORMAT, packed.getvalue()) == read(FORMAT, log(*samples))


def test_an_archive_may_be_packed_with_zstandard() -> None:
    content = json.dumps(sample(model([user("go")], assistant("yes")))).encode()
    packed = zstandard.ZstdCompressor().compress(content)
    stored = BytesIO()
    with ZipFile(stored, "w") as archive:
        archive.writestr("header.json", "{}")
        archive.writestr("samples/1_epoch_1.json", packed)
    data = stored.getvalue()
    central = data.rindex(b"PK\x01\x02")
    method, size = central + 10, central + 24  # of the archive's last entry, in its central directory
    data = data[:method] + (93).to_bytes(2, "little") + data[method + 2 :]
    data = data[:size] + len(content).to_bytes(4, "little") + data[size + 4 :]

    assert surface(one(data)) == ["user: go", "assistant: yes"]


def test_a_broken_archive_is_refused() -> None:
    packed = BytesIO()
    with ZipFile(packed, "w", ZIP_DEFLATED) as archive:
        archive.writestr("header.json", "{}")
        archive.writestr("samples/1_epoch_1.json", json.dumps(sample(messages=[user("go" * 99)])))
    data = packed.getvalue()
    at = data.index(b"samples/1_epoch_1.json") + 40

    with pytest.raises(FormatError, match="cannot be unpacked"):
        FORMAT.read(Source(data[:at] + b"\xff\xff\xff\xff" + data[at + 4 :], "log.eval"))


@pytest.mark.parametrize("data", [b"", b"{}", b"[]", b'{"version":2,"eval":{}}', b"PK\x03\x04", b"{"])
def test_other_files_are_no_inspect_log(data: bytes) -> None:
    assert not FORMAT.detect(Source(data))
    with pytest.raises(FormatError, match=r"no Inspect log|not JSON"):
        FORMAT.read(Source(data))


def test_a_log_without_samples_has_no_session() -> None:
    with pytest.raises(FormatError, match="without samples"):
        FORMAT.read(Source(log().encode()))
