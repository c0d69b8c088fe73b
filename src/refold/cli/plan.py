"""`refold plan`: the operations due before the next step."""

from collections.abc import Sequence
from typing import Any

import click

from refold.cli import _options as options
from refold.cli._output import console, number, plain, print_json, table
from refold.cli._session import about, folded, opened, reducer_for
from refold.prompt import rendered_block
from refold.reducer import Message, Mode, Operation


@click.command()
@options.session
@options.transcript_format
@options.chosen
@options.policy("keep3")
@options.meter
@options.mode("commit")
@options.max_line
@options.as_json
def plan(
    session: str,
    format: str | None,
    chosen: str | None,
    policy: str,
    meter: str | None,
    mode: Mode,
    max_line: int,
    as_json: bool,
) -> None:
    """Show the operations that are due now, before the next step of SESSION."""
    log = opened(session, max_line, format, chosen)
    reducer = reducer_for(log, policy, meter, mode)
    view = folded(reducer, log)
    operations = reducer.plan(view)
    if as_json:
        changed = first_changed(reducer.messages(view), operations)
        print_json(
            {**about(reducer), "operations": [told_operation(each) for each in operations], "first_changed": changed}
        )
        return
    if not operations:
        console().print("nothing due")
        return
    shown = table("#seq", "tool", "#turn", "#step", "#views", "#chars", "#after", "#tokens", "#after", "why")
    for each in operations:
        counts = (each.chars_before, each.chars_after, each.tokens_before, each.tokens_after)
        place = (str(each.before.turn), str(each.before.step), str(each.views))
        shown.add_row(str(each.seq), plain(each.tool), *place, *map(number, counts), each.reason)
    console().print(shown)


def told_operation(operation: Operation) -> dict[str, Any]:
    """An operation as the JSON of `refold plan`."""
    return {
        "seq": operation.seq,
        "call_id": operation.before.call_id,
        "tool": operation.tool,
        "turn": operation.before.turn,
        "step": operation.before.step,
        "views": operation.views,
        "chars_before": operation.chars_before,
        "chars_after": operation.chars_after,
        "tokens_before": operation.tokens_before,
        "tokens_after": operation.tokens_after,
        "cut_at": operation.cut_at,
        "reason": operation.reason,
        "dropped": [rendered_block(block) for block in operation.dropped],
        "content": [rendered_block(block) for block in operation.content],
    }


def first_changed(messages: Sequence[Message], operations: Sequence[Operation]) -> dict[str, int] | None:
    """Where a cache mark belongs: the first message an operation changes, and the first block in it that differs."""
    if not operations:
        return None
    first = operations[0]
    message = next(place for place, message in enumerate(messages) if message is first.before)
    pairs = zip(first.before.content, first.content, strict=False)
    shared = min(len(first.before.content), len(first.content))
    block = next((place for place, (old, new) in enumerate(pairs) if old != new), shared)
    return {"seq": first.seq, "message": message, "block": block}
