"""Prices: the table, what stands behind it, and what is said where there is none."""

import sys
from datetime import datetime

import pytest

from refold.events import PolicyError
from refold.lab.ledger import Prices
from refold.lab.prices import DATED, TABLE, kept_by, prices_of, rules_for
from refold.lab.providers import RULES


def test_a_model_is_known_with_its_provider_before_and_its_date_behind() -> None:
    assert prices_of("claude-sonnet-4-5-20250929") == Prices(100, 1250, 3_000)
    assert prices_of("anthropic/claude-opus-4-5") == Prices(100, 1250, 5_000)


def test_reads_at_a_fortieth_of_the_price_are_not_taken_for_a_tenth() -> None:
    assert prices_of("claude-fable-5-1") == Prices(25, 1250, 10_000)
    assert prices_of("claude-fable-5") == Prices(100, 1250, 10_000)


def test_every_row_names_rules_that_exist() -> None:
    assert {row.rules for row in TABLE} <= RULES.keys()


def test_a_model_of_a_known_family_has_its_rules_without_a_price() -> None:
    assert rules_for("deepseek-v9").name == "deepseek"
    assert rules_for("unheard-of").name == "ideal"


def test_a_model_without_a_price_is_an_error_that_says_how_to_give_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "genai_prices", None)
    with pytest.raises(PolicyError, match=r"unheard-of.*--read-price and --write-price.*refold\[prices\]"):
        prices_of("unheard-of")


def test_the_table_is_what_the_kept_library_says() -> None:
    library = pytest.importorskip("genai_prices", reason="refold[prices] is not installed")
    when = datetime.fromisoformat(f"{DATED}T12:00:00+00:00")
    for row in TABLE:
        if not any(sign in row.models for sign in "[*"):
            kept = kept_by(library, row.models, when)
            assert (kept.input_nano, kept.write) == (row.input_nano, row.write), row.models
            assert abs(kept.read - row.read) <= 1, row.models
