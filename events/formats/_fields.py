"""Looking into foreign JSON: a field of another type than expected counts as absent, so no reader trips over it."""

import json
from datetime import UTC, datetime
from typing import Any

import msgspec

from refold.events._blocks import Block, Opaque, Text, ToolUse
from refold.events._errors import FormatError
from refold.events._events import Usage

Object = dict[str, Any]

LARGEST = 2**53
IMPOSSIBLE = Usage(-1, 0)
"""Usage that no provider can have meant: the journal takes it for unknown, and says so."""


def text(value: Any) -> str:
    return value if isinstance(value, str) else ""


def number(value: Any) -> int:
    """A count: not negative, fractions cut off, 0 where it is none (tokens and times are never below 0)."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return 0
    return int(value) if 0 < value < LARGEST else 0


def obj(value: Any) -> Object:
    return value if isinstance(value, dict) else {}


def array(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []


def objects(value: Any) -> list[Object]:
    return [item for item in array(value) if isinstance(item, dict)]


def compact(value: Any) -> str:
    """Compact JSON, non-ASCII unescaped. A lone surrogate, which msgspec refuses, is escaped again."""
    try:
        return msgspec.json.encode(value).decode()
    except (ValueError, TypeError, RecursionError):
        pass
    try:
        return json.dumps(value, separators=(",", ":"))
    except (ValueError, RecursionError) as error:
        raise FormatError(f"a value is nested too deeply to be written again: {error}") from None


def arguments(value: Any) -> str:
    """A call's arguments as JSON text: a string is that text already, anything else is written as JSON."""
    return value if isinstance(value, str) else "" if value is None else compact(value)


def millis(value: Any) -> int:
    """Unix milliseconds of an ISO 8601 text (without a zone: UTC) or of Unix seconds; 0 where it is neither."""
    if isinstance(value, str):
        try:
            moment = datetime.fromisoformat(value)
        except ValueError:
            return 0
        if moment.tzinfo is None:
            moment = moment.replace(tzinfo=UTC)
        since = moment - datetime(1970, 1, 1, tzinfo=UTC)
        return max(0, since.days * 86_400_000 + since.seconds * 1000 + since.microseconds // 1000)
    if isinstance(value, bool) or not isinstance(value, int | float):
        return 0
    return number(value * 1000)


def blocks(content: Any) -> tuple[Block, ...]:
    """Message content in the usual form: a text, or a list of parts of which `{"type": "text"}` are text."""
    if isinstance(content, str):
        return (Text(content),) if content else ()
    return tuple(_block(part) for part in array(content))


def _block(part: Any) -> Block:
    if isinstance(part, str):
        return Text(part)
    if isinstance(part, dict) and part.get("type") == "text" and isinstance(part.get("text"), str):
        return Text(part["text"])
    return Opaque(compact(part))


def result_blocks(content: Any) -> tuple[Block, ...]:
    """As `blocks`, but an empty text stays one: a tool that said nothing has a result all the same."""
    return (Text(content),) if isinstance(content, str) else blocks(content)


def tool_uses(calls: Any) -> tuple[ToolUse, ...]:
    """Calls in OpenAI's form, `{"id", "function": {"name", "arguments"}}`, or with the same fields side by side."""
    found = []
    for call in objects(calls):
        function = obj(call.get("function")) or call
        found.append(ToolUse(text(call.get("id")), text(function.get("name")), arguments(function.get("arguments"))))
    return tuple(found)


def tokens(value: Any) -> int:
    """A count of tokens, 0 where none is told.

    One that cannot be (negative, a fraction, true, 2**53 or more) is so large that every sum and difference with it is
    still too large, so that `usage` sees it.
    """
    if isinstance(value, int | float) and (isinstance(value, bool) or not 0 <= value < LARGEST or value % 1):
        return LARGEST**2
    return number(value)


def part_of(whole: int, value: Any) -> int:
    """A count of tokens that are among others: no more than these, unless it cannot be at all."""
    found = tokens(value)
    return found if found >= LARGEST else min(whole, found)


def usage(fresh: Any, output: Any, cache_read: Any = 0, cache_write: Any = 0) -> Usage | None:
    """The four disjoint buckets; None where all are 0, which is how logs write that nothing was reported.

    IMPOSSIBLE where one of them cannot be: a 0 in its place would be taken for a count.
    """
    found = Usage(tokens(fresh), tokens(output), tokens(cache_read), tokens(cache_write))
    if found.total >= LARGEST:
        return IMPOSSIBLE
    return found if found.total else None


def openai_usage(value: Any) -> Usage | None:
    """Usage in OpenAI's form (and LiteLLM's), where cached tokens are part of `prompt_tokens`."""
    report = obj(value)
    details = obj(report.get("prompt_tokens_details"))
    said = (report.get("prompt_cache_hit_tokens"), details.get("cached_tokens"), report.get("cache_read_input_tokens"))
    read = max(tokens(each) for each in said)
    write = tokens(report.get("cache_creation_input_tokens"))
    prompt = tokens(report.get("prompt_tokens"))
    fresh = prompt - read - write if prompt >= read + write else prompt
    return usage(fresh, report.get("completion_tokens"), read, write)
