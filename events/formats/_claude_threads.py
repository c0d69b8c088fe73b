"""The threads of a Claude Code transcript: the main one and its sub-agents', line by line."""

from collections.abc import Iterator

from refold.events.formats._fields import Object, obj, text

MAIN = ""  # the thread that is no sub-agent


class Threads:
    """Whose line is it: the main thread's, or which sub-agent's?"""

    def __init__(self) -> None:
        self.session_id = self.child_session_id = ""
        self._roots: dict[str, str] = {}

    def whose(self, line: Object) -> Iterator[tuple[str, Object]]:
        """The thread, and the record that the line holds for it; nothing for a line of no thread."""
        data = obj(line.get("data"))
        if line.get("type") == "progress" and data.get("type") == "agent_progress":
            agent = text(data.get("agentId"))
            if agent:
                yield agent, obj(data.get("message"))
            return
        session = text(line.get("sessionId"))
        if line.get("isSidechain") is not True:
            self.session_id = self.session_id or session
            yield MAIN, line
            return
        self.child_session_id = self.child_session_id or session
        uuid, parent = text(line.get("uuid")), text(line.get("parentUuid"))
        self._roots[uuid] = self._roots.get(parent, uuid)
        yield text(line.get("agentId")) or self._roots[uuid], line
