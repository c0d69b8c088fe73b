"""Kimi's wire files: which of the two protocols it is, and Kimi CLI's, a stream of interface messages.

A step runs from StepBegin to the next; StatusUpdate reports its usage once. Results are sent in the order of their
calls. A compaction keeps the last two messages; its summary stands in the context file, not on the wire.
"""

from refold.events._events import AssistantMessage, UserMessage
from refold.events.formats._falls import falls
from refold.events.formats._fields import Object, arguments, blocks, compact, millis, number, obj, text, usage
from refold.events.formats._journal import Journal
from refold.events.formats._kimi_loop import LoopReader
from refold.events.formats._kimi_parts import answer_block, legacy_result
from refold.events.formats._kimi_step import Call, Result, Step
from refold.events.formats._source import Session

PRESERVED = 2  # the messages of user and model that Kimi CLI's compaction keeps


def is_wire(record: Object) -> bool:
    return _is_protocol(record) or _is_message(record)


def _is_protocol(record: Object) -> bool:
    return record.get("type") == "metadata" and "protocol_version" in record


def _is_message(record: Object) -> bool:
    message = obj(record.get("message"))
    return "timestamp" in record and isinstance(message.get("type"), str) and isinstance(message.get("payload"), dict)


def read_wire(records: list[Object], damage: list[str], name: str) -> tuple[Session, ...]:
    """The session itself first, then its sub-agents in the order in which they began."""
    main = _Wire()
    loop = LoopReader(main.journal)
    agents: dict[str, _Wire] = {}
    for problem in damage:
        main.journal.damaged(problem)
    for record in records:
        if not _is_message(record):
            loop.record(record)
            continue
        time, message = millis(record.get("timestamp")), obj(record["message"])
        payload = obj(message.get("payload"))
        if message["type"] != "SubagentEvent":
            main.message(time, text(message["type"]), payload)
            continue
        caller = text(payload.get("agent_id") or payload.get("parent_tool_call_id") or payload.get("task_tool_call_id"))
        event = obj(payload.get("event"))
        agents.setdefault(caller, _Wire()).message(time, text(event.get("type")), obj(event.get("payload")))
    main.flush()
    loop.flush()
    for wire in agents.values():
        wire.flush()
    for wire in (main, *agents.values()):
        for fall in falls(wire.journal.events):
            wire.journal.note(fall)
    main_session = main.journal.session(name, loop.parent)
    return (main_session, *(wire.journal.session(f"{name}:{agent}", name) for agent, wire in agents.items()))


class _Wire:
    def __init__(self) -> None:
        self.journal = Journal()
        self.step: Step | None = None

    def flush(self) -> None:
        if self.step is not None:
            step, self.step = self.step, None
            order = {part.id: place for place, part in enumerate(step.content) if isinstance(part, Call)}
            step.results.sort(key=lambda result: order.get(result.call_id, len(order)))
            step.write(self.journal, "")

    def message(self, time: int, kind: str, payload: Object) -> None:
        match kind:
            case "TurnBegin":
                self.flush()
                self.journal.prompt(time, blocks(payload.get("user_input")))
            case "SteerInput":
                self.flush()
                self.journal.user(time, blocks(payload.get("user_input")), "user")
            case "StepBegin":
                self.flush()
                self.step = Step(time)
            case "TurnEnd":
                self.flush()
                self.journal.end_turn(time)
            case "StepInterrupted":
                self.flush()
                self.journal.end_turn(time, "aborted")
            case "CompactionEnd":
                self.flush()
                self._compaction(time)
            case "ContentPart" | "ToolCall" | "ToolCallPart" | "ToolResult" | "StatusUpdate":
                if self.step is None:
                    self.step = Step(time)
                self._in_step(self.step, time, kind, payload)
            case "CompactionBegin" | "ApprovalRequest" | "ApprovalResponse" | "ApprovalRequestResolved":
                pass
            case _:
                self.journal.note(f"a wire message of unknown type {compact(kind)}")

    def _in_step(self, step: Step, time: int, kind: str, payload: Object) -> None:
        match kind:
            case "ContentPart":
                step.content.append(answer_block(payload))
                step.ended = max(step.ended, time)
            case "ToolCall":
                function = obj(payload.get("function"))
                written = arguments(function.get("arguments"))
                step.content.append(Call(time, text(payload.get("id")), text(function.get("name")), written))
            case "ToolCallPart":
                call = next((part for part in reversed(step.content) if isinstance(part, Call)), None)
                if call is None:
                    self.journal.note("a part of a call's arguments belongs to no call")
                else:
                    call.arguments += text(payload.get("arguments_part"))
            case "ToolResult":
                value = obj(payload.get("return_value") or payload.get("result"))
                failed = value.get("is_error") is True
                step.results.append(Result(time, text(payload.get("tool_call_id")), legacy_result(value), failed))
            case _:
                self._status(step, time, payload)

    def _status(self, step: Step, time: int, payload: Object) -> None:
        window = number(payload.get("max_context_tokens"))
        if window:
            self.journal.context(context_window=window)
        report = obj(payload.get("token_usage"))
        spent = usage(
            report.get("input_other"),
            report.get("output"),
            report.get("input_cache_read"),
            report.get("input_cache_creation"),
        )
        if spent:
            step.usage, step.ended = spent, time

    def _compaction(self, time: int) -> None:
        self.journal.settle()
        nodes = self.journal.nodes
        spoken = [at for at, node in enumerate(nodes) if isinstance(node.event, UserMessage | AssistantMessage)]
        if len(spoken) >= PRESERVED and spoken[-PRESERVED] > 0:
            self.journal.replace(time, 0, spoken[-PRESERVED] - 1, (), "compaction")
            self.journal.note("the summary of a compaction is not in a wire file: an empty message stands for it")
