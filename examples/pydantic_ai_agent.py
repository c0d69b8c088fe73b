"""A pydantic-ai agent that reads twelve pages; refold cuts those its model has seen three times.

pip install "refold[pydantic-ai]"
python examples/pydantic_ai_agent.py      # pydantic-ai's function model: no key, no network
"""

from pydantic_ai import Agent
from pydantic_ai.messages import ModelMessage, ModelResponse, TextPart, ToolCallPart, ToolReturnPart
from pydantic_ai.models.function import AgentInfo, FunctionModel

from refold import presets
from refold.bridges.pydantic_ai import Refold

PAGES = 12


def answer(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
    """Asks for one page after the other, and tells how much it was sent."""
    print(f"the model is sent {characters(messages):7,} characters")
    page = 1 + sum(isinstance(message, ModelResponse) for message in messages)
    if page > PAGES:
        return ModelResponse([TextPart("Read.")])
    return ModelResponse([ToolCallPart("read_page", {"number": page})])


def characters(messages: list[ModelMessage]) -> int:
    returns = [part for message in messages for part in message.parts if isinstance(part, ToolReturnPart)]
    return sum(len(part.model_response_str()) for part in returns)


def read_page(number: int) -> str:
    """Read a page."""
    return f"Page {number}. " + "What stands on it, at length. " * 400


policy = presets.keep3(gate=10_000, tools=("read_*",))
agent = Agent(FunctionModel(answer), tools=[read_page], capabilities=[Refold(policy)])
result = agent.run_sync("Read the pages.")
print(f"the history keeps {characters(result.all_messages()):7,} characters")
