"""The law sums, for every policy."""

from refold.laws import Report


def test_the_running_sums_are_those_counted_from_surface_and_queue(report: Report, expected: dict[str, str]) -> None:
    assert report.laws["sums"] == expected["sums"]
