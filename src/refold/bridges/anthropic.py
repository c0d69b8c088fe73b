"""A loop over Anthropic's Messages API, whose prompt cache keeps only what a breakpoint marks.

A breakpoint finds what an earlier request marked at most 20 blocks before it; a request may hold four
(https://docs.claude.com/en/docs/build-with-claude/prompt-caching).
"""

from collections.abc import Mapping, Sequence
from operator import eq
from typing import Any

from refold.bridges.history import History, change_json, copied
from refold.bridges.messages import tell_messages
from refold.events import FormatError
from refold.events.formats._conversation import Conversation
from refold.events.formats._messages import Path
from refold.reducer import Meter, Policy, results

_UNMARKABLE = ("thinking", "redacted_thinking")
_HOLDERS = ("content", "source")
_WANTED = "Anthropic's API takes a text or a list of blocks"


class BreakpointShaper:
    """`shape_with_breakpoints` with one policy, for a list that grows: what a call gets is the same, and only what is
    new is folded.

    A list whose old messages were changed is folded anew, as by a Shaper. Raises PolicyError as Shaper does.
    """

    def __init__(self, policy: Policy, meter: Meter | None = None) -> None:
        self._history = History(policy, meter, _tell, change_json, same=eq, remember=copied)

    def __call__(self, messages: Sequence[Any]) -> list[Any]:
        """The list to send now. Raises FormatError."""
        with self._history.folded(messages) as fold:
            view, cuts = fold.asked()
            shaped = [_unmarked(message) for message in fold.shown(cuts)]
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

    Breakpoints that the messages bring along are taken out, those inside of results too; one is left for the tools and
    the system prompt. Raises what `shape` raises, and FormatError for a list of OpenAI's and for a message that the
    Messages API does not take: it is a dict, whose `content` is a text or a list of blocks.
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


def _unmarked(value: Any) -> Any:
    """A message or a block without breakpoints; blocks stand in others' `content` and in a document's `source`."""
    if isinstance(value, list | tuple):
        return [_unmarked(each) for each in value]
    if not isinstance(value, Mapping) or not _is_marked(value):
        return value
    return {key: _unmarked(each) if key in _HOLDERS else each for key, each in value.items() if key != "cache_control"}


def _is_marked(value: Any) -> bool:
    if isinstance(value, list | tuple):
        return any(map(_is_marked, value))
    return isinstance(value, Mapping) and (
        "cache_control" in value or any(_is_marked(value[key]) for key in _HOLDERS if key in value)
    )


def _tell(told: Conversation, messages: Sequence[Any], known: int) -> None:
    for place, message in enumerate(messages[known:], known):
        fault = _fault(message)
        if fault:
            raise FormatError(f"message {place} is refused: {fault}")
    tell_messages(told, messages, known)


def _fault(message: Any) -> str:
    """Why breakpoints cannot be set in a message, "" where they can."""
    if not isinstance(message, Mapping):
        return f"it is of type {type(message).__name__}; pass a dict with the role and the content of it"
    if message.get("role") in ("tool", "function", "developer") or message.get("tool_calls"):
        return "it is one of OpenAI's, whose cache needs no breakpoints; use Shaper or shape"
    content = message.get("content")
    if not isinstance(content, str | list | tuple):
        return f"its content is {'missing' if content is None else f'of type {type(content).__name__}'}; " + _WANTED
    for place, block in enumerate(content if not isinstance(content, str) else ()):
        if not isinstance(block, Mapping) and not hasattr(block, "model_dump"):
            return f"block {place} of its content is of type {type(block).__name__}; " + _WANTED
    return ""
