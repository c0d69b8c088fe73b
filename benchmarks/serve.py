"""How many pre-steps a minute does one `refold serve` answer? Ten thousand are wanted, on one core.

    python benchmarks/serve.py

A host with one long V4 session sends each step's rows, asks for the plan, and commits what it is told to, one request
after the other, over the pipes of a real process. One result in six is over 8,192 code points, so that every sixth
step cuts one.
"""

import json
import resource
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

WANTED = 10_000
STEPS = 3_000
TIME = 1_700_000_000_000
LINE = "the quick brown fox jumps over the lazy dog, 编译警告 😀\n"


class Host:
    def __init__(self) -> None:
        command = [Path(sys.executable).with_name("refold"), "serve"]
        self._process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self.log: list[dict[str, Any]] = []
        self._sent = self.cuts = 0

    def ask(self, **request: Any) -> dict[str, Any]:
        assert self._process.stdin
        assert self._process.stdout
        self._process.stdin.write(json.dumps(request).encode() + b"\n")
        self._process.stdin.flush()
        reply = json.loads(self._process.stdout.readline())
        assert "ok" in reply, reply
        ok: dict[str, Any] = reply["ok"]
        return ok

    def append(self, kind: str, data: dict[str, Any], **surface: Any) -> int:
        seq = len(self.log)
        self.log.append({"type": kind, "seq": seq, "time": TIME + seq, "data": data, **surface})
        return seq

    def plan(self) -> list[dict[str, Any]]:
        if self._sent < len(self.log):
            self._sent = self.ask(op="events", session="s", rows=self.log[self._sent :])["position"]
        operations: list[dict[str, Any]] = self.ask(op="plan", session="s", position=self._sent)["operations"]
        return operations

    def pre_step(self) -> None:
        for operation in self.plan():
            self.append("compaction/prune", operation["prune"])
            data = self.log[operation["seq"]]["data"]
            message = {**data["message"], "content": operation["content"]}
            self.append("tool/result", {**data, "message": message}, **operation["surface"])
            self.cuts += 1

    def step(self, number: int) -> None:
        at, call = {"turn": 1, "step": number}, {"callId": f"call_{number}", "name": "read", "arguments": "{}"}
        self.append("step/start", at)
        used = {"type": "tool-call", "id": call["callId"], "name": call["name"], "arguments": "{}"}
        source = {"kind": "model", "provider": "p", "model": "m"}
        answer = {"id": f"a{number}", "role": "assistant", "content": [used], "source": source}
        usage = {"inputTokens": 500, "outputTokens": 50, "cacheReadTokens": 100_000}
        self.append("assistant/message", {**at, "message": answer, "usage": usage}, surfaceOp="append")
        cited = self.append("tool/call", {**at, **call})
        text = LINE * (400 if number % 6 == 0 else 80) + str(number)
        result = {"id": f"r{number}", "role": "tool", "toolCallId": call["callId"]}
        result |= {"source": {"kind": "tool", "callId": call["callId"]}, "content": [{"type": "text", "text": text}]}
        self.append("tool/result", {**at, "message": result}, surfaceOp="append", sourceEventSeqs=[cited])
        self.append("step/end", at)

    def close(self) -> None:
        assert self._process.stdin
        self._process.stdin.close()
        self._process.wait()


def main() -> None:
    host = Host()
    host.ask(op="hello", protocol=1, policy="keep3:gate=50000")
    host.ask(op="open", session="s", version=4)
    host.append("turn/start", {"turn": 1})
    began = time.perf_counter()
    for number in range(1, STEPS + 1):
        host.pre_step()
        host.step(number)
    seconds = time.perf_counter() - began
    host.close()
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    print(f"{STEPS} pre-steps, {host.cuts} cuts, {len(host.log)} events")
    report("on the clock, the host's own work included", seconds)
    report("by the processor time of refold, its start included", used.ru_utime + used.ru_stime)
    held = sum(len(json.dumps(row)) for row in host.log)
    print(f"peak memory of refold {used.ru_maxrss >> 10} MiB, log {held >> 20} MiB")


def report(what: str, seconds: float) -> None:
    rate = round(60 * STEPS / seconds)
    print(f"{rate:,} a minute ({rate / WANTED:.1f} of what is wanted) {what}")


if __name__ == "__main__":
    main()
