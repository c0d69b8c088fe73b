"""Values inside a JSON text change; every byte around them stays."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from refold.events import FormatError
from refold.events.formats._splice import splice

LEAVES = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text()
VALUES = st.recursive(LEAVES, lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4))


def constant(new: Any) -> Any:
    return lambda old: new


def paths(value: Any, at: tuple[str | int, ...] = ()) -> list[tuple[str | int, ...]]:
    below: list[tuple[str | int, Any]] = []
    if isinstance(value, dict):
        below = list(value.items())
    elif isinstance(value, list):
        below = list(enumerate(value))
    return [at, *(found for key, inner in below for found in paths(inner, (*at, key)))]


@given(VALUES, st.data(), st.sampled_from([None, 0, 3]), st.booleans())
def test_one_value_changes_and_the_rest_reads_the_same(
    value: Any, data: st.DataObject, indent: int | None, ascii_only: bool
) -> None:
    path = data.draw(st.sampled_from(paths(value)))
    text = json.dumps(value, indent=indent, ensure_ascii=ascii_only)

    changed = json.loads(splice(text, {path: constant("NEW")}, "x"))
    found = changed
    for key in path:
        found = found[key]
    assert found == "NEW"
    assert splice(splice(text, {path: constant("NEW")}, "x"), {path: constant("NEWER")}, "x") == splice(
        text, {path: constant("NEWER")}, "x"
    )


@given(VALUES, st.sampled_from([None, 1]))
def test_an_edit_that_changes_nothing_leaves_the_text(value: Any, indent: int | None) -> None:
    text = json.dumps(value, indent=indent)
    for path in paths(value):
        assert splice(text, {path: lambda old: old}, "x") == text


def test_of_a_repeated_key_the_last_one_counts() -> None:
    assert splice(
        '{"a": 1, "b": {"c": 1}, "a": 2, "b": {"c": 2}}', {("a",): constant(3), ("b", "c"): constant(4)}, "x"
    ) == ('{"a": 1, "b": {"c": 1}, "a": 3, "b": {"c": 4}}')


def test_only_the_changed_member_of_an_object_is_written_anew() -> None:
    def shorter(old: list[Any]) -> list[Any]:
        return [old[0], {**old[1], "text": "s"}]

    text = '[ {"n": 1.0e3},\n {"text" : "long",  "n":1.0e3} ]'
    assert splice(text, {(): shorter}, "x") == '[ {"n": 1.0e3},\n {"text" : "s",  "n":1.0e3} ]'


def test_elements_that_stay_in_a_shorter_list_keep_their_text() -> None:
    assert splice('[1.0e3, "b", {"n":1.0e3}]', {(): lambda old: [old[0], old[2]]}, "x") == '[1.0e3, {"n":1.0e3}]'


@pytest.mark.parametrize(
    ("text", "written"),
    [('{"a": "x"}', '{"a": "\\u00e9\\ud800"}'), ('{"ä": 1, "a": "x"}', '{"ä": 1, "a": "é\\ud800"}')],
)
def test_a_new_text_is_escaped_as_the_text_around_it(text: str, written: str) -> None:
    assert splice(text, {("a",): constant("é\ud800")}, "x") == written


def test_a_byte_order_mark_stays() -> None:
    assert splice('\ufeff["a"]', {(0,): constant("b")}, "x") == '\ufeff["b"]'


@pytest.mark.parametrize(("text", "path"), [("{}", ("a",)), ("[1]", (1,)), ("[1]", ("0",)), ("1", (0,))])
def test_a_path_that_leads_nowhere_is_refused(text: str, path: tuple[str | int, ...]) -> None:
    with pytest.raises(FormatError, match="nothing stands at"):
        splice(text, {path: constant(1)}, "x")


@pytest.mark.parametrize("text", ["", "{", '{"a"', '{"a":', "[1", "nope", '{"a": tru}'])
def test_what_is_no_json_is_refused(text: str) -> None:
    with pytest.raises(FormatError):
        splice(text, {("a",): constant(1)}, "x")
