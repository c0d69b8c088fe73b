"""The session for peers that are handed a list of messages: no agent runs, they are asked before each call."""

import time
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any, Protocol

from frameworks.session import DONE, Sent, asked, content, history, prompt


class Peer(Protocol):
    def add(self, kind: str, number: int) -> None: ...

    def shape(self) -> Any: ...


def run(make: Callable[[], Peer], before: int, turns: int) -> list[Sent]:
    """The model calls of so many turns, behind the history of those before."""
    peer, sent = make(), list[Sent]()
    for said in history(before):
        peer.add(*said)
    for turn in range(before, before + turns):
        peer.add("prompt", turn)
        for number in (*asked(turn), None):
            started = time.process_time()
            peer.shape()
            sent.append(Sent([], time.process_time() - started))
            for kind in ("call", "result") if number else ("done",):
                peer.add(kind, number or turn)
    return sent


class Strands:
    """Its messages are dropped beyond forty."""

    def __init__(self) -> None:
        from strands.agent.conversation_manager import SlidingWindowConversationManager

        self.manager, self.agent = SlidingWindowConversationManager(), SimpleNamespace(messages=[], state={})

    def add(self, kind: str, number: int) -> None:
        match kind:
            case "call":
                call = {"toolUseId": f"call-{number}", "name": "read_file", "input": {"number": number}}
                said: Any = {"toolUse": call}
            case "result":
                text = [{"text": content(number)}]
                said = {"toolResult": {"toolUseId": f"call-{number}", "status": "success", "content": text}}
            case _:
                said = {"text": prompt(number) if kind == "prompt" else DONE}
        role = "assistant" if kind in ("call", "done") else "user"
        self.agent.messages.append({"role": role, "content": [said]})

    def shape(self) -> None:
        self.manager.apply_management(self.agent)


class ContextSlim:
    """The edited list is kept, as its documentation has it: asked anew about the whole, it takes edits back."""

    def __init__(self) -> None:
        import context_slim

        self.package, self.messages = context_slim, list[Any]()

    def add(self, kind: str, number: int) -> None:
        match kind:
            case "call":
                function = {"name": "read_file", "arguments": f'{{"number": {number}}}'}
                call = {"id": f"call-{number}", "type": "function", "function": function}
                self.messages.append({"role": "assistant", "content": None, "tool_calls": [call]})
            case "result":
                self.messages.append({"role": "tool", "tool_call_id": f"call-{number}", "content": content(number)})
            case "prompt":
                self.messages.append({"role": "user", "content": prompt(number)})
            case _:
                self.messages.append({"role": "assistant", "content": DONE})

    def shape(self) -> None:
        plan = self.package.plan(self.messages, model="openai/gpt-5.6-luna", horizon=30)
        self.messages, _ = self.package.apply(self.messages, plan)


class Cutctx:
    """Masking, with the window that the other peers have for a limit."""

    def __init__(self) -> None:
        import cutctx

        self.package, self.turns = cutctx, list[Any]()
        self.policy, self.executor = cutctx.ObservationMaskingPolicy(), cutctx.CompactionExecutor()
        self.budget = cutctx.CompactionBudget(100_000, protected_recent_turns=6)

    def add(self, kind: str, number: int) -> None:
        roles = {"prompt": "user", "call": "assistant", "result": "tool", "done": "assistant"}
        texts = {"prompt": prompt(number), "call": f"read {number}", "result": content(number), "done": DONE}
        call_id = f"call-{number}" if kind in ("call", "result") else None
        role, text = self.package.Role(roles[kind]), texts[kind]
        self.turns.append(self.package.TranscriptTurn(f"{kind}-{number}", role, text, len(text) // 4, call_id))

    def shape(self) -> None:
        transcript = self.package.Transcript(tuple(self.turns))
        self.executor.apply(transcript, self.policy.decide(transcript, self.budget))


CONTENDERS: dict[str, Callable[[], Peer]] = {
    "strands": Strands,
    "ctx-slim": ContextSlim,
    "cutctx": Cutctx,
}
