"""A law that no session puts to the test holds for nothing: every case of every law has to come up."""

from refold.laws import Report
from refold.reducer import Policy


def test_every_case_came_up_and_a_third_of_the_sessions_had_operations(report: Report, policy: Policy) -> None:
    assert report.laws.get("vacuous", "ok") == "ok", str(report)
    assert not policy.parts or report.counts["operations"] * 3 >= report.sessions
