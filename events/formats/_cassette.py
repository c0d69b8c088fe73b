"""VCR cassettes: YAML recordings of HTTP requests and responses, as vcrpy and its pytest plugins write them."""

import re
from typing import Any

import msgspec

from refold.events._errors import FormatError
from refold.events.formats._fields import Object, number, obj
from refold.events.formats._source import Source, decode_json

_START = re.compile(rb"(?m)^interactions:")
_END = re.compile(rb"(?m)^version:")  # recorders write it last
_NEXT = re.compile(rb"(?m)^- ")
_STREAM = ("event:", "data:", ":")


def is_cassette(source: Source, host: bytes) -> bool:
    """Is it a recording of requests to this address? Told from the text, without a YAML parser."""
    return (
        not source.start.startswith((b"{", b"["))
        and host in source.content
        and _START.search(source.content) is not None
    )


def interactions(source: Source, host: bytes) -> tuple[list[tuple[Object, Object | None, int]], list[str]]:
    """Request body, response body and status of each call to an address that holds `host`, in order; and what is
    missing or could not be read.

    A streamed response is no JSON and counts as not known. Raises FormatError for what is no cassette, or without
    PyYAML.
    """
    calls: list[tuple[Object, Object | None, int]] = []
    recorded, damage = _recorded(source)
    for place, call in enumerate(recorded, 1):
        request, response = obj(obj(call).get("request")), obj(obj(call).get("response"))
        if not request:
            damage.append(f"interaction {place} has no request")
        elif "uri" not in request:
            damage.append(f"the request of interaction {place} does not say where it went")
        elif host.decode() in str(request["uri"]):
            problems: list[str] = []
            asked, answer = obj(_body(request, "request", problems)), _body(response, "response", problems)
            if "status" not in response:
                problems.append("has no response" if not response else "has a response that breaks off")
            damage += (f"interaction {place} {problem}" for problem in problems)
            status = number(obj(response.get("status")).get("code"))
            calls.append((asked, answer if isinstance(answer, dict) else None, status))
    return calls, damage


def _body(message: Object, whose: str, problems: list[str]) -> Any:
    """A body's value; None without one, or for one that is a stream or (then there is a problem) no JSON."""
    if "parsed_body" in message:
        return message["parsed_body"]
    body = message.get("body")
    body = body.get("string") if isinstance(body, dict) else body
    if not isinstance(body, str) or not body:
        return None
    try:
        return decode_json(body.encode("utf-8", "surrogatepass"), "body")
    except FormatError:
        if not body.startswith(_STREAM):
            problems.append(f"has a {whose} whose body is no JSON")
        return None


def _recorded(source: Source) -> tuple[list[Any], list[str]]:
    """The interactions, and what is wrong with them as a whole: a recording that breaks off is read up to there."""
    damage: list[str] = []
    data = source.content
    if _END.search(data) is None:
        damage.append("the recording breaks off: it has no version line at its end")
    try:
        value = _load(source, data)
    except FormatError:
        starts = [found.start() for found in _NEXT.finditer(data)]
        if not damage or len(starts) < 2:
            raise
        damage.append(f"interaction {len(starts)} breaks off and is left out")
        value = _load(source, data[: starts[-1]])
    recorded = obj(value).get("interactions")
    return recorded if isinstance(recorded, list) else [], damage


def _load(source: Source, data: bytes) -> Any:
    try:
        value = msgspec.yaml.decode(data)
        _check_size(source, value)
        return msgspec.to_builtins(value, str_keys=True)
    except ImportError:
        raise FormatError(
            f"{source.name}: a VCR cassette is YAML, which needs PyYAML: pip install 'refold[yaml]'"
        ) from None
    except (msgspec.MsgspecError, ValueError, TypeError, OverflowError, RecursionError) as error:
        raise FormatError(f"{source.name}: no YAML that can be read: {error}") from None


def _check_size(source: Source, value: Any) -> None:
    """A YAML alias repeats what it names, and aliases of aliases repeat it without end; no recording does that."""
    allowed = 2 * len(source.content)
    rest = [value]
    while rest:
        each = rest.pop()
        allowed -= len(each) + 1 if isinstance(each, str) else 1
        if allowed < 0:
            raise FormatError(f"{source.name}: YAML aliases make it many times larger than it is")
        if isinstance(each, dict):
            rest += (*each, *each.values())
        elif isinstance(each, list):
            rest += each
