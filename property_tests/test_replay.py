"""The law replay, for every policy."""

from refold.laws import Report


def test_a_log_folded_in_parts_and_put_aside_between_them_gives_the_view_of_the_whole(
    report: Report, expected: dict[str, str]
) -> None:
    assert report.laws["replay"] == expected["replay"]
