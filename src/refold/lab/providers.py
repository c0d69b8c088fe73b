"""How each provider's prompt cache works, as data (documentation as of November 2026)."""

from types import MappingProxyType
from typing import Final

from refold.events import PolicyError
from refold.lab.ledger import Mark, Rules

# The four that a request may hold: the three that refold.bridges.anthropic sets, and the host's own behind the frame.
_MARKS: Final[tuple[Mark, ...]] = ("frame", "changed", "next", "last")
_ANTHROPIC = "https://docs.claude.com/en/docs/build-with-claude/prompt-caching"
_OPENAI = "https://developers.openai.com/api/docs/guides/prompt-caching"

IDEAL = Rules("ideal", source="every token is held for ever: what no provider promises, and the simplest to reason by")

_RULES = (
    IDEAL,
    Rules("anthropic", 1, 1024, 300, _MARKS, 20, False, _ANTHROPIC),
    Rules("anthropic-512", 1, 512, 300, _MARKS, 20, False, _ANTHROPIC),
    Rules("anthropic-2048", 1, 2048, 300, _MARKS, 20, False, _ANTHROPIC),
    Rules("anthropic-4096", 1, 4096, 300, _MARKS, 20, False, _ANTHROPIC),
    Rules("anthropic-1h", 1, 1024, 3600, _MARKS, 20, False, _ANTHROPIC),
    # In-memory entries live 5 to 10 minutes of inactivity.
    Rules("openai", 128, 1024, 600, (), 0, False, _OPENAI),
    Rules("openai-24h", 128, 1024, 86400, (), 0, False, _OPENAI),
    Rules("openai-marked", 1, 1024, 1800, ("changed", "last"), 80, False, _OPENAI),
    # The unit of 64 is of the 2024 announcement; hit counts published in 2026 are multiples of 128.
    Rules("deepseek-v3", 64, 64, None, (), 0, True, "https://api-docs.deepseek.com/guides/kv_cache"),
    Rules("deepseek", 128, 128, None, (), 0, True, "https://api-docs.deepseek.com/guides/kv_cache"),
    Rules("gemini", 1, 2048, 86400, (), 0, False, "https://ai.google.dev/gemini-api/docs/caching"),
    Rules("kimi", 256, 256, None, (), 0, False, "https://forum.moonshot.ai/t/613"),
    Rules("qwen", 1, 256, None, (), 0, False, "https://www.alibabacloud.com/help/en/model-studio/context-cache"),
    Rules(
        "qwen-marked",
        1,
        1024,
        300,
        ("changed", "last"),
        20,
        False,
        "https://www.alibabacloud.com/help/en/model-studio/context-cache",
    ),
)

RULES = MappingProxyType({rules.name: rules for rules in _RULES})


def rules_named(name: str) -> Rules:
    """Raises PolicyError, which lists them all."""
    found = RULES.get(name)
    if found is None:
        raise PolicyError(f"no cache rules are called {name!r}; there are {', '.join(RULES)}", field="rules")
    return found
