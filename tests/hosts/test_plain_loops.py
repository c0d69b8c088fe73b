"""Loops over the Anthropic and OpenAI SDKs, which talk to a provider that is a function: what arrives there is what the
loop's own list says, and Anthropic's cache keeps all that stands before the first cut."""

import json
from collections.abc import Callable
from typing import Any

import anthropic
import httpx2
import openai
import pytest
from tests.hosts.scenario import (
    POLICY,
    PROMPT,
    RESTART,
    STEPS,
    example,
    expected,
    of_example,
    prompts,
    said,
    text_of,
    views,
)

from refold.bridges.anthropic import BreakpointShaper
from refold.bridges.messages import Shaper
from refold.events.formats import anthropic_messages, openai_chat
from refold.events.formats._source import Source

pytestmark = pytest.mark.hosts
Requests = list[list[Any]]
Loop = Callable[[list[Any], int], Requests]
LOOK_BACK = 20  # blocks before a breakpoint in which Anthropic looks for an earlier one


def provider(answer: Callable[[int], Any], kept: Requests) -> httpx2.Client:
    """Keeps the messages of each request. Which step it answers, the list tells: as many as there are results."""

    def respond(request: httpx2.Request) -> httpx2.Response:
        kept.append(json.loads(request.content)["messages"])
        return httpx2.Response(200, json=answer(1 + len(texts(kept[-1]))))

    return httpx2.Client(transport=httpx2.MockTransport(respond))


def texts(messages: list[Any]) -> dict[str, str]:
    """The results' texts by call id, in either API's messages."""
    found = {message["tool_call_id"]: message["content"] for message in messages if message["role"] == "tool"}
    for message in messages:
        for block in message["content"] if isinstance(message.get("content"), list) else []:
            if isinstance(block, dict) and block.get("type") == "tool_result":
                content = block["content"]
                found[block["tool_use_id"]] = content if isinstance(content, str) else content[0]["text"]
    return found


def anthropic_answer(step: int) -> Any:
    use = {"type": "tool_use", "id": f"call-{step}", "name": "read_file", "input": {"step": step}}
    content = [use] if step < STEPS else [{"type": "text", "text": "done"}]
    stop = "tool_use" if step < STEPS else "end_turn"
    usage = {"input_tokens": 1, "output_tokens": 1}
    head = {"id": f"m{step}", "type": "message", "role": "assistant", "model": "fake"}
    return {**head, "content": content, "stop_reason": stop, "stop_sequence": None, "usage": usage}


def anthropic_loop(messages: list[Any], last: int) -> Requests:
    """Calls the model up to call `last`; the list keeps what was said, the SDK's own objects among it."""
    kept: Requests = []
    client = anthropic.Anthropic(api_key="none", http_client=provider(anthropic_answer, kept))
    shape = BreakpointShaper(POLICY)
    for _ in range(1 + len(texts(messages)), last + 1):
        answer = client.messages.create(model="fake", max_tokens=100, messages=shape(messages))
        messages.append({"role": "assistant", "content": answer.content})
        uses = [block for block in answer.content if block.type == "tool_use"]
        results = [
            {"type": "tool_result", "tool_use_id": use.id, "content": text_of(use.input["step"])} for use in uses
        ]
        messages += [{"role": "user", "content": results}] if results else []
    return kept


def openai_answer(step: int) -> Any:
    function = {"name": "read_file", "arguments": json.dumps({"step": step})}
    call = {"id": f"call-{step}", "type": "function", "function": function}
    message: Any = {"role": "assistant", "content": None, "tool_calls": [call]}
    if step == STEPS:
        message = {"role": "assistant", "content": "done"}
    choice = {"index": 0, "message": message, "finish_reason": "stop", "logprobs": None}
    return {"id": f"c{step}", "object": "chat.completion", "created": 0, "model": "fake", "choices": [choice]}


def openai_loop(messages: list[Any], last: int) -> Requests:
    kept: Requests = []
    client = openai.OpenAI(api_key="none", http_client=provider(openai_answer, kept))
    shape = Shaper(POLICY)
    for _ in range(1 + len(texts(as_json(messages))), last + 1):
        answer = client.chat.completions.create(model="fake", messages=shape(messages))
        message = answer.choices[0].message
        messages.append(message)
        for call in message.tool_calls or []:
            step = json.loads(call.function.arguments)["step"]
            messages.append({"role": "tool", "tool_call_id": call.id, "content": text_of(step)})
    return kept


def as_json(messages: list[Any]) -> list[Any]:
    """The list as a host would keep it in a file."""
    return json.loads(json.dumps(messages, default=lambda value: value.model_dump(mode="json", exclude_none=True)))


LOOPS = [(anthropic_loop, anthropic_messages), (openai_loop, openai_chat)]


@pytest.mark.parametrize(("loop", "form"), LOOPS)
def test_every_call_is_sent_what_the_list_says_also_by_a_new_process(loop: Loop, form: Any) -> None:
    messages: list[Any] = [{"role": "user", "content": PROMPT}]
    before = loop(messages, RESTART - 1)
    messages = as_json(messages)
    after = loop(messages, STEPS)
    logged = prompts(form.read(Source(json.dumps(as_json(messages)).encode()))[0].events)

    assert len(before) + len(after) == STEPS
    assert [said(form.messages(unmarked(sent), (), pytest.fail)) for sent in (*before, *after)] == logged


@pytest.mark.parametrize(("loop", "form"), LOOPS)
def test_a_large_result_is_sent_whole_three_times_and_those_of_before_the_gate_for_ever(loop: Loop, form: Any) -> None:
    messages: list[Any] = [{"role": "user", "content": PROMPT}]
    calls = [texts(sent) for sent in loop(messages, STEPS)]

    assert {step: views(calls, step) for step in range(1, STEPS)} == {step: expected(step) for step in range(1, STEPS)}
    assert texts(as_json(messages)) == {f"call-{step}": text_of(step) for step in range(1, STEPS)}


def test_anthropics_cache_keeps_all_that_stands_before_the_first_cut() -> None:
    sent = anthropic_loop([{"role": "user", "content": PROMPT}], STEPS)
    written: set[str] = set()
    cached, common, last = [], [], []
    for messages in sent:
        blocks, marks = unmarked_blocks(messages)
        heads = [json.dumps(blocks[:end]) for end in range(len(blocks) + 1)]
        near = [end for mark in marks for end in range(mark, max(0, mark - LOOK_BACK), -1) if heads[end] in written]
        cached.append(max(near, default=0))
        common.append(
            next((at for at, (one, other) in enumerate(zip(blocks, last, strict=False)) if one != other), len(last))
        )
        written.update(heads[mark] for mark in marks)
        assert len(marks) <= 3
        last = blocks

    assert cached == common


def unmarked_blocks(messages: list[Any]) -> tuple[list[Any], list[int]]:
    """Every block with its role, and how many blocks each breakpoint closes."""
    blocks: list[Any] = []
    marks = []
    for message in messages:
        content = message["content"]
        for block in [{"type": "text", "text": content}] if isinstance(content, str) else content:
            blocks.append((message["role"], {key: value for key, value in block.items() if key != "cache_control"}))
            marks += [len(blocks)] if "cache_control" in block else []
    return blocks, marks


def unmarked(messages: list[Any]) -> list[Any]:
    return json.loads(
        json.dumps(messages), object_hook=lambda block: {k: v for k, v in block.items() if k != "cache_control"}
    )


@pytest.mark.parametrize("name", ["anthropic_loop.py", "openai_loop.py"])
def test_the_examples_tell_what_the_rule_says(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert example(name, capsys) == of_example(frozen=4)
