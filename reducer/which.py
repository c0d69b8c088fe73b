"""Which: may this tool result ever be cut?"""

from fnmatch import fnmatchcase
from typing import ClassVar, Literal, Protocol

import msgspec

from refold.events import Block, Text, ToolResult
from refold.reducer._checks import some, texts, whole_number
from refold.reducer._reads import in_archive, read_path
from refold.reducer._receipt import RECALL_TOOL, plain_text, size_of
from refold.reducer._summaries import told
from refold.reducer._view import Node

Refusal = Literal["tool", "error", "small", "rewritten", "pinned"]


def code_points(content: tuple[Block, ...]) -> int:
    """Unicode code points of the text blocks; a lone surrogate counts 1, every other block 0."""
    total = 0
    for block in content:
        if type(block) is Text:
            total += len(block.text)
    return total


class WhichOf(Protocol):
    """Which results may be cut: `refuses` by what never changes about a node, `matter` names what it is about.

    Of the results about one matter only the first candidate may be cut; None is about nothing in particular.
    """

    def refuses(self, node: Node) -> Refusal | None: ...
    def matter(self, node: Node) -> str | None: ...


class Which(msgspec.Struct, frozen=True, tag=True, forbid_unknown_fields=True):
    """Tool results that may be cut, by what never changes about them.

    `tools` are globs of the tools that may be cut, `deny` of those that may not; case counts, an unknown tool is
    named "". `over_chars` is the least size: a result of just so many code points is left. `errors` lets results
    marked as errors be cut; `originals` protects a result that anyone has rewritten. `pins` are globs of file names
    (the last part of a path): what one of `pin_tools` did to such a file is kept, the path being one that the tool
    noted (metadata relative_path, path, source_path, destination_path) or the model asked for. `any_case` trims tool
    names and lowers them before a glob is asked; `needs_id` protects a result whose call id is blank.
    """

    tools: tuple[str, ...]
    deny: tuple[str, ...] = ()
    over_chars: int = 0
    errors: bool = False
    originals: bool = False
    pins: tuple[str, ...] = ()
    pin_tools: tuple[str, ...] = ()
    any_case: bool = False
    needs_id: bool = False
    revision: ClassVar[int] = 1

    def __post_init__(self) -> None:
        whole_number("over_chars", self.over_chars, 0)
        for field in ("tools", "deny", "pins", "pin_tools"):
            texts(f"Which.{field}", getattr(self, field))
        some("Which.tools", self.tools, 'the tools whose results may be cut; "*" is any')

    def refuses(self, node: Node) -> Refusal | None:
        """Why the node may never be cut, None where it may."""
        message = node.message
        if not isinstance(message, ToolResult):
            return "tool"
        if code_points(message.content) <= self.over_chars:
            return "small"
        if message.is_error and not self.errors:
            return "error"
        tool = node.tool.strip().lower() if self.any_case else node.tool
        if not _matches(tool, self.tools) or _matches(tool, self.deny):
            return "tool"
        if self.needs_id and not message.call_id.strip():
            return "tool"
        if self.originals and node.rewritten:
            return "rewritten"
        if self.pins and _matches(tool, self.pin_tools) and self._is_pinned(node):
            return "pinned"
        return None

    def matter(self, node: Node) -> None:
        return None

    def _is_pinned(self, node: Node) -> bool:
        facts = told(node)
        paths = (values.get(name) for values in (facts.metadata, facts.arguments) for name in _PATHS)
        names = (path.replace("\\", "/").rpartition("/")[2] for path in paths if isinstance(path, str))
        return any(_matches(name, self.pins) for name in names)


class Admissible(msgspec.Struct, frozen=True, tag=True, forbid_unknown_fields=True):
    """Results that admission may put on disk: more than `over_bytes` UTF-8 bytes of nothing but text, as first logged.

    Errors stay, and what the tools in `deny` (globs) gave. So does what `read` gave of a file in an archive of
    originals, and of a file that was read before and cut then: asked for again, it is meant. `cwd` is where relative
    paths start. The rules are those of dsh-clear-tool-results 0.8.
    """

    over_bytes: int = 1024
    tools: tuple[str, ...] = ("*",)
    deny: tuple[str, ...] = (RECALL_TOOL,)
    cwd: str = "/"
    revision: ClassVar[int] = 1

    def __post_init__(self) -> None:
        whole_number("over_bytes", self.over_bytes, 0)
        texts("Admissible.tools", self.tools)
        texts("Admissible.deny", self.deny)
        some("Admissible.tools", self.tools, 'the tools whose results may be cut; "*" is any')

    def refuses(self, node: Node) -> Refusal | None:
        """Why the node may never be cut, None where it may."""
        message = node.message
        if not isinstance(message, ToolResult):
            return "tool"
        text = plain_text(message.content)
        if text is None or size_of(text) <= self.over_bytes:
            return "small"
        if message.is_error:
            return "error"
        if node.rewritten:
            return "rewritten"
        if not _matches(node.tool, self.tools) or _matches(node.tool, self.deny):
            return "tool"
        path = self.matter(node)
        return "pinned" if path is not None and in_archive(path) else None

    def matter(self, node: Node) -> str | None:
        """The path of the file that was read."""
        return read_path(node.tool, node.arguments, self.cwd)


WhichRule = Which | Admissible

_PATHS = ("relative_path", "path", "source_path", "destination_path")


def _matches(name: str, globs: tuple[str, ...]) -> bool:
    if name in globs and "[" not in name:
        return True  # spelled out, as most are; only a bracket does not match itself
    return any(fnmatchcase(name, glob) for glob in globs)
