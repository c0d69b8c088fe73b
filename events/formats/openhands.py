"""OpenHands, both generations: V0 (evaluation output, one instance a line; or a trajectory, a list of events) and V1
(a conversation directory packed by `pack_tree`, or its events as a list or one a line).

V0: a step is one distinct `tool_call_metadata.model_response.id`; the response and
its usage are copied into action and observation and count once. A result answers its `tool_call_id`, or the action
that its `cause` names. An `error` observation without either tells of a call whose answer is not in the log. Ids such
as `toolu_01` start again in each instance.
"""

from collections.abc import Hashable
from typing import Any

from refold.events._blocks import Block, Opaque, Text, ToolUse
from refold.events._errors import FormatError
from refold.events.formats._falls import falls
from refold.events.formats._fields import (
    Object,
    array,
    compact,
    millis,
    obj,
    objects,
    openai_usage,
    result_blocks,
    text,
    tool_uses,
)
from refold.events.formats._journal import Journal
from refold.events.formats._lines import glance, records
from refold.events.formats._openhands_parts import forget, with_images
from refold.events.formats._openhands_v1 import is_v1_event, is_v1_tree, read_v1
from refold.events.formats._source import Format, Session, Source

SILENT = frozenset(
    {"recall", "change_agent_state", "condensation_request", "agent_state_changed", "null", "loop_detection"}
)


def detect(source: Source) -> bool:
    try:
        return _generation(source) != ""
    except FormatError:
        return False


def read(source: Source) -> tuple[Session, ...]:
    """One session an instance or conversation, each delegate's behind its own. Raises FormatError for other files."""
    match _generation(source):
        case "V0 output":
            return _read_output(source)
        case "V0 trajectory":
            return _read_instance(array(source.document()), source.name)
        case "V1":
            return read_v1(source)
    raise FormatError(
        f"{source.name}: no OpenHands log: neither instances with a history (V0), nor a list of events with "
        "action or observation (V0), nor events with kind (V1)"
    )


def _generation(source: Source) -> str:
    head = source.start[:1]
    if head == b"[":
        first = obj(next(iter(array(source.document())), None))
        if is_v1_event(first):
            return "V1"
        return "V0 trajectory" if _is_v0_event(first) else ""
    if head == b"{":
        record = next(glance(source, 1), None)
        if record is None:
            record = source.document()
        if is_v1_tree(record) or is_v1_event(obj(record)):
            return "V1"
        history = obj(record).get("history")
        if isinstance(history, list) and "instance_id" in obj(record) and any(map(_is_v0_event, objects(history)[:1])):
            return "V0 output"
    return ""


def _is_v0_event(event: Object) -> bool:
    return "timestamp" in event and "source" in event and ("action" in event or "observation" in event)


def _read_output(source: Source) -> tuple[Session, ...]:
    sessions: list[Session] = []
    found, damage = records(source)
    for line_number, instance in found:
        name = text(instance.get("instance_id")) or f"{source.name}:{line_number}"
        sessions.extend(_read_instance(array(instance.get("history")), name))
    if damage and sessions:
        last = sessions[-1]
        sessions[-1] = Session(last.id, last.events, last.parent, (*last.notes, *damage), True)
    return tuple(sessions)


def _read_instance(history: list[Any], name: str) -> tuple[Session, ...]:
    reader = _Instance(name)
    for event in history:
        if isinstance(event, dict):
            reader.event(event)
        else:
            reader.here.damaged("an event is no object; it is left out")
    return reader.finish()


class _Instance:
    """Journals of the agents at work: the delegates are on top of the agent that waits for them."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.here = Journal()
        self.above: list[tuple[Journal, str, str]] = []  # who waits: its journal, its name, its call
        self.done: list[Session] = []
        self.response = ""
        self.calls: dict[str, str] = {}  # by the action that made it

    def finish(self) -> tuple[Session, ...]:
        while self.above:
            self._leave()
        return (self._session(None), *self.done)

    def _session(self, parent: str | None) -> Session:
        for fall in falls(self.here.events):
            self.here.note(fall)
        return self.here.session(self.name, parent)

    def _leave(self) -> None:
        waiting, owner, _ = self.above.pop()
        self.done.insert(0, self._session(owner))
        self.here, self.name, self.response = waiting, owner, ""

    def event(self, event: Object) -> None:
        time = millis(event.get("timestamp"))
        if "observation" in event:
            self._observation(time, event)
            return
        arguments = obj(event.get("args"))
        match event.get("action"), event.get("source"):
            case "system", _:
                tools = arguments.get("tools")
                self.here.header(system=text(arguments.get("content")), tools=compact(tools) if tools else "")
            case "message", "user":
                content = with_images(arguments.get("content"), arguments.get("image_urls"))
                self.here.prompt(time, content, _key(event))
            case "condensation", _:
                self._condensation(time, arguments)
            case str(kind), _ if kind in SILENT:
                self.here.other(time, kind)
            case str(kind), "agent":
                self._action(time, event, kind, arguments)
            case kind, source:
                self.here.note(f"an action {compact(kind)} of {compact(source)} is not known")

    def _action(self, time: int, event: Object, kind: str, args: Object) -> None:
        """A call of the answer with this response id: the answer is written once, each call when it runs."""
        metadata = obj(event.get("tool_call_metadata"))
        response = obj(metadata.get("model_response"))
        message = obj(obj(next(iter(array(response.get("choices"))), None)).get("message"))
        response_id = text(response.get("id")) or f"event-{compact(event.get('id'))}"
        call_id = text(metadata.get("tool_call_id")) or f"event-{compact(event.get('id'))}"
        if response_id != self.response:
            self.response = response_id
            model = text(response.get("model"))
            if model:
                self.here.context(model=model)
            self.here.request(time)
            content = _answer(message) if message else _action_text(kind, args, call_id)
            self.here.answer(time, content, usage=openai_usage(response.get("usage")), model=model, key=_key(event))
        if kind == "message" and not metadata:
            return
        asked = next((call for call in tool_uses(message.get("tool_calls")) if call.id == call_id), None)
        name = asked.name if asked else text(metadata.get("function_name")) or kind
        self.here.call(time, call_id, name, asked.arguments if asked else compact(args))
        self.calls[compact(event.get("id"))] = call_id
        if kind == "delegate":
            self.above.append((self.here, self.name, call_id))
            self.here, self.name = Journal(), f"{self.name}:{call_id}"

    def _observation(self, time: int, event: Object) -> None:
        kind = event["observation"]
        if kind == "delegate" and self.above:
            self._leave()
        if kind == "recall":
            known = _recalled(obj(event.get("extras")))
            if known:
                self.here.user(time, known, "recall", _key(event))
            return
        call_id = text(obj(event.get("tool_call_metadata")).get("tool_call_id")) or None
        if call_id is None and event.get("cause") is not None:
            call_id = self.calls.get(compact(event["cause"]))
        failed = kind == "error" or event.get("success") is False
        if call_id is not None:
            content = (*result_blocks(event.get("content")), *_images(obj(event.get("extras"))))
            self.here.result(time, call_id, content, is_error=failed, key=_key(event))
        elif kind == "error":
            self.here.request(time)
            self.here.end_step(time)
            self.here.note("a model call failed; its answer is not in the log, only the error that followed")
            self.here.user(time, result_blocks(event.get("content")), "error", _key(event))
        elif isinstance(kind, str) and kind in SILENT:
            self.here.other(time, kind)
        else:
            self.here.note(f"an observation {compact(kind)} answers no call")
            self.here.result(time, "", result_blocks(event.get("content")), is_error=failed, key=_key(event))

    def _condensation(self, time: int, args: Object) -> None:
        """Only the newest summary is ever shown."""
        ids = set(map(compact, array(args.get("forgotten_event_ids"))))
        first, last = args.get("forgotten_events_start_id"), args.get("forgotten_events_end_id")
        summary = text(args.get("summary"))

        def gone(node: Any) -> bool:
            if node.key == "summary":
                return bool(summary)
            within = isinstance(first, int) and isinstance(last, int) and isinstance(node.key, int)
            return compact(node.key) in ids or (within and first <= node.key <= last)

        self.here.end_step(time)
        forget(self.here, time, gone, summary, "summary")


def _key(event: Object) -> Hashable:
    """What the event is called: a number, as a rule."""
    named = event.get("id")
    return named if isinstance(named, int | str | None) else compact(named)


def _answer(message: Object) -> tuple[Block, ...]:
    return (*with_images(message.get("content"), None), *tool_uses(message.get("tool_calls")))


def _action_text(kind: str, args: Object, call_id: str) -> tuple[Block, ...]:
    """An answer of which the log has no response: the thought, and the action as the call it came to."""
    if kind == "message":
        return with_images(args.get("content"), args.get("image_urls"))
    thought = text(args.get("thought"))
    rest = {key: value for key, value in args.items() if key != "thought"}
    return (*((Text(thought),) if thought else ()), ToolUse(call_id, kind, compact(rest)))


def _recalled(extras: Object) -> tuple[Block, ...]:
    """The texts that recalled knowledge puts into the prompt; the sentences around them are the agent's template."""
    said = [text(extras.get("repo_instructions")), text(extras.get("additional_agent_instructions"))]
    said += [text(known.get("content")) for known in objects(extras.get("microagent_knowledge"))]
    return tuple(Text(each) for each in said if each)


def _images(extras: Object) -> tuple[Block, ...]:
    shot = text(extras.get("screenshot"))
    urls = array(extras.get("image_urls")) or ([shot] if shot else [])
    return tuple(Opaque(compact({"type": "image_url", "url": url})) for url in urls)


FORMAT = Format(
    "openhands",
    "OpenHands (V0 evaluation output or trajectory, V1 conversation)",
    frozenset({"usage", "cache", "reasoning", "errors", "compaction", "times"}),
    detect,
    read,
)
