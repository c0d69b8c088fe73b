"""A model provider's bill: usage that follows from the prompt."""

from refold.events import Usage
from refold.prompt import prompt_bytes
from refold.reducer import Message


class Provider:
    """Reports usage for the prompt it really got: a token for four bytes, and an overhead.

    Until the policy has cut anything the overhead is chosen so that the report is what the script aims at; from then
    on it stays, so that what is cut is missing from the report.
    """

    def __init__(self) -> None:
        self._overhead = 0
        self._texts: dict[Message, int] = {}

    def report(self, messages: tuple[Message, ...], aim: int | None, *, cut: bool) -> Usage | None:
        if aim is None:
            return None
        tokens = sum(map(self._bytes, messages)) // 4
        if not cut:
            self._overhead = aim - tokens
        total = max(2, tokens + self._overhead)
        return Usage(total - 2, 1, cache_read_tokens=1)

    def _bytes(self, message: Message) -> int:
        if message not in self._texts:
            self._texts[message] = len(prompt_bytes((message,)))
        return self._texts[message]
