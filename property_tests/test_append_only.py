"""The law append-only, for every policy."""

from refold.laws import Report


def test_while_nothing_is_replaced_each_prompt_extends_the_one_before(report: Report, expected: dict[str, str]) -> None:
    assert report.laws["append-only"] == expected["append-only"]
