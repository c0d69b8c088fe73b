"""VCR cassettes: YAML recordings of HTTP requests and responses, as vcrpy and its pytest plugins write them."""

import re
from typing import Any

import msgspec

from refold.events._errors import FormatError
from refold.events.formats._fields import Object, number, obj
from refold.events.formats._source import Source, decode_json

_START = re.compile(rb"(?m)^interactions:")


def is_cassette(source: Source, host: bytes) -> bool:
    """Is it a recording of requests to this address? Told from the text, without a YAML parser."""
    return not source.start.startswith((b"{", b"[")) and host in source.data and _START.search(source.data) is not None


def interactions(source: Source, host: bytes) -> list[tuple[Object, Object | None, int]]:
    """Request body, response body and status of each call to an address that holds `host`, in order.

    A streamed response is no JSON and counts as not known. Raises FormatError for what is no cassette, or without
    PyYAML.
    """
    calls: list[tuple[Object, Object | None, int]] = []
    recorded = obj(_load(source)).get("interactions")
    for call in recorded if isinstance(recorded, list) else []:
        request, response = obj(obj(call).get("request")), obj(obj(call).get("response"))
        if host.decode() not in str(request.get("uri")):
            continue
        status = number(obj(response.get("status")).get("code"))
        answer = _body(response)
        calls.append((obj(_body(request)), answer if isinstance(answer, dict) else None, status))
    return calls


def _body(message: Object) -> Any:
    if "parsed_body" in message:
        return message["parsed_body"]
    body = message.get("body")
    body = body.get("string") if isinstance(body, dict) else body
    if not isinstance(body, str):
        return None
    try:
        return decode_json(body.encode("utf-8", "surrogatepass"), "body")
    except FormatError:
        return None


def _load(source: Source) -> Any:
    try:
        value = msgspec.yaml.decode(source.data)
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
    allowed = 2 * len(source.data)
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
