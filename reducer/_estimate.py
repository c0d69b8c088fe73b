"""Prices in tokens: what every meter answers, and DSH's own estimator."""

from typing import ClassVar, Protocol

import msgspec

from refold.events import Block, Opaque, PolicyError, Reasoning, SurfaceEvent, Text, ToolUse
from refold.reducer._js import parse, stringified_length, utf16_length

FRAME_TOKENS = 4  # DSH adds this for the frame of a block, of a message, and of the tool list
UNWRAPPED_SINCE = 4  # the first format version whose tool results have no wrapper block


class Estimator(Protocol):
    """Prices content in tokens. Pure: equal content has an equal price, wherever and whenever it stands."""

    def blocks(self, blocks: tuple[Block, ...]) -> int:
        """The blocks alone, without a message around them. Blocks add up: no price depends on a neighbour."""
        ...

    def message(self, event: SurfaceEvent) -> int:
        """What the event's message adds to a prompt; 0 where it sends none."""
        ...

    def header(self, system: str | None, tools: str) -> int:
        """What goes before the messages: the system text, None for none, and the tool list as JSON, "" for none."""
        ...


class DshEstimator(msgspec.Struct, frozen=True, tag=True):
    """DSH's fixed estimate, a token for every four UTF-16 units, exact to the token.

    `version` is the log's format version, whose harness is followed: up to V3 a tool result lies in a wrapper block
    that has a price. Source of the rules: `@deepseek-ai/dsh-token-meter`, 0.1.0-rc.8 for V0 and 0.2.1-rc.2 for V4.
    What DSH knows only while it runs (a route's prices for images and files) is left out, as it is there where the
    route declares none.
    """

    version: int
    revision: ClassVar[int] = 1

    def __post_init__(self) -> None:
        if self.version < 0:
            raise PolicyError(f"must be a log format version, 0 or higher, got {self.version}", field="version")

    def blocks(self, blocks: tuple[Block, ...]) -> int:
        """Raises FormatError for an Opaque block that holds no JSON."""
        tokens = FRAME_TOKENS * len(blocks)
        for block in blocks:
            if type(block) is Text or type(block) is Reasoning:
                tokens += _text(block.text)
            elif type(block) is ToolUse:
                tokens += _text(block.name) + _text(block.arguments)
            elif type(block) is Opaque:
                tokens += self._json(block.json) - FRAME_TOKENS
        return tokens

    def message(self, event: SurfaceEvent) -> int:
        """Raises FormatError for an Opaque block that holds no JSON."""
        role, content = event.role, event.content
        if role == "tool":
            frames = 1 if self.version >= UNWRAPPED_SINCE else 2
            return self.blocks(content) + frames * FRAME_TOKENS
        if role == "system":
            return _system(content)
        if not content and role in ("assistant", "developer"):
            return 0
        return self.blocks(content) + FRAME_TOKENS

    def header(self, system: str | None, tools: str) -> int:
        """Raises FormatError if `tools` is neither empty nor JSON."""
        tokens = 0
        if system:
            tokens += FRAME_TOKENS + _text(system)
        if tools and (parsed := parse(tools)):
            tokens += FRAME_TOKENS + _quarter(stringified_length(parsed))
        return tokens

    def _json(self, text: str) -> int:
        """A block given as JSON: by its text where DSH knows the type, else by what it takes to write it."""
        tokens = 0
        values = [parse(text)]
        while values:
            value = values.pop()
            tokens += FRAME_TOKENS
            match value:
                case {"type": "text" | "reasoning", "text": str(text)}:
                    tokens += _text(text)
                case {"type": "tool-call", "name": str(name), "arguments": str(arguments)}:
                    tokens += _text(name) + _text(arguments)
                case {"type": "tool-result", "content": list(nested)} if self.version < UNWRAPPED_SINCE:
                    values += nested
                case {"type": "image", "offloaded": _} if self.version >= UNWRAPPED_SINCE:
                    kept = {key: field for key, field in value.items() if key != "offloaded"}
                    tokens += _quarter(stringified_length(kept))
                case _:
                    tokens += _quarter(stringified_length(value))
        return tokens


def _text(text: str) -> int:
    units = len(text) if text.isascii() else utf16_length(text)  # one call less: this is priced for every text of a log
    return (units + 3) >> 2


def _quarter(units: int) -> int:
    return (units + 3) >> 2


def _system(blocks: tuple[Block, ...]) -> int:
    """A system message is sent as one string: its blocks have no frames, and what is no text goes as JSON."""
    if not blocks:
        return 0
    units = 0
    for block in blocks:
        match block:
            case Text(text=text):
                units += utf16_length(text)
            case Reasoning(text=text, extra=extra):
                units += stringified_length({"type": "reasoning", "text": text, **parse(extra or "{}")})
            case ToolUse(id=id_, name=name, arguments=arguments, extra=extra):
                call = {"type": "tool-call", "id": id_, "name": name, "arguments": arguments}
                units += stringified_length({**call, **parse(extra or "{}")})
            case Opaque(json=text):
                units += stringified_length(parse(text))
    return FRAME_TOKENS + _quarter(units)
