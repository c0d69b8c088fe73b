"""Every law for every peer's preset, and the laws that a peer breaks are broken."""

from collections.abc import Iterator

import pytest

from refold.lab import peers
from refold.laws import LAWS, check
from refold.reducer import Policy

SESSIONS = 20


def policies() -> Iterator[Policy]:
    yield from (make() for make in peers.PEERS.values())
    yield Policy("swe-agent in batches", peers.swe_agent(n=1, polling=3).parts)
    yield Policy("langchain-clear up to an amount", peers.langchain_clear(1_000, keep=1, clear_at_least=200).parts)
    yield Policy("pydantic-clear from an amount", peers.pydantic_clear(1_000, keep_pairs=1, min_clear_tokens=50).parts)


@pytest.mark.parametrize("policy", list(policies()), ids=lambda policy: policy.name)
def test_each_law_holds_or_is_broken_as_declared(policy: Policy, seed: int) -> None:
    broken = {law: f"broken as declared: {why}" for law, why in policy.broken.items()}
    assert check(policy, sessions=SESSIONS, seed=seed).laws == {law: broken.get(law, "ok") for law in LAWS}
