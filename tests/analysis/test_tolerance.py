"""What is enforced where somebody answers for a violation, and what stays violated all the same."""

import datetime as dt
from dataclasses import replace

import pytest

from sonnx_ort.analysis.examination import examine_loaded
from sonnx_ort.analysis.examined_node import ExaminedNode
from sonnx_ort.analysis.tolerance import still_violated, tolerate
from sonnx_ort.analysis.waivers import Waiver
from sonnx_ort.loading.canonical import load
from sonnx_ort.profile.catalog import DEFAULT_OPERATORS
from sonnx_ort.profile.options import Broadcasting, Demands, Edition
from support.graphs import parse

SHAPES = Waiver("Div.float.R1", "d", "it fits", "the board", dt.date(9999, 12, 31))
TYPES = replace(SHAPES, rule="Div.float.R2")


def examined(
    a: str, b: str, result: str, broadcasting: Broadcasting = Broadcasting.REJECT
) -> ExaminedNode:
    graph = (
        f"(float[{a}] x, float[{b}] z, bool c) => ({result}[?] y) {{ [i] y = If(c) <"
        f"then_branch = t () => ({result}[?] p) {{ [d] p = Div(x, z) }},"
        f" else_branch = e () => ({result}[?] q) {{ q = Identity(x) }}> }}"
    )
    demands = Demands(Edition.TYPED, broadcasting, DEFAULT_OPERATORS)
    (node,) = examine_loaded(load(parse(graph)), demands).nodes
    return node


@pytest.mark.parametrize(
    ("node", "waivers", "waived", "broadcast"),
    [
        (("2", "1", "float"), [SHAPES], "Div.float.R1", True),
        (("2", "1", "float"), [replace(SHAPES, path=("If 'i' then_branch",))], SHAPES.rule, True),
        (("2", "1", "float"), [replace(SHAPES, path=())], "", False),
        (("2", "1", "float"), [replace(SHAPES, node="other")], "", False),
        (("2", "1", "float"), [TYPES], "", False),
        (("2", "1", "float"), [], "", False),
        (("2", "2", "float"), [SHAPES], "", False),
        (("2", "2", "int32"), [TYPES], "Div.float.R2", False),
        (("2", "1", "int32"), [TYPES], "Div.float.R2", False),
        (("2", "1", "int32"), [SHAPES], "Div.float.R1", True),
        (("2", "1", "int32"), [SHAPES, TYPES], "Div.float.R2 Div.float.R1", True),
    ],
    ids=str,
)
def test_broadcast_takes_the_place_of_equal_shapes_that_are_waived(
    node: tuple[str, str, str], waivers: list[Waiver], waived: str, *, broadcast: bool
) -> None:
    given, behind = examined(*node), examined(*node, Broadcasting.EXPLICIT)
    found = tolerate(given, waivers, lambda: behind)
    assert " ".join(o.rule.id for o in found.waived) == waived
    assert all(o in given.obligations for o in found.waived)
    assert replace(found, waived=()) == (behind if broadcast else given)


@pytest.mark.parametrize(
    ("waived", "left"),
    [([], []), (["R1"], ["Div.float.R1"]), (["R2"], []), (["R1", "R2"], ["Div.float.R1"])],
    ids=str,
)
def test_shapes_stay_violated_where_no_broadcast_makes_them_equal(
    waived: list[str], left: list[str]
) -> None:
    node = examined("2", "1", "int32")
    parts = {o.rule.id.rpartition(".")[2]: o for o in node.obligations}
    found = still_violated(replace(node, waived=tuple(parts[name] for name in waived)))
    assert [o.rule.id for o in found] == left


def test_nothing_stays_violated_behind_a_broadcast() -> None:
    found = tolerate(
        examined("2", "1", "int32"),
        [SHAPES, TYPES],
        lambda: examined("2", "1", "int32", Broadcasting.EXPLICIT),
    )
    assert still_violated(found) == ()
