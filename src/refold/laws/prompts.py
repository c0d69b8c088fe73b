"""The laws of the prompt: what the model is sent, and how much of it stays from one request to the next."""

import json
from itertools import pairwise

from refold.events import Text, ToolResult
from refold.laws.case import Case, LawBroken, folded
from refold.laws.run import Run, Sent
from refold.reducer import Message, Operation
from refold.reducer.how import HeadTail
from refold.reducer.when import latch_of


def commit_is_derive(case: Case) -> None:
    """A host that commits and one that does not send the same bytes; the committed log derives to no operation.

    A pre-step that is blocked leaves no trace where cuts are derived, so the hosts are compared where none is left by
    committing either; what was committed in it all the same is read like any other cut.
    """
    if len(case.commit_late.sent) != len(case.derive.sent):
        raise LawBroken("commit = derive", "the two runs made different numbers of requests")
    for number, (one, other) in enumerate(zip(case.commit_late.sent, case.derive.sent, strict=True), 1):
        _same_prompt(case, f"request {number}, committed and derived", one.messages, other.messages)
    reducer = case.reducer("derive")
    views = folded(reducer, case.commit.events)
    for number, sent in enumerate(case.commit.sent, 1):
        _same_prompt(case, f"request {number} of the committed log", sent.messages, reducer.messages(views[sent.at]))
    for beat in case.commit.beats:
        if not beat.overflow and (due := reducer.plan(views[beat.done])):
            raise LawBroken(
                "commit = derive", f"the committed log still has seq {due[0].seq} to cut before event {beat.done}"
            )


def _same_prompt(case: Case, where: str, one: tuple[Message, ...], other: tuple[Message, ...]) -> None:
    mine, theirs = case.prompt(one), case.prompt(other)
    if mine != theirs:
        first = next((at for at, pair in enumerate(zip(mine, theirs, strict=False)) if pair[0] != pair[1]), -1)
        lengths = f"{len(mine)} and {len(theirs)} messages"
        raise LawBroken("commit = derive", f"{where}: the prompts differ at message {first} of {lengths}")


def append_only(case: Case) -> None:
    """While nothing is replaced each prompt is a byte prefix of the next; a closed latch lets nothing through."""
    for run in (case.commit, case.derive):
        for before, after in pairwise(run.sent):
            if after.quiet and not after.operations:
                mine, theirs = case.prompt(before.messages), case.prompt(after.messages)
                if theirs[: len(mine)] != mine:
                    raise LawBroken("append-only", f"{_span(before, after)}: the prompt did not only grow")
        for beat in run.beats:
            for operation in beat.operations:
                part, now = case.policy.parts[operation.part], run.views[beat.at].parts[operation.part]
                if latch_of(part.when) is part.when and now.latch is None:
                    raise LawBroken(
                        "append-only", f"seq {operation.seq} is cut while the latch of {part.name} is closed"
                    )


def local(case: Case) -> None:
    """Where only the policy replaced nodes, prompts agree before the least of its cut points; messages are kept."""
    for run in (case.commit, case.derive):
        for before, after in pairwise(run.sent):
            if after.quiet and after.operations:
                _agree(case, run, before, after)


def _agree(case: Case, run: Run, before: Sent, after: Sent) -> None:
    first: dict[int, Operation] = {}
    for operation in after.operations:
        first.setdefault(run.origins[operation.seq], operation)
    for place, message in enumerate(before.messages):
        if place >= len(after.messages):
            raise LawBroken("local", f"{_span(before, after)}: message {place} is gone")
        found = after.messages[place]
        cut = first.get(run.origins[message.seq]) if isinstance(message, ToolResult) else None
        if cut is None or not isinstance(message, ToolResult):
            if found is not message and (after.same_process or found != message):
                raise LawBroken(
                    "local", f"{_span(before, after)}: message {place} before the first cut is another object"
                )
            continue
        kept = _bytes_kept(case, message, cut.cut_at)
        if case.text(found)[:kept] != case.text(message)[:kept]:
            raise LawBroken(
                "local", f"{_span(before, after)}: seq {message.seq} differs before code point {cut.cut_at}"
            )
        return


def _bytes_kept(case: Case, message: ToolResult, points: int) -> int:
    """The bytes of a message up to so many code points of its text."""
    text = case.text(message)
    place = text.index(b'"content":[') + len(b'"content":[')
    for block in message.content:
        if not isinstance(block, Text) or points <= 0:
            return place
        place = text.index(b'"text":"', place) + len(b'"text":"')
        shown = json.dumps(block.text[:points], ensure_ascii=False)[1:-1].encode("utf-8", "backslashreplace")
        place += len(shown)
        points -= len(block.text)
        if points <= 0:
            return place
        place += len(b'"},')
    return place


def paired(case: Case) -> None:
    """Calls and results stay paired and in order; ids, flags and metadata stay; other blocks stay or are listed."""
    for run in (case.commit, case.derive):
        for beat in run.beats:
            if not beat.operations:
                continue
            _same_frame(run, beat.at, beat.done)
            for operation in beat.operations:
                _blocks_accounted(case, operation)


def _same_frame(run: Run, at: int, done: int) -> None:
    before, after = run.reducer.messages(run.views[at]), run.reducer.messages(run.views[done])
    if len(before) != len(after):
        raise LawBroken("paired", f"{len(before)} messages before the cuts at event {at}, {len(after)} behind them")
    for old, new in zip(before, after, strict=True):
        if isinstance(old, ToolResult) and isinstance(new, ToolResult):
            kept = (old.turn, old.step, old.call_id, old.is_error, old.envelope)
            if kept != (new.turn, new.step, new.call_id, new.is_error, new.envelope):
                raise LawBroken("paired", f"result {old.seq} lost its id, its error flag or its metadata")
        elif old is not new:
            raise LawBroken("paired", f"message {old.seq} is no result and was changed")


def _blocks_accounted(case: Case, operation: Operation) -> None:
    others = [block for block in operation.before.content if not isinstance(block, Text)]
    stay = [block for block in operation.content if not isinstance(block, Text)]
    if isinstance(case.policy.parts[operation.part].how, HeadTail):
        if stay != others or operation.dropped:
            raise LawBroken("paired", f"the cut of seq {operation.seq} drops or moves blocks that are no text")
    elif [block for block in others if block not in operation.dropped] != stay:
        raise LawBroken("paired", f"the cut of seq {operation.seq} drops blocks that it does not list")


def text(case: Case) -> None:
    """Output is valid Unicode: no lone surrogate appears that was not there."""
    for run in (case.commit, case.derive):
        for beat in run.beats:
            for operation in beat.operations:
                if lone := _surrogates(operation.content) - _surrogates(operation.before.content):
                    raise LawBroken("text", f"the cut of seq {operation.seq} holds a new lone surrogate {min(lone)!a}")
        for message in run.sent[-1].messages if run.sent else ():
            json.loads(case.text(message) or b"null")


def _surrogates(content: tuple[object, ...]) -> set[str]:
    return {
        point
        for block in content
        if isinstance(block, Text) and not block.text.isascii()
        for point in set(block.text)
        if "\ud800" <= point <= "\udfff"
    }


def _span(before: Sent, after: Sent) -> str:
    return f"from event {before.at} to {after.at}"
