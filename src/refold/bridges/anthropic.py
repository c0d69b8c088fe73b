"""A loop over Anthropic's Messages API, whose prompt cache keeps only what a breakpoint marks.

A breakpoint finds what an earlier request marked at most 20 blocks before it; a request may hold four
(https://docs.claude.com/en/docs/build-with-claude/prompt-caching).
"""

from collections.abc import Mapping, Sequence
from operator import eq
from typing import Any

from refold.bridges.history import History, change_json
from refold.bridges.messages import tell_messages
from refold.events.formats._messages import Path
from refold.reducer import Meter, Policy, results

_UNMARKABLE = ("thinking", "redacted_thinking")


class BreakpointShaper:
    """`shape_with_breakpoints` with one policy, for a list that grows: what a call gets is the same, and only what is
    new is folded.

    A message must not be changed in place between two calls. Raises PolicyError as Shaper does.
    """

    def __init__(self, policy: Policy, meter: Meter | None = None) -> None:
        self._history = History(policy, meter, tell_messages, change_json, same=eq)

    def __call__(self, messages: Sequence[Any]) -> list[Any]:
        """The list to send now. Raises FormatError."""
        with self._history.folded(messages) as fold:
            view, cuts = fold.asked()
            shaped = [_unmarked(message) for message in fold.shown(cuts, change_json)]
            places = [(len(shaped), 0)]
            later = [each.seq for each in results(self._history.reducer, view) if each.state in ("due", "waiting")]
            for seqs in (view.enforced, later):
                places += [min(_place(fold.told.origins[seq]) for seq in seqs)] if seqs else []
        for place in places:
            _mark_before(shaped, *place)
        return shaped


def shape_with_breakpoints(messages: Sequence[Any], policy: Policy, meter: Meter | None = None) -> list[Any]:
    """As `shape`, with cache breakpoints: just before the first result that this call cuts, where the last prompt is
    left; just before the first that a later call will cut, where that prompt will be left; and at the end of the list.

    Breakpoints that the messages bring along are taken out; one is left for the tools and the system prompt. Raises
    what `shape` raises.
    """
    return BreakpointShaper(policy, meter)(messages)


def _place(origin: Path) -> tuple[int, int]:
    """The message and the block that an origin stands in."""
    return int(origin[0]), int(origin[2])


def _mark_before(messages: list[Any], message: int, block: int) -> None:
    """Mark the last block before a place that may be marked."""
    for at in range(min(message, len(messages) - 1), -1, -1):
        content = messages[at]["content"]
        blocks = [{"type": "text", "text": content}] if isinstance(content, str) else list(content)
        for place in range(len(blocks) if at < message else block, 0, -1):
            marked = _marked(blocks[place - 1])
            if marked is not None:
                blocks[place - 1] = marked
                messages[at] = {**messages[at], "content": blocks}
                return


def _marked(block: Any) -> Any:
    given = block if isinstance(block, Mapping) else block.model_dump(mode="json", exclude_none=True)
    kind = given.get("type")
    if kind in _UNMARKABLE or (kind == "text" and not given.get("text")):
        return None
    return {**given, "cache_control": {"type": "ephemeral"}}


def _unmarked(message: Any) -> Any:
    content = message["content"]
    if isinstance(content, str) or not any("cache_control" in block for block in content if isinstance(block, Mapping)):
        return message
    blocks = [
        {key: value for key, value in block.items() if key != "cache_control"} if isinstance(block, Mapping) else block
        for block in content
    ]
    return {**message, "content": blocks}
