"""Admission: a result too long for the log goes to the archive, and the log holds its receipt instead.

Decided before a result is logged, so no prompt is ever rewritten: what the log holds is what the model is sent, once
and for all. The rules are those of dsh-clear-tool-results 0.8; what it kept in its process's memory is folded from the
log here.
"""

from collections.abc import Mapping
from typing import Any

import msgspec
from msgspec.structs import replace

from refold.archive.originals import Original, Walk
from refold.events import Event, PolicyError, Text, ToolResult
from refold.reducer import View
from refold.reducer._reads import read_path
from refold.reducer._receipt import Lang, plain_text, receipt, receipted_name, size_of
from refold.reducer._view import Node
from refold.reducer.which import Admissible


class Rules(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What is admitted whole, and how a receipt reads.

    A text of just `over_bytes` UTF-8 bytes is left; `preview_bytes` of a longer one are shown. `root` is what the
    receipt puts before the file's name, None for nothing: a prompt then holds no absolute path. `cwd` is where the
    session's relative paths start. Raises PolicyError.
    """

    over_bytes: int = 1024
    preview_bytes: int = 300
    lang: Lang = "zh"
    root: str | None = None
    cwd: str = "/"

    def __post_init__(self) -> None:
        for name in ("over_bytes", "preview_bytes"):
            if getattr(self, name) < 0:
                raise PolicyError(f"must be at least 0 bytes, got {getattr(self, name)}", field=name)


class Receipts(msgspec.Struct, frozen=True):
    """What admission must know of the log so far: where the next result comes from, which files were read.

    `paths` are those of the files whose content became a receipt: asked for again, it is meant.
    """

    walk: Walk = Walk()
    paths: frozenset[str] = frozenset()

    def fold(self, event: Event, rules: Rules) -> "Receipts":
        """The same one event further."""
        paths = self.paths
        if isinstance(event, ToolResult) and event.replaces is None:
            origin = self.walk.origin(event)
            path = read_path(origin.tool, origin.arguments, rules.cwd)
            if path is not None and receipted_name(origin, event.content):
                paths |= {path}
        walk = self.walk.after(event)
        return self if walk is self.walk else Receipts(walk, paths)


class Admission(msgspec.Struct, frozen=True):
    """A receipt in the place of a result: `result` is what to log, `original` what to keep."""

    result: ToolResult
    original: Original


ACCEPTED: Mapping[str, Any] = {"kind": "accept"}


def admit(
    view: View,
    result: ToolResult,
    receipts: Receipts,
    rules: Rules,
    *,
    decision: Mapping[str, Any] = ACCEPTED,
    nested: bool = False,
) -> Admission | None:
    """What to log for a result that is about to be logged, and what to keep of it; None to log it as it is.

    `view` and `receipts` stand just before the result; `decision` is what the host's own hooks have decided, in DSH's
    form; a `nested` result, of a call made by a tool, reaches no model. Reads nothing else and writes nothing.
    """
    if decision.get("kind") != "accept" or "value" in decision or nested:
        return None
    origin = replace(receipts.walk, calls=view.calls).origin(result)
    node = Node(result.seq, result, 0, result.seq, view.steps, origin.tool, origin.arguments)
    which = Admissible(rules.over_bytes, cwd=rules.cwd)
    if which.refuses(node) is not None or which.matter(node) in receipts.paths:
        return None
    admission = receipted(Original(origin, result), rules)
    return admission if size_of(plain_text(admission.result.content) or "") < size_of(admission.original.text) else None


def decided(decision: Mapping[str, Any], logged: ToolResult) -> dict[str, Any]:
    """A host's decision with the receipt as its content; its other fields, such as additionalContexts, stay."""
    content = [{"type": "text", "text": block.text} for block in logged.content if isinstance(block, Text)]
    return {**decision, "content": content}


def receipted(original: Original, rules: Rules) -> Admission:
    """The receipt of an original, whatever its size."""
    text, origin = original.text, original.origin
    shown = receipt(origin, text, root=rules.root, lang=rules.lang, preview_bytes=rules.preview_bytes)
    return Admission(replace(original.result, content=(Text(shown),)), original)
