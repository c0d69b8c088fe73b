"""An agent of the OpenAI Agents SDK that reads twelve pages; refold cuts those its model has seen three times.

pip install "refold[openai-agents]"
python examples/openai_agents_agent.py    # the SDK's scripted model: no key, no network
"""

from typing import Any

from agents import Agent, RunConfig, Runner, function_tool
from agents.testing import ScriptedModel, assistant_message, function_call

from refold import presets
from refold.bridges.openai_agents import InputFilter

PAGES = 12


@function_tool
def read_page(number: int) -> str:
    """Read a page."""
    return f"Page {number}. " + "What stands on it, at length. " * 400


def characters(items: list[Any]) -> int:
    return sum(len(item["output"]) for item in items if item.get("type") == "function_call_output")


asked = [[function_call("read_page", {"number": page}, call_id=f"call-{page}")] for page in range(1, PAGES + 1)]
model = ScriptedModel([*asked, [assistant_message("Read.")]])

policy = presets.keep3(gate=10_000, tools=("read_*",))
config = RunConfig(call_model_input_filter=InputFilter(policy), tracing_disabled=True)
agent = Agent("reader", tools=[read_page], model=model)
result = Runner.run_sync(agent, "Read the pages.", run_config=config, max_turns=PAGES + 1)

for call in model.calls:
    print(f"the model is sent {characters(call.input):7,} characters")
print(f"the items keep    {characters(result.to_input_list()):7,} characters")
