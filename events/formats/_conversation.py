"""Lists that grow from request to request, told as one session.

A message list is a snapshot: each request sends everything again. A conversation knows what the last list held, finds
what a new one adds, drops or rewrites, and writes that down: an added message as an event, a shorter list as a rewind,
a summary as one user message in the place of a range, a result sent with other content as its replacement.
"""

from collections.abc import Hashable, Sequence

import msgspec

from refold.events._events import Overflow
from refold.events.formats._journal import Journal
from refold.events.formats._messages import Message, Path, label, same_content, text_of
from refold.events.formats._source import Session


class Request(msgspec.Struct, kw_only=True):
    """What one model call sends. `messages` is the whole list, or what is new since the answer `follows` names."""

    messages: Sequence[Message]
    system: str | None = None
    tools: str = ""
    config: str = ""
    provider: str = ""
    model: str = ""
    context_window: int | None = None
    follows: str = ""
    time: int = 0


class Conversation:
    """One session. A request waits until its answer comes, or a later list shows what the answer was."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.parent: str | None = None
        self.system: str | None = None
        self.journal = Journal()
        self.origins: dict[int, Path] = {}
        self.said: list[Message] = []
        self.labels: list[Hashable] = []
        self.results: set[str] = set()  # ids of the calls whose results have been told
        self._pending: Request | None = None
        self._time = 0
        self._stop = ""
        self._complaints: set[str] = set()
        self._in_loop = False  # results have come that the model has not answered: what a user says opens no turn

    def ask(self, request: Request) -> None:
        """The next request. One that has got no answer is told now, unless this one holds all of it."""
        if self._pending is not None and not _begins_with(request, self._pending):
            self._tell(self._pending)
        self._pending = request

    def answer(self, message: Message) -> None:
        """What the model said to the pending request."""
        self.settle()
        self._say(message)

    def refuse(self, time: int, *, overflow: bool) -> None:
        """The provider refused the pending request; `overflow`: because it was too long."""
        self.settle()
        self.journal.request(max(self._time, time))
        if overflow:
            self.journal.add(Overflow, time, turn=self.journal.turn, step=self.journal.step)
        self.journal.end_step(time)

    def settle(self) -> None:
        """Tell the pending request, whose answer is not known yet."""
        if self._pending is not None:
            request, self._pending = self._pending, None
            self._tell(request)

    def continued_by(self, messages: Sequence[Message], labels: list[Hashable]) -> bool:
        """Is this list a later one of this conversation? One that begins alike and goes another way is not."""
        known = self.labels
        if self._pending is not None and not self._pending.follows:
            known = [label(message) for message in split_system(self._pending.messages)[1]]
        if any(message.resets and mark == known[0] for message, mark in zip(messages, labels, strict=True) if known):
            return True
        common = _common_head(labels, known)
        if common and not any(message.role == "assistant" for message in messages[common:]):
            return True
        tail, end = _common_tail(known, labels, common)
        kept = [message.role for message in messages[end - tail : end]]
        return common == len(known) or (tail > (not common) and any(role != "user" for role in kept))

    def complain(self, text: str) -> None:
        """A part of the source could not be read. Every list that repeats it says so again; once is enough."""
        if text not in self._complaints:
            self._complaints.add(text)
            self.journal.damaged(text)

    def open_step(self) -> None:
        """The pending request is being sent: its step begins."""
        self.settle()
        self.journal.request(self._time)

    def session(self) -> Session:
        self.settle()
        if self._stop:
            self.journal.end_turn(self._time, self._stop)
        return self.journal.session(self.name, self.parent)

    # what a request adds, drops or rewrites

    def _tell(self, request: Request) -> None:
        system, messages = split_system(request.messages)
        told = [text for text in (request.system, system) if text is not None]
        self.system = "\n\n".join(told) if told else None
        self.journal.header(system=self.system, tools=request.tools, config=request.config)
        self.journal.context(provider=request.provider, model=request.model, context_window=request.context_window)
        answered = max((at for at, message in enumerate(messages) if message.role == "assistant"), default=-1)
        dated = [
            msgspec.structs.replace(message, time=request.time) if at > answered and not message.time else message
            for at, message in enumerate(messages)
        ]
        if request.follows:
            for message in dated:
                self._say(message)
        else:
            self._reach(dated)

    def _reach(self, wanted: list[Message]) -> None:
        """Bring the surface to the wanted list. What stands before the last reset that is known is over and done."""
        known = -1
        if self.said and self.said[0].resets:
            same = (at for at, message in enumerate(wanted) if message.resets and label(message) == self.labels[0])
            known = max(same, default=-1)
        reset = next((at for at, message in enumerate(wanted) if message.resets and at > known), len(wanted))
        before = wanted[max(0, known) : reset]
        if reset == len(wanted) or [label(message) for message in before] != self.labels[: len(before)]:
            before = self._match(before)
        for message in (*before, *wanted[reset:]):
            self._say(message)

    def _match(self, wanted: list[Message]) -> list[Message]:
        """Rewrite the surface where it differs from the wanted list; gives what is still to be said."""
        labels, old = [label(message) for message in wanted], len(self.said)
        common = _common_head(labels, self.labels)
        tail, end = _common_tail(self.labels, labels, common)
        dropped, come = old - tail - common, wanted[common : end - tail]
        if common < old and not (tail and self._exchangeable(common, dropped, come)):
            return self._turn_off(common, wanted)
        rest = wanted[end:]
        while rest and rest[0].role == "tool":  # the open step's results, before its end makes room for changes
            self._say(rest.pop(0))
        for at in range(common):
            self._again(at, wanted[at])
        if common < old:
            self._exchange(common, dropped, come)
        for at in range(tail):
            self._again(common + len(come) + at, wanted[end - tail + at])
        return rest

    def _turn_off(self, common: int, wanted: list[Message]) -> list[Message]:
        """Nothing, or nothing that can be told in place, of what followed the common beginning is sent any more."""
        for at in range(common):
            self._again(at, wanted[at])
        self.journal.end_step(self._time)
        summary = common < len(wanted) and wanted[common].role == "user" and self.said[common].role != "user"
        if summary:
            self._put(common, len(self.said), wanted[common], "compaction")
            return wanted[common + 1 :]
        self._rewind(common)
        if any(message.role == "tool" for message in wanted[common:]):
            self.journal.note("a list was changed in its middle: what stands behind the change is read as new")
        return wanted[common:]

    def _exchangeable(self, at: int, dropped: int, come: list[Message]) -> bool:
        """Can events say that `come` stands where `dropped` messages stood? Only a user message replaces a range."""
        if come:
            return len(come) <= dropped and all(message.role == "user" for message in come)
        return dropped > 0 and (self.said[at + dropped].role == "user" or (at > 0 and self.said[at - 1].role == "user"))

    def _exchange(self, at: int, dropped: int, come: list[Message]) -> None:
        """Put what came in the place of what was dropped; a user message beside a hole takes the hole's place too."""
        self.journal.end_step(self._time)
        if not come:
            behind = self.said[at + dropped].role == "user"
            start, end = (at, at + dropped + 1) if behind else (at - 1, at + dropped)
            self._put(start, end, self.said[end - 1 if behind else start], "")
            return
        edited = all(message.role == "user" for message in self.said[at : at + dropped])
        spare = dropped - len(come)
        self._put(at, at + spare + 1, come[0], "" if edited else "compaction")
        for place, message in enumerate(come[1:], at + 1):
            self._put(place, place + 1, message, "")

    def _put(self, start: int, end: int, message: Message, source: str) -> None:
        """One user message takes the place of those from `start` up to `end`."""
        self.journal.replace(self._time, start, end - 1, message.content, source or message.source)
        self.said[start:end] = [message]
        self.labels[start:end] = [label(message)]

    def _rewind(self, keep: int) -> None:
        self.journal.rewind(self._time, keep)
        del self.said[keep:], self.labels[keep:]
        roles = (message.role for message in reversed(self.said) if message.role in ("assistant", "tool"))
        self._in_loop = next(roles, "") == "tool"

    def _again(self, at: int, message: Message) -> None:
        """The message at position `at` is sent again."""
        old, self.said[at] = self.said[at], message
        if not same_content(old, message):
            if message.role == "tool":
                self.journal.end_step(self._time)
                self.journal.clear(self._time, at, message.content)
            else:
                self.said[at] = old
                self.journal.note("an answer is sent again in another form; it is kept as it was first said")
        if message.role == "tool":
            self.origins[self.journal.nodes[at].event.seq] = message.origin

    # what is said

    def _say(self, message: Message) -> None:
        """One message at the end of the list."""
        journal, asked = self.journal, self._time
        at = self._time = max(asked, message.time)
        content = message.content
        if message.resets:
            self._reset(message)
            return
        if message.role == "user":
            if message.prompt and not self._in_loop:
                self._end_turn(at)
                journal.prompt(at, content)
            else:
                journal.user(at, content, message.source)
        elif message.role == "assistant":
            journal.request(asked)
            journal.answer(at, content, usage=message.usage, model=message.model)
            journal.calls(at, content)
            self._stop, self._in_loop = message.stop, False
        elif message.role == "tool":
            journal.settle()
            journal.result(at, message.call_id, content, is_error=message.is_error)
            self.results.add(message.call_id)
            self.origins[journal.nodes[-1].event.seq] = message.origin
            self._in_loop = True
        else:
            journal.developer(at, content)
        self.said.append(message)
        self.labels.append(label(message))

    def _end_turn(self, time: int) -> None:
        if self._stop:
            self.journal.end_turn(time, self._stop)
            self._stop = ""

    def _reset(self, message: Message) -> None:
        """A compaction: the message stands for everything before it. It was a model call of its own where it cost."""
        journal = self.journal
        if message.usage is not None:
            journal.request(self._time)
            journal.answer(self._time, message.content, usage=message.usage, model=message.model)
        journal.end_step(self._time)
        journal.settle()
        if journal.nodes:
            journal.replace(self._time, 0, len(journal.nodes) - 1, message.content, message.source)
        else:
            journal.user(self._time, message.content, message.source)
        self.said, self.labels, self._in_loop = [message], [label(message)], False


class Conversations:
    """The sessions of one source: a request belongs to the one whose messages it sends again."""

    def __init__(self, name: str) -> None:
        self._name = name
        self.all: list[Conversation] = []
        self._answers: dict[str, Conversation] = {}
        self._known: dict[Hashable, Conversation] = {}

    def ask(self, request: Request) -> Conversation:
        """Give the request to its conversation, a new one where none fits."""
        _, messages = split_system(request.messages)
        labels = [label(message) for message in messages]
        found = self._answers.get(request.follows) if request.follows else self._find(messages, labels)
        if found is None:
            number = len(self.all) + 1
            found = Conversation(self._name if number == 1 else f"{self._name}#{number}")
            self.all.append(found)
        for at, (mark, message) in enumerate(zip(labels, messages, strict=True)):
            if at == 0 or message.role != "user" or message.resets:
                self._known[mark] = found
        found.ask(request)
        return found

    def answered(self, found: Conversation, message: Message, *names: str) -> None:
        """The answer to that conversation's request; later requests may follow it by one of its names."""
        found.answer(message)
        self._known[label(message)] = found
        for name in filter(None, names):
            self._answers[name] = found

    def named(self, answer: str) -> Conversation | None:
        """The conversation that got this answer."""
        return self._answers.get(answer)

    def _find(self, messages: Sequence[Message], labels: list[Hashable]) -> Conversation | None:
        """By what the list ends with, which is nearest in time, or else by its beginning."""
        for at in (*range(len(messages) - 1, 0, -1), 0):
            found = self._known.get(labels[at]) if at < len(labels) else None
            if found is not None:
                return found if found.continued_by(messages, labels) else None
        return None

    def sessions(self) -> tuple[Session, ...]:
        return tuple(found.session() for found in self.all)


def split_system(messages: Sequence[Message]) -> tuple[str | None, Sequence[Message]]:
    """The text of the system messages that lead the list, None without any, and the messages behind them."""
    count = next((at for at, message in enumerate(messages) if message.role != "system"), len(messages))
    if not count:
        return None, messages
    return "\n\n".join(text_of(message.content) for message in messages[:count]), messages[count:]


def _common_head(one: Sequence[Hashable], other: Sequence[Hashable]) -> int:
    pairs = enumerate(zip(one, other, strict=False))
    return next((at for at, (mine, yours) in pairs if mine != yours), min(len(one), len(other)))


def _common_tail(known: Sequence[Hashable], labels: Sequence[Hashable], common: int) -> tuple[int, int]:
    """How many of the last known messages a list still holds behind a common beginning, and where in it they end."""
    if common == len(known):
        return 0, common
    end = next((at + 1 for at in range(len(labels) - 1, common - 1, -1) if labels[at] == known[-1]), common)
    tail = 0
    while tail < min(len(known), end) - common and known[-1 - tail] == labels[end - 1 - tail]:
        tail += 1
    return tail, end


def _begins_with(request: Request, earlier: Request) -> bool:
    """Does a list hold all of an earlier one, unchanged?"""
    if request.follows or earlier.follows or len(request.messages) < len(earlier.messages):
        return False
    both = zip(request.messages, earlier.messages, strict=False)
    return all(label(new) == label(old) and (new.role != "tool" or same_content(new, old)) for new, old in both)
