"""One session under one policy: what every law looks at, worked out once and only when a law asks."""

from functools import cached_property

from refold.events import Block, Event, RefoldError
from refold.laws.live import play
from refold.laws.run import Run
from refold.laws.script import Blocked, Script
from refold.prompt import prompt_bytes
from refold.reducer import Dsh, Message, Meter, Mode, Policy, Reducer, View
from refold.reducer._queue import cut_content
from refold.reducer._view import Node
from refold.reducer.presets import none


class LawBroken(RefoldError):
    """A law does not hold: `law` is its name, `reason` says where it breaks, `script` is the session, where known."""

    def __init__(self, law: str, reason: str, script: Script | None = None) -> None:
        self.law, self.reason, self.script = law, reason, script
        super().__init__(f"{law}: {reason}" if script is None else f"{law}: {reason}; in the session {script!r}")


class Case:
    """A script, and the runs of it. `meter` None takes that of the script's log format."""

    def __init__(self, policy: Policy, script: Script, meter: Meter | None = None) -> None:
        self.policy, self.script = policy, script
        self.meter: Meter = Dsh(script.version) if meter is None else meter
        self._bytes: dict[Message, bytes] = {}
        self._prices: dict[Message, int] = {}
        self._cuts: dict[tuple[int, Message], tuple[tuple[Block, ...], int] | None] = {}

    def reducer(self, mode: Mode) -> Reducer:
        return Reducer(self.policy, self.meter, mode)

    @cached_property
    def commit(self) -> Run:
        """A live run whose host writes the operations to its log."""
        return play(self.script, self.reducer("commit"))

    @cached_property
    def derive(self) -> Run:
        """A live run whose host writes nothing."""
        return play(self.script, self.reducer("derive"))

    @cached_property
    def commit_late(self) -> Run:
        """As `commit`, but nothing is committed in a pre-step that is blocked."""
        if not any(isinstance(act, Blocked) for act in self.script.acts):
            return self.commit
        return play(self.script, self.reducer("commit"), asks_early=False)

    @cached_property
    def uncut(self) -> Run:
        """A live run without any policy: the log that a what-if reads."""
        return play(self.script, Reducer(none(), self.meter))

    @cached_property
    def logs(self) -> tuple[tuple[Reducer, tuple[Event, ...], tuple[View, ...]], ...]:
        """In each mode: a reducer, a log that it reads, and the views of whoever was there when it was written."""
        if_cut = self.reducer("what-if")
        return (
            (self.commit.reducer, self.commit.events, self.commit.views),
            (self.derive.reducer, self.derive.events, self.derive.views),
            (if_cut, self.uncut.events, folded(if_cut, self.uncut.events)),
        )

    def text(self, message: Message) -> bytes:
        """A message as the bytes it has in a prompt."""
        if message not in self._bytes:
            self._bytes[message] = prompt_bytes((message,))
        return self._bytes[message]

    def price(self, message: Message) -> int:
        """A message's tokens, counted anew (once)."""
        if message not in self._prices:
            self._prices[message] = self.meter.estimator.message(message)
        return self._prices[message]

    def cut(self, index: int, node: Node) -> tuple[tuple[Block, ...], int] | None:
        """What a part of the policy makes of a node, and its price; None where it would not be smaller."""
        key = index, node.message
        if key not in self._cuts:
            self._cuts[key] = cut_content(self.policy.parts[index], self.meter, node)
        return self._cuts[key]

    def prompt(self, messages: tuple[Message, ...]) -> list[bytes]:
        return [text for message in messages if (text := self.text(message))]


def folded(reducer: Reducer, events: tuple[Event, ...]) -> tuple[View, ...]:
    """The view before the first event, and that after each, folded one by one."""
    views = [reducer.start()]
    for event in events:
        views.append(reducer.fold(views[-1], event))
    return tuple(views)


def difference(one: View, other: View) -> str:
    """The fields in which two views differ, by name."""
    found = [name for name in one.__struct_fields__ if getattr(one, name) != getattr(other, name)]
    return f"the views differ in {', '.join(found)}" if found else "the views differ"
