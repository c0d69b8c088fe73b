"""The laws of the outgoing copy, and a check of them for any shaping, profile and surface policy.

A shaper is what a host would send: a function of reducer and view. The laws look at nothing but what it sends at each
request of a session, so that they judge a host's own code as they judge `refold.reducer.wire.shape`.
"""

import json
import random
from collections import Counter
from collections.abc import Callable, Iterable
from types import MappingProxyType

import hypothesis
from hypothesis import HealthCheck, Phase
from hypothesis import strategies as st
from msgspec import Struct, structs

from refold.events import AssistantMessage, Block, Event, Opaque, Overflow, Reasoning, Text, ToolResult, ToolUse
from refold.laws.case import LawBroken
from refold.laws.checking import Report
from refold.laws.live import play
from refold.laws.script import Script
from refold.laws.sessions import scripts
from refold.prompt import prompt_bytes
from refold.reducer import Dsh, Message, Policy, Reducer, View
from refold.reducer.presets import none
from refold.reducer.wire import NONE, STUB, Profile, Shaping, is_bound, is_signed, is_subsequence, shape

Shaper = Callable[[Reducer, View], tuple[Message, ...]]

SESSIONS = 20
THOUGHT = "".join(f"Line {number}: what if the cause lies in module {number}?\n" for number in range(12))
ARGUMENTS = json.dumps({"path": "a.txt", "content": "漢字 and text\n" * 20, "lines": [1, "short"]}, ensure_ascii=False)
DRESSES: tuple[tuple[Block, ...], ...] = (
    (Reasoning(THOUGHT),),
    (Reasoning(THOUGHT, "signature"),),
    (),
    (Reasoning("hm"),),
    (Reasoning("", "signature"), Opaque('{"type":"redacted_thinking","data":"xyz"}')),
    (Reasoning(THOUGHT[:100], "signature"), Text("So be it. " * 9), Reasoning(THOUGHT[100:], "signature")),
    (Reasoning("one\n" * 40), Reasoning("😀漢\n" * 40)),
)


class Request(Struct, frozen=True):
    """One request: what the model would be sent without shaping, what it is sent, and the seq of its answer, if any.

    `was` and `shown` are the same as bytes, message by message.
    """

    plain: tuple[Message, ...]
    sent: tuple[Message, ...]
    was: tuple[bytes, ...]
    shown: tuple[bytes, ...]
    answer: int | None


def dressed(events: Iterable[Event], first: int = 0) -> tuple[Event, ...]:
    """A session whose model reasons, signed or not, and writes long arguments; `first` picks what it begins with."""
    told, number = [], first
    for event in events:
        if isinstance(event, AssistantMessage) and event.replaces is None:
            arguments = ("{}", ARGUMENTS, "*** no JSON", ARGUMENTS)[number % 4]
            said = tuple(
                structs.replace(block, arguments=arguments) if isinstance(block, ToolUse) else block
                for block in event.content
            )
            event = structs.replace(event, content=(*DRESSES[number % len(DRESSES)], *said))
            number += 1
        told.append(event)
    return tuple(told)


def requests(reducer: Reducer, events: Iterable[Event], shaper: Shaper) -> tuple[Request, ...]:
    """The requests of a log: what stood just before each answer, and before each refusal as too long."""
    view, found = reducer.start(), []
    texts: dict[Message, bytes] = {}

    def bytes_of(messages: tuple[Message, ...]) -> tuple[bytes, ...]:
        for message in messages:
            if message not in texts:
                texts[message] = _text(message)
        return tuple(texts[message] for message in messages)

    for event in events:
        answered = isinstance(event, AssistantMessage) and event.replaces is None
        if answered or isinstance(event, Overflow):
            plain, sent = reducer.messages(view), shaper(reducer, view)
            found.append(Request(plain, sent, bytes_of(plain), bytes_of(sent), event.seq if answered else None))
        view = reducer.fold(view, event)
    return tuple(found)


def signed(made: tuple[Request, ...]) -> None:
    """A signed block is sent as it stands or not at all, and nothing is sent that it was made into."""
    for request in made:
        plain = {message.seq: message.content for message in request.plain}
        for message in request.sent:
            before = plain.get(message.seq, ())
            for block in message.content:
                if is_signed(block) and block not in before:
                    raise LawBroken("signed", f"message {message.seq} holds a signed block that was never written")
            foreign = sum(isinstance(block, Reasoning) and block not in before for block in message.content)
            unsigned = [block for block in before if isinstance(block, Reasoning) and not is_signed(block)]
            if foreign > sum(block not in message.content for block in unsigned):
                raise LawBroken("signed", f"message {message.seq} holds what a signed block was made into")


def bound(made: tuple[Request, ...]) -> None:
    """A bound block is sent only behind the very prefix that its answer was written behind."""
    asked = {request.answer: [_text(message) for message in request.sent] for request in made}
    for request in made:
        prefix: list[bytes] = []
        for message in request.sent:
            if message.seq in asked and any(map(is_bound, message.content)):
                if prefix != asked[message.seq]:
                    raise LawBroken("bound", f"reasoning in message {message.seq} stands behind an edit")
                _nothing_before_changed(request, message)
            prefix.append(_text(message))


def _nothing_before_changed(request: Request, message: Message) -> None:
    (original,) = (plain for plain in request.plain if plain.seq == message.seq)
    last = max(place for place, block in enumerate(message.content) if is_bound(block))
    if message.content[: last + 1] != original.content[: last + 1]:
        raise LawBroken("bound", f"reasoning in message {message.seq} stands behind an edit in its own message")


def no_echo(made: tuple[Request, ...]) -> None:
    """In the model's own voice what is sent is made of what it wrote by deleting alone; a stub is one character."""
    for request in made:
        plain = {message.seq: message.content for message in request.plain}
        for message in request.sent:
            if isinstance(message, AssistantMessage):
                for block in message.content:
                    _only_deleted(message.seq, block, plain.get(message.seq, ()))


def _only_deleted(seq: int, block: Block, before: tuple[Block, ...]) -> None:
    if isinstance(block, ToolUse | Opaque) or block in before or (isinstance(block, Reasoning) and block.text == STUB):
        return
    alike = (old.text for old in before if isinstance(old, Text | Reasoning) and type(old) is type(block))
    if not any(is_subsequence(block.text, text) for text in alike):
        raise LawBroken("no echo", f"message {seq} says in the model's own voice what the model did not write")


def steady(made: tuple[Request, ...]) -> None:
    """Each block changes once, from whole to shaped, and a message goes once: no form that was left comes back."""
    now: dict[tuple[int, bytes], bytes] = {}
    left: dict[tuple[int, bytes], set[bytes]] = {}
    for request in made:
        sent = dict(zip((message.seq for message in request.sent), request.shown, strict=True))
        for message, was in zip(request.plain, request.was, strict=True):
            key = message.seq, was
            shown = sent.get(message.seq, b"")
            before = now.get(key, key[1])
            if shown != before:
                left.setdefault(key, set()).add(before)
                if shown in left[key] or (shown and len(left[key]) > len(message.content)):
                    raise LawBroken("steady", f"message {message.seq} changed from shaped to something else")
            now[key] = shown


def paired(made: tuple[Request, ...]) -> None:
    """Calls and results stay paired and in order, and arguments that were JSON still are."""
    for request in made:
        kept = {message.seq for message in request.sent}
        plain = [message for message in request.plain if message.seq in kept]
        if [message.seq for message in plain] != [message.seq for message in request.sent]:
            raise LawBroken("paired", "messages are sent in another order, or ones that the view does not hold")
        answers = {(old.turn, old.step): old.seq for old in request.plain if isinstance(old, AssistantMessage)}
        for old, new in zip(plain, request.sent, strict=True):
            if [(call.id, call.name) for call in _calls(old)] != [(call.id, call.name) for call in _calls(new)]:
                raise LawBroken("paired", f"message {old.seq} lost a call, its id or its name")
            if any(_is_json(one) and not _is_json(other) for one, other in zip(_calls(old), _calls(new), strict=True)):
                raise LawBroken("paired", f"message {old.seq} has arguments that are JSON no more")
            if isinstance(old, ToolResult):
                if structs.replace(new, content=old.content) != old:
                    raise LawBroken("paired", f"result {old.seq} lost its id, its error flag or its metadata")
                if answers.get((old.turn, old.step), old.seq) not in {*kept, old.seq}:
                    raise LawBroken("paired", f"result {old.seq} is sent without its call")


def untouched(made: tuple[Request, ...]) -> None:
    """A message that is sent as it stands is the same object, and so is each of its blocks that is."""
    for request in made:
        plain = {message.seq: message for message in request.plain}
        for message in request.sent:
            old = plain.get(message.seq)
            if old is None or old is message:
                continue
            if old == message:
                raise LawBroken("untouched", f"message {message.seq} is another object with the same content")
            for block in message.content:
                if block in old.content and not any(block is each for each in old.content):
                    raise LawBroken("untouched", f"message {message.seq} holds another object for an untouched block")


def _calls(message: Message) -> list[ToolUse]:
    return [block for block in message.content if isinstance(block, ToolUse)]


def _is_json(call: ToolUse) -> bool:
    try:
        json.loads(call.arguments)
    except ValueError:
        return False
    return True


def _text(message: Message) -> bytes:
    proofs = (block.signature.encode() for block in message.content if isinstance(block, Reasoning))
    return prompt_bytes((message,)) + b"".join(proofs)


WIRE_LAWS: MappingProxyType[str, Callable[[tuple[Request, ...]], None]] = MappingProxyType(
    {
        "signed": signed,
        "bound": bound,
        "no echo": no_echo,
        "steady": steady,
        "paired": paired,
        "untouched": untouched,
    }
)
"""Each law of the wire by its name; `bound` is asked where the profile binds reasoning to its prefix."""


def check_wire(
    shaping: Shaping | Shaper,
    profile: Profile = NONE,
    policy: Policy | None = None,
    *,
    sessions: int = SESSIONS,
    seed: int | None = None,
) -> Report:
    """Check a shaping, or a host's own shaper, on generated sessions with reasoning, beside a surface policy.

    Each session is read as its log stands (`commit`, the policy's cuts in it) and as one whose cuts follow from it
    (`derive`). Nothing is raised for a broken law: ask the report. Its counts say in how many of the sessions
    something was shaped, a signed block was sent, and a bound block was missing.
    """
    surface = policy or none()
    seed = random.SystemRandom().randrange(2**32) if seed is None else seed
    shaper = shaping if not isinstance(shaping, Shaping) else _of(shaping, profile)
    laws = {law: "ok" for law in WIRE_LAWS if law != "bound" or profile.bound != "no"}
    counts: Counter[str] = Counter(dict.fromkeys(("an entry shaped", "a signed block sent", "a bound block gone"), 0))

    def look(script: Script, first: int) -> None:
        came_up: set[str] = set()
        for mode in ("commit", "derive"):
            reducer = Reducer(surface, Dsh(4), mode)
            run = play(script, Reducer(surface if mode == "commit" else none(), Dsh(script.version)))
            made = requests(reducer, dressed(run.events, first), shaper)
            came_up |= _came_up(made)
            for law in laws:
                try:
                    WIRE_LAWS[law](made)
                except LawBroken as broken:
                    laws[law] = f"failed: {law}: {broken.reason}; in the session {script!r}"
        counts.update(came_up)

    settings = hypothesis.settings(
        max_examples=sessions,
        phases=(Phase.generate,),
        database=None,
        deadline=None,
        suppress_health_check=list(HealthCheck),
    )
    given = hypothesis.given(scripts(surface), st.integers(0, len(DRESSES) - 1))
    hypothesis.seed(seed)(settings(given(look)))()
    return Report(f"{surface.name} on the wire, {profile.name}", seed, sessions, laws, dict(counts))


def _of(shaping: Shaping, profile: Profile) -> Shaper:
    return lambda reducer, view: shape(reducer, view, shaping, profile).messages


def _came_up(made: tuple[Request, ...]) -> set[str]:
    found: set[str] = set()
    for request in made:
        sent = [block for message in request.sent for block in message.content]
        plain = [block for message in request.plain for block in message.content]
        if request.sent != request.plain:
            found.add("an entry shaped")
        if any(map(is_signed, sent)):
            found.add("a signed block sent")
        if sum(map(is_bound, sent)) < sum(map(is_bound, plain)):
            found.add("a bound block gone")
    return found
