"""Content blocks: what a message is made of."""

import msgspec


class Text(msgspec.Struct, frozen=True, gc=False, tag=True):
    """Plain text. `extra` holds the block's fields beyond `type` and `text` as a compact JSON object, "" for none."""

    text: str
    extra: str = ""


class Reasoning(msgspec.Struct, frozen=True, gc=False, tag=True):
    """A model's visible thinking. `signature` proves to its provider that the text is unchanged, "" for none.

    `extra` holds the block's remaining fields as a compact JSON object, "" for none.
    """

    text: str
    signature: str = ""
    extra: str = ""


class ToolUse(msgspec.Struct, frozen=True, gc=False, tag=True):
    """A model's request to run a tool (a `tool-call` block). `arguments` is the raw JSON text the model wrote."""

    id: str
    name: str
    arguments: str
    extra: str = ""


class Opaque(msgspec.Struct, frozen=True, gc=False, tag=True):
    """An image, or a block of a type refold does not know, carried through as the compact JSON it came as."""

    json: str


Block = Text | Reasoning | ToolUse | Opaque
