"""A waiver and its forms: a file, each mistake in which is named, and a line of JSON."""

import datetime as dt
import json
from dataclasses import replace
from pathlib import Path

import pytest

import sonnx_ort
from sonnx_ort.errors import SonnxError
from sonnx_ort.obligations.waivers import read_waivers, waivers_from_json, waivers_to_json

ENTRY = {
    "rule": '"Div.float.R1"',
    "node": '"ratio"',
    "reason": '"one number"',
    "who": '"the board"',
    "until": "2027-01-31",
}

RATIO = sonnx_ort.Waiver("Div.float.R1", "ratio", "one number", "the board", dt.date(2027, 1, 31))


def entry(**changed: str | None) -> str:
    fields = {name: value for name, value in (ENTRY | changed).items() if value is not None}
    return "\n".join(["[[waiver]]", *(f"{name} = {value}" for name, value in fields.items())])


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "waivers.toml"


def test_waivers_are_read_in_their_order(file: Path) -> None:
    file.write_text(
        entry() + "\n" + entry(node='"ü"', path="[\"If 'c' then_branch\"]", model='"0c5f"'),
        encoding="utf-8",
    )
    day = dt.date(2027, 1, 31)
    assert read_waivers(file) == (
        sonnx_ort.Waiver("Div.float.R1", "ratio", "one number", "the board", day),
        sonnx_ort.Waiver(
            "Div.float.R1", "ü", "one number", "the board", day, ("If 'c' then_branch",), "0c5f"
        ),
    )
    assert [waiver.origin for waiver in read_waivers(file)] == [
        *(f"'{file}', entry 1", f"'{file}', entry 2"),
    ]


def test_documented_example_can_be_read(file: Path) -> None:
    page = (Path(__file__).resolve().parents[2] / "docs/report.md").read_text(encoding="utf-8")
    example = page.partition("```toml\n")[2].partition("```")[0]
    file.write_text(example, encoding="utf-8")
    (waiver,) = read_waivers(file)
    assert (waiver.rule, waiver.until) == ("Div.float.R1", dt.date(2027, 1, 31))


def test_file_may_be_empty(file: Path) -> None:
    file.write_text("# none\n", encoding="utf-8")
    assert read_waivers(str(file)) == ()


@pytest.mark.parametrize("name", list(ENTRY))
def test_field_that_is_missing(file: Path, name: str) -> None:
    file.write_text(f"{entry()}\n{entry(**{name: None})}", encoding="utf-8")
    with pytest.raises(SonnxError) as caught:
        read_waivers(file)
    assert str(caught.value) == (
        f"'{file}', entry 2: '{name}' is missing; a waiver has rule, node, reason, who, until"
    )


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"rule": "1"}, "'rule' is no text"),
        ({"rule": '"Div.R9"'}, "there is no rule 'Div.R9'; `sonnx-ort explain` lists all rules"),
        ({"rule": '"GR9"'}, "there is no rule 'GR9'; `sonnx-ort explain` lists all rules"),
        ({"node": '["ratio"]'}, "'node' is no text"),
        ({"reason": '" "'}, "'reason' is empty"),
        ({"who": '""'}, "'who' is empty"),
        ({"until": '"2027-01-31"'},
         "'until' is no date; write until = 2027-01-31, without quotes"),
        ({"until": "2027-01-31T00:00:00Z"},
         "'until' is no date; write until = 2027-01-31, without quotes"),
        ({"path": '"If"'}, "'path' is no list of texts"),
        ({"path": "[1]"}, "'path' is no list of texts"),
        ({"model": "1"}, "'model' is no text"),
        ({"untill": "2027-01-31"},
         "'untill' is unknown; a waiver has rule, node, reason, who, until, path, model"),
    ],
    ids=str,
)  # fmt: skip
def test_field_that_is_wrong(file: Path, changed: dict[str, str], message: str) -> None:
    file.write_text(entry(**changed), encoding="utf-8")
    with pytest.raises(SonnxError) as caught:
        read_waivers(file)
    assert str(caught.value) == f"'{file}', entry 1: {message}"


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"[[waiver]", "'{file}' is no TOML: "),
        (b"\xff", "'{file}' is no TOML: 'utf-8' codec can't decode"),
        (b"[[waivers]]\n", "'{file}': 'waivers' is unknown; write [[waiver]] tables"),
        (b"waiver = 1\n", "'{file}': 'waiver' is no list of tables; write [[waiver]]"),
        (b"waiver = [1]\n", "'{file}', entry 1: it is no table; write [[waiver]]"),
    ],
    ids=str,
)
def test_file_that_is_wrong(file: Path, content: bytes, message: str) -> None:
    file.write_bytes(content)
    with pytest.raises(SonnxError) as caught:
        read_waivers(file)
    assert str(caught.value).startswith(message.format(file=file))


def test_file_that_is_not_there(file: Path) -> None:
    with pytest.raises(SonnxError) as caught:
        read_waivers(file)
    assert str(caught.value) == f"there is no file '{file}'"


def test_folder_in_the_place_of_the_file(tmp_path: Path) -> None:
    with pytest.raises(SonnxError) as caught:
        read_waivers(tmp_path)
    assert str(caught.value) == f"'{tmp_path}' cannot be read: Is a directory"


def test_waivers_that_are_in_no_file_are_given_as_they_are() -> None:
    assert read_waivers(iter([RATIO, RATIO])) == (RATIO, RATIO)


WAIVER = sonnx_ort.Waiver(
    "Div.float.R1", "divide", "B is für eins", "the board", dt.date(2030, 12, 31)
)
INSIDE = replace(WAIVER, path=("If 'choose'", "then_branch"))
OF_A_MODEL = replace(WAIVER, model="centre.onnx")


@pytest.mark.parametrize(
    "waiver",
    [
        WAIVER,
        INSIDE,
        OF_A_MODEL,
        replace(WAIVER, path=()),
        replace(WAIVER, rule="Div.R9", reason="", who="", model="", origin="'w.toml'"),
    ],
)
def test_waivers_come_back_from_a_line(waiver: sonnx_ort.Waiver) -> None:
    assert waivers_from_json(waivers_to_json([waiver, WAIVER])) == (waiver, WAIVER)


def test_line_is_json_that_people_read() -> None:
    assert waivers_to_json([INSIDE, OF_A_MODEL]) == (
        '[{"rule": "Div.float.R1", "node": "divide", "path": ["If \'choose\'", "then_branch"], '
        '"model": null, "reason": "B is für eins", "who": "the board", "until": "2030-12-31"}, '
        '{"rule": "Div.float.R1", "node": "divide", "path": null, "model": "centre.onnx", '
        '"reason": "B is für eins", "who": "the board", "until": "2030-12-31"}]'
    )


@pytest.mark.parametrize(
    "change",
    [
        *({"rule": 1}, {"path": [1]}, {"path": 1}, {"path": "then_branch"}, {"path": {}}),
        *({"model": 1}, {"model": 0}, {"until": "never"}, {"until": 1}),
    ],
    ids=str,
)
def test_line_with_a_field_that_is_wrong_has_no_waivers(change: dict[str, object]) -> None:
    (entry,) = json.loads(waivers_to_json([WAIVER]))
    assert waivers_from_json(json.dumps([entry])) == (WAIVER,)
    assert waivers_from_json(json.dumps([entry | change])) == ()


@pytest.mark.parametrize("name", ["rule", "node", "path", "model", "reason", "who", "until"])
def test_line_without_a_field_has_no_waivers(name: str) -> None:
    (entry,) = json.loads(waivers_to_json([WAIVER]))
    del entry[name]
    assert waivers_from_json(json.dumps([entry])) == ()


def test_field_of_a_line_that_is_not_known_is_passed_over() -> None:
    (entry,) = json.loads(waivers_to_json([WAIVER]))
    assert waivers_from_json(json.dumps([entry | {"ticket": 1}])) == (WAIVER,)


@pytest.mark.parametrize(
    ("path", "origin", "place"),
    [
        (None, "", "the waiver of Div.float.R1 at node 'ratio'"),
        ((), "", "the waiver of Div.float.R1 at node 'ratio'"),
        (("a", "b"), "", "the waiver of Div.float.R1 at node 'ratio' in b in a"),
        (None, "'w.toml'", "'w.toml': the waiver of Div.float.R1 at node 'ratio'"),
    ],
    ids=str,
)
def test_place_of_a_waiver(path: tuple[str, ...] | None, origin: str, place: str) -> None:
    assert replace(RATIO, path=path, origin=origin).place == place
