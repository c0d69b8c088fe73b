"""Which session a request belongs to, where one source holds requests of several."""

from collections.abc import Hashable, Sequence

from refold.events.formats._conversation import Conversation, Request, split_system
from refold.events.formats._messages import Message, label
from refold.events.formats._source import Session


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
