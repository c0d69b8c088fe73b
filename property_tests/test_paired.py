"""The law paired, for every policy."""

from refold.laws import Report


def test_calls_and_results_stay_paired_and_no_block_goes_unlisted(report: Report, expected: dict[str, str]) -> None:
    assert report.laws["paired"] == expected["paired"]
