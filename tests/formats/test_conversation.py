"""A host may do anything to its message list between two calls; the surface is always the list it sent last."""

from collections.abc import Callable
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st
from tests.formats.checked import check, folded, surface
from tests.formats.reading import of, said

from refold.events import StepStart, SurfaceRewind, ToolResult, TurnStart, UserMessage
from refold.events.formats._conversation import Conversation, Conversations, Request
from refold.events.formats.openai_chat import API
from refold.reducer import Counted, Reducer, presets, views

Message = dict[str, Any]


def user(text: str) -> Message:
    return {"role": "user", "content": text}


def said_by(text: str, *calls: str) -> Message:
    named = [{"id": call, "type": "function", "function": {"name": "read", "arguments": "{}"}} for call in calls]
    return {"role": "assistant", "content": text, **({"tool_calls": named} if calls else {})}


def result(call: str, text: str) -> Message:
    return {"role": "tool", "tool_call_id": call, "content": text}


def told(*lists: list[Message]) -> Conversation:
    """One conversation that was asked with these lists, one after the other."""
    conversation = Conversation("made up")
    for each in lists:
        conversation.ask(request(each))
    return conversation


def request(messages: list[Message]) -> Request:
    return Request(messages=API.messages(messages, (), lambda complaint: None))


class Host:
    """A harness that keeps a list, and does to it what harnesses do."""

    def __init__(self) -> None:
        self.list: list[Message] = []
        self.number = 0

    def name(self, kind: str) -> str:
        self.number += 1
        return f"{kind} {self.number}"

    def answer(self, calls: int) -> Message:
        return said_by(self.name("answer"), *(self.name("call") for _ in range(calls)))

    def run(self) -> None:
        """Give every open call its result."""
        if self.list and "tool_calls" in self.list[-1]:
            self.list += [result(call["id"], self.name("result")) for call in self.list[-1]["tool_calls"]]

    def prompt(self) -> None:
        self.run()
        self.list.append(user(self.name("prompt")))

    def retry(self) -> None:
        """Ask again what was asked last."""
        while self.list and self.list[-1]["role"] == "assistant":
            self.list.pop()

    def undo(self) -> None:
        """Take the last prompt back and ask something else."""
        while self.list and self.list.pop()["role"] != "user":
            pass
        self.list.append(user(self.name("other prompt")))

    def compact(self) -> None:
        """A summary stands for all but the last prompt and what follows it."""
        self.run()
        last = max((at for at, each in enumerate(self.list) if each["role"] == "user"), default=0)
        if last > 1:
            self.list[:last] = [user(self.name("summary"))]

    def trim(self) -> None:
        """The oldest turn goes."""
        self.run()
        prompts = [at for at, each in enumerate(self.list) if each["role"] == "user"]
        if len(prompts) > 2:
            del self.list[: prompts[1]]

    def cut(self) -> None:
        """The oldest result that still is whole says less."""
        self.run()
        whole = [at for at, each in enumerate(self.list) if each["role"] == "tool" and each["content"] != "cut"]
        if whole:
            self.list[whole[0]] = {**self.list[whole[0]], "content": "cut"}

    def remark(self) -> None:
        """The harness reminds the model of something before it has answered the results."""
        self.run()
        self.list.append(user(self.name("remark")))


ACTIONS: list[Callable[[Host], None]] = [
    Host.run,
    Host.prompt,
    Host.retry,
    Host.undo,
    Host.compact,
    Host.trim,
    Host.cut,
    Host.remark,
]


@settings(deadline=None, max_examples=150)
@given(st.lists(st.tuples(st.sampled_from(ACTIONS), st.integers(0, 2), st.booleans()), min_size=1, max_size=14))
def test_the_surface_is_the_list_that_was_sent_last(actions: list[tuple[Callable[[Host], None], int, bool]]) -> None:
    host, conversation = Host(), Conversation("made up")
    host.prompt()
    for action, calls, recorded in actions:
        host.run()
        conversation.ask(request(host.list))
        answer = host.answer(calls)
        if recorded:
            conversation.answer(API.messages([answer], (), lambda complaint: None)[0])
        host.list.append(answer)
        action(host)
    conversation.ask(request(host.list))

    session = conversation.session()
    check(session)
    assert surface(session) == [f"{each['role']}: {each['content'] or ''}" for each in host.list]


@settings(deadline=None, max_examples=60)
@given(st.lists(st.tuples(st.sampled_from([Host.prompt, Host.remark, Host.run]), st.integers(0, 2)), max_size=12))
def test_a_list_that_only_grows_gives_the_events_of_its_last_state(
    actions: list[tuple[Callable[[Host], None], int]],
) -> None:
    host, conversation = Host(), Conversation("made up")
    host.prompt()
    for action, calls in actions:
        host.run()
        conversation.ask(request(host.list))
        answer = host.answer(calls)
        conversation.answer(API.messages([answer], (), lambda complaint: None)[0])
        host.list.append(answer)
        action(host)
    conversation.ask(request(host.list))

    assert conversation.session() == told(host.list).session()


def test_a_shorter_list_is_a_rewind() -> None:
    conversation = told([user("a"), said_by("b"), user("c"), said_by("d")], [user("a"), said_by("b")])
    session = conversation.session()

    (rewind,) = of(session, SurfaceRewind)
    first_answer = session.events[rewind.to_seq]
    assert said(first_answer) == "b"  # type: ignore[arg-type]
    assert surface(session) == ["user: a", "assistant: b"]


def test_a_summary_before_a_kept_tail_replaces_just_what_it_stands_for() -> None:
    before = [user("a"), said_by("", "1"), result("1", "first"), said_by("", "2"), result("2", "second")]
    after = [user("summary of the first"), *before[3:], said_by("done")]
    session = told(before, after).session()

    (summary,) = [message for message in of(session, UserMessage) if message.replaces]
    gone = [event.seq for event in session.events if event.seq in (summary.sources or ())]
    assert (summary.source, summary.replaces) == ("compaction", (gone[0], gone[-1]))
    assert [session.events[seq].type for seq in gone] == ["user/message", "assistant/message", "tool/result"]
    assert surface(session) == ["user: summary of the first", "assistant: ", "tool: second", "assistant: done"]


def test_results_that_stay_keep_their_views_through_a_summary_before_them() -> None:
    before = [user("a"), said_by("", "1"), result("1", "first"), said_by("", "2"), result("2", "second")]
    answer = said_by("so far")
    lists = [before, [*before, answer], [user("summary"), *before[3:], answer, user("next"), said_by("end")]]
    session = told(*lists).session()

    reducer = Reducer(presets.none(), Counted())
    (kept,) = views(reducer.fold_all(reducer.start(), session.events)).values()
    assert kept == 2, "sent with the answer and with the end"


def test_a_result_the_host_has_cut_is_a_replacement_of_that_result() -> None:
    before = [user("a"), said_by("", "1"), result("1", "x" * 100)]
    after = [*before[:2], result("1", "gone"), said_by("end")]
    session = told(before, after).session()

    first, second = of(session, ToolResult)
    assert (second.replaces, second.sources) == ((first.seq, first.seq), (first.seq,))
    assert said(second) == "gone"


def test_a_remark_between_results_and_their_answer_opens_no_turn() -> None:
    session = told([user("a"), said_by("", "1"), result("1", "r"), user("remark"), said_by("b"), user("c")]).session()

    assert [(step.turn, step.step) for step in of(session, StepStart)] == [(1, 1), (1, 2)]
    assert [start.turn for start in of(session, TurnStart)] == [1, 2]


def test_a_change_that_no_event_can_tell_is_a_rewind_and_said() -> None:
    before = [user("a"), said_by("", "1"), result("1", "first"), said_by("b")]
    after = [user("a"), said_by("", "9"), result("9", "other"), said_by("b")]
    session = told(before, after).session()

    assert any("changed in its middle" in note for note in session.notes)
    assert surface(session) == ["user: a", "assistant: ", "tool: other", "assistant: b"]


def test_requests_of_two_conversations_are_two_sessions() -> None:
    conversations = Conversations("file")
    one, two = [user("a"), said_by("b")], [user("x"), said_by("y")]
    for each in (one[:1], two[:1], [*one, user("c")], [*two, user("z")]):
        conversations.ask(request(each))

    sessions = conversations.sessions()
    assert [session.id for session in sessions] == ["file", "file#2"]
    assert [surface(session) for session in sessions] == [
        ["user: a", "assistant: b", "user: c"],
        ["user: x", "assistant: y", "user: z"],
    ]


def test_a_list_that_begins_alike_and_goes_another_way_is_another_conversation() -> None:
    conversations = Conversations("file")
    for answer in ("one", "two"):
        conversations.ask(request([user("same question"), said_by(answer), user("go on")]))

    assert len(conversations.sessions()) == 2


def test_a_view_of_the_whole_session_can_be_folded() -> None:
    session = told([user("a"), said_by("", "1", "2"), result("2", "late"), result("1", "early")]).session()

    assert folded(session.events).results == 2
    assert [found.call_id for found in of(session, ToolResult)] == ["2", "1"]
