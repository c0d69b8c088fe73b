"""One-line summaries of old tool results: what ran, on what, how much came back.

Texts and limits are those of NeoCode's micro-compact (a5b9f731): a summary is at most 200 code points and `...`,
metadata at most 120 and `...`; the content is trimmed before it is measured. A tool that no summariser knows, or whose
summariser has nothing to say, gets `[summary] <tool> lines=N chars=N`: nothing is ever cleared without a word.
"""

import json
import re
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any

import msgspec

from refold.events import Block, Text, ToolResult
from refold.reducer._view import Node

CLEARED = "[Old tool result content cleared]"
SUMMARY_CHARS = 200
METADATA_CHARS = 120
GOAL_CHARS = 80
_EXIT = re.compile(r'(?:exit[ _]code"?:? ?|exited with code )(-?[0-9]+)', re.IGNORECASE)


class Told(msgspec.Struct, frozen=True):
    """What a summariser may read: the trimmed text, what the tool noted about it, and the model's arguments."""

    tool: str
    text: str
    metadata: Mapping[str, Any]
    arguments: Mapping[str, Any]
    is_error: bool

    def noted(self, *names: str) -> str:
        """The first of these metadata entries that is there, cut to 120 code points, "" for none."""
        return _first(self.metadata, names)

    def known(self, *names: str) -> str:
        """As `noted`, and where the tool noted nothing, what the model asked for."""
        return _first(self.metadata, names) or _first(self.arguments, names)

    @property
    def size(self) -> str:
        return f"lines={_lines(self.text)} chars={len(self.text)}"


Summarizer = Callable[[Told], str]


def told(node: Node) -> Told:
    message = node.message
    meta = message.envelope.meta if isinstance(message, ToolResult) else ""
    is_error = isinstance(message, ToolResult) and message.is_error
    return Told(
        node.tool.strip(), shown_text(message.content).strip(), _object(meta), _object(node.arguments), is_error
    )


def shown_text(content: tuple[Block, ...]) -> str:
    """The text blocks joined, `[Image]` for an image."""
    return "".join(
        block.text if isinstance(block, Text) else "[Image]" if _is_image(block) else "" for block in content
    )


def _is_image(block: Block) -> bool:
    return '"type":"image"' in getattr(block, "json", "")


def fallback(facts: Told) -> str:
    return sanitized(f"[summary] {facts.tool} {facts.size}")


def sanitized(text: str) -> str:
    """Control characters are deleted, the ends trimmed, the rest cut to 200 code points."""
    kept = "".join(char for char in text.strip() if ord(char) >= 32 and ord(char) != 127).strip()
    return kept if len(kept) <= SUMMARY_CHARS else kept[:SUMMARY_CHARS] + "..."


def _bash_code(facts: Told) -> str:
    workdir = facts.noted("workdir")
    return " ".join(
        filter(None, (f"[exit={'non-zero' if facts.is_error else 0}]", workdir and f"workdir={workdir}", facts.size))
    )


def _bash(facts: Told) -> str:
    code = facts.noted("exitCode", "exit_code") or _exit_code(facts.text) or ("non-zero" if facts.is_error else "0")
    workdir = facts.known("workdir", "cwd")
    return " ".join(
        filter(None, (f"[summary] {facts.tool} [exit={code}]", workdir and f"workdir={workdir}", facts.size))
    )


def _exit_code(text: str) -> str:
    """The status that a shell's result ends or begins with, "" for none: DSH logs a failed command as no error."""
    found = _EXIT.findall(text.rpartition("\n")[2]) or _EXIT.findall(text.partition("\n")[0])
    return str(found[-1]) if found else ""


def _read(facts: Told) -> str:
    path = facts.noted("path", "relative_path")
    return f"[summary] {path} {facts.size}" if path else ""


def _read_file(facts: Told) -> str:
    path = facts.known("path", "relative_path", "file_path")
    return f"[summary] {facts.tool} {path} {facts.size}" if path else ""


def _write(facts: Told) -> str:
    path = facts.noted("path")
    return f"[summary] wrote {path} ({facts.noted('bytes')} bytes)" if path else ""


def _edit(facts: Told) -> str:
    path = facts.noted("relative_path", "path")
    if not path:
        return ""
    search, replaced = facts.noted("search_length"), facts.noted("replacement_length")
    return f"[summary] edited {path} (search={search} chars, replace={replaced} chars)"


def _grep(facts: Told) -> str:
    parts = ["[summary] grep"]
    for label, name in (("root", "root"), ("files", "matched_files"), ("lines", "matched_lines")):
        if value := facts.noted(name):
            parts.append(f"{label}={value}")
    matches: list[str] = []
    for line in facts.text.split("\n"):
        at = line.find(":")
        if at > 0 and (match := line[:at].strip()[:80]) not in matches:
            matches.append(match)
    if matches:
        parts.append(f"matches={', '.join(matches[:3])}")
    return " ".join(parts)


def _glob(facts: Told) -> str:
    lines = [line.strip()[:100] for line in facts.text.split("\n") if line.strip()]
    return f"[summary] glob {facts.noted('count') or '?'} files {', '.join(lines[:3])}"


def _webfetch(facts: Told) -> str:
    return "[summary] webfetch" + (" truncated=true" if facts.noted("truncated") == "true" else "")


def _subagent(facts: Told) -> str:
    role, goal = facts.known("role", "agent", "subagent_type"), facts.known("goal", "task", "prompt")[:GOAL_CHARS]
    parts = (f"[summary] {facts.tool}", role and f"role={role}", goal and f"goal={goal}", facts.size)
    return " ".join(filter(None, parts))


def _diagnose(facts: Told) -> str:
    return " ".join(filter(None, (f"[summary] {facts.tool}", "[error]" if facts.is_error else "", facts.size)))


def _memo(facts: Told) -> str:
    return f"[summary] memo {facts.tool.rpartition('_')[2]} {facts.size}"


SUMMARIZERS: Mapping[str, Summarizer] = MappingProxyType(
    {
        "bash": _bash,
        "bash-neocode": _bash_code,
        "diagnose": _diagnose,
        "edit": _edit,
        "fallback": fallback,
        "glob": _glob,
        "grep": _grep,
        "memo": _memo,
        "read": _read,
        "read-file": _read_file,
        "subagent": _subagent,
        "webfetch": _webfetch,
        "write": _write,
    }
)


def _first(values: Mapping[str, Any], names: tuple[str, ...]) -> str:
    for name in names:
        value = values.get(name)
        if isinstance(value, bool):
            value = str(value).lower()
        text = str(value) if isinstance(value, str | int | float) else ""
        if text:
            return text if len(text) <= METADATA_CHARS else text[:METADATA_CHARS] + "..."
    return ""


def _object(text: str) -> Mapping[str, Any]:
    try:
        value = json.loads(text) if text else {}
    except (ValueError, RecursionError):
        return {}
    return value if isinstance(value, dict) else {}


def _lines(text: str) -> int:
    return text.count("\n") + (not text.endswith("\n")) if text else 0
