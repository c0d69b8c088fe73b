"""Inspect (inspect_ai) eval logs, as JSON or as `.eval` archives: each sample is a session.

A step is one `model` event, which holds the whole prompt: what the next one adds,
drops or clears is read from the difference. Calls on another conversation (a sub-agent's, a grader's) are sessions of
their own. Long texts stand in `attachments` (older logs: `transcript.content`) and are put back.
"""

from typing import Any

import msgspec

from refold.events._blocks import Block, Opaque, Reasoning, Text, ToolUse
from refold.events._errors import FormatError
from refold.events._events import Usage
from refold.events.formats._conversation import Conversation, Conversations, Request
from refold.events.formats._fields import (
    Object,
    arguments,
    array,
    compact,
    millis,
    number,
    obj,
    objects,
    text,
    tokens,
    usage,
)
from refold.events.formats._inspect_archive import ZIP, members, samples
from refold.events.formats._messages import Message
from refold.events.formats._source import Format, Session, Source, decode_json

REFERENCES = ("attachment://", "tc://")
DEPTH = 6  # below a message, references stand no deeper than in an image part or a call's arguments


def detect(source: Source) -> bool:
    if source.start.startswith(ZIP):
        return bool(members(source.data))
    if not source.start.startswith(b"{"):
        return False
    try:
        return _is_log(source.document())
    except FormatError:
        return False


def _is_log(document: Any) -> bool:
    evaluation = obj(obj(document).get("eval"))
    return "task" in evaluation and "model" in evaluation and "version" in obj(document)


def read(source: Source) -> tuple[Session, ...]:
    """The samples' sessions in order, each followed by those it started. Raises FormatError where there is none."""
    if source.start.startswith(ZIP) and members(source.data):
        found = [decode_json(data, f"{source.name}: {name}") for name, data in samples(source.data, source.name)]
    else:
        document = source.document()
        if not _is_log(document):
            raise FormatError(f"{source.name}: no Inspect log: no version and no eval with task and model")
        found = array(document.get("samples"))
    if not found:
        raise FormatError(f"{source.name}: an Inspect log without samples: there is no session to read")
    return tuple(session for sample in found for session in _sample(obj(sample)))


def _sample(sample: Object) -> tuple[Session, ...]:
    name = text(sample.get("uuid")) or f"{compact(sample.get('id')).strip(chr(34))}-epoch-{number(sample.get('epoch'))}"
    transcript = obj(sample.get("transcript"))
    events = _flat(sample.get("events") or transcript.get("events"))
    table = obj(sample.get("attachments")) or obj(transcript.get("content"))
    talks = Conversations(name)
    spans: dict[str, Object] = {}
    homes: dict[str, list[str]] = {}  # where the first call of each conversation was made
    for event, inside in events:
        if event.get("event") == "span_begin":
            spans[text(event.get("id"))] = event
        if event.get("event") == "model" and event.get("pending") is not True:
            talk = _model(talks, event, table)
            homes.setdefault(talk.name, [*_ancestors(event, spans), *inside])
    if not talks.all:
        return (_messages_alone(sample, table, name),)
    main, *others = talks.sessions()
    return (main, *(_child(session, main, homes) for session in others))


def _flat(events: Any) -> list[tuple[Object, tuple[str, ...]]]:
    """Every event, and the tools or subtasks that older logs nest it in."""
    found: list[tuple[Object, tuple[str, ...]]] = []
    waiting: list[tuple[Object, tuple[str, ...]]] = [(event, ()) for event in reversed(objects(events))]
    while waiting:
        event, inside = waiting.pop()
        found.append((event, inside))
        deeper = (*inside, text(event.get("id")) or "subtask")
        waiting += [(nested, deeper) for nested in reversed(objects(event.get("events")))]
    return found


def _ancestors(event: Object, spans: dict[str, Object]) -> list[str]:
    """The spans an event stands in that a tool or an agent opened, from within."""
    found: list[str] = []
    at, seen = text(event.get("span_id")), set[str]()
    while at in spans and at not in seen:
        seen.add(at)
        if spans[at].get("type") in ("tool", "agent"):
            found.append(at)
        at = text(spans[at].get("parent_id"))
    return found


def _child(session: Session, main: Session, homes: dict[str, list[str]]) -> Session:
    """A conversation that began in a tool or agent within the main one was started by it; a grader's was not."""
    inner = [home for home in homes.get(session.id, []) if home not in homes.get(main.id, [])]
    return msgspec.structs.replace(session, parent=main.id) if inner else session


def _model(talks: Conversations, event: Object, table: Object) -> Conversation:
    provider, _, model = text(event.get("model")).rpartition("/")
    config = obj(event.get("config"))
    tools = array(event.get("tools"))
    time, done = millis(event.get("timestamp")), millis(event.get("completed"))
    talk = talks.ask(
        Request(
            messages=[_message(message, table) for message in objects(event.get("input"))],
            tools=compact(_resolved(tools, table, DEPTH)) if tools else "",
            config=compact({key: config[key] for key in sorted(config)}) if config else "",
            provider=provider,
            model=model,
            time=time,
        )
    )
    if not isinstance(event.get("input"), list) or ("input_refs" in event and not event["input"]):
        talk.journal.damaged("a model event does not hold its prompt; what it sent is not known")
    output = obj(event.get("output"))
    choice = obj(next(iter(array(output.get("choices"))), None))
    if not choice:
        talk.refuse(done or time, overflow=False)
        talk.journal.note("a model call failed and has no answer")
        return talk
    answer = _message(obj(choice.get("message")), table)
    cut = choice.get("stop_reason") in ("max_tokens", "model_length")
    talks.answered(
        talk,
        msgspec.structs.replace(
            answer,
            role="assistant",
            usage=None if event.get("cache") == "read" else _usage(output.get("usage")),
            model=model,
            stop="max-tokens" if cut else "",
            time=done or time,
        ),
    )
    return talk


def _messages_alone(sample: Object, table: Object, name: str) -> Session:
    """A log that kept no events: the messages as they ended, without usage and times."""
    talk = Conversation(name)
    talk.ask(Request(messages=[_message(message, table) for message in objects(sample.get("messages"))]))
    talk.settle()
    talk.journal.note("the log kept no events: usage, times and resets are not known")
    return talk.session()


def _message(message: Object, table: Object) -> Message:
    content = _blocks(_resolved(message.get("content"), table, DEPTH))
    match message.get("role"):
        case "assistant":
            calls = tuple(
                ToolUse(text(call.get("id")), text(call.get("function")), arguments(call.get("arguments")))
                for call in objects(_resolved(message.get("tool_calls"), table, DEPTH))
            )
            return Message(role="assistant", content=(*content, *calls))
        case "tool":
            error = obj(message.get("error"))
            said = text(_resolved(error.get("message"), table, 1))
            return Message(
                role="tool",
                content=(Text(said),) if said else content or (Text(""),),
                call_id=text(message.get("tool_call_id")),
                name=text(message.get("function")),
                is_error=bool(error),
            )
        case "system":
            return Message(role="system", content=content)
        case _:
            asked = message.get("source") == "input"
            return Message(role="user", content=content, prompt=asked, source="user" if asked else "inspect")


def _blocks(content: Any) -> tuple[Block, ...]:
    if isinstance(content, str):
        return (Text(content),) if content else ()
    found: list[Block] = []
    for part in objects(content):
        match part.get("type"):
            case "text":
                found.append(Text(text(part.get("text"))))
            case "reasoning" if part.get("redacted") is not True:
                found.append(Reasoning(text(part.get("reasoning")), text(part.get("signature"))))
            case _:
                found.append(Opaque(compact(part)))
    return tuple(found)


def _resolved(value: Any, table: Object, depth: int) -> Any:
    """The value with the texts that its references stand for."""
    if isinstance(value, str):
        prefix = next((each for each in REFERENCES if value.startswith(each)), None)
        return table.get(value.removeprefix(prefix), value) if prefix else value
    if depth and isinstance(value, list):
        return [_resolved(each, table, depth - 1) for each in value]
    if depth and isinstance(value, dict):
        return {key: _resolved(each, table, depth - 1) for key, each in value.items()}
    return value


def _usage(report: Any) -> Usage | None:
    """Some versions count cached tokens within `input_tokens`, later ones beside it: the total tells which."""
    counts = obj(report)
    fresh, output = tokens(counts.get("input_tokens")), tokens(counts.get("output_tokens"))
    read, write = tokens(counts.get("input_tokens_cache_read")), tokens(counts.get("input_tokens_cache_write"))
    total = tokens(counts.get("total_tokens"))
    within = total == fresh + output if total else read + write <= fresh
    return usage(fresh - read - write if within and read + write <= fresh else fresh, output, read, write)


FORMAT = Format(
    "inspect_ai",
    "Inspect eval log (.json, .eval)",
    frozenset({"usage", "cache", "reasoning", "errors", "compaction", "times"}),
    detect,
    read,
)
