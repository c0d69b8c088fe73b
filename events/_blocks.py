"""Content blocks: what a message is made of.

A block is decoded straight from a DSH log, so its fields have the log's names; what only refold knows is named with an
ampersand, and the reader refuses a log that spells such a name.
"""

import msgspec


class Text(msgspec.Struct, frozen=True, gc=False, forbid_unknown_fields=True, tag="text"):
    """Plain text. `extra` holds the block's fields beyond `type` and `text` as a compact JSON object, "" for none."""

    text: str
    extra: str = msgspec.field(default="", name="&extra")


class Reasoning(msgspec.Struct, frozen=True, gc=False, forbid_unknown_fields=True, tag="reasoning"):
    """A model's visible thinking. `signature` proves to its provider that the text is unchanged, "" for none.

    `extra` holds the block's remaining fields as a compact JSON object, "" for none.
    """

    text: str
    signature: str = msgspec.field(default="", name="&signature")
    extra: str = msgspec.field(default="", name="&extra")


class ToolUse(msgspec.Struct, frozen=True, gc=False, forbid_unknown_fields=True, tag="tool-call"):
    """A model's request to run a tool (a `tool-call` block). `arguments` is the raw JSON text the model wrote."""

    id: str
    name: str
    arguments: str
    extra: str = msgspec.field(default="", name="&extra")


class Opaque(msgspec.Struct, frozen=True, gc=False, forbid_unknown_fields=True, tag="&opaque"):
    """An image, or a block of a type refold does not know, carried through as the compact JSON it came as."""

    json: str


Block = Text | Reasoning | ToolUse | Opaque
