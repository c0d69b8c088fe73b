"""A trace told as sessions: a step is a model span, a result a tool span or what the next prompt says it was.

Not every instrumentation puts the whole prompt into the span. Where it holds only what is new, or nothing that can be
read, the call goes on from the answer before it, and results come from the tool spans between the two.
"""

from collections.abc import Sequence

import msgspec

from refold.events._blocks import Text, ToolUse
from refold.events._errors import FormatError
from refold.events.formats import _trace_messages as said
from refold.events.formats._conversation import Conversation, Conversations, Request
from refold.events.formats._fields import arguments, compact, obj, text
from refold.events.formats._messages import Message, calls_of, canonical, text_of
from refold.events.formats._source import Session
from refold.events.formats._spans import Span, loose, up

_STOPS = ("length", "max_tokens", "MAX_TOKENS")


def sessions(spans: Sequence[Span], name: str) -> tuple[Session, ...]:
    """The sessions of a trace, in the order of their first call. Raises FormatError where no span is a model call."""
    trace = _Trace(spans, name)
    for span in spans:
        if span.kind == "model":
            trace.call(span)
        elif span.kind == "tool":
            trace.tool(span)
    if not trace.told.all:
        raise FormatError(f"{name}: a trace without a model call whose messages are in it")
    return trace.sessions()


class _Trace:
    def __init__(self, spans: Sequence[Span], name: str) -> None:
        self.spans = {span.id: span for span in spans}
        self.told = Conversations(next((span.trace for span in spans if span.trace), name))
        self.tools = {_tool_name(span) for span in spans if span.kind == "tool"} - {"", "user", "system", "assistant"}
        self.answers: dict[str, tuple[Message, Conversation]] = {}
        self.asked: dict[tuple[str, str], list[tuple[ToolUse, Message, Conversation]]] = {}  # by name and arguments
        self.ran: set[str] = set()  # ids of calls that a tool span has answered
        self.waiting: dict[str, dict[str, Message]] = {}  # by conversation and span
        self.by_id: dict[str, dict[str, Message]] = {}  # the waiting results again, as a prompt may name them:
        self.by_text: dict[str, dict[str, Message]] = {}  # by their call's id, or by their text alone
        self.systems: dict[str, str | None] = {}
        self.owners: dict[str, Conversation] = {}
        self.last: dict[str, str] = {}

    def call(self, span: Span) -> None:
        """One model call. It belongs to the answer it names, to the list it repeats, or to the call before it."""
        native = said.prompt(span)
        messages = self._grouped(said.read(native, self.tools))
        earlier = text(span.attributes.get("gen_ai.conversation.id"))
        follows = earlier if self.told.named(earlier) else ""
        if not follows and not any(message.role == "user" for message in messages):
            follows = self.last.get(span.parent, "")
            if not messages and not follows and not said.answer(span):
                return
        around = up(self.spans, span)
        tools = said.tools(span, native)
        request = Request(
            messages=messages,
            system=next(filter(None, map(self._system, (span, *around))), None),
            tools=compact(tools) if tools else "",
            config=_config(span),
            provider=text(span.attributes.get("gen_ai.provider.name")) or text(span.attributes.get("gen_ai.system")),
            model=text(span.attributes.get("gen_ai.request.model")) or span.model,
            follows=follows,
            time=span.start,
        )
        if any(message.role == "system" for message in messages[:1]):
            request = msgspec.structs.replace(request, system=None)
        conversation = self.told.named(follows)
        if conversation is not None:
            known = {message.call_id for message in messages if message.role == "tool"}
            held = [message for message in self._results(conversation) if message.call_id not in known]
            system = request.system or conversation.system
            request = msgspec.structs.replace(request, messages=[*held, *messages], system=system)
        found = self.told.ask(request)
        self._adopt(found, around)
        if not native:
            found.journal.note("a span does not tell its prompt: it is put together from the spans before it")
        self._answer(span, found, request)

    def _answer(self, span: Span, found: Conversation, request: Request) -> None:
        heard = [message for message in said.read(said.answer(span), self.tools) if message.role == "assistant"]
        if span.failed and not heard:
            found.refuse(span.end, overflow=False)
            return
        content = tuple(block for message in heard for block in message.content)
        reasons = loose(span.attributes.get("gen_ai.response.finish_reasons"))
        cut = isinstance(reasons, list) and any(reason in _STOPS for reason in reasons)
        answer = Message(
            role="assistant",
            content=content,
            usage=said.usage_of(span),
            model=request.model,
            stop="max-tokens" if cut else "",
            time=span.end,
        )
        self.told.answered(found, answer, text(span.attributes.get("gen_ai.response.id")), span.id)
        self.last[span.parent] = span.id
        for call in calls_of(content):
            self.answers[call.id] = (answer, found)
            self.asked.setdefault((call.name, _same(call.arguments)), []).append((call, answer, found))

    def tool(self, span: Span) -> None:
        """A tool ran: its result waits for the call that sends it. It belongs to the call whose id it names."""
        call_id = text(span.attributes.get("gen_ai.tool.call.id"))
        owner = self.answers.get(call_id)
        call: ToolUse | None = None
        if owner is None:
            call, owner = self._asked_alike(span)
        if owner is None:
            return
        shown = _result_of(span)
        if shown is None:
            return
        name = _tool_name(span)
        result = Message(
            role="tool",
            content=(Text(shown),),
            call_id=call.id if call else call_id,
            name=name,
            is_error=span.failed,
            time=span.end,
        )
        self.owners[span.id] = owner[1]
        self.ran.add(result.call_id)
        keys = ((owner[1].name, self.waiting), (result.call_id, self.by_id), (shown, self.by_text))
        for named, waiting in keys:
            waiting.setdefault(named, {})[span.id] = result
        if call is not None:
            owner[1].journal.note("a tool span names no call: it is joined by the tool's name and arguments")

    def _asked_alike(self, span: Span) -> tuple[ToolUse | None, tuple[Message, Conversation] | None]:
        """The newest call with the name and arguments of a tool's span that no other span has answered."""
        asked = self.asked.get((_tool_name(span), _same(_arguments_of(span))), [])
        while asked:
            call, answer, found = asked.pop()
            if call.id not in self.ran:
                return call, (answer, found)
        return None, None

    def _system(self, span: Span) -> str | None:
        if span.id not in self.systems:
            self.systems[span.id] = said.system(span)
        return self.systems[span.id]

    def _results(self, found: Conversation) -> list[Message]:
        """Results that have come and that no prompt has sent yet."""
        results = self.waiting.pop(found.name, {})
        for span, result in results.items():
            self.by_id[result.call_id].pop(span, None)
            self.by_text[text_of(result.content)].pop(span, None)
        return [result for result in results.values() if result.call_id not in found.results]

    def _grouped(self, messages: list[Message]) -> list[Message]:
        """Calls that were one answer, and that a prompt tells one by one, each with its result, as that one answer.

        A result without an id gets that of the tool span that gave the same text; marks of failure come from there.
        """
        found: list[Message] = []
        told: set[tuple[str, ...]] = set()
        for message in messages:
            if message.role == "tool":
                alike = self.by_id.get(message.call_id)
                if not alike and not message.call_id:
                    alike = self.by_text.get(text_of(message.content))
                ran = next(iter((alike or {}).values()), None)
                if ran is not None:
                    message = msgspec.structs.replace(message, call_id=ran.call_id, is_error=ran.is_error)
                found.append(message)
                continue
            calls = calls_of(message.content)
            whole = self.answers[calls[0].id][0] if calls and calls[0].id in self.answers else None
            ids = () if whole is None else tuple(call.id for call in calls_of(whole.content))
            if whole is None or {call.id for call in calls} == set(ids):
                found.append(message)
            elif ids not in told:
                told.add(ids)
                found.append(msgspec.structs.replace(whole, usage=None, time=0))
        return found

    def _adopt(self, found: Conversation, around: Sequence[Span]) -> None:
        """A session inside a tool's span was spawned by the session that called the tool."""
        if found.parent is None:
            owners = (self.owners[each.id] for each in around if each.id in self.owners)
            found.parent = next((owner.name for owner in owners if owner is not found), None)

    def sessions(self) -> tuple[Session, ...]:
        for found in self.told.all:
            left = self._results(found)
            if left:
                found.settle()
                found.ask(Request(messages=left, follows="last answer"))
        return self.told.sessions()


def _same(arguments: str) -> str:
    """Arguments as two spellings of them agree."""
    return canonical(arguments) or "{}"


def _tool_name(span: Span) -> str:
    return text(span.attributes.get("gen_ai.tool.name")) or text(span.attributes.get("tool.name")) or span.name


def _arguments_of(span: Span) -> str:
    names = ("gen_ai.tool.call.arguments", "tool_arguments", "gcp.vertex.agent.tool_call_args", "input.value")
    told = next((span.attributes[name] for name in names if name in span.attributes), span.input)
    inner = loose(told)
    if isinstance(inner, dict) and set(inner) == {"input"} and isinstance(inner["input"], dict):
        inner = inner["input"]
    return arguments(inner)


def _result_of(span: Span) -> str | None:
    """What the tool gave back as a text, None where the span does not tell."""
    names = ("gen_ai.tool.call.result", "tool_response", "gcp.vertex.agent.tool_response", "output.value")
    told = next((span.attributes[name] for name in names if name in span.attributes), span.output)
    told = loose(told)
    blocks = obj(told).get("content")
    if isinstance(blocks, list) and blocks and all(obj(each).get("type") == "text" for each in blocks):
        return "".join(text(obj(each).get("text")) for each in blocks)
    if told is None:
        return None
    return told if isinstance(told, str) else compact(told)


def _config(span: Span) -> str:
    prefix = "gen_ai.request."
    asked = {name.removeprefix(prefix): value for name, value in span.attributes.items() if name.startswith(prefix)}
    asked.pop("model", None)
    return compact({name: asked[name] for name in sorted(asked)}) if asked else ""
