"""Finding the requests and answers of a provider's API in a file, whatever holds them.

A file may be a bare message list, a request body, a log of `{request or body, response}` objects, a list or JSON lines
of any of these, JSON lines of single messages, or a VCR cassette.
"""

from collections.abc import Callable
from typing import Any

import msgspec

from refold.events._errors import FormatError
from refold.events.formats._cassette import interactions, is_cassette
from refold.events.formats._fields import Object, compact, millis, number, obj, text
from refold.events.formats._lines import glance
from refold.events.formats._lines import records as line_records
from refold.events.formats._messages import Path
from refold.events.formats._source import Source

IsMessage = Callable[[Any], bool]

NOT_SETTINGS = frozenset(
    {"messages", "input", "system", "instructions", "tools", "functions", "stream", "stream_options", "metadata"}
    | {"user", "response", "previous_response_id", "conversation", "include", "store", "extra_body"}
    | {"timestamp", "latency_sec", "cost", "usage_summary", "context_window", "raw_messages", "usage"}
)
"""Keys of a logged request that say nothing about how the model answers."""


class Exchange(msgspec.Struct, kw_only=True):
    """One model call. `body` is the request, `items` its message list, `at` where that list stands in the file.

    The list is the exchange's own, to be emptied when it has been read. `lines` are the items' own lines, where the
    file is JSON lines of messages. `response` is None and `status`, the HTTP status, 0 where they are not known. Times
    in milliseconds.
    """

    body: Object
    items: list[Any]
    at: Path = ()
    lines: tuple[int, ...] = ()
    response: Object | None = None
    status: int = 0
    asked: int = 0
    answered: int = 0


def exchanges(source: Source, key: str, host: bytes, is_message: IsMessage) -> tuple[list[Exchange], list[str]]:
    """The calls in order, and what could not be read. `key` names the list in a request body, `host` the API's address.

    Raises FormatError where the source is no JSON or holds no message list.
    """
    damage: list[str] = []
    if is_cassette(source, host):
        calls, damage = interactions(source, host)
        found = [
            Exchange(body=request, items=_listed(request.get(key)), response=response, status=status)
            for request, response, status in calls
            if key in request
        ]
    else:
        values, damage = json_values(source)
        if all(is_message(value) for _, value in values):
            found = [Exchange(body={}, items=[value for _, value in values], lines=tuple(line for line, _ in values))]
        else:
            found = [each for at, value in values for each in inside(value, (at,), key, is_message)]
    if not found:
        raise FormatError(f"{source.name}: holds no list of messages under {key!r} and is none itself")
    return found, damage


def json_values(source: Source) -> tuple[list[tuple[int, Any]], list[str]]:
    """The one value of a JSON document, at 0, or the objects of JSON lines, each at its line; and what was not read.

    The values are the caller's own.
    """
    try:
        return [(0, source.take())], []
    except FormatError as error:
        values, damage = line_records(source)
        if not values and "more than one value" in str(error):
            raise FormatError(f"{source.name}: holds several JSON values, and none of them is an object") from None
        if not values:
            raise error from None
        return list(values), damage


def glimpse(source: Source) -> Any:
    """The document, or the first object of JSON lines, to tell a format by; None where there is neither."""
    try:
        return source.document()
    except FormatError:
        return next(glance(source, 1), None)


def inside(value: Any, at: Path, key: str, is_message: IsMessage) -> list[Exchange]:
    """The calls in a JSON value that stands at this path."""
    if len(at) > 6:
        return []
    if isinstance(value, list):
        if any(is_message(item) for item in value):
            return [Exchange(body={}, items=value, at=at)]
        return [
            found
            for place, item in enumerate(value)
            if isinstance(item, dict)
            for found in inside(item, (*at, place), key, is_message)
        ]
    record = obj(value)
    inner = next((name for name in ("request", "body") if key in obj(record.get(name))), None)
    body = record if inner is None else record[inner]
    if key not in body:
        return []
    end = millis(record.get("timestamp"))
    latency = record.get("latency_sec")
    return [
        Exchange(
            body=body,
            items=_listed(body[key]),
            at=(*at, key) if inner is None else (*at, inner, key),
            response=record["response"] if isinstance(record.get("response"), dict) else None,
            asked=max(0, end - millis(latency)) if end and isinstance(latency, int | float) else end,
            answered=end,
        )
    ]


def _listed(value: Any) -> list[Any]:
    """A request's list; the Responses API takes a lone text for one user message."""
    if isinstance(value, str):
        return [{"role": "user", "content": value}]
    return value if isinstance(value, list) else []


def settings(body: Object) -> str:
    """What a request asks for beside its messages and tools, as canonical JSON: "" for nothing."""
    source = body["kwargs"] if isinstance(body.get("kwargs"), dict) else body
    kept = {key: source[key] for key in sorted(source) if isinstance(key, str) and key not in NOT_SETTINGS}
    return compact(kept) if kept else ""


def tools_of(body: Object) -> str:
    tools = body.get("tools") or body.get("functions")
    return compact(tools) if isinstance(tools, list) and tools else ""


def too_long(response: Object) -> bool:
    """Did the provider refuse the prompt for its length? By OpenAI's error code or Anthropic's words."""
    error = obj(response.get("error"))
    said = text(error.get("message"))
    return error.get("code") == "context_length_exceeded" or "prompt is too long" in said or "maximum context" in said


def failed(exchange: Exchange) -> bool:
    """Was the request refused?"""
    response = exchange.response
    return exchange.status >= 400 or (response is not None and bool(obj(response.get("error"))))


def window(body: Object) -> int | None:
    return number(body.get("context_window")) or None
