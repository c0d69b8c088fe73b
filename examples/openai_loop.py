"""A loop over the OpenAI SDK that reads twelve pages; refold cuts those the model has seen three times.

pip install refold openai
python examples/openai_loop.py            # a function plays the provider: no key, no network
"""

import json
from typing import Any

import httpx2
from openai import OpenAI

from refold import presets
from refold.bridges.messages import Shaper

PAGES = 12


def respond(request: httpx2.Request) -> httpx2.Response:
    """The provider: asks for one page after the other, and tells how much it was sent."""
    messages = json.loads(request.content)["messages"]
    print(f"the model is sent {characters(messages):7,} characters")
    page = (len(messages) + 1) // 2
    function = {"name": "read_page", "arguments": json.dumps({"number": page})}
    calls = [{"id": f"call-{page}", "type": "function", "function": function}]
    message = {"role": "assistant", "tool_calls": calls} if page <= PAGES else {"role": "assistant", "content": "Read."}
    choices = [{"index": 0, "message": message, "finish_reason": "stop"}]
    return httpx2.Response(
        200, json={"id": "c", "object": "chat.completion", "created": 0, "model": "fake", "choices": choices}
    )


def read_page(number: int) -> str:
    return f"Page {number}. " + "What stands on it, at length. " * 400


def characters(messages: list[Any]) -> int:
    return sum(len(message["content"]) for message in messages[2::2])


shape = Shaper(presets.keep3(gate=10_000, tools=("read_*",)))
client = OpenAI(api_key="none", http_client=httpx2.Client(transport=httpx2.MockTransport(respond)))
messages: list[Any] = [{"role": "user", "content": "Read the pages."}]
while True:
    answer = client.chat.completions.create(model="fake", messages=shape(messages)).choices[0].message
    messages.append(answer)
    if not answer.tool_calls:
        break
    for call in answer.tool_calls:
        content = read_page(**json.loads(call.function.arguments))
        messages.append({"role": "tool", "tool_call_id": call.id, "content": content})
print(f"the list keeps    {characters(messages):7,} characters")
