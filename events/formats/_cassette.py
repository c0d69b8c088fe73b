"""VCR cassettes: YAML recordings of HTTP requests and responses, as vcrpy and its pytest plugins write them."""

import importlib
import re
from typing import Any

import msgspec

from refold.events._errors import FormatError
from refold.events.formats._fields import Object, number, obj
from refold.events.formats._source import Source, decode_json

_START = re.compile(rb"(?m)^interactions:")


def is_cassette(source: Source, host: bytes) -> bool:
    """Is it a recording of requests to this address? Told from the text, without a YAML parser."""
    return host in source.data and _START.search(source.data) is not None


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
        yaml = importlib.import_module("yaml")
    except ImportError:
        raise FormatError(
            f"{source.name}: a VCR cassette is YAML, which needs PyYAML: pip install 'refold[yaml]'"
        ) from None
    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    try:
        text = source.data.decode()
        if any(isinstance(event, yaml.AliasEvent) for event in yaml.parse(text, Loader=loader)):
            raise FormatError(f"{source.name}: a cassette with YAML aliases is not read")
        return msgspec.to_builtins(yaml.load(text, Loader=loader), str_keys=True)
    except (yaml.YAMLError, ValueError, TypeError, OverflowError, RecursionError) as error:
        raise FormatError(f"{source.name}: no YAML that can be read: {error}") from None
