"""The law local, for every policy."""

from refold.laws import Report


def test_prompts_agree_on_every_byte_before_the_first_cut_point(report: Report, expected: dict[str, str]) -> None:
    assert report.laws["local"] == expected["local"]
