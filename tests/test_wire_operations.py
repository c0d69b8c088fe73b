"""Shaping the outgoing copy: the operations, and what becomes of one that fails."""

from typing import Any

import msgspec
import pytest
from tests.shaping_sessions import NO_POLICY, THOUGHT, Session, only, quoted, talk

from refold.events import PolicyError, Reasoning, Text, ToolResult, ToolUse
from refold.reducer import Dsh, Reducer
from refold.reducer.how import MARKER
from refold.reducer.wire import (
    DEEPSEEK,
    NONE,
    About,
    Chain,
    Drop,
    Extract,
    Failure,
    HeadTail,
    Inline,
    Shaping,
    Truncate,
    shape,
)

REASONING = About("reasoning")
RESULT = About("tool_result", "bash")


# operations


@pytest.mark.parametrize(
    ("most", "shown"),
    [
        (43, THOUGHT),
        (42, "first line\nsecond line\nlast line"),
        (32, "first line\nsecond line\nlast line"),
        (31, "first line\nlast line"),
        (20, "first line\nlast line"),
        (19, "first line\n"),
        (11, "first line\n"),
        (10, "first line"),
        (5, "first"),
        (0, ""),
    ],
)
def test_extract_takes_whole_lines_from_both_ends_the_heads_first(most: int, shown: str) -> None:
    assert Extract(most).shaped(THOUGHT, REASONING) == shown
    assert Extract(most).shaped(THOUGHT, RESULT) == shown


def test_extract_cuts_a_single_longer_line_to_its_head_and_stops_at_the_first_line_that_does_not_fit() -> None:
    assert Extract(4).shaped("abcdefgh", REASONING) == "abcd"
    assert Extract(8).shaped("ab\n" + "x" * 20 + "\ncd\nef", REASONING) == "ab\nef"


def test_truncate_keeps_the_head_and_head_tail_marks_its_gap_in_results_alone() -> None:
    text = "a" * 100

    assert Truncate(3).shaped("abcdef", RESULT) == "abc"
    assert HeadTail(2, 3).shaped("ab" + text + "xyz", REASONING) == "abxyz"
    assert HeadTail(2, 3).shaped("ab" + text + "xyz", RESULT) == f"ab{MARKER}xyz"
    assert HeadTail(2, 0).shaped("abcdef", REASONING) == "ab"


def test_inline_replaces_the_first_match_or_every_one() -> None:
    assert Inline(r"\d+").shaped("a1b22", RESULT) == "ab22"
    assert Inline(r"\d+", every=True).shaped("a1b22", RESULT) == "ab"
    assert Inline(r"(\w)=(\w)", r"\2").shaped("a=b c=d", RESULT) == "b c=d"


@pytest.mark.parametrize(
    ("pattern", "replacement"),
    [
        ("(", ""),
        ("a", "\\9"),
        ("a", "\\g<x>"),
        ("a{99999999999999999999}", ""),
        ("(" * 5000 + ")" * 5000, ""),
        (b"a", ""),
    ],
    ids=["open", "group", "named group", "repeats", "nested", "bytes"],
)
def test_an_impossible_pattern_is_refused_when_it_is_made(pattern: Any, replacement: str) -> None:
    with pytest.raises(PolicyError, match=r"Inline\.pattern"):
        Inline(pattern, replacement)


def test_a_replacement_is_a_text() -> None:
    with pytest.raises(PolicyError, match=r"Inline\.replacement: must be a text, got None"):
        Inline("a", None)  # type: ignore[arg-type]


def test_operations_without_their_chain_are_refused() -> None:
    with pytest.raises(PolicyError, match=r"tool_result: must be a Chain of operations, got \(Drop\(\),\)"):
        Shaping(tool_result=(Drop(),))  # type: ignore[arg-type]


@pytest.mark.parametrize("category", ["reasoning", "assistant_text"])
def test_in_the_models_own_voice_inline_may_only_delete(category: str) -> None:
    only(category, Inline("a"))
    only("tool_result", Inline("a", "b"))
    with pytest.raises(PolicyError, match=f"{category}: in the model's own voice"):
        only(category, Inline("a", "b"))


@pytest.mark.parametrize(
    "make",
    [
        lambda: Extract(-1),
        lambda: Truncate(-1),
        lambda: HeadTail(1, -1),
        lambda: Chain(after_views=-1),
        lambda: Chain(keep_last=-1),
        lambda: Shaping(keep_spans=-1),
    ],
)
def test_negative_numbers_are_refused(make: Any) -> None:
    with pytest.raises(PolicyError, match="must be a whole number of at least 0"):
        make()


# chains and categories


def test_each_category_has_its_own_chain_and_its_operations_run_in_order() -> None:
    session, seq = talk(
        Reasoning(THOUGHT),
        Text("I shall look at it now"),
        result="r" * 400,
        arguments='{"path":' + quoted("p", 60) + "}",
    )
    shaping = Shaping(
        reasoning=Chain((Extract(31), Truncate(15))),
        tool_result=Chain((HeadTail(100, 100),)),
        tool_arguments=Chain((Truncate(50),)),
        assistant_text=Chain((Inline(" now"),)),
    )

    answer, result = session.shaped(shaping).messages[1:3]

    assert answer.content[:2] == (Reasoning("first line\nlast"), Text("I shall look at it"))
    assert answer.content[2] == ToolUse("call-3", "bash", '{"path":{"omitted_chars":60}}')
    assert result.content == (Text("r" * 100 + MARKER + "r" * 100),)
    assert answer.seq == seq


def test_a_dropped_block_ends_its_chain_and_a_result_keeps_its_place() -> None:
    session, seq = talk(Reasoning(THOUGHT), Text("said"))
    shaping = Shaping(reasoning=Chain((Drop(), Inline("x"))), tool_result=Chain((Drop(),)))
    sent = session.shaped(shaping).messages

    assert session.at(seq, shaping) == (Text("said"), ToolUse("call-3", "bash", "{}"))
    assert [message.content for message in sent if isinstance(message, ToolResult)] == [()] * 4


def test_an_answer_of_which_nothing_is_left_is_not_sent() -> None:
    session = Session()
    session.ask()
    session.start_step()
    seq = session.answer(Reasoning(THOUGHT))
    session.end_step()

    assert session.at(seq, only("reasoning", Drop())) is None


class Raises(msgspec.Struct, frozen=True):
    def shaped(self, text: str, about: About) -> str | None:
        raise LookupError("no such model")


class GivesBytes(msgspec.Struct, frozen=True):
    def shaped(self, text: str, about: About) -> str | None:
        return text.encode()  # type: ignore[return-value]


class Inserts(msgspec.Struct, frozen=True):
    def shaped(self, text: str, about: About) -> str | None:
        return f"[{about.category} of {len(text)}]"


class Unspeakable(Exception):
    def __str__(self) -> str:
        raise ValueError("no words")


class RaisesWorse(msgspec.Struct, frozen=True):
    def shaped(self, text: str, about: About) -> str | None:
        raise Unspeakable


class Quoted(str):
    __slots__ = ()


class GivesItsOwn(msgspec.Struct, frozen=True):
    def shaped(self, text: str, about: About) -> str | None:
        return Quoted(text[:3])


class Tears(msgspec.Struct, frozen=True):
    def shaped(self, text: str, about: About) -> str | None:
        return text[:3] + "\ud83d"


class FirstWord(msgspec.Struct, frozen=True):
    def shaped(self, text: str, about: About) -> str | None:
        return text.split(maxsplit=1)[0]


def test_a_hosts_own_operation_runs_and_one_that_fails_is_skipped_and_reported() -> None:
    session, seq = talk(Reasoning(THOUGHT))
    shaped = session.shaped(only("reasoning", Raises(), GivesBytes(), Inserts(), FirstWord()))

    (answer,) = (message for message in shaped.messages if message.seq == seq)
    assert answer.content[0] == Reasoning("first")
    assert shaped.report.failures == (
        Failure(seq, 0, "reasoning", "operation 0 (Raises): LookupError: no such model"),
        Failure(seq, 0, "reasoning", "operation 1 (GivesBytes): gave bytes, not a text or None"),
        Failure(seq, 0, "reasoning", "operation 2 (Inserts): puts text into the model's own voice"),
    )


@pytest.mark.parametrize(
    ("operation", "reason"),
    [
        (RaisesWorse(), "operation 0 (RaisesWorse): Unspeakable"),
        (GivesItsOwn(), "operation 0 (GivesItsOwn): gave Quoted, not a text or None"),
        (Tears(), "operation 0 (Tears): puts in a lone surrogate, which no provider takes"),
    ],
)
def test_what_no_provider_could_be_sent_is_skipped_and_reported(operation: Any, reason: str) -> None:
    session, _ = talk(result="r" * 400)
    shaped = session.shaped(only("tool_result", operation, Truncate(5)))

    assert shaped.messages[2].content == (Text("rrrrr"),)
    assert shaped.report.failures[0].reason == reason


def test_a_lone_surrogate_that_the_log_holds_is_no_failure() -> None:
    session, _ = talk(Reasoning("\ud83d" + THOUGHT))
    shaped = session.shaped(only("reasoning", Truncate(3)))

    assert shaped.messages[1].content[0] == Reasoning("\ud83dfi")
    assert shaped.report.failures == ()


def test_a_hosts_own_words_may_stand_in_a_tool_result() -> None:
    session, _ = talk(result="r" * 400)

    assert session.shaped(only("tool_result", Inserts())).messages[2].content == (Text("[tool_result of 400]"),)


def test_what_would_not_get_smaller_stays() -> None:
    session, _ = talk(result="r" * 10)
    shaped = session.shaped(only("tool_result", Inserts()))

    assert shaped.report.changes == ()
    assert shaped.messages[2].content == (Text("r" * 10),)


def test_messages_and_blocks_that_are_not_touched_are_the_same_objects() -> None:
    session, seq = talk(Reasoning(THOUGHT), Text("said"))
    reducer = Reducer(NO_POLICY, Dsh(4))
    view = reducer.fold_all(reducer.start(), session.events)
    plain, sent = reducer.messages(view), shape(reducer, view, only("reasoning", Truncate(5))).messages

    for before, after in zip(plain, sent, strict=True):
        assert (before is after) is (before.seq != seq)
        assert all(old is new for old, new in zip(before.content[1:], after.content[1:], strict=True))


class Counted(msgspec.Struct, frozen=True):
    """Notes each text that it is given."""

    seen: list[str]

    def shaped(self, text: str, about: About) -> str | None:
        self.seen.append(text)
        return text[:5]

    def __hash__(self) -> int:
        return id(self.seen)


def test_a_host_that_keeps_what_is_known_has_each_text_worked_on_once_and_the_same_answers() -> None:
    session, _ = talk(Reasoning(THOUGHT), turns=0)
    known: dict[Any, Any] = {}
    once, anew = Counted([]), Counted([])
    for number in range(6):
        session.answers(Reasoning(f"thought number {number}"))
        session.ask()
        reducer = Reducer(NO_POLICY, Dsh(4))
        view = reducer.fold_all(reducer.start(), session.events)
        shaped = shape(reducer, view, only("reasoning", once, GivesBytes(), after_views=1), NONE, known)
        expected = shape(reducer, view, only("reasoning", anew, GivesBytes(), after_views=1))
        assert shaped.messages == expected.messages
        assert [failure.seq for failure in shaped.report.failures] == [each.seq for each in expected.report.failures]

    assert once.seen == [THOUGHT, *(f"thought number {number}" for number in range(5))]
    assert len(anew.seen) == 1 + 2 + 3 + 4 + 5 + 6


class FirstOf(msgspec.Struct, frozen=True):
    """An operation that cannot be hashed."""

    lengths: dict[str, int]

    def shaped(self, text: str, about: About) -> str | None:
        return text[: self.lengths[about.category]]


def test_an_operation_needs_no_hash_where_nothing_is_kept() -> None:
    session, _ = talk(Reasoning(THOUGHT))
    reducer = Reducer(NO_POLICY, Dsh(4))
    view = reducer.fold_all(reducer.start(), session.events)

    report = shape(reducer, view, only("reasoning", FirstOf({"reasoning": 4}))).report

    assert [change.shaped for change in report.changes] == [Reasoning(THOUGHT[:4])]
    assert report.failures == ()


def test_what_is_known_of_one_shaping_says_nothing_of_another() -> None:
    session, seq = talk(Reasoning(THOUGHT))
    reducer = Reducer(NO_POLICY, Dsh(4))
    view, known = reducer.fold_all(reducer.start(), session.events), {}
    for shaping, profile, left in (
        (only("reasoning", Truncate(5)), NONE, Reasoning("first")),
        (only("reasoning", Truncate(6)), NONE, Reasoning("first ")),
        (only("reasoning", Drop()), DEEPSEEK, Reasoning(".")),
        (only("reasoning", Drop()), NONE, ToolUse("call-3", "bash", "{}")),
    ):
        sent = shape(reducer, view, shaping, profile, known).messages
        assert next(message.content[0] for message in sent if message.seq == seq) == left
