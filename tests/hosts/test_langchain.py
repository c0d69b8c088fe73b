"""A LangChain agent, run by LangChain itself: what its model is sent is what the state's messages say."""

import json
import re
from collections.abc import Sequence
from typing import Any

import pytest
from langchain.agents import create_agent
from langchain_core.language_models.fake_chat_models import GenericFakeChatModel
from langchain_core.messages import (
    AIMessage,
    BaseMessage,
    ChatMessage,
    HumanMessage,
    ToolMessage,
    messages_to_dict,
)
from langchain_core.outputs import ChatResult
from langgraph.checkpoint.memory import InMemorySaver
from tests.hosts.scenario import (
    CUT,
    EXAMPLES,
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

from refold.bridges.langchain import RefoldMiddleware
from refold.events.formats import langchain
from refold.events.formats._source import Source
from refold.reducer import Part, Policy, how, ripe, when
from refold.reducer.which import Which

pytestmark = pytest.mark.hosts
THREAD: Any = {"configurable": {"thread_id": "1"}, "recursion_limit": 200}


class Model(GenericFakeChatModel):
    """LangChain's fake model; it keeps what it was sent, and dies once, before it answers call `dies`."""

    sent: list[list[BaseMessage]]
    dies: int = 0

    def bind_tools(self, tools: Any, **settings: Any) -> "Model":
        return self

    def _generate(self, messages: list[BaseMessage], *args: Any, **settings: Any) -> ChatResult:
        self.sent.append(messages)
        if len(self.sent) == self.dies:
            raise KeyboardInterrupt
        return super()._generate(messages, *args, **settings)


def model(first: int, dies: int = 0) -> Model:
    """Answers from call `first` on: a tool call each, and at last a text."""
    answers = [
        AIMessage("", tool_calls=[{"id": f"call-{step}", "name": "read_file", "args": {"step": step}}])
        for step in range(first, STEPS)
    ]
    return Model(messages=iter([*answers, AIMessage("done")]), sent=[], dies=dies)


def read_file(step: int) -> str:
    """Read a file."""
    return text_of(step)


def agent(model: Model, saver: InMemorySaver) -> Any:
    middleware = [RefoldMiddleware(POLICY)]
    return create_agent(model, [read_file], system_prompt="You read.", middleware=middleware, checkpointer=saver)


def listed(messages: Sequence[BaseMessage]) -> list[Any]:
    assert messages[0].type == "system"
    return said(langchain.messages(messages_to_dict(messages[1:]), (), pytest.fail))


def logged(saver: InMemorySaver) -> list[list[Any]]:
    state = saver.get(THREAD)["channel_values"]["messages"]
    source = Source(json.dumps(messages_to_dict(state)).encode())
    return prompts(langchain.read(source)[0].events)


def texts(messages: Sequence[BaseMessage]) -> dict[str, str]:
    return {message.tool_call_id: message.text for message in messages if message.type == "tool"}


def test_every_call_is_sent_what_the_messages_of_the_state_say() -> None:
    saver, fake = InMemorySaver(), model(1)
    agent(fake, saver).invoke({"messages": [("user", PROMPT)]}, THREAD)

    assert len(fake.sent) == STEPS
    assert [listed(messages) for messages in fake.sent] == logged(saver)


def test_a_large_result_is_sent_whole_three_times_and_those_of_before_the_gate_for_ever() -> None:
    saver, fake = InMemorySaver(), model(1)
    agent(fake, saver).invoke({"messages": [("user", PROMPT)]}, THREAD)
    calls = [texts(messages) for messages in fake.sent]

    assert {step: views(calls, step) for step in range(1, STEPS)} == {step: expected(step) for step in range(1, STEPS)}
    kept = texts(saver.get(THREAD)["channel_values"]["messages"])
    assert kept == {f"call-{step}": text_of(step) for step in range(1, STEPS)}


def test_a_run_that_is_taken_up_by_a_new_process_goes_on_as_if_nothing_had_happened() -> None:
    saver, before, after = InMemorySaver(), model(1, dies=RESTART), model(RESTART)
    with pytest.raises(KeyboardInterrupt):
        agent(before, saver).invoke({"messages": [("user", PROMPT)]}, THREAD)
    agent(after, saver).invoke(None, THREAD)

    assert len(before.sent) == RESTART
    assert len(after.sent) == STEPS - RESTART + 1
    assert [listed(messages) for messages in (*before.sent[:-1], *after.sent)] == logged(saver)
    assert listed(before.sent[-1]) == listed(after.sent[0])


def test_a_message_of_a_type_nobody_knows_is_sent_as_it_is_and_keeps_its_place() -> None:
    class Odd(BaseMessage):
        type: str = "odd"

    call = {"name": "read_file", "args": {"step": 1}}
    odd = [ChatMessage("aside", role="critic"), Odd(content=[{"value": object()}])]
    given = [
        HumanMessage(PROMPT),
        odd[0],
        AIMessage("", tool_calls=[{"id": "call-1", **call}]),
        ToolMessage(text_of(1), tool_call_id="call-1"),
        odd[1],
        AIMessage("", tool_calls=[{"id": "call-2", **call}]),
        ToolMessage(text_of(1), tool_call_id="call-2"),
    ]
    fake = Model(messages=iter([AIMessage("done")]), sent=[])
    cuts = Policy("once", (Part("once", when.Always(), Which(("*",)), ripe.Views(1), how.Placeholder("cut")),))
    create_agent(fake, [read_file], middleware=[RefoldMiddleware(cuts)]).invoke({"messages": given})

    (sent,) = fake.sent
    assert [message.content for message in sent] == [
        *(PROMPT, "aside", "", "cut"),
        *(odd[1].content, "", text_of(1)),
    ]
    assert type(sent[4]) is Odd


def test_the_example_tells_what_the_rule_says(capsys: pytest.CaptureFixture[str]) -> None:
    assert example("langchain_agent.py", capsys) == of_example(frozen=4)


def test_the_lines_of_the_readme_are_all_that_an_agent_needs() -> None:
    def read_log(step: int) -> str:
        """Read a night's log."""
        return log

    readme = EXAMPLES.with_name("README.md").read_text("utf-8")
    (code,) = [block for block in re.findall(r"```python\n(.*?)```", readme, re.DOTALL) if "RefoldMiddleware" in block]
    log = "All quiet on the wing, on deck and in the hold. " * 800
    calls = [{"id": f"call-{step}", "name": "read_log", "args": {"step": step}} for step in range(1, 15)]
    fake = Model(messages=iter([*(AIMessage("", tool_calls=[call]) for call in calls), AIMessage("done")]), sent=[])
    exec(code, {"model": fake, "tools": [read_log]})

    assert len(code.splitlines()) < 10
    assert len(log) * 10 // 4 > 50_000  # the gate has surely opened when the tenth is born
    shown = [texts(messages).get("call-10") for messages in fake.sent]
    assert shown == [None] * 10 + [log] * 3 + [log[:4096] + CUT + log[-1024:]] * 2
