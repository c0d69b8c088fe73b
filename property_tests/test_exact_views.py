"""The law exact views, for every policy."""

from refold.laws import Report


def test_exactly_n_step_starts_pass_between_birth_and_cut(report: Report, expected: dict[str, str]) -> None:
    assert report.laws["exact views"] == expected["exact views"]
