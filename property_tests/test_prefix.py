"""The law prefix, for every policy."""

from refold.laws import Report


def test_what_is_ripe_is_a_prefix_of_the_queue(report: Report, expected: dict[str, str]) -> None:
    assert report.laws["prefix"] == expected["prefix"]
