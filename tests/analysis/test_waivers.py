"""A waiver and its forms: a file, each mistake in which is named, and a line of JSON."""

import datetime as dt
import json
import re
from dataclasses import replace
from pathlib import Path

import pytest

import sonnx_ort
from sonnx_ort.analysis.waivers import read_waivers, waivers_from_json, waivers_to_json
from sonnx_ort.errors import SonnxError

ENTRY = {
    "rule": '"Div.float.R1"',
    "node": '"ratio"',
    "reason": '"one number"',
    "who": '"the board"',
    "until": "2027-01-31",
}

FIELDS = "rule, node, reason, who, until, path, model, operator, nodes, count"

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
        *(f"'{file}', entry 1", f"'{file}', entry 2")
    ]


def test_documented_examples_can_be_read(file: Path) -> None:
    page = (Path(__file__).resolve().parents[2] / "docs/waivers.md").read_text(encoding="utf-8")
    examples = re.findall(r"```toml.*?\n(.*?)```", page, re.DOTALL)
    file.write_text("\n".join(examples), encoding="utf-8")
    one, many = read_waivers(file)
    assert (one.rule, one.node, one.until) == ("Div.float.R1", "divide", dt.date(2027, 1, 31))
    assert (many.operator, many.nodes, many.count) == ("Div", "encoder/*", 300)


def test_waivers_of_many_nodes_are_read(file: Path) -> None:
    of_operator = entry(node=None, operator='"Div"', count="300")
    of_names = entry(node=None, nodes='"encoder/*"', count="1", model='"0c5f"')
    of_both = entry(node=None, operator='"Div"', nodes='"*"', count="2")
    file.write_text(f"{of_operator}\n{of_names}\n{of_both}", encoding="utf-8")
    many = replace(RATIO, node=None, operator="Div", count=300)
    assert read_waivers(file) == (
        many,
        replace(many, operator=None, nodes="encoder/*", count=1, model="0c5f"),
        replace(many, nodes="*", count=2),
    )


def test_file_may_be_empty(file: Path) -> None:
    file.write_text("# none\n", encoding="utf-8")
    assert read_waivers(str(file)) == ()


@pytest.mark.parametrize("name", [name for name in ENTRY if name != "node"])
def test_field_that_is_missing(file: Path, name: str) -> None:
    file.write_text(f"{entry()}\n{entry(**{name: None})}", encoding="utf-8")
    with pytest.raises(SonnxError) as caught:
        read_waivers(file)
    assert str(caught.value) == (
        f"'{file}', entry 2: '{name}' is missing; a waiver has rule, node, reason, who, until"
    )


NO_NUMBER = "; write a whole number of 1 or more"
NODES = [
    ({}, "'node' is missing; name one node, or several by 'operator' or 'nodes'"),
    ({"path": '["a"]'},
     "'node' is missing; name one node, or several by 'operator' or 'nodes'"),
    ({"operator": '"Div"'}, "'count' is missing; write the number of accepted violations"),
    ({"nodes": '"*"'}, "'count' is missing; write the number of accepted violations"),
    ({"count": "3"}, "'count' is for several nodes; name them by 'operator' or 'nodes'"),
    ({"node": '"ratio"', "count": "1"},
     "'node' is for one node and 'count' for several; remove one"),
    ({"node": '""', "operator": '"Div"'},
     "'node' is for one node and 'operator' for several; remove one"),
    ({"path": '["a"]', "nodes": '"*"', "count": "1"},
     "'path' is for one node and 'nodes' for several; remove one"),
    ({"operator": '"Div"', "count": "0"}, f"'count' is 0{NO_NUMBER}"),
    ({"operator": '"Div"', "count": "-1"}, f"'count' is -1{NO_NUMBER}"),
    ({"operator": '"Div"', "count": "2.0"}, f"'count' is 2.0{NO_NUMBER}"),
    ({"operator": '"Div"', "count": "true"}, f"'count' is True{NO_NUMBER}"),
    ({"operator": '"Div"', "count": '"all"'}, f"'count' is 'all'{NO_NUMBER}"),
    ({"operator": '" "', "count": "1"}, "'operator' is empty"),
    ({"operator": "1", "count": "1"}, "'operator' is not a string"),
    ({"nodes": '""', "count": "1"}, "'nodes' is empty"),
    ({"nodes": '["a"]', "count": "1"}, "'nodes' is not a string"),
]  # fmt: skip


@pytest.mark.parametrize(("changed", "message"), [
    ({"rule": "1"}, "'rule' is not a string"),
    ({"rule": '"Div.R9"'}, "there is no rule 'Div.R9'; `sonnx-ort explain` lists all rules"),
    ({"rule": '"GR9"'}, "there is no rule 'GR9'; `sonnx-ort explain` lists all rules"),
    ({"node": '["ratio"]'}, "'node' is not a string"),
    ({"reason": '" "'}, "'reason' is empty"),
    ({"who": '""'}, "'who' is empty"),
    ({"until": '"2027-01-31"'},
     "'until' is not a date; write until = 2027-01-31, without quotes"),
    ({"until": "2027-01-31T00:00:00Z"},
     "'until' is not a date; write until = 2027-01-31, without quotes"),
    ({"path": '"If"'}, "'path' is not a list of strings"),
    ({"path": "[1]"}, "'path' is not a list of strings"),
    ({"model": "1"}, "'model' is not a string"),
    ({"untill": "2027-01-31"}, f"'untill' is unknown; a waiver has {FIELDS}"),
    *(({"node": None} | changed, message) for changed, message in NODES),
], ids=str)  # fmt: skip
def test_field_that_is_wrong(file: Path, changed: dict[str, str | None], message: str) -> None:
    file.write_text(entry(**changed), encoding="utf-8")
    with pytest.raises(SonnxError) as caught:
        read_waivers(file)
    assert str(caught.value) == f"'{file}', entry 1: {message}"


def test_waivers_in_python_are_held_to_the_same() -> None:
    with pytest.raises(SonnxError) as caught:
        replace(RATIO, count=2)
    assert str(caught.value) == "'node' is for one node and 'count' for several; remove one"


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"[[waiver]", "'{file}' is not TOML: "),
        (b"\xff", "'{file}' is not TOML: it is not in UTF-8 ('utf-8' codec"),
        (b"[[waivers]]\n", "'{file}': 'waivers' is unknown; write [[waiver]] tables"),
        (b"waiver = 1\n", "'{file}': 'waiver' is not a list of tables; write [[waiver]]"),
        (b"waiver = [1]\n", "'{file}', entry 1: it is not a table; write [[waiver]]"),
    ],
    ids=str,
)
def test_file_that_is_wrong(file: Path, content: bytes, message: str) -> None:
    file.write_bytes(content)
    with pytest.raises(SonnxError) as caught:
        read_waivers(file)
    assert str(caught.value).startswith(message.format(file=file))


def test_waivers_that_are_in_no_file_are_given_as_they_are() -> None:
    assert read_waivers(iter([RATIO, RATIO])) == (RATIO, RATIO)


WAIVER = sonnx_ort.Waiver(
    "Div.float.R1", "divide", "B is für eins", "the board", dt.date(2030, 12, 31)
)
INSIDE = replace(WAIVER, path=("If 'choose'", "then_branch"))
OF_A_MODEL = replace(WAIVER, model="centre.onnx")
OF_MANY = replace(WAIVER, node=None, nodes="encoder/*", count=300)


@pytest.mark.parametrize(
    "waiver",
    [
        WAIVER,
        INSIDE,
        OF_A_MODEL,
        replace(WAIVER, path=()),
        OF_MANY,
        replace(OF_MANY, operator="Div", model="centre.onnx"),
        replace(OF_MANY, operator="Div", nodes=None, count=1),
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


def test_line_has_one_entry_for_many_nodes() -> None:
    assert waivers_to_json([OF_MANY]) == (
        '[{"rule": "Div.float.R1", "node": null, "path": null, "model": null, '
        '"reason": "B is für eins", "who": "the board", "until": "2030-12-31", '
        '"operator": null, "nodes": "encoder/*", "count": 300}]'
    )


@pytest.mark.parametrize(
    ("waiver", "change"),
    [
        *((OF_MANY, {"count": count}) for count in (None, 0, True)),
        *((OF_MANY, change) for change in ({"nodes": None}, {"nodes": 1}, {"operator": []})),
        *((OF_MANY, change) for change in ({"node": "divide"}, {"path": []})),
        *((WAIVER, {"path": path}) for path in ([1], 1, "then_branch", {})),
        *((WAIVER, change) for change in ({"rule": 1}, {"model": 1}, {"model": 0})),
        *((WAIVER, change) for change in ({"until": "never"}, {"until": 1})),
    ],
    ids=str,
)
def test_line_with_a_field_that_is_wrong_has_no_waivers(
    waiver: sonnx_ort.Waiver, change: dict[str, object]
) -> None:
    (entry,) = json.loads(waivers_to_json([waiver]))
    assert waivers_from_json(json.dumps([entry])) == (waiver,)
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


@pytest.mark.parametrize(
    ("operator", "nodes", "place"),
    [
        ("Div", None, "nodes of Div"),
        (None, "encoder/*", "nodes 'encoder/*'"),
        ("Div", "encoder/*", "nodes 'encoder/*' of Div"),
    ],
)
def test_place_of_a_waiver_of_many_nodes(
    operator: str | None, nodes: str | None, place: str
) -> None:
    waiver = replace(OF_MANY, operator=operator, nodes=nodes)
    assert waiver.place == f"the waiver of Div.float.R1 at {place}"


def test_number_of_violations_stands_in_the_text() -> None:
    assert str(WAIVER) == "by the board until 2030-12-31: B is für eins"
    assert str(OF_MANY) == "by the board until 2030-12-31, 300 in all: B is für eins"


@pytest.mark.parametrize(
    ("operator", "nodes", "node", "named"),
    [
        ("Div", None, "anything", True),
        ("Sub", None, "anything", False),
        (None, "encoder/*", "encoder/0/div", True),
        (None, "encoder/*", "Encoder/0/div", False),
        (None, "encoder/?", "encoder/10", False),
        (None, "", "anything", False),
        (None, "*", "", True),
        ("Div", "d*", "div", True),
        ("Div", "d*", "quotient", False),
        ("Sub", "d*", "div", False),
    ],
)
def test_nodes_of_a_waiver(
    operator: str | None, nodes: str | None, node: str, *, named: bool
) -> None:
    waiver = replace(OF_MANY, operator=operator, nodes=nodes)
    assert waiver.is_for("Div.float.R1", "Div", node, ("If 'choose' then_branch",)) is named
    assert not waiver.is_for("Div.float.R2", "Div", node, ())
