"""Reading and rewriting what was sent to a provider's API: the same for every API but for its messages' shape."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import msgspec

from refold.events._blocks import Block
from refold.events._errors import FormatError
from refold.events.formats._cassette import is_cassette
from refold.events.formats._conversation import Conversation, Conversations, Request
from refold.events.formats._exchanges import (
    Exchange,
    IsMessage,
    exchanges,
    failed,
    settings,
    too_long,
    tools_of,
    window,
)
from refold.events.formats._fields import Object, obj, text
from refold.events.formats._messages import Message, Path, native, parts, text_part
from refold.events.formats._source import Session, Source
from refold.events.formats._splice import splice

Complain = Callable[[str], None]
"""Takes what a reader could not make sense of, one text each."""


class Api(msgspec.Struct, frozen=True):
    """What is peculiar to one API.

    `key` names the message list in a request, `host` a part of the address that no other API has. `messages` reads a
    list that stands at a path, `system` the instructions beside it, `answers` a response; `fresh` makes a text part.
    """

    key: str
    host: bytes
    is_message: IsMessage
    messages: Callable[[list[Any], Path, Complain], list[Message]]
    system: Callable[[Object], str | None]
    answers: Callable[[Object, Complain], list[Message]]
    fresh: Callable[[str], Any] = text_part


def conversations(source: Source, api: Api) -> Conversations:
    """Every conversation in the source. Raises FormatError where there is none."""
    found, damage = exchanges(source, api.key, api.host, api.is_message)
    told = Conversations(source.name)
    for exchange in found:
        _tell(told, exchange, api)
    if not told.all:
        raise FormatError(f"{source.name}: its message lists are empty")
    for complaint in damage:
        told.all[0].complain(complaint)
    return told


def _tell(told: Conversations, exchange: Exchange, api: Api) -> None:
    body = exchange.body
    complaints: list[str] = []
    messages = api.messages(exchange.items, exchange.at, complaints.append)
    exchange.items.clear()  # it is most of a long document, and the messages hold all that is needed
    if exchange.lines:
        messages = on_their_lines(messages, exchange.lines)
    if not messages and exchange.response is None:
        return
    response = obj(exchange.response)
    model = text(body.get("model")) or text(obj(body.get("kwargs")).get("model")) or text(response.get("model"))
    found = told.ask(
        Request(
            messages=messages,
            system=api.system(body),
            tools=tools_of(body),
            config=settings(body),
            model=model,
            context_window=window(body),
            follows=text(body.get("previous_response_id")),
            time=exchange.asked,
        )
    )
    if failed(exchange):
        found.refuse(exchange.answered, overflow=too_long(response))
        found.journal.note("a request was refused by the provider")
    elif exchange.response is not None:
        for answer in api.answers(exchange.response, complaints.append):
            message = msgspec.structs.replace(answer, time=exchange.answered, model=model)
            told.answered(found, message, text(response.get("id")))
    elif exchange.status:
        found.journal.note("a response is no JSON, perhaps a stream; the next request shows what it said")
    for complaint in complaints:
        found.complain(complaint)


def on_their_lines(messages: list[Message], lines: Sequence[int]) -> list[Message]:
    """Messages of a list whose items are the lines of a file: the first step of an origin is a line's number."""
    return [
        msgspec.structs.replace(message, origin=(lines[int(message.origin[0])], *message.origin[1:]))
        if message.origin
        else message
        for message in messages
    ]


def read(source: Source, api: Api) -> tuple[Session, ...]:
    return conversations(source, api).sessions()


def write(source: Source, contents: Mapping[int, tuple[Block, ...]], api: Api) -> bytes:
    """The source with other contents for these tool results (by seq, of its first session), all else byte for byte.

    Where the file holds several requests of the session, the last that sends a result is changed. Raises FormatError.
    """
    if not contents:
        return source.data
    if is_cassette(source, api.host):
        raise FormatError(f"{source.name}: a VCR cassette is a recording: it is read, never changed")
    found = conversations(source, api).all[0]
    found.session()
    return rewritten(source, found, contents, parts, api.fresh)


def rewritten(
    source: Source,
    found: Conversation,
    contents: Mapping[int, tuple[Block, ...]],
    blocks: Callable[[Any], tuple[Block, ...]] = parts,
    fresh: Callable[[str], Any] = text_part,
) -> bytes:
    """As `write`, for a conversation that has been told. `blocks` reads a native content, `fresh` makes a text part."""

    def edit(content: tuple[Block, ...]) -> Callable[[Any], Any]:
        return lambda old: native(old, blocks(old), content, fresh)

    edits: dict[Path, Callable[[Any], Any]] = {}
    for seq, content in contents.items():
        origin = found.origins.get(seq)
        if not origin:
            raise FormatError(f"{source.name}: event {seq} is no tool result that stands in a message list of the file")
        edits[origin] = edit(content)
    try:
        if all(path[0] == 0 for path in edits):
            text = splice(source.data.decode(), {path[1:]: edit for path, edit in edits.items()}, source.name)
            return text.encode()
        lines = source.data.split(b"\n")
        for number in sorted({int(path[0]) for path in edits}):
            here = {path[1:]: edit for path, edit in edits.items() if path[0] == number}
            lines[number - 1] = splice(lines[number - 1].decode(), here, f"{source.name}:{number}").encode()
        return b"\n".join(lines)
    except UnicodeDecodeError:
        raise FormatError(f"{source.name}: only UTF-8 can be changed in place") from None
