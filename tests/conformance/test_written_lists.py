"""The five writers on real message lists: cut and restored, a list is again what it was, byte for byte.

The folder's recordings hold the lists: what a client sent to Anthropic, what Codex sent as Responses items, the state
of a LangGraph run. No native pydantic-ai dump is in it; the excerpt of one that pydantic-ai wrote stands for it.
"""

import json
from collections.abc import Iterator
from typing import Any

import pytest
from tests.conformance.manifest import names, source
from tests.formats.reading import excerpt, results, said

from refold.events import Text
from refold.events.formats import Source, detect, named
from refold.events.formats._cassette import interactions
from refold.transcripts import rewritten

pytestmark = pytest.mark.conformance

WRITTEN = ("openai_chat", "openai_responses", "anthropic_messages", "langchain", "pydantic_ai")


def chat() -> Iterator[bytes]:
    yield from (source("openai_chat", name).data for name in names("openai_chat"))


def responses() -> Iterator[bytes]:
    for name in names("codex"):
        rows = [json.loads(line) for line in source("codex", name).data.splitlines() if b'"response_item"' in line]
        if rows and name.startswith("moonmind"):
            yield json.dumps([row["payload"] for row in rows], indent=1, ensure_ascii=False).encode()


def anthropic() -> Iterator[bytes]:
    for name in names("anthropic_messages"):
        for request, _, _ in interactions(source("anthropic_messages", name), b"api.anthropic.com")[0]:
            yield json.dumps(request).encode()


def langchain() -> Iterator[bytes]:
    for name in names("langchain"):
        for messages in lists(unpacked(source("langchain", name).document())):
            if messages[-1].get("type") in ("ai", "tool") and "response_metadata" in messages[-1]:
                yield json.dumps(messages, ensure_ascii=False).encode()


def pydantic_ai() -> Iterator[bytes]:
    yield excerpt("pydantic_ai_history.json").data


def unpacked(value: Any) -> Any:
    """The value with the JSON texts in it decoded."""
    match value:
        case str() if value[:1] in ("{", "["):
            try:
                return unpacked(json.loads(value))
            except ValueError:
                return value
        case dict():
            return {key: unpacked(each) for key, each in value.items()}
        case list():
            return [unpacked(each) for each in value]
    return value


def lists(value: Any) -> Iterator[list[dict[str, Any]]]:
    if isinstance(value, list) and value and all(isinstance(each, dict) for each in value):
        yield value
    for below in value.values() if isinstance(value, dict) else value if isinstance(value, list) else ():
        yield from lists(below)


LISTS = {
    "openai_chat": chat,
    "openai_responses": responses,
    "anthropic_messages": anthropic,
    "langchain": langchain,
    "pydantic_ai": pydantic_ai,
}


@pytest.mark.parametrize("form", WRITTEN)
def test_a_list_that_no_policy_cuts_is_the_same_bytes(form: str) -> None:
    for data in LISTS[form]():
        assert rewritten(data, "list", form, {}) == data


# A result of pydantic-ai's may be any JSON value, and comes back from a cut as text: tests/formats has what is written.
@pytest.mark.parametrize("form", [form for form in WRITTEN if form != "pydantic_ai"])
def test_a_list_whose_results_are_cut_and_restored_is_the_same_bytes(form: str) -> None:
    restored = 0
    for data in LISTS[form]():
        if detect(Source(data, "list")).name != form:  # too short to tell: a lone user message is anyone's
            continue
        (session, *_) = named(form).read(Source(data, "list"))
        there = results(session)
        cut = rewritten(data, "list", form, {result.seq: (Text("[cut]"),) for result in there})
        (again, *_) = named(form).read(Source(cut, "list"))
        assert [said(result) for result in results(again)] == ["[cut]"] * len(there)
        back = {new.seq: old.content for new, old in zip(results(again), there, strict=True)}
        assert rewritten(cut, "list", form, back) == data
        restored += len(there)
    assert restored > 0
