"""A model on the loopback interface: it speaks the Messages API and answers from a script.

The harness is pointed at it by its base URL. A script is a list of answers, one a model call:
`{"think": str, "text": str, "calls": [[tool, arguments], ...]}`, every key optional, or `{"refuse": message}` for an
HTTP status of 400; a call past its end gets the text "done". What the harness sent is kept in `requests`, whole and in
order. Reported usage follows a prompt cache that holds the request before and no other, so a rewrite of old history
costs what it would cost elsewhere.
"""

import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Self

CHARS_PER_TOKEN = 4
CACHE_LINE_TOKENS = 64


class Provider:
    """Use it as a context manager; `url` is valid inside."""

    def __init__(self, script: list[dict[str, Any]]) -> None:
        self.script = script
        self.requests: list[dict[str, Any]] = []
        self._prompt = ""
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), _Handler)
        self._server.provider = self  # type: ignore[attr-defined]

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._server.server_port}"

    def __enter__(self) -> Self:
        threading.Thread(target=self._server.serve_forever, daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._server.server_close()

    def wanted(self, request: dict[str, Any]) -> dict[str, Any]:
        """The script's answer to the next request."""
        self.requests.append(request)
        return self.script.pop(0) if self.script else {"text": "done"}

    def stream(self, request: dict[str, Any], wanted: dict[str, Any]) -> Iterator[dict[str, Any]]:
        """The events of the answer stream."""
        call = len(self.requests) - 1
        message = {"id": f"msg_{call}", "type": "message", "role": "assistant", "model": request["model"]}
        message |= {"content": [], "stop_reason": None, "usage": self._usage(request)}
        yield {"type": "message_start", "message": message}
        for index, (block, deltas) in enumerate(_blocks(call, wanted)):
            yield {"type": "content_block_start", "index": index, "content_block": block}
            for delta in deltas:
                yield {"type": "content_block_delta", "index": index, "delta": delta}
            yield {"type": "content_block_stop", "index": index}
        stop = "tool_use" if wanted.get("calls") else "end_turn"
        yield {"type": "message_delta", "delta": {"stop_reason": stop}, "usage": {"output_tokens": 50}}
        yield {"type": "message_stop"}

    def _usage(self, request: dict[str, Any]) -> dict[str, int]:
        prompt = json.dumps([request.get("tools"), request.get("system"), request["messages"]], ensure_ascii=False)
        pairs = enumerate(zip(prompt, self._prompt, strict=False))
        shared = next((place for place, (new, old) in pairs if new != old), min(len(prompt), len(self._prompt)))
        cached = shared // CHARS_PER_TOKEN // CACHE_LINE_TOKENS * CACHE_LINE_TOKENS
        self._prompt = prompt
        return {
            "input_tokens": len(prompt) // CHARS_PER_TOKEN - cached,
            "cache_read_input_tokens": cached,
            "cache_creation_input_tokens": 0,
            "output_tokens": 1,
        }


def _blocks(call: int, wanted: dict[str, Any]) -> Iterator[tuple[dict[str, Any], list[dict[str, Any]]]]:
    if "think" in wanted:
        yield (
            {"type": "thinking", "thinking": "", "signature": ""},
            [
                {"type": "thinking_delta", "thinking": wanted["think"]},
                {"type": "signature_delta", "signature": "c2ln"},
            ],
        )
    if "text" in wanted:
        yield {"type": "text", "text": ""}, [{"type": "text_delta", "text": wanted["text"]}]
    for number, (name, arguments) in enumerate(wanted.get("calls", [])):
        block = {"type": "tool_use", "id": f"toolu_{call}_{number}", "name": name, "input": {}}
        text = json.dumps(arguments, ensure_ascii=False)
        yield block, [{"type": "input_json_delta", "partial_json": text}]


class _Handler(BaseHTTPRequestHandler):
    def log_message(self, *_: object) -> None:
        """Keep stderr for what went wrong."""

    def do_POST(self) -> None:
        request = json.loads(self.rfile.read(int(self.headers["content-length"])))
        provider: Provider = self.server.provider  # type: ignore[attr-defined]
        wanted = provider.wanted(request)
        if "refuse" in wanted:
            error = {"type": "error", "error": {"type": "invalid_request_error", "message": wanted["refuse"]}}
            self.send_response(400)
            self.send_header("content-type", "application/json")
            self.end_headers()
            self.wfile.write(json.dumps(error).encode())
            return
        self.send_response(200)
        self.send_header("content-type", "text/event-stream")
        self.end_headers()
        for event in provider.stream(request, wanted):
            data = json.dumps(event, ensure_ascii=False)
            self.wfile.write(f"event: {event['type']}\ndata: {data}\n\n".encode())
