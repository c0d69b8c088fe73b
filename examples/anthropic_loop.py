"""A loop over the Anthropic SDK that reads twelve pages; refold cuts those the model has seen three times, and sets the
cache breakpoints.

    pip install refold anthropic
    python examples/anthropic_loop.py         # a function plays the provider: no key, no network
"""

import json
from typing import Any

import httpx2
from anthropic import Anthropic

from refold import presets
from refold.bridges.anthropic import BreakpointShaper

PAGES = 12


def respond(request: httpx2.Request) -> httpx2.Response:
    """The provider: asks for one page after the other, and tells how much it was sent."""
    messages = json.loads(request.content)["messages"]
    marks = request.content.count(b'"cache_control"')
    print(f"the model is sent {characters(messages):7,} characters and {marks} cache breakpoints")
    page = (len(messages) + 1) // 2
    use = {"type": "tool_use", "id": f"call-{page}", "name": "read_page", "input": {"number": page}}
    content = [use] if page <= PAGES else [{"type": "text", "text": "Read."}]
    answer = {"id": "m", "type": "message", "role": "assistant", "model": "fake", "content": content}
    return httpx2.Response(200, json={**answer, "usage": {"input_tokens": 0, "output_tokens": 0}})


def read_page(number: int) -> str:
    return f"Page {number}. " + "What stands on it, at length. " * 400


def characters(messages: list[Any]) -> int:
    blocks = [block for message in messages[2::2] for block in message["content"]]
    return sum(len(block["content"]) for block in blocks)


shape = BreakpointShaper(presets.keep3(gate=10_000, tools=("read_*",)))
client = Anthropic(api_key="none", http_client=httpx2.Client(transport=httpx2.MockTransport(respond)))
messages: list[Any] = [{"role": "user", "content": "Read the pages."}]
while True:
    answer = client.messages.create(model="fake", max_tokens=1000, messages=shape(messages))
    messages.append({"role": "assistant", "content": answer.content})
    uses = [block for block in answer.content if block.type == "tool_use"]
    if not uses:
        break
    results = [{"type": "tool_result", "tool_use_id": use.id, "content": read_page(**use.input)} for use in uses]
    messages.append({"role": "user", "content": results})
print(f"the list keeps    {characters(messages):7,} characters")
