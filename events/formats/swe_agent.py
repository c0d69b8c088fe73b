"""SWE-agent trajectories (`.traj`): the prompt in `history`, what each step did in `trajectory`.

A step is one assistant message. With function calling a result names its calls in
`tool_call_ids`; before, the next user message is the result. The last observation stands in `trajectory` alone: no
model was sent it. Usage is known in total only. History processors shorten old observations when a request is made
and the history keeps them whole; where a step tells its `query`, that is what was sent, and the difference is read
as clearings.
"""

from typing import Any

from refold.events._blocks import Block, Reasoning, Text
from refold.events._errors import FormatError
from refold.events._events import ToolResult
from refold.events.formats._fields import Object, array, blocks, compact, obj, objects, result_blocks, text, tool_uses
from refold.events.formats._journal import Journal
from refold.events.formats._source import Format, Session, Source


def detect(source: Source) -> bool:
    if not source.start.startswith(b"{"):
        return False
    try:
        return _is_trajectory(source.document())
    except FormatError:
        return False


def _is_trajectory(document: Any) -> bool:
    history = obj(document).get("history")
    if not isinstance(history, list) or "instance_id" in document:
        return False
    first = obj(next(iter(history), None))
    told = isinstance(document.get("trajectory"), list) and "environment" in document
    return "role" in first and (told or "message_type" in first or "agent" in first)


def read(source: Source) -> tuple[Session, ...]:
    """The one session of a trajectory. Raises FormatError where it is none."""
    document = source.document()
    if not _is_trajectory(document):
        raise FormatError(
            f"{source.name}: no SWE-agent trajectory: no history of messages beside environment and trajectory"
        )
    reader = _Reader(objects(document.get("trajectory")))
    config = obj(obj(document.get("replay_config")).get("agent"))
    reader.model = text(obj(config.get("model")).get("name"))
    for message in document["history"]:
        if isinstance(message, dict):
            reader.message(message)
        else:
            reader.journal.damaged("a message is no object; it is left out")
    reader.finish(objects(config.get("history_processors")))
    return (reader.journal.session(text(config.get("name")) or source.name),)


class _Reader:
    def __init__(self, trajectory: list[Object]) -> None:
        self.journal = Journal()
        self.trajectory = trajectory
        self.model = ""
        self.waiting = ""  # the call without an id of its own, whose result is the next user message
        self.unanswered: set[str] = set()
        self.steps = 0

    def message(self, message: Object) -> None:
        content = blocks(message.get("content"))
        match message.get("role"):
            case "system" if not self.journal.size:
                self.journal.header(system="".join(block.text for block in content if isinstance(block, Text)))
            case "system":
                self.journal.developer(0, content)
            case "assistant":
                self._answer(message, content)
            case "tool":
                self._results(message)
            case "user" if self.waiting:
                self._answered(self.waiting, result_blocks(message.get("content")))
                self.waiting = ""
            case "user" if message.get("is_demo") is True or message.get("message_type") == "demonstration":
                self.journal.user(0, content, "demonstration")
            case "user" if self.steps:
                self.journal.user(0, content, "swe-agent")
            case "user":
                self.journal.prompt(0, content)
            case other:
                self.journal.note(f"a message of unknown role {compact(other)}")

    def _answer(self, message: Object, content: tuple[Block, ...]) -> None:
        if message.get("is_demo") is True:
            self.journal.note("a demonstration told as answers is read as steps of the session")
        calls = tool_uses(message.get("tool_calls"))
        thinking = tuple(
            Reasoning(text(block.get("thinking")), text(block.get("signature")))
            for block in objects(message.get("thinking_blocks"))
        )
        self._sent()
        self.steps += 1
        self.journal.context(model=self.model)
        self.journal.request(0)
        self.journal.answer(0, (*thinking, *content, *calls), model=self.model)
        self.journal.calls(0, calls)
        self.unanswered = {call.id for call in calls}
        self.waiting = ""
        action = text(message.get("action"))
        if not calls and action.strip():
            self.waiting = f"call-{self.steps}"
            self.unanswered = {self.waiting}
            self.journal.call(0, self.waiting, "bash", compact({"command": action}))

    def _results(self, message: Object) -> None:
        """One message may answer several calls: it is told once, and stands for the first."""
        ids = [text(each) for each in array(message.get("tool_call_ids"))] or [text(message.get("tool_call_id"))]
        self._answered(ids[0], result_blocks(message.get("content")))
        self.unanswered -= set(ids)

    def _answered(self, call_id: str, content: tuple[Block, ...]) -> None:
        self.journal.result(0, call_id, content)
        self.unanswered.discard(call_id)

    def _sent(self) -> None:
        """Results that the step's own query shows shortened were cleared before it."""
        step = self.trajectory[self.steps] if self.steps < len(self.trajectory) else {}
        query = [message for message in objects(step.get("query")) if message.get("role") != "system"]
        if not query:
            return
        self.journal.end_step()
        self.journal.settle()
        nodes = self.journal.nodes
        if len(query) != len(nodes):
            self.journal.note("a step's query holds other messages than the history; it is not compared")
            return
        for at, (node, message) in enumerate(zip(nodes, query, strict=True)):
            content = result_blocks(message.get("content"))
            if isinstance(node.event, ToolResult) and content != node.event.content:
                self.journal.clear(0, at, content)

    def finish(self, processors: list[Object]) -> None:
        last = self.trajectory[-1] if self.trajectory and len(self.trajectory) == self.steps else {}
        if len(self.unanswered) == 1 and isinstance(last.get("observation"), str):
            self._answered(self.unanswered.pop(), result_blocks(last["observation"]))
        shortening = [text(each.get("type")) for each in processors if each.get("type") != "cache_control"]
        if shortening and not any(step.get("query") for step in self.trajectory):
            self.journal.note(
                f"history processors ({', '.join(shortening)}) may have shortened what was sent; the file has it whole"
            )


FORMAT = Format("swe_agent", "SWE-agent trajectory", frozenset(), detect, read)
