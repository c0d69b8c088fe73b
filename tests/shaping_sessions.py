"""Sessions whose outgoing copy is shaped, and short ways to ask for it."""

from typing import Any

from tests.sessions import Script

from refold.events import ToolUse
from refold.reducer import Dsh, Reducer, presets
from refold.reducer.wire import (
    NONE,
    Chain,
    Profile,
    Shaped,
    Shaping,
    shape,
)

NO_POLICY = presets.none()
THOUGHT = "first line\nsecond line\nthird line\nlast line"


class Session(Script):
    """A script whose steps say what they are given, call one tool, and get one result."""

    def ask(self, text: str = "go on") -> None:
        if self.turn:
            self.end_turn()
        self.start_turn()
        self.user(text)

    def answers(self, *said: Any, result: str = "ok", arguments: str = "{}") -> int:
        self.start_step()
        seq = self.answer(*said, ToolUse(f"call-{self._next}", "bash", arguments))
        self.result(result, f"call-{self._next - 1}", self.call("bash", f"call-{self._next - 1}", arguments))
        self.end_step()
        return seq

    def shaped(self, shaping: Shaping, profile: Profile = NONE, policy: Any = NO_POLICY) -> Shaped:
        """The request that would come next."""
        reducer = Reducer(policy, Dsh(4), "derive")
        return shape(reducer, reducer.fold_all(reducer.start(), self.events), shaping, profile)

    def at(self, seq: int, *given: Any) -> Any:
        """The content of a message as it is sent, None where it is not."""
        found = [message.content for message in self.shaped(*given).messages if message.seq == seq]
        return found[0] if found else None


def talk(*said: Any, turns: int = 3, **more: Any) -> tuple[Session, int]:
    """A session whose first answer is given, and that went on for some turns."""
    session = Session()
    session.ask()
    seq = session.answers(*said, **more)
    for _ in range(turns):
        session.ask()
        session.answers()
    session.ask()
    return session, seq


def only(category: str, *ops: Any, **ages: int) -> Shaping:
    return Shaping(**{category: Chain(ops, **ages)})


def quoted(char: str, times: int) -> str:
    return '"' + char * times + '"'
