"""One message of a message list, whatever the list's format, and when two messages are the same one.

A native message may hold several: an Anthropic user message with two tool results and a text is three of these.
"""

import json
from collections.abc import Callable, Hashable, Mapping, Sequence
from typing import Any

import msgspec

from refold.events._blocks import Block, Opaque, Text, ToolUse
from refold.events._errors import FormatError
from refold.events._events import Role, Usage
from refold.events.formats._fields import compact
from refold.events.formats._source import decode_json

Path = tuple[str | int, ...]
"""Where a value stands in a JSON document: the keys and indices that lead to it."""

TEXTS = ("text", "input_text", "output_text")
"""Types of the parts that are a text and nothing else, in the formats of OpenAI and Anthropic."""


class Message(msgspec.Struct, frozen=True, kw_only=True):
    """One node of the surface, before it has a place in a log.

    `prompt` is False for a user message that cannot open a turn (it came along with tool results). `resets` says that
    nothing before it is sent any more; its `usage` is then that of the call which wrote it. `name` is the tool's, where
    a result tells it. `stop` is why a turn ended, where it did not end well. `origin` leads to the native content.
    """

    role: Role
    content: tuple[Block, ...] = ()
    call_id: str = ""
    name: str = ""
    is_error: bool = False
    source: str = "user"
    prompt: bool = True
    resets: bool = False
    usage: Usage | None = None
    model: str = ""
    stop: str = ""
    time: int = 0
    origin: Path = ()


def calls_of(content: tuple[Block, ...]) -> list[ToolUse]:
    return [block for block in content if isinstance(block, ToolUse)]


def text_of(content: tuple[Block, ...]) -> str:
    return "".join(block.text for block in content if isinstance(block, Text))


def label(message: Message) -> Hashable:
    """What two lists agree on when they hold the same message.

    Clients send a message again with small changes: cache marks move, thinking is left out, arguments are written
    with other blanks, results are cut. So a result is known by its call's id, an answer by its calls' ids or else by
    what it says, anything else by its content.
    """
    content = message.content
    if message.role == "tool" and message.call_id:
        return ("tool", message.call_id)
    calls = calls_of(content)
    if message.role == "assistant" and calls and all(call.id for call in calls):
        return ("assistant", *(call.id for call in calls))
    said = text_of(content)
    named = tuple((call.id, call.name, canonical(call.arguments)) for call in calls)
    others = tuple(canonical(block.json) for block in content if isinstance(block, Opaque))
    if message.role == "assistant" and (said or named):
        others = ()
    return (message.role, message.call_id, said, named, others)


def same_content(one: Message, other: Message) -> bool:
    """Do they say the same, cache marks and left out thinking aside?"""
    return one.content == other.content or _substance(one.content) == _substance(other.content)


def _substance(content: tuple[Block, ...]) -> Hashable:
    calls = tuple((call.name, canonical(call.arguments)) for call in calls_of(content))
    return text_of(content), calls, tuple(canonical(block.json) for block in content if isinstance(block, Opaque))


def canonical(text: str) -> str:
    """A JSON text with sorted keys and without a cache mark; what is no JSON as it is."""
    try:
        value = decode_json(text.encode("utf-8", "surrogatepass"), "value")
        if isinstance(value, dict):
            value.pop("cache_control", None)
        return json.dumps(value, sort_keys=True)
    except (FormatError, RecursionError, TypeError):
        return text


def parts(content: Any) -> tuple[Block, ...]:
    """Native content as blocks: a text, or a list that gives exactly one block for each of its elements."""
    if isinstance(content, str):
        return (Text(content),) if content else ()
    if isinstance(content, list | tuple):
        return tuple(part(element) for element in content)
    return () if content is None else (Opaque(compact(content)),)


def part(element: Any) -> Block:
    if isinstance(element, str):
        return Text(element)
    if isinstance(element, Mapping) and element.get("type") in TEXTS and isinstance(element.get("text"), str):
        return Text(element["text"], extra(element, "type", "text"))
    return Opaque(compact(element))


def extra(element: Mapping[Any, Any], *known: str) -> str:
    """The other fields of a block as a compact JSON object, "" for none."""
    others = {key: value for key, value in element.items() if key not in known}
    return compact(others) if others else ""


def text_part(said: str) -> Any:
    """A text as an element of a content list, in the form of Chat Completions, Anthropic and LangChain."""
    return {"type": "text", "text": said}


def native(old: Any, before: Sequence[Block], after: Sequence[Block], fresh: Callable[[str], Any] = text_part) -> Any:
    """The native content `old`, whose blocks are `before`, with the blocks `after` instead.

    A text stays a text and a list stays a list. Elements whose block did not change are the same objects; a changed
    text keeps its element's other fields; `fresh` makes an element of a text that has none. Anything that is neither
    text nor list becomes a text. Raises FormatError for blocks that do not fit.
    """
    if not isinstance(old, list | tuple) or len(old) != len(before):
        if any(not isinstance(block, Text) for block in after):
            raise FormatError("a content that is a text cannot hold other blocks than text")
        return text_of(tuple(after))
    found: list[Any] = []
    at = 0
    for block in after:
        same = next((place for place in range(at, len(before)) if before[place] == block), None)
        if same is not None:
            found.append(old[same])
            at = same + 1
            continue
        changed = next((place for place in range(at, len(before)) if isinstance(before[place], Text)), None)
        found.append(_element(block, None if changed is None else old[changed], fresh))
        at = at if changed is None else changed + 1
    return found


def _element(block: Block, shape: Any, fresh: Callable[[str], Any]) -> Any:
    """A new element for a changed block, in the form of the text element `shape` where there is one."""
    if isinstance(block, Text):
        if isinstance(shape, Mapping):
            return {**shape, "text": block.text}
        return block.text if isinstance(shape, str) else fresh(block.text)
    if isinstance(block, Opaque):
        return decode_json(block.json.encode("utf-8", "surrogatepass"), "a replaced block")
    raise FormatError(f"a tool result cannot hold a {type(block).__name__} block")
