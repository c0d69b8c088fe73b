"""mini-swe-agent trajectories (`.traj.json`): a message list that only grows, each answer with its API response.

A step is one assistant message. Formats before 1.1 have no call ids: the
command stands in a fenced block, its result is the next user message. The run ends with an `exit` message, which no
model sees; the last call (submit) has no result.
"""

import re
from typing import Any

from refold.events._blocks import Block, Reasoning, Text
from refold.events._errors import FormatError
from refold.events.formats._falls import falls
from refold.events.formats._fields import (
    Object,
    array,
    blocks,
    compact,
    millis,
    obj,
    objects,
    openai_usage,
    result_blocks,
    text,
    tool_uses,
)
from refold.events.formats._journal import Journal
from refold.events.formats._source import Format, Session, Source

COMMAND = re.compile(r"```(?:mswea_bash_command|bash|sh)\s*\n(.*?)\n?```", re.DOTALL)
RETURN_CODE = re.compile(r"\s*<returncode>(-?\d+)</returncode>")


def detect(source: Source) -> bool:
    if source.start[:1] not in (b"{", b"["):
        return False
    try:
        return _messages(source.document()) is not None
    except FormatError:
        return False


def read(source: Source) -> tuple[Session, ...]:
    """The one session of a trajectory. Raises FormatError where it is none."""
    document = source.document()
    messages = _messages(document)
    if messages is None:
        raise FormatError(
            f"{source.name}: no mini-swe-agent trajectory: neither messages with a trajectory_format or mini_version, "
            "nor a list with its command blocks and return codes"
        )
    reader = _Reader()
    info = obj(obj(document).get("info"))
    reader.model = text(obj(obj(obj(info.get("config")).get("model"))).get("model_name"))
    for message in messages:
        if isinstance(message, dict):
            reader.message(message)
        else:
            reader.journal.damaged("a message is no object; it is left out")
    for fall in falls(reader.journal.events):
        reader.journal.note(fall)
    return (reader.journal.session(text(obj(document).get("instance_id")) or source.name),)


def _messages(document: Any) -> list[Any] | None:
    if isinstance(document, dict):
        named = text(document.get("trajectory_format")).startswith("mini-swe-agent")
        messages = document.get("messages")
        named = named or "mini_version" in obj(document.get("info"))
        return messages if named and isinstance(messages, list) else None
    for message in objects(document):
        said = text(message.get("content"))
        if (message.get("role") == "assistant" and "```mswea_bash_command" in said) or RETURN_CODE.match(said):
            return array(document)
    return None


class _Reader:
    def __init__(self) -> None:
        self.journal = Journal()
        self.model = ""
        self.waiting: list[str] = []  # calls without an id of their own, whose result is the next user message
        self.count = 0

    def message(self, message: Object) -> None:
        extra = obj(message.get("extra"))
        time = millis(extra.get("timestamp")) or millis(message.get("timestamp"))
        match message.get("role"):
            case "system" if not self.journal.size:
                self.journal.header(system="".join(_texts(message.get("content"))))
            case "system":
                self.journal.developer(time, blocks(message.get("content")))
            case "assistant":
                self._answer(time, message, extra)
            case "tool":
                content, call_id = result_blocks(message.get("content")), text(message.get("tool_call_id"))
                self.journal.result(time, call_id, content, is_error=_failed(extra, content))
            case "user" if self.waiting:
                content = result_blocks(message.get("content"))
                self.journal.result(time, self.waiting.pop(0), content, is_error=_failed(extra, content))
            case "user" if self.count:
                self.journal.user(time, blocks(message.get("content")), "mini-swe-agent")
            case "user":
                self.journal.prompt(time, blocks(message.get("content")))
            case "exit":
                self.journal.other(time, "exit")
            case other:
                self.journal.note(f"a message of unknown role {compact(other)}")

    def _answer(self, time: int, message: Object, extra: Object) -> None:
        response = obj(extra.get("response"))
        asked = millis(response.get("created")) or time
        calls = tool_uses(message.get("tool_calls"))
        thought = text(message.get("reasoning_content"))
        content: tuple[Block, ...] = (
            *((Reasoning(thought),) if thought else ()),
            *blocks(message.get("content")),
            *calls,
        )
        self.count += 1
        self.journal.context(model=self.model or text(response.get("model")))
        self.journal.request(min(asked, time) if time else asked)
        self.journal.answer(
            time, content, usage=openai_usage(response.get("usage")), model=self.model or text(response.get("model"))
        )
        self.journal.calls(time, content)
        self.waiting = []
        if not calls:
            self._commands(time, _texts(message.get("content")), extra)

    def _commands(self, time: int, said: list[str], extra: Object) -> None:
        """A command in the text is a call all the same; only one is ever run."""
        actions = [text(action.get("command")) for action in objects(extra.get("actions"))]
        found = actions or COMMAND.findall("\n".join(said))
        for command in found[:1]:
            call_id = f"call-{self.count}"
            self.journal.call(time, call_id, "bash", compact({"command": command}))
            self.waiting = [call_id]


def _texts(content: Any) -> list[str]:
    return [block.text for block in blocks(content) if isinstance(block, Text)]


def _failed(extra: Object, content: tuple[Block, ...]) -> bool:
    """A return code other than 0, or an exception; older formats tell the code in the text alone."""
    if "returncode" in extra or extra.get("exception_info"):
        return extra.get("returncode") not in (0, None) or bool(extra.get("exception_info"))
    told = RETURN_CODE.match(content[0].text) if content and isinstance(content[0], Text) else None
    return told is not None and told[1].strip("-0") != ""


FORMAT = Format(
    "mini_swe_agent",
    "mini-swe-agent trajectory",
    frozenset({"usage", "cache", "reasoning", "errors", "times"}),
    detect,
    read,
)
