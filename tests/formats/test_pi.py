"""pi sessions: excerpts of pi's own and openclaw's test data, and small trees that no public file holds."""

import json
from typing import Any

import pytest
from tests.formats.checked import read, read_file, surface
from tests.formats.reading import answers, of, results

from refold.events import EndSeed, FormatError, SurfaceRewind, Text, TurnEnd, Usage, UserMessage
from refold.events.formats._source import Source
from refold.events.formats.pi import FORMAT

HEADER = {"type": "session", "version": 3, "id": "s", "timestamp": "2026-01-01T00:00:00Z", "cwd": "/"}


def lines(*entries: dict[str, Any]) -> str:
    return "".join(json.dumps(entry) + "\n" for entry in (HEADER, *entries))


def message(entry_id: str, parent: str | None, role: str, text: str, **fields: Any) -> dict[str, Any]:
    said = {"role": role, "content": [{"type": "text", "text": text}], **fields}
    return {"type": "message", "id": entry_id, "parentId": parent, "timestamp": "2026-01-01T00:00:01Z", "message": said}


def test_an_aborted_answer_counts_its_usage_and_leaves_the_surface() -> None:
    (session,) = read_file(FORMAT, "pi_aborted.jsonl")

    assert [(answer.interrupted, answer.usage) for answer in answers(session)] == [
        (False, Usage(10, 102, 43835, 5195)),
        (True, Usage(10, 8, 49204, 1739)),
    ]
    assert [line.partition(":")[0] for line in surface(session)] == [
        "user",
        "user",
        "assistant",
        "tool",
        "user",
        "user",
    ]
    assert [end.reason for end in of(session, TurnEnd)] == ["completed", "aborted", "completed"]


def test_entries_older_than_the_header_are_inherited() -> None:
    (session,) = read_file(FORMAT, "pi_aborted.jsonl")

    (seed,) = of(session, EndSeed)
    assert (seed.inherited, seed.time) == (True, 1765241609825)
    assert max(event.time for event in session.events[: seed.seq]) < seed.time


def test_a_result_belongs_to_its_call_and_has_its_own_time() -> None:
    (session,) = read_file(FORMAT, "pi_aborted.jsonl")

    (result,) = results(session)
    assert result.call_id == "toolu_01GDop9s8DBp8sZnT9Wpy9Cy"
    assert (result.turn, result.step, result.time) == (1, 1, 1765234031893)
    assert result.content == (Text("Switched to a new branch 'refactor'\n"),)


def test_a_compaction_that_keeps_everything_puts_its_summary_before_it() -> None:
    (session,) = read_file(FORMAT, "pi_compaction.jsonl")

    read_hello = "user: Read hello.py and summarize what it prints without editing files."
    greeting = "assistant: hello.py prints a fixture greeting."
    assert surface(session) == [
        "user: hello.py prints a fixture greeting.",
        read_hello,
        greeting,
        "user: Add one concise follow-up sentence.",
        greeting,
    ]
    assert [answer.usage for answer in answers(session)] == [Usage(12, 7), None, Usage(12, 7)]


def test_the_second_compaction_replaces_the_first_summary() -> None:
    (session,) = read_file(FORMAT, "pi_compaction.jsonl")

    first, second = (event for event in of(session, UserMessage) if event.source == "compaction")
    assert first.replaces is None
    assert second.replaces == (first.seq, first.seq)


def test_a_compaction_keeps_the_entries_from_the_first_kept_one_on() -> None:
    source = lines(
        message("u1", None, "user", "old"),
        message("a1", "u1", "assistant", "old answer"),
        message("u2", "a1", "user", "kept"),
        {"type": "compaction", "id": "c", "parentId": "u2", "summary": "short", "firstKeptEntryId": "u2"},
        message("a2", "c", "assistant", "answer"),
    )

    (session,) = read(FORMAT, source)

    assert surface(session) == ["user: short", "user: kept", "assistant: answer"]


def test_version_1_counts_the_first_kept_entry_with_the_header() -> None:
    header = {"type": "session", "id": "s", "timestamp": "2026-01-01T00:00:00Z", "cwd": "/"}
    old, kept = message("", None, "user", "old"), message("", None, "user", "kept")
    for entry in (old, kept):
        del entry["id"], entry["parentId"]
    entries = [header, old, kept, {"type": "compaction", "summary": "short", "firstKeptEntryIndex": 2}]

    (session,) = read(FORMAT, "\n".join(map(json.dumps, entries)))

    assert surface(session) == ["user: short", "user: kept"]


def test_a_branch_drops_what_stands_behind_its_parent() -> None:
    source = lines(
        message("u1", None, "user", "one"),
        message("a1", "u1", "assistant", "first try"),
        message("u2", "u1", "user", "again"),
        message("a2", "u2", "assistant", "second try"),
    )

    (session,) = read(FORMAT, source)

    assert surface(session) == ["user: one", "user: again", "assistant: second try"]
    assert len(of(session, SurfaceRewind)) == 1


def test_going_back_to_a_left_branch_restores_it_without_its_usage() -> None:
    usage = {"input": 5, "output": 1, "cacheRead": 0, "cacheWrite": 0}
    source = lines(
        message("u1", None, "user", "one"),
        message("a1", "u1", "assistant", "first", usage=usage),
        message("u2", "u1", "user", "other branch"),
        message("a2", "u2", "assistant", "second", usage=usage),
        message("u3", "a1", "user", "back"),
        message("a3", "u3", "assistant", "third", usage=usage),
    )

    (session,) = read(FORMAT, source)

    assert surface(session) == ["user: one", "assistant: first", "user: back", "assistant: third"]
    assert sum(answer.usage is not None for answer in answers(session)) == 3


def test_a_parent_that_names_no_entry_is_the_line_before() -> None:
    (session,) = read_file(FORMAT, "pi_tree.jsonl")

    assert "an entry names an unknown parent; it is read as following the line before (2 times)" in session.notes
    assert surface(session) == [
        "user: Open /tmp/large and run status",
        "assistant: Gathering files and git status.",
        "tool: M file1\nM file2",
        "assistant: Done[media attached: screenshot-1]",
        "assistant: ",
        "tool: file written",
    ]


def test_a_command_the_user_ran_is_sent_unless_excluded() -> None:
    ran = {"role": "bashExecution", "command": "ls", "output": "a", "exitCode": 2}
    source = lines(
        {"type": "message", "id": "b1", "parentId": None, "message": ran},
        {"type": "message", "id": "b2", "parentId": "b1", "message": {**ran, "excludeFromContext": True}},
        message("u1", "b2", "user", "go"),
    )

    (session,) = read(FORMAT, source)

    assert surface(session) == ["user: Ran `ls`\n```\na\n```\n\nCommand exited with code 2", "user: go"]


def test_a_result_without_a_call_is_kept_and_reported() -> None:
    source = lines(message("r", None, "toolResult", "lost", toolCallId="x", toolName="read"))

    (session,) = read(FORMAT, source)

    assert "a result answers no call" in session.notes
    assert surface(session) == ["tool: lost"]


def test_a_torn_last_line_makes_the_session_partial() -> None:
    (session,) = read(FORMAT, lines(message("u1", None, "user", "one")) + '{"type":"mess')

    assert session.partial
    assert surface(session) == ["user: one"]


@pytest.mark.parametrize(
    "data", [b"", b"{}", b'{"type":"session"}', b'{"type":"session","version":0,"id":"x"}', b"\xff"]
)
def test_other_files_are_no_pi_session(data: bytes) -> None:
    assert not FORMAT.detect(Source(data))
    with pytest.raises(FormatError, match="no pi session"):
        FORMAT.read(Source(data))


def test_the_second_answer_to_one_question_costs_what_it_drops() -> None:
    """Every message of a long second half hangs on the end of the first: one message goes, one comes."""
    first = [message(f"u{at}", f"u{at - 1}" if at else None, "user", str(at)) for at in range(6)]
    (session,) = read(FORMAT, lines(*first, *(message(f"w{at}", "u5", "user", f"w{at}") for at in range(4))))

    assert surface(session) == [f"user: {at}" for at in range(6)] + ["user: w3"]
    assert [rewind.to_seq for rewind in of(session, SurfaceRewind)] == [of(session, UserMessage)[5].seq] * 3


def test_a_branch_behind_a_compaction_keeps_the_summary_and_what_it_kept() -> None:
    source = lines(
        message("u1", None, "user", "old"),
        message("u2", "u1", "user", "kept"),
        {"type": "compaction", "id": "c", "parentId": "u2", "summary": "short", "firstKeptEntryId": "u2"},
        message("a1", "c", "assistant", "first try"),
        message("a2", "c", "assistant", "second try"),
        message("u3", "a1", "user", "back"),
        message("a3", "u3", "assistant", "third"),
    )

    (session,) = read(FORMAT, source)

    assert surface(session) == [
        "user: short",
        "user: kept",
        "assistant: first try",
        "user: back",
        "assistant: third",
    ]


def test_a_tree_that_changes_branch_with_every_line_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("refold.events.formats._journal.RESTORED", (10, 1))
    trunk = [message(f"u{at}", f"u{at - 1}" if at else None, "user", "x") for at in range(30)]
    turns = [message(f"w{at}", f"u{29 if at % 2 else 5}", "user", "x") for at in range(4)]

    with pytest.raises(FormatError, match="made up: goes back and forth between its branches so often that its 33 mes"):
        FORMAT.read(Source(lines(*trunk, *turns).encode(), "made up"))


@pytest.mark.parametrize("count", [-5, True, 10**30, 1.5, float("inf")])
def test_a_number_of_tokens_that_cannot_be_is_unknown_usage(count: float) -> None:
    usage = {"input": 5, "output": 1, "cacheRead": count, "cacheWrite": 0}
    (session,) = FORMAT.read(
        Source(lines(message("u1", None, "user", "go"), message("a1", "u1", "assistant", "ok", usage=usage)).encode())
    )

    assert [answer.usage for answer in answers(session)] == [None]
    assert session.notes == ("a call reports a number of tokens that cannot be; its usage counts as unknown",)
