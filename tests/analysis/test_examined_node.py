"""What is said of shapes at a node that broadcasts, and what a Broadcast in front has to do.

Models of version 6 ask for broadcasting by an attribute, and line the second operand up by another.
"""

import datetime as dt

import pytest

from sonnx_ort.analysis.examination import Examination
from sonnx_ort.analysis.examined_node import BroadcastPlan, ExaminedNode
from sonnx_ort.analysis.waivers import Waiver
from sonnx_ort.profile.catalog import OPERATORS
from sonnx_ort.profile.demands import Demands
from sonnx_ort.profile.options import Broadcasting, Edition
from sonnx_ort.profile.rule import Status
from sonnx_ort.terms.operand import Operand, format_shape
from support.examined import examined as examine
from support.graphs import parse

_BROADCAST = "proved: a Broadcast in front makes the shapes equal"
_FIT = "E1 proved: on each axis every size is the largest or 1"
_LEFT = "runtime: the Broadcast in front does not expand an operand that may lack the common shape"
_SCALAR = (
    "E1 runtime: the declared shapes fit, but an input of the model is declared as a scalar, and "
    "ONNX Runtime accepts tensors of any rank for it"
)
_RANK = "R1 runtime: whether B lines up with A depends on a rank that depends on the inputs"
_LINED_UP = "R1 runtime: whether B lines up with A depends on the inputs"
_NOT_LINED_UP = "the second operand does not line up with the first; correct the model"
_EXPAND = 'rewrite with broadcast="explicit", which expands'
_REWRITE = f"{_EXPAND} the operands"
_ASKED_FOR = "R1 violated: the attribute broadcast=1 requests legacy broadcasting"
_MISFIT = (
    "E1 violated: axis {} has size {} in A and {} in B; the shapes {} and {} have no common shape; "
    "correct the model"
)


def examination(
    graph: str, broadcasting: Broadcasting = Broadcasting.REJECT, waivers: tuple[Waiver, ...] = ()
) -> Examination:
    made = parse(graph, opset=6 if "broadcast=1" in graph else 17, domains={"sonnx": 1})
    demands = Demands(Edition.TYPED, broadcasting, frozenset(OPERATORS))
    return examine(made, demands, waivers=waivers)


def examined(graph: str, broadcasting: Broadcasting = Broadcasting.REJECT) -> ExaminedNode:
    (node,) = examination(graph, broadcasting).nodes
    return node


def about_shapes(node: ExaminedNode) -> list[str]:
    """What is said of shapes, by the last parts of the rules' names."""
    told = []
    for o in node.obligations:
        said = "; ".join(filter(None, (o.evidence, o.hint)))
        told.append(f"{o.rule.id.rpartition('.')[2]} {o.status}: {said}")
    others = [line for line in told if not line.startswith(("R1", "E1"))]
    if len(node.operands) > 1 and node.operands[0].name == "A":
        assert others == ["R2 proved: all are float", "RG1 proved: all operands are dense"]
    return [line for line in told if line not in others]


def shapes(operands: tuple[Operand, ...]) -> str:
    return " ".join(format_shape(operand.shape) for operand in operands)


def described(plan: BroadcastPlan | None) -> str:
    if plan is None:
        return "none"
    words = [shapes(plan.operands), "expanded " + "".join("-x"[each] for each in plan.expanded)]
    if any(plan.single):
        words.append("single " + "".join("-x"[each] for each in plan.single))
    if plan.alignment is not None:
        lined_up = plan.alignment
        status = lined_up.judgement.status
        words.append(f"lined up by {lined_up.trailing}, {lined_up.rule.id} {status}")
    words.append(f"fits: {plan.fits}")
    return ", ".join(words)


@pytest.mark.parametrize(("shapes_of", "plan", "told"), [
    ("[2,3] [2,3]", "none", ["R1 proved: both shapes are (2, 3)"]),
    ("[2,3] [3]", "(2, 3) (3,), expanded -x, fits: True", [f"R1 {_BROADCAST}", _FIT]),
    ("[2,3] [k]", "(2, 3) (k,), expanded -x, fits: False",
     [f"R1 {_BROADCAST}", "E1 runtime: axis 1 is 3 against k"]),
    ("[2,3] [4]", "(2, 3) (4,), expanded -x, fits: False",
     [f"R1 {_BROADCAST}", _MISFIT.format(1, 3, 4, "(2, 3)", "(4,)")]),
    ("[n,3] [n,1]", "(n, 3) (n, 1), expanded -x, fits: False",
     [f"R1 {_LEFT}", "E1 runtime: axis 0 is n against n"]),
    ("[2,3] ", "(2, 3) (), expanded -x, fits: False", [f"R1 {_LEFT}", _SCALAR]),
])  # fmt: skip
def test_broadcast_in_front(shapes_of: str, plan: str, told: list[str]) -> None:
    a, b = shapes_of.split(" ")
    graph = f"(float{a} x, float{b} z) => (float[] y) {{ [d] y = Div(x, z) }}"
    node = examined(graph, Broadcasting.EXPLICIT)
    assert (described(node.broadcast), about_shapes(node)) == (plan, told)
    assert shapes(node.operands) == shapes(examined(graph).operands)


@pytest.mark.parametrize(
    ("shapes_of", "plan"),
    [
        ("[2,3] [1]", "(2, 3) (1,), expanded -x, single -x, fits: True"),
        ("[2,3] [3]", "(2, 3) (3,), expanded -x, fits: True"),
        ("[n,3] [1,1]", "(n, 3) (1, 1), expanded -x, single -x, fits: False"),
        ("[n,1] [n,1]", "none"),
        ("[2,3] ", "(2, 3) (), expanded -x, fits: False"),
    ],
)
def test_one_element_is_read_where_it_is_proved_that_the_shapes_fit_then(
    shapes_of: str, plan: str
) -> None:
    a, b = shapes_of.split(" ")
    graph = f"(float{a} x, float{b} z) => (float[] y) {{ y = Pow(x, z) }}"
    assert described(examined(graph, Broadcasting.EXPLICIT).broadcast) == plan


@pytest.mark.parametrize(("asked", "rejected", "plan", "told"), [
    ("[2,3] [2,3]", f"{_ASKED_FOR}; remove the attribute broadcast", "none",
     ["R1 proved: both shapes are (2, 3)"]),
    ("[2,3] [3]", f"R1 violated: rank 2 is not rank 1; {_EXPAND} B from (3,) to (2, 3)",
     "(2, 3) (3,), expanded -x, lined up by 0, Div.float.R1 proved, fits: True",
     [f"R1 {_BROADCAST}", _FIT]),
    ("[2,3] [2] axis=0",
     f"R1 violated: rank 2 is not rank 1; {_EXPAND} B from (2,) to (2, 3)",
     "(2, 3) (2, 1), expanded -x, lined up by 1, Div.float.R1 proved, fits: True",
     [f"R1 {_BROADCAST}", _FIT]),
    ("[n,m] [n] axis=0",
     f"R1 violated: rank 2 is not rank 1; {_EXPAND} B from (n,) to (n, m)",
     "(n, m) (n, 1), expanded -x, lined up by 1, Div.float.R1 runtime, fits: False",
     [_LINED_UP, "E1 runtime: axis 0 is n against n"]),
    ("[] [3]", f"{_ASKED_FOR}; {_REWRITE}",
     "(rank unknown) (3,), expanded -x, lined up by 0, Div.float.R1 runtime, fits: False",
     [_RANK, "E1 runtime: the rank of A is unknown"]),
    ("[3] []", f"{_ASKED_FOR}; {_REWRITE}",
     "(3,) (rank unknown), expanded -x, lined up by 0, Div.float.R1 runtime, fits: False",
     [_RANK, "E1 runtime: the rank of B is unknown"]),
    (
        "[] [3] axis=0",
        f"{_ASKED_FOR}; {_REWRITE}",
        (
            "(rank unknown) (rank unknown), expanded -x, lined up by None, "
            "Div.float.R1 runtime, fits: False"
        ),
        [_RANK, "E1 runtime: the rank of A and B is unknown"],
    ),
    ("[2,3]  axis=1", f"R1 violated: rank 2 is not rank 0; {_REWRITE}",
     "(2, 3) (rank unknown), expanded -x, lined up by None, Div.float.R1 runtime, fits: False",
     [_RANK, "E1 runtime: the rank of B is unknown"]),
    (
        "[0,3] [1]",
        f"R1 violated: rank 2 is not rank 1; {_NOT_LINED_UP}",
        "(0, 3) (1,), expanded -x, lined up by 0, Div.float.R1 proved, fits: False",
        [
            f"R1 {_BROADCAST}",
            _MISFIT.format(0, 0, 1, "(0, 3)", "(1,)").replace(
                "in B", "in B (which has no such axis)"
            ),
        ],
    ),
])  # fmt: skip
def test_broadcasting_of_version_6(asked: str, rejected: str, plan: str, told: list[str]) -> None:
    graph = asking(asked)
    refused = examined(graph)
    assert (described(refused.broadcast), about_shapes(refused)) == ("none", [rejected])
    node = examined(graph, Broadcasting.EXPLICIT)
    assert (described(node.broadcast), about_shapes(node)) == (plan, told)
    assert shapes(node.operands) == shapes(refused.operands)


@pytest.mark.parametrize(
    ("asked", "evidence"),
    [
        ("[2,3] [2]", "rank 2 is not rank 1"),
        ("[2,3] [1,3]", "axis 0 has size 2 in A and 1 in B"),
        ("[3] [2,3]", "rank 1 is not rank 2"),
    ],
)
@pytest.mark.parametrize("broadcasting", Broadcasting)
def test_operand_that_does_not_line_up_in_version_6(
    asked: str, evidence: str, broadcasting: Broadcasting
) -> None:
    node = examined(asking(asked), broadcasting)
    assert node.broadcast is None
    assert about_shapes(node) == [f"R1 violated: {evidence}; {_NOT_LINED_UP}"]
    assert shapes(node.operands) == shapes(examined(asking(asked)).operands)


def asking(asked: str) -> str:
    a, b, *axis = asked.split(" ")
    attributes = ", ".join(["broadcast=1", *axis])
    return f"(float{a} x, float{b} z) => (float[] y) {{ [d] y = Div<{attributes}>(x, z) }}"


@pytest.mark.parametrize(
    ("operands", "plan"),
    [
        ("float[2,3] x, float[3] z", "(2, 3) (3,), expanded -x, fits: True"),
        ("float[n] x, float[n] z", "(n,) (n,), expanded xx, fits: False"),
        ("float[2] x, float[3] z", "(2,) (3,), expanded --, fits: False"),
    ],
)
def test_broadcast_of_the_model_itself(operands: str, plan: str) -> None:
    graph = f"({operands}) => (float[] p, float[] q) {{ p, q = sonnx.Broadcast(x, z) }}"
    assert described(examined(graph).broadcast) == plan


class TestWaived:
    """A violation that somebody answers for is told as it is, and something else enforced."""

    GRAPH = "(float[2,3] x, float[3] z) => (float[] y) { [d] y = Div(x, z) }"
    WAIVER = Waiver("Div.float.R1", "d", "it fits", "the board", dt.date(9999, 12, 31))

    def test_is_found_and_a_broadcast_enforced(self) -> None:
        made = examination(self.GRAPH, waivers=(self.WAIVER,))
        (node,) = made.nodes
        assert described(node.broadcast) == "(2, 3) (3,), expanded -x, fits: True"
        assert about_shapes(node) == [f"R1 {_BROADCAST}", _FIT]
        statuses = {o.rule.id: o.status for o in node.found}
        assert statuses["Div.float.R1"] is Status.VIOLATED
        assert statuses["Div.float.R2"] is Status.PROVED
        assert node.found == made.report.obligations

    def test_is_none_where_no_waiver_is_for_it(self) -> None:
        other = Waiver("Div.float.R1", "e", "it fits", "the board", dt.date(9999, 12, 31))
        (node,) = examination(self.GRAPH, waivers=(other,)).nodes
        assert (node.waived, node.broadcast) == ((), None)
