"""Kimi CLI and Kimi Code sessions: `context.jsonl` (the messages, with bookkeeping) and `wire.jsonl` (what happened).

The context file follows its writer's order: `_usage` before an answer is what
the request took in, `_usage` behind it the same and the answer. It knows no cached tokens. A revert or a compaction
rewrites the context file, so none shows in it.
"""

from refold.events._blocks import Block, Text
from refold.events._errors import FormatError
from refold.events._events import Usage
from refold.events.formats._falls import falls
from refold.events.formats._fields import Object, blocks, compact, number, result_blocks, text, tool_uses
from refold.events.formats._journal import Journal
from refold.events.formats._kimi_parts import answer_blocks
from refold.events.formats._kimi_wire import is_wire, read_wire
from refold.events.formats._lines import glance, records
from refold.events.formats._source import Format, Session, Source

BOOKKEEPING = frozenset({"_checkpoint", "_usage", "_system_prompt"})


def detect(source: Source) -> bool:
    record = next(glance(source, 1), {})
    return text(record.get("role")) in BOOKKEEPING or is_wire(record)


def read(source: Source) -> tuple[Session, ...]:
    """The session of a context file, or that of a wire file and its sub-agents. Raises FormatError for neither."""
    found, damage = records(source)
    told = [record for _, record in found]
    if told and is_wire(told[0]):
        return read_wire(told, damage, source.name)
    if not told or text(told[0].get("role")) not in BOOKKEEPING:
        raise FormatError(
            f"{source.name}: no Kimi session: the first line is neither bookkeeping ({', '.join(sorted(BOOKKEEPING))}) "
            "nor a wire record"
        )
    return (_read_context(told, damage, source.name),)


def _read_context(told: list[Object], damage: list[str], name: str) -> Session:
    journal = Journal()
    for problem in damage:
        journal.damaged(problem)
    for index, record in enumerate(told):
        match record.get("role"):
            case "_system_prompt":
                journal.header(system=text(record.get("content")))
            case "user":
                _user(journal, blocks(record.get("content")))
            case "assistant":
                content = (*answer_blocks(record.get("content")), *tool_uses(record.get("tool_calls")))
                journal.request(0)
                journal.answer(0, content, usage=_usage(told, index))
                journal.calls(0, content)
            case "tool":
                content = result_blocks(record.get("content"))
                journal.result(0, text(record.get("tool_call_id")), content, is_error=_says(content, "<system>ERROR"))
            case "_usage" | "_checkpoint":
                pass
            case other:
                journal.note(f"a record of unknown role {compact(other)}")
    for fall in falls(journal.events):
        journal.note(fall)
    return journal.session(name)


def _user(journal: Journal, content: tuple[Block, ...]) -> None:
    """What Kimi itself says in the user's name (checkpoints, a compaction's output) stands in `<system>`."""
    if _says(content, "<system>"):
        journal.user(0, content, "kimi")
    else:
        journal.prompt(0, content)


def _says(content: tuple[Block, ...], beginning: str) -> bool:
    return bool(content) and isinstance(content[0], Text) and content[0].text.startswith(beginning)


def _usage(told: list[Object], index: int) -> Usage | None:
    before = told[index - 1] if index else {}
    if before.get("role") != "_usage":
        return None
    taken_in = number(before.get("token_count"))
    behind = told[index + 1] if index + 1 < len(told) else {}
    total = number(behind.get("token_count")) if behind.get("role") == "_usage" else taken_in
    return Usage(taken_in, max(0, total - taken_in))


FORMAT = Format(
    "kimi_cli",
    "Kimi CLI and Kimi Code (context.jsonl, wire.jsonl)",
    frozenset({"usage", "cache", "reasoning", "errors", "compaction", "times"}),
    detect,
    read,
)
