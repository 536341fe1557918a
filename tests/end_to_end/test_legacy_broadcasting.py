"""Div and Sub of opset 1 and 6 with `broadcast=1`: what lines up, and the numbers."""

import itertools

import numpy as np
import pytest

import sonnx_ort
from sonnx_ort.profile.rule import Status
from support.backends import on_each_backend
from support.broadcasting import (
    legacy_model,
    lines_up,
    numbered,
    results,
    run,
    violation,
)
from support.graphs import tensor
from support.sessions import quiet

pytestmark = on_each_backend

EXPLICIT = {"broadcast": "explicit"}
A = (2, 3, 4, 5)
OPSETS = pytest.mark.parametrize("opset", [1, 6])
LISTED = [
    ((), {}, ()),
    ((1, 1), {}, ()),
    ((5,), {}, (5,)),
    ((4, 5), {}, (4, 5)),
    ((3, 4), {"axis": 1}, (3, 4, 1)),
    ((2,), {"axis": 0}, (2, 1, 1, 1)),
]
"""The shapes of B that the ONNX page lists for A, with the axis and the shape by which numpy aligns
them."""

NOT_LINING_UP = [
    (A, (3,), {}),
    (A, (3, 4), {"axis": 2}),
    (A, (5,), {"axis": -9}),
    (A, (2, 2, 3, 4, 5), {}),
    ((1,), (3,), {}),
    ((3,), (1, 1), {}),
    ((4, 5), (1, 5), {}),
    (A, (3, 1), {"axis": 1}),
]
"""Shapes, of which the ONNX page says: B's is a contiguous part of A's; "1-dim expansion doesn't
work yet"."""


def feeds(a_shape, b_shape):
    return {"A": numbered(a_shape, np.float32, 3), "B": numbered(b_shape, np.float32, 2)}


def by_numpy(operator, arrays, aligned):
    a, b = arrays["A"], arrays["B"].reshape(aligned)
    return a / b if operator == "Div" else a - b


def rules(made, **choices):
    with pytest.raises(sonnx_ort.ModelRejected) as caught:
        sonnx_ort.rewrite(made, **choices)
    return {o.rule.id for o in caught.value.report.violations}


@pytest.mark.satisfies(
    "Div.onnx.legacy.limited Div.onnx.legacy.one_element Div.onnx.legacy.contiguous",
    "Div.onnx.legacy.axis Div.onnx.legacy.result",
)
@OPSETS
@pytest.mark.parametrize("operator", ["Div", "Sub"])
@pytest.mark.parametrize(("b_shape", "attributes", "aligned"), LISTED, ids=str)
@pytest.mark.parametrize("form", ["sizes", "symbols", "unknown ranks"])
def test_what_lines_up_has_the_right_numbers(opset, operator, form, b_shape, attributes, aligned):  # noqa: PLR0917
    said = declared(form, A, "a"), declared(form, b_shape, "b")
    made = legacy_model(operator, *said, opset, broadcast=1, **attributes)
    arrays = feeds(A, b_shape)
    (result,) = results(made, arrays, **EXPLICIT)
    np.testing.assert_array_equal(result, by_numpy(operator, arrays, aligned), strict=True)


@OPSETS
@pytest.mark.parametrize(("b_shape", "attributes"), [form[:2] for form in LISTED], ids=str)
@pytest.mark.parametrize(
    ("edition", "expected"), [("typed", {"Div.float.R1"}), ("preliminary", {"Div.R1", "Div.R4"})]
)
def test_every_form_is_rejected_by_default(opset, b_shape, attributes, edition, expected):
    made = legacy_model("Div", A, b_shape, opset, broadcast=1, **attributes)
    assert rules(made, edition=edition) == expected


@pytest.mark.satisfies("Div.onnx.legacy.one_dimension")
@OPSETS
@pytest.mark.parametrize(("a_shape", "b_shape", "attributes"), NOT_LINING_UP, ids=str)
def test_what_does_not_line_up_is_rejected(opset, a_shape, b_shape, attributes):
    made = legacy_model("Div", a_shape, b_shape, opset, broadcast=1, **attributes)
    assert rules(made, **EXPLICIT) == {"Div.float.R1"}


@pytest.mark.satisfies("Div.onnx.legacy.broadcast", "Div.onnx.legacy.size")
@OPSETS
@pytest.mark.parametrize("attributes", [{}, {"broadcast": 0}, {"axis": 0}], ids=str)
def test_nothing_is_broadcast_that_does_not_ask_for_it(opset, attributes):
    """The ONNX page: "Attribute broadcast=1 needs to be passed to enable broadcasting"."""
    made = legacy_model("Div", (2, 3), (3,), opset, **attributes)
    assert rules(made, **EXPLICIT) == {"Div.float.R1"}


@OPSETS
def test_open_sizes_that_do_not_ask_for_broadcasting_are_held_to_one_size(opset):
    made = legacy_model("Div", ["n"], ["m"], opset)
    assert violation(made, feeds((3,), (1,)), **EXPLICIT).rule == "Div.float.R1"


@OPSETS
@pytest.mark.parametrize("shape", [["n"], None], ids=str)
def test_shape_of_the_first_operand_is_not_proved_where_a_run_can_break_it(opset, shape):
    made = legacy_model("Div", shape, ["m"], opset, broadcast=1)
    report = sonnx_ort.check(made, operators="default", **EXPLICIT)
    (found,) = [o for o in report.obligations if o.rule.id == "Div.float.R1"]
    assert found.status is Status.RUNTIME


@OPSETS
def test_violation_tells_the_shapes_that_do_not_line_up(opset):
    made = legacy_model("Div", ["n", "m", 4], ["k"], opset, broadcast=1, axis=1)
    error = violation(made, feeds((2, 3, 4), (2,)), **EXPLICIT)
    assert (error.rule, error.operator, error.node) == ("Div.float.R1", "Div", "the_node")
    assert error.shapes == ((2, 3, 4), (2,))
    assert str(error) == (
        "Div 'the_node' breaks Div.float.R1: B (2,) has neither one element nor the shape of the "
        "part of A's (2, 3, 4) that it must match; shapes A (2, 3, 4), B (2,). The rule: Tensors "
        "A, B and C must have the same shape."
    )


def test_other_operators_of_an_old_opset_stay():
    made = legacy_model("Div", (2, 3), (3,), 6, broadcast=1)
    made.graph.node[0].output[0] = "q"
    made.graph.node.add(op_type="Relu", input=["q"], output=["C"], name="relu")
    (result,) = results(made, feeds((2, 3), (3,)), **EXPLICIT)
    assert result.shape == (2, 3)


@pytest.mark.parametrize(
    "form",
    [
        *("symbols", "unknown ranks", "unknown rank of A"),
        *(pytest.param(form, marks=pytest.mark.thorough) for form in ("sizes", "one symbol")),
    ],
)
@pytest.mark.parametrize("axis", [1, None, pytest.param(-1, marks=pytest.mark.thorough)])
def test_verdict_is_that_of_the_documents_words_whatever_is_declared(form, axis):
    attributes = {"broadcast": 1} if axis is None else {"broadcast": 1, "axis": axis}
    shapes = [(), (1,), (2,), (1, 2), (2, 1), (2, 3, 2)]
    sessions: dict[bytes, sonnx_ort.InferenceSession] = {}
    for a_shape, b_shape in itertools.product(shapes, shapes):
        said = declared(form, a_shape, "a"), declared(form, b_shape, "b")
        made = legacy_model("Sub", *said, 6, **attributes).SerializeToString()
        expected = lines_up(a_shape, b_shape, axis)
        arrays = feeds(a_shape, b_shape)
        try:
            if made not in sessions:
                sessions[made] = sonnx_ort.InferenceSession(made, quiet(), **EXPLICIT)
        except sonnx_ort.ModelRejected:
            assert expected is None, (a_shape, b_shape)
            continue
        found = run(sessions[made], arrays)
        if expected is None:
            assert isinstance(found, sonnx_ort.ContractViolation), (a_shape, b_shape)
            assert found.rule == "Sub.float.R1"
        elif isinstance(found, sonnx_ort.ContractViolation):
            # Two inputs that are declared with one symbol are held to one size.
            assert form == "one symbol"
            assert a_shape != b_shape
        else:
            np.testing.assert_array_equal(found[0], by_numpy("Sub", arrays, expected), strict=True)


def declared(form, shape, name):
    match form:
        case "sizes":
            return shape
        case "symbols":
            return [f"{name}{axis}" for axis in range(len(shape))]
        case "one symbol":
            return ["n"] * len(shape)
        case "unknown ranks":
            return None
        case _:
            return None if name == "a" else shape


@OPSETS
def test_size_0_against_one_element_breaks_the_rule_of_broadcasts(opset):
    """The document of Broadcast has no such common shape, whatever the operator's page allows."""
    made = legacy_model("Div", ["n"], [1], opset, broadcast=1)
    assert violation(made, feeds((0,), (1,)), **EXPLICIT).rule == "Broadcast.E1"


@pytest.mark.parametrize("read", ["C", "Shape of C"])
@pytest.mark.parametrize(
    ("a_shape", "b_shape", "axis"),
    [([4, 5], ["m", "k"], {}), ([4, 5], ["m"], {"axis": 0}), ([4, 5], None, {"axis": 0})],
    ids=str,
)
def test_check_is_made_even_if_only_the_shape_of_the_result_is_read(a_shape, b_shape, axis, read):
    made = legacy_model("Div", a_shape, b_shape, 6, broadcast=1, **axis)
    if read != "C":
        made.graph.output[0].CopyFrom(tensor("S", "int64", [2]))
        made.graph.node.add(op_type="Shape", input=["C"], output=["S"], name="shape")
    fed = (3,) if len(b_shape or [1]) == 1 else (1, 5)
    assert violation(made, feeds((4, 5), fed), **EXPLICIT).rule == "Div.float.R1"
