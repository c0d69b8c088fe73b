"""The session in the OpenAI Agents SDK."""

import time
from collections.abc import Callable
from typing import Any

from agents import Agent, Model, ModelResponse, RunConfig, Runner, Usage, function_tool
from agents.extensions import ToolOutputTrimmer
from agents.run_config import CallModelData, ModelInputData
from agents.testing import assistant_message, function_call
from frameworks.session import DONE, POLICIES, Sent, asked, content, history, prompt

from refold.bridges.openai_agents import InputFilter

CONTENDERS: dict[str, Any] = {
    "nothing": lambda: lambda data: data.model_data,
    "ToolOutputTrimmer": ToolOutputTrimmer,
    **{name: lambda policy=policy: InputFilter(policy) for name, policy in POLICIES.items()},
}


class Timed:
    def __init__(self, inner: Any) -> None:
        self.inner, self.sent = inner, list[Sent]()

    def __call__(self, data: CallModelData[Any]) -> ModelInputData:
        started = time.process_time()
        shaped: ModelInputData = self.inner(data)
        seconds = time.process_time() - started
        self.sent.append(Sent(list(map(text, shaped.input)), seconds))
        return shaped


class Scripted(Model):
    """The SDK's own scripted model copies its whole input at each call; this one does not."""

    def __init__(self, answers: list[Any]) -> None:
        self.answers = iter(answers)

    async def get_response(self, *args: Any, **settings: Any) -> ModelResponse:
        return ModelResponse(output=[next(self.answers)], usage=Usage(), response_id=None)

    def stream_response(self, *args: Any, **settings: Any) -> Any:
        raise NotImplementedError


def text(item: Any) -> str:
    said = item.get("output") or item.get("arguments") or item.get("content")
    return said if isinstance(said, str) else "".join(part["text"] for part in said)


@function_tool
def read_file(number: int) -> str:
    """Read a file."""
    return content(number)


def call(number: int) -> Any:
    return function_call("read_file", {"number": number}, call_id=f"call-{number}")


def run(make: Callable[[], Any], before: int, turns: int) -> list[Sent]:
    """The model calls of so many turns, behind the history of those before."""
    timed = Timed(make())
    config = RunConfig(call_model_input_filter=timed, tracing_disabled=True)
    items: list[Any] = [native(*said) for said in history(before)]
    for turn in range(before, before + turns):
        model = Scripted([*map(call, asked(turn)), assistant_message(DONE)])
        agent = Agent("reader", tools=[read_file], model=model)
        given = [*items, {"role": "user", "content": prompt(turn)}]
        items = Runner.run_sync(agent, given, run_config=config, max_turns=1000).to_input_list()
    return timed.sent


def native(kind: str, number: int) -> Any:
    match kind:
        case "prompt":
            return {"role": "user", "content": prompt(number)}
        case "call":
            return call(number).model_dump(exclude_none=True)
        case "result":
            return {"type": "function_call_output", "call_id": f"call-{number}", "output": content(number)}
    return assistant_message(DONE).model_dump(exclude_none=True)
