"""A live host driven step by step: append, plan, commit, crash, resume, deliver twice; against folding its log anew."""

import hypothesis
import pytest
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule, run_state_machine_as_test

from refold.events import Reorder
from refold.laws import Host, Script, acts
from refold.laws.script import Act, Restart, Resume
from refold.prompt import prompt_bytes
from refold.reducer import Dsh, Policy, Reducer
from refold.reducer.presets import PRESETS, keep3

WINDOW = 4
GATED = keep3(gate=2000, keep=2, threshold=120, head=40, tail=20)


class LiveHosts(RuleBasedStateMachine):
    """A host that commits, one that derives, and a follower that gets the log of the first out of order."""

    policy: Policy

    @initialize(version=st.sampled_from((4, 0)), timed=st.booleans())
    def start(self, version: int, timed: bool) -> None:
        script = Script(version, timed)
        self.commit, self.derive = (
            Host(Reducer(self.policy, Dsh(version), mode), script, asks_early=False) for mode in ("commit", "derive")
        )
        self.follower, self.reorder, self.delivered = self.commit.view, Reorder(WINDOW), 0

    @rule(data=st.data())
    def play(self, data: st.DataObject) -> None:
        self._both(data.draw(acts(self.policy)))

    @rule(from_dump=st.booleans())
    def crash_of_refold(self, from_dump: bool) -> None:
        self._both(Restart(from_dump))

    @rule(fork=st.booleans())
    def crash_of_the_harness(self, fork: bool) -> None:
        self._both(Resume(fork))

    @rule(data=st.data())
    def deliver(self, data: st.DataObject) -> None:
        """The follower catches up: each WINDOW events in any order, some of them twice."""
        fresh = self.commit.events[self.delivered :]
        for start in range(0, len(fresh), WINDOW):
            for event in data.draw(st.permutations(fresh[start : start + WINDOW])):
                for _ in range(data.draw(st.sampled_from((1, 1, 2)))):
                    self.follower = self.commit.reducer.fold_all(self.follower, self.reorder.push(event))
        self.delivered = len(self.commit.events)
        self.reorder.flush()
        assert self.follower == self.commit.view

    def _both(self, act: Act) -> None:
        self.commit.play(act)
        self.derive.play(act)

    @invariant()
    def each_view_is_the_one_folded_from_the_log(self) -> None:
        for host in self._hosts():
            assert host.view == host.reducer.fold_all(host.reducer.start(), host.events)

    @invariant()
    def both_send_the_same_prompts(self) -> None:
        if hosts := self._hosts():
            one, other = ([prompt_bytes(sent.messages) for sent in host.run().sent[-2:]] for host in hosts)
            assert one == other

    @invariant()
    def what_was_committed_is_not_due_again(self) -> None:
        for host in self._hosts()[:1]:
            beats = host.run().beats
            if beats and beats[-1].done == len(host.events):
                assert host.reducer.plan(host.view) == ()

    def _hosts(self) -> list[Host]:
        return [self.commit, self.derive] if hasattr(self, "commit") else []


@pytest.mark.parametrize(
    "policy", [GATED, PRESETS["pruner"](), PRESETS["overclock"](), PRESETS["debt"]()], ids=lambda policy: policy.name
)
def test_a_live_session_is_what_its_log_says(policy: Policy, seed: int) -> None:
    machine = hypothesis.seed(seed)(type("LiveHosts", (LiveHosts,), {"policy": policy}))
    settings = hypothesis.settings(
        max_examples=12, stateful_step_count=30, suppress_health_check=list(hypothesis.HealthCheck)
    )
    run_state_machine_as_test(machine, settings=settings)
