"""The law resume, for every policy."""

from refold.laws import Report


def test_at_every_step_start_the_live_view_is_the_one_folded_from_the_log(
    report: Report, expected: dict[str, str]
) -> None:
    assert report.laws["resume"] == expected["resume"]
