"""How: what stands in a result's place?

A member may read the node's content, tool, arguments, turn, step, place and call id; never seq, position or time, or
the same cut would have other bytes when it is committed than when it is derived.
"""

from fnmatch import fnmatchcase
from typing import ClassVar, Protocol

import msgspec
from msgspec.structs import replace

from refold.events import Block, PolicyError, Text, ToolResult
from refold.reducer._checks import whole_number
from refold.reducer._receipt import Lang, Origin, plain_text, receipt, size_of
from refold.reducer._summaries import CLEARED, SUMMARIZERS, fallback, sanitized, told
from refold.reducer._view import Node
from refold.reducer.which import code_points

MARKER = "\n\n[... tool result middle pruned ...]\n\n"  # DSH's own, 39 code points


class How(Protocol):
    """Gives a node's new content, None where this member has nothing to cut."""

    def content(self, node: Node) -> tuple[Block, ...] | None: ...


class HeadTail(msgspec.Struct, frozen=True, tag=True, forbid_unknown_fields=True):
    """Keep the first `head` and the last `tail` code points, a marker between.

    DSH's official transform, block by block: text blocks count as one text; a block left empty goes; blocks are
    never merged; every other block stays, in order. The result has `head` + 39 + `tail` code points; a text that is
    not longer is left alone.
    """

    head: int
    tail: int
    revision: ClassVar[int] = 1

    def __post_init__(self) -> None:
        for name in ("head", "tail"):
            whole_number(name, getattr(self, name), 0)

    @property
    def kept(self) -> int:
        return self.head + len(MARKER) + self.tail

    def content(self, node: Node) -> tuple[Block, ...] | None:
        total = code_points(node.content)
        if total <= self.kept:
            return None
        cut_from, cut_to = self.head, total - self.tail
        kept: list[Block] = []
        start, marked = 0, False
        for block in node.content:
            if type(block) is not Text:
                kept.append(block)
                continue
            end = start + len(block.text)
            text = block.text[: max(0, cut_from - start)] if start < cut_from else ""
            if not marked and start < cut_to and end > cut_from:
                text += MARKER
                marked = True
            if end > cut_to:
                text += block.text[max(0, cut_to - start) :]
            if text:
                kept.append(block if text == block.text else replace(block, text=text))
            start = end
        return tuple(kept)


class Drop(msgspec.Struct, frozen=True, tag=True, forbid_unknown_fields=True):
    """Nothing stands there: the result keeps its place and its call, with no content."""

    revision: ClassVar[int] = 1

    def content(self, node: Node) -> tuple[Block, ...] | None:
        return () if node.content else None


class Placeholder(msgspec.Struct, frozen=True, tag=True, forbid_unknown_fields=True):
    """One line instead of everything; other blocks go too, and are listed in the operation.

    The templates may name {tool}, {turn}, {step} and {chars}. `first` stands for the answer to a turn's
    first call, "" for no difference.
    """

    template: str
    first: str = ""
    revision: ClassVar[int] = 1

    def __post_init__(self) -> None:
        for name in ("template", "first"):
            try:
                getattr(self, name).format(tool="", turn=0, step=0, chars=0)
            except (KeyError, IndexError, ValueError, AttributeError) as error:
                raise PolicyError(
                    f"may name {{tool}}, {{turn}}, {{step}} and {{chars}} only: {error!r}", field=name
                ) from None

    def content(self, node: Node) -> tuple[Block, ...] | None:
        message = node.message
        template = self.first if self.first and node.opens_turn else self.template
        text = template.format(
            tool=node.tool,
            turn=getattr(message, "turn", 0),
            step=getattr(message, "step", 0),
            chars=code_points(node.content),
        )
        return (Text(text),)


class Summary(msgspec.Struct, frozen=True, tag=True, forbid_unknown_fields=True):
    """One line that says what ran and how much came back; other blocks go too, and are listed in the operation.

    `by_tool` pairs a glob of tool names with a summariser's name (see SUMMARIZERS); the first that fits counts, tool
    names trimmed and in lower case. What none fits, or none has words for, gets tool, lines and code points. A result
    whose tool nobody knows gets NeoCode's words for it. Empty results, and results that read so already, are left.
    """

    by_tool: tuple[tuple[str, str], ...] = ()
    revision: ClassVar[int] = 1

    def __post_init__(self) -> None:
        for glob, name in self.by_tool:
            if name not in SUMMARIZERS:
                known = ", ".join(SUMMARIZERS)
                raise PolicyError(f"{glob} asks for the summariser {name!r}; known: {known}", field="by_tool")

    def content(self, node: Node) -> tuple[Block, ...] | None:
        facts = told(node)
        if facts.text in ("", CLEARED):
            return None
        if not facts.tool:
            return (Text(CLEARED),)
        tool = facts.tool.lower()
        name = next((name for glob, name in self.by_tool if fnmatchcase(tool, glob)), "fallback")
        return (Text(sanitized(SUMMARIZERS[name](facts)) or fallback(facts)),)


class Receipt(msgspec.Struct, frozen=True, tag=True, forbid_unknown_fields=True):
    """What admission logs instead of a long text: what ran, how much came back, the file that holds it, a preview.

    At most `preview_bytes` UTF-8 bytes of it are shown; `root` is put before the file's name, "" for nothing. A result
    that is not text alone, or that the receipt would not make shorter in UTF-8 bytes, is left.
    """

    preview_bytes: int = 300
    lang: Lang = "zh"
    root: str = ""
    revision: ClassVar[int] = 1

    def __post_init__(self) -> None:
        whole_number("preview_bytes", self.preview_bytes, 0)

    def content(self, node: Node) -> tuple[Block, ...] | None:
        message = node.message
        text = plain_text(node.content)
        if text is None or not isinstance(message, ToolResult):
            return None
        origin = Origin(message.turn, message.step, node.place, node.tool, message.call_id, node.arguments)
        shown = receipt(origin, text, root=self.root or None, lang=self.lang, preview_bytes=self.preview_bytes)
        return (Text(shown),) if size_of(shown) < size_of(text) else None


HowRule = HeadTail | Drop | Placeholder | Summary | Receipt
