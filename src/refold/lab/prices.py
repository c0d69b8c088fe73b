"""Prices of input tokens: a small table of its date, and `refold[prices]` for every other model.

The table is what makes a comparison repeatable; genai-prices, where it is installed, knows thousands of models more.
"""

import re
from datetime import UTC, datetime
from fnmatch import fnmatchcase
from typing import Any, Final

import msgspec

from refold.events import PolicyError
from refold.lab.ledger import Prices, Rules
from refold.lab.providers import IDEAL, RULES

DATED: Final = "2026-11-30"
SOURCE: Final = "genai-prices 0.2.3 (pydantic, MIT); prices without long-context and peak-hour surcharges"


class Priced(msgspec.Struct, frozen=True):
    """Models by glob, the price of an input token in thousand-millionths of a dollar, a read and a write of a token
    per thousand of that, and the rules of the cache that holds them."""

    models: str
    input_nano: int
    read: int
    write: int
    rules: str


TABLE: Final = (
    Priced("claude-fable-5-[12]", 10_000, 25, 1250, "anthropic-512"),
    Priced("claude-fable-5", 10_000, 100, 1250, "anthropic-512"),
    Priced("claude-opus-5-5", 4_000, 50, 1250, "anthropic-512"),
    Priced("claude-opus-5", 5_000, 100, 1250, "anthropic-512"),
    Priced("claude-opus-4-8", 5_000, 100, 1250, "anthropic"),
    Priced("claude-opus-4-7", 5_000, 100, 1250, "anthropic-2048"),
    Priced("claude-opus-4-[56]", 5_000, 100, 1250, "anthropic-4096"),
    Priced("claude-sonnet-5-5", 2_000, 50, 1250, "anthropic-512"),
    Priced("claude-sonnet-5", 2_000, 100, 1250, "anthropic"),
    Priced("claude-sonnet-4-[56]", 3_000, 100, 1250, "anthropic"),
    Priced("claude-haiku-4-5", 1_000, 100, 1250, "anthropic-4096"),
    Priced("claude-3-5-haiku", 800, 100, 1250, "anthropic-2048"),
    Priced("gpt-4o", 2_500, 500, 1000, "openai"),
    Priced("gpt-4.1", 2_000, 250, 1000, "openai"),
    Priced("gpt-5*-codex", 1_250, 100, 1000, "openai"),
    Priced("gpt-5", 1_250, 100, 1000, "openai"),
    Priced("gpt-5.1", 1_250, 100, 1000, "openai"),
    Priced("gpt-5.4", 2_500, 100, 1000, "openai-24h"),
    Priced("gpt-5.5", 5_000, 100, 1000, "openai-24h"),
    Priced("gpt-5.6*", 4_000, 100, 1250, "openai-marked"),
    Priced("gpt-6.1-sol", 2_000, 50, 1250, "openai-marked"),
    Priced("deepseek-chat", 270, 259, 1000, "deepseek-v3"),
    Priced("deepseek-flash", 150, 20, 1000, "deepseek"),
    Priced("deepseek-v4-pro", 660, 33, 1000, "deepseek"),
    Priced("gemini-2.5-pro", 1_250, 100, 1000, "gemini"),
    Priced("gemini-2.5-flash", 300, 100, 1000, "gemini"),
    Priced("kimi-k2.5", 600, 167, 1000, "kimi"),
    Priced("kimi-k2.6", 950, 168, 1000, "kimi"),
    Priced("kimi-k3", 3_000, 100, 1000, "kimi"),
)

# Where no price is known, the family's rules still are.
_FAMILIES = (
    ("claude*", "anthropic"),
    ("gpt*", "openai"),
    ("deepseek*", "deepseek"),
    ("gemini*", "gemini"),
    ("kimi*", "kimi"),
    ("qwen*", "qwen"),
)
_DATE = re.compile(r"-(?:\d{8}|\d{4}-\d{2}-\d{2})$")


def prices_of(model: str, time: int = 0) -> Prices:
    """What a model's input costs; by genai-prices at `time` (Unix milliseconds, 0 for the table's date).

    Raises PolicyError where no price is known, and says how to give one.
    """
    row = _row(model)
    if row is not None:
        return Prices(row.read, row.write, row.input_nano)
    try:
        import genai_prices
    except ModuleNotFoundError:
        raise PolicyError(
            f"no price is known for {model!r}: give --read-price and --write-price, relative to an input token's, "
            "or install refold[prices], which knows more models",
            field="model",
        ) from None
    when = datetime.fromtimestamp(time / 1000, UTC) if time else datetime.fromisoformat(f"{DATED}T12:00:00+00:00")
    return kept_by(genai_prices, model, when)


def kept_by(library: Any, model: str, when: datetime) -> Prices:
    """What genai-prices says a model's input cost at that time. Raises PolicyError."""

    def nano(**used: int) -> int:
        usage = library.Usage(input_tokens=1000, **used)
        return int(library.calc_price(usage, _bare(model), genai_request_timestamp=when).total_price * 1_000_000)

    try:
        plain = nano()
        read, write = nano(cache_read_tokens=1000), nano(cache_write_tokens=1000)
    except (LookupError, ValueError) as error:
        raise PolicyError(
            f"no price is known for {model!r} ({error}): give --read-price and --write-price, relative to an input "
            "token's",
            field="model",
        ) from None
    if not plain:
        raise PolicyError(f"{model!r} is free of charge: there is nothing to compare", field="model")
    return Prices(read * 1000 // plain, write * 1000 // plain, plain)


def rules_for(model: str) -> Rules:
    """The rules of the cache that holds a model's prompts; `ideal` for a model of no known family."""
    row = _row(model)
    if row is not None:
        return RULES[row.rules]
    name = _bare(model)
    return next((RULES[rules] for glob, rules in _FAMILIES if fnmatchcase(name, glob)), IDEAL)


def _row(model: str) -> Priced | None:
    name = _bare(model)
    return next((row for row in TABLE if fnmatchcase(name, row.models)), None)


def _bare(model: str) -> str:
    """Without the provider's name before it and the date behind."""
    return _DATE.sub("", model.rpartition("/")[2].lower())
