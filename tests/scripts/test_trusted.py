"""Lines that have to be trusted are those that are loaded, and code is what is no text."""

import pytest
import trusted


@pytest.mark.parametrize(("text", "count"), [
    ("", 0),
    ("# a comment\n\n", 0),
    ('"""A docstring\nof two lines."""\n', 0),
    ('def f():\n    """Do it."""\n    return 1  # one\n', 2),
    ('x = """a text\nof two lines"""\n', 2),
    ("x = (\n    1,\n)\n", 3),
])  # fmt: skip
def test_code_is_what_is_no_comment_and_no_docstring(text: str, count: int) -> None:
    assert trusted.code_lines(text) == count


def test_certificate_of_one_model_rests_on_no_guards_and_on_less_than_one_of_two() -> None:
    alone, limited, both, checked = (trusted.measured(what) for what in trusted.LOADED)
    assert alone.rooms.keys() == {"checker", "facts", "profile", "terms"}
    assert both.rooms.keys() == alone.rooms.keys() | {"guards"}
    assert "checker" not in checked.rooms
    assert limited.rooms.keys() == alone.rooms.keys()
    assert alone.lines < limited.lines < both.lines < checked.lines
    sizes = (alone, limited, both, checked)
    assert all(size.files < size.code < size.lines for size in sizes)
