"""Which call does a result answer? Logs repeat call ids, and leave them empty, so an id alone does not tell."""

from collections import deque

import msgspec


class Owner(msgspec.Struct):
    """Who asked for a call: its step, and the seq of its tool/call (-1: it has not run)."""

    turn: int
    step: int
    seq: int = -1


class Calls:
    """The calls of one session. Steps come in order; each method takes the same time however many calls there are."""

    def __init__(self) -> None:
        self.unanswered = 0
        self._waiting: dict[str, list[deque[Owner]]] = {}  # by id: those of one step together, the newest step last
        self._asked: dict[str, deque[Owner]] = {}  # by id: those of the newest step that have not run
        self._answered: set[str] = set()

    def ask(self, call_id: str, turn: int, step: int) -> None:
        """An answer asks for this call."""
        owner = Owner(turn, step)
        asked = self._asked.setdefault(call_id, deque())
        if asked and (asked[0].turn, asked[0].step) != (turn, step):
            asked.clear()
        asked.append(owner)
        self._wait(call_id, owner)

    def run(self, call_id: str, turn: int, step: int, seq: int) -> None:
        """A tool starts to run: for the first call of this id and step that has not run, or for none that was asked."""
        asked = self._asked.get(call_id)
        if not asked or (asked[0].turn, asked[0].step) != (turn, step):
            self._wait(call_id, Owner(turn, step, seq))
            return
        asked.popleft().seq = seq
        if not asked:
            del self._asked[call_id]

    def answer(self, call_id: str) -> Owner | None:
        """The call that a result with this id answers: the first without a result in the newest step that has one."""
        steps = self._waiting.get(call_id)
        if not steps:
            return None
        owner = steps[-1].popleft()
        if not steps[-1]:
            steps.pop()
        if not steps:
            del self._waiting[call_id]
        self._answered.add(call_id)
        self.unanswered -= 1
        return owner

    def had(self, call_id: str) -> bool:
        """Was there a call of this id that has its result?"""
        return call_id in self._answered

    def _wait(self, call_id: str, owner: Owner) -> None:
        self.unanswered += 1
        steps = self._waiting.setdefault(call_id, [])
        if not steps or (steps[-1][0].turn, steps[-1][0].step) != (owner.turn, owner.step):
            steps.append(deque())
        steps[-1].append(owner)
