"""Kimi Code's wire protocol 1.4: records from which its context is rebuilt.

Rules: Kimi Code's own fold of `context.*` records. A message that comes while calls wait for their results is put
behind them. `usage.record` says the usage of a step again; only of the call that writes a summary it alone tells. A
compaction keeps what the user himself asked (`keptUserMessageCount`, the newest, or head and tail) and puts its
summary behind it; older records keep the messages from `compactedCount` on behind the summary instead.
"""

from typing import Any

from refold.events._blocks import Block
from refold.events._events import Usage
from refold.events.formats._fields import Object, arguments, blocks, compact, number, obj, text, tool_uses, usage
from refold.events.formats._journal import Journal
from refold.events.formats._kimi_parts import answer_block, answer_blocks, result
from refold.events.formats._kimi_step import Call, Result, Step

SILENT = frozenset({
    "metadata", "tools.set_active_tools", "permission.record_approval_result",
    "plan_mode.enter", "plan_mode.exit", "full_compaction.begin", "full_compaction.complete", "full_compaction.cancel",
})  # fmt: skip


class LoopReader:
    """`parent` is the agent that started this one: the main agent, where the file is a sub-agent's."""

    def __init__(self, journal: Journal) -> None:
        self.journal = journal
        self.parent: str | None = None
        self.step: Step | None = None
        self.summing_up: Step | None = None  # the call that writes a compaction's summary: no step.begin tells of it
        self.step_id = ""
        self.held: list[tuple[int, Object]] = []
        self.asked: list[tuple[Block, ...]] = []  # what the user asked, as it stands in the context
        self.model = ""

    def record(self, record: Object) -> None:
        time = number(record.get("time"))
        match record.get("type"):
            case "config.update":
                if isinstance(record.get("systemPrompt"), str):
                    self.journal.header(system=record["systemPrompt"])
            case "llm.tools_snapshot":
                self.journal.header(tools=compact(record.get("tools")))
            case "llm.request":
                self._request(record)
            case "context.append_message":
                self._message(time, obj(record.get("message")))
            case "context.append_loop_event":
                self._event(time, obj(record.get("event")))
            case "context.apply_compaction":
                self._compaction(time, record)
            case "context.undo":
                self._undo(time, number(record.get("count")))
            case "context.clear":
                self.flush()
                self.journal.end_turn(time)
                self.journal.rewind(time, 0)
                self.asked.clear()
            case "usage.record":
                if self.summing_up is not None and record.get("usageScope") == "session":
                    self.summing_up.usage = _usage(record.get("usage"))
            case "turn.prompt":
                self.flush()
            case str(kind) if kind in SILENT:
                pass
            case other:
                self.journal.note(f"a record of unknown type {compact(other)}")

    def flush(self) -> None:
        """The open step is over, as is the wait of the messages that came while it ran."""
        if self.step is not None:
            step, self.step = self.step, None
            step.write(self.journal, self.model)
        held, self.held = self.held, []
        for time, message in held:
            self._message(time, message)

    def _request(self, record: Object) -> None:
        if record.get("kind") == "compaction":
            self.flush()
            self.summing_up = Step(number(record.get("time")))
            return
        self.model = text(record.get("model"))
        self.journal.context(provider=text(record.get("provider")), model=self.model)

    def _message(self, time: int, message: Object) -> None:
        if self.step is not None and (self.step.content or self.step.results):
            self.held.append((time, message))
            return
        self.flush()
        origin, role = obj(message.get("origin")), message.get("role")
        content = answer_blocks(message.get("content"))
        if role == "assistant":
            content = (*content, *tool_uses(message.get("toolCalls")))
            self.journal.request(time)
            self.journal.answer(time, content)
            self.journal.calls(time, content)
        elif role == "tool":
            call_id, failed = text(message.get("toolCallId")), message.get("isError") is True
            self.journal.result(time, call_id, content, is_error=failed)
        elif _is_asked(origin):
            self.asked.append(content)
            self.journal.prompt(time, content, "asked")
        elif origin.get("name") == "subagent":
            self.parent = "main"
            self.journal.prompt(time, content)
        else:
            self.journal.user(time, content, text(origin.get("variant")) or text(origin.get("kind")) or "kimi")

    def _event(self, time: int, event: Object) -> None:
        kind = event.get("type")
        if kind == "step.begin":
            self.flush()
            self.step = Step(time)
            return
        if self.step is None:
            if kind == "tool.result":
                value = obj(event.get("result"))
                failed = value.get("isError") is True
                self.journal.result(time, text(event.get("toolCallId")), result(value), is_error=failed)
            else:
                self.journal.note(f"a loop event {compact(kind)} belongs to no step")
            return
        match kind:
            case "content.part":
                self.step.content.append(answer_block(obj(event.get("part"))))
            case "tool.call":
                written = "" if event.get("args") is None else arguments(event["args"])
                self.step.content.append(Call(time, text(event.get("toolCallId")), text(event.get("name")), written))
            case "tool.result":
                value = obj(event.get("result"))
                failed = value.get("isError") is True
                self.step.results.append(Result(time, text(event.get("toolCallId")), result(value), failed))
            case "step.end":
                self.step.usage = _usage(event.get("usage"))
                self.step.ended = time
                self.flush()
            case other:
                self.journal.note(f"a loop event of unknown type {compact(other)}")

    def _compaction(self, time: int, record: Object) -> None:
        self.flush()
        self.journal.settle()
        nodes = self.journal.nodes
        spoken = record.get("contextSummary") or record.get("summary")
        summary = blocks(spoken.get("content")) if isinstance(spoken, dict) else blocks(spoken)
        if self.summing_up is not None:
            call, self.summing_up = self.summing_up, None
            call.content, call.ended = [*blocks(record.get("summary"))], time
            call.write(self.journal, self.model)
            self.journal.rewind(time, len(nodes) - 1)
        if not nodes:
            self.journal.user(time, summary, "compaction")
            return
        if not isinstance(record.get("keptUserMessageCount"), int):
            compacted = min(number(record.get("compactedCount") or record.get("count")), len(nodes))
            self.asked = self.asked[sum(node.key == "asked" for node in nodes[:compacted]) :]
            self.journal.replace(time, 0, max(compacted - 1, 0), summary, "compaction")
            return
        kept, head = number(record["keptUserMessageCount"]), number(record.get("keptHeadUserMessageCount"))
        if head:
            self.journal.note("a compaction left out the middle of what the user asked, and may have cut its edges")
        tail = max(0, kept - head)
        self.asked = self.asked[:head] + (self.asked[-tail:] if tail else [])
        said = tuple(block for asked in self.asked for block in asked)
        self.journal.replace(time, 0, len(nodes) - 1, (*said, *summary), "compaction")

    def _undo(self, time: int, count: int) -> None:
        """Drop the last `count` prompts and what followed them; never across a compaction."""
        self.flush()
        self.journal.settle()
        nodes = self.journal.nodes
        at, left = len(nodes), count
        while left and at and nodes[at - 1].event.replaces is None:  # type: ignore[attr-defined]
            at -= 1
            left -= nodes[at].key == "asked"
        if left or not count:
            self.journal.note("an undo names more prompts than the context holds; it changes nothing")
            return
        self.journal.end_turn(time, "aborted")
        self.journal.rewind(time, at)
        del self.asked[-count:]


def _usage(report: Any) -> Usage | None:
    counts = obj(report)
    return usage(
        counts.get("inputOther"), counts.get("output"), counts.get("inputCacheRead"), counts.get("inputCacheCreation")
    )


def _is_asked(origin: Object) -> bool:
    """Did a person write it? A slash command counts, what Kimi injects does not."""
    kind = origin.get("kind", "user")
    return kind == "user" or (kind in ("skill_activation", "plugin_command") and origin.get("trigger") == "user-slash")
