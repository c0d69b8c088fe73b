"""Every real message list and trace of the folder: told by its content, counted, folded, weighed, written back."""

import json
from collections.abc import Callable
from statistics import median

import pytest
from tests.conformance.agreement import counts
from tests.conformance.manifest import Counts, counted, names, source
from tests.formats.checked import check
from tests.formats.reading import results, said

from refold.events import AssistantMessage, FormatError, Reasoning, RequestHeader, Text, ToolUse
from refold.events.formats import Source, detect, openai_chat
from refold.events.formats._source import Session
from refold.reducer import Counted, Reducer, presets

pytestmark = pytest.mark.conformance

FOLDERS = ("openai_chat", "anthropic_messages", "langchain", "pydantic_ai", "otel_genai")
FILES = [(folder, name) for folder in FOLDERS for name in names(folder)]

# What the manifest counts otherwise. A compaction pass is a model call of its own, with usage of its own. Results that
# have no id in the prompt (JSON text in koog's attributes, dicts in LangChain's) are results all the same.
MORE_STEPS = {"pydantic-ai_test_anthropic_compaction_usage_with_cache.yaml": 1}
MORE_RESULTS = {"langfuse_langgraph-python-2025-08-22.trace.json": 1, "langfuse_koog-2025-08-26.trace.json": 2}


def expected(folder: str, name: str) -> Counts:
    told = counted(folder)[name]
    steps = (told.requests or 0) + MORE_STEPS.get(name, 0) + has_response(folder, name)
    return told._replace(requests=steps, results=(told.results or 0) + MORE_RESULTS.get(name, 0))


def has_response(folder: str, name: str) -> bool:
    """Of a logged request the manifest counts the answers in its list; the response is one more."""
    return folder == "openai_chat" and b'"response"' in source(folder, name).data


@pytest.mark.parametrize(("folder", "name"), FILES)
def test_a_file_is_of_the_format_its_folder_names(folder: str, name: str) -> None:
    assert detect(source(folder, name)).name == folder


@pytest.mark.parametrize(("folder", "name"), FILES)
def test_steps_and_results_are_those_the_manifest_counts(folder: str, name: str) -> None:
    found = counts(detect(source(folder, name)).read(source(folder, name)))
    wanted = expected(folder, name)
    assert (found.requests, found.results, found.large) == (wanted.requests, wanted.results, wanted.large)
    # Of a cassette the manifest counts a compaction's prompt by the answer's pass alone.
    if "compaction" not in name:
        assert wanted.max_prompt_tokens in (None, found.max_prompt_tokens)


@pytest.mark.parametrize(("folder", "name"), FILES)
def test_every_session_is_in_order_and_can_be_folded(folder: str, name: str) -> None:
    for session in detect(source(folder, name)).read(source(folder, name)):
        check(session)
        assert not session.partial


def test_each_call_reports_about_the_prompt_the_surface_shows(record_property: Callable[[str, object], None]) -> None:
    """Characters / 4 of surface, tools and system text over reported prompt tokens, as a median over all calls."""
    sessions = [each for folder, name in FILES for each in detect(source(folder, name)).read(source(folder, name))]
    found = [ratio for session in sessions for ratio in ratios(session)]
    record_property("median", f"{median(found):.2f} of {len(found)} calls")
    assert 0.7 < median(found) < 1.1


def ratios(session: Session) -> list[float]:
    reducer = Reducer(presets.none(), Counted())
    view = reducer.start()
    found: list[float] = []
    tools = 0
    for event in session.events:
        if isinstance(event, RequestHeader):
            tools = len(event.tools)
        if isinstance(event, AssistantMessage) and event.usage is not None:
            shown = tools
            for block in (block for message in reducer.messages(view) for block in message.content):
                match block:
                    case Text() | Reasoning():
                        shown += len(block.text)
                    case ToolUse():
                        shown += len(block.name) + len(block.arguments)
            found.append(shown / 4 / (event.usage.total - event.usage.output_tokens))
        view = reducer.fold(view, event)
    return found


def test_successive_requests_of_one_run_are_one_session() -> None:
    """Six requests of one real run, each repeating the list of the one before."""
    logs = sorted(name for name in names("openai_chat") if "claude-sonnet" in name)
    documents = [json.dumps(source("openai_chat", name).document()).encode() for name in logs]
    (run,) = detect(Source(b"\n".join(documents), "run")).read(Source(b"\n".join(documents), "run"))

    check(run)
    found = counts([run])
    assert (found.requests, found.results, found.max_prompt_tokens) == (6, 5, 6729)
    usages = [event.usage for event in run.events if isinstance(event, AssistantMessage)]
    assert [usage.input_tokens for usage in usages if usage] == [4812, 5002, 6123, 6277, 6485, 6729]
    (alone,) = detect(source("openai_chat", logs[-1])).read(source("openai_chat", logs[-1]))
    assert [said(result) for result in results(run)] == [said(result) for result in results(alone)]


@pytest.mark.parametrize("name", names("openai_chat"))
def test_a_written_list_differs_in_the_cut_results_alone(name: str) -> None:
    original = source("openai_chat", name)
    assert openai_chat.write(original, {}) == original.data
    (session,) = openai_chat.read(original)
    cuts = {result.seq: (Text("[cut]"),) for result in results(session)}

    written = openai_chat.write(original, cuts)
    (again,) = openai_chat.read(Source(written, name))
    assert [said(result) for result in results(again)] == ["[cut]"] * len(cuts)
    back = {result.seq: before.content for result, before in zip(results(again), results(session), strict=True)}
    assert openai_chat.write(Source(written, name), back) == original.data


@pytest.mark.parametrize(("folder", "name"), [file for file in FILES if file[0] not in ("openai_chat", "otel_genai")])
def test_a_recording_is_never_changed(folder: str, name: str) -> None:
    original = source(folder, name)
    write = detect(original).write
    assert write is not None
    assert write(original, {}) == original.data
    with pytest.raises(FormatError, match="recording"):
        write(original, {0: (Text("[cut]"),)})
