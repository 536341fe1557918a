"""A change after which more is violated, or the interface is another one, is not made."""

import re
from collections.abc import Callable, Sequence

import onnx_ir as ir
import pytest

import sonnx_ort
from sonnx_ort.conforming import decomposing
from sonnx_ort.conforming.operators import Operators, Template
from support.graphs import parse

TURNED = "(float[2,3] x) => (float[2,3] y) { [node] a = Sign(x) [last] y = Relu(a) }"
ONES = [1] * 3


def three_axes(op: Operators, x: ir.Value) -> ir.Value:
    """A Conv along three axes, which the profile has not."""
    wide = op.Unsqueeze(x, axes=[0, 1, 4])
    kernel = op.edit.constant(decomposing.np.ones((1, 1, *ONES), "float32"), "kernel")
    return op.Squeeze(op.Conv(wide, kernel, kernel_shape=ONES, pads=[0] * 6), axes=[0, 1, 4])


def without_one(op: Operators, x: ir.Value) -> ir.Value:
    """Operators that the profile has."""
    return op.Neg(op.Neg(x))


def hidden(op: Operators, x: ir.Value) -> ir.Value:
    """An operator outside the set that a later change writes as a Conv along three axes."""
    return op.Floor(x)


Plant = Callable[..., None]


@pytest.fixture
def plant(monkeypatch: pytest.MonkeyPatch) -> Plant:
    def planted(**makes: Callable[..., ir.Value]) -> None:
        found = {name: Template(name, make, frozenset({"float"})) for name, make in makes.items()}
        monkeypatch.setattr(decomposing, "TEMPLATES", {**decomposing.TEMPLATES, **found})

    return planted


def operators(model: sonnx_ort.Conformed) -> Sequence[str]:
    return [node.op_type for node in model.model.graph.node]


def test_a_change_after_which_more_is_violated_is_not_made(plant: Plant) -> None:
    plant(Sign=three_axes)
    made = sonnx_ort.conform(parse(TURNED))
    assert operators(made) == ["Sign", "Relu"]
    (reason,) = (why for o, why in made.remaining if o.rule.id == "Graph.operator_set")
    assert re.fullmatch(r"a change would lead to \d+ violations instead of \d+: Conv\..*", reason)


def test_a_change_that_leads_to_such_a_one_is_made_without_it(plant: Plant) -> None:
    plant(Sign=hidden, Floor=three_axes)
    made = sonnx_ort.conform(parse(TURNED))
    assert operators(made) == ["Sign", "Relu"]


def test_other_changes_are_made(plant: Plant) -> None:
    plant(Sign=three_axes, Ceil=without_one)
    made = sonnx_ort.conform(parse(TURNED.replace("Relu(a)", "Ceil(a)")))
    assert operators(made) == ["Sign", "Neg", "Neg"]


def test_the_forecast_does_not_count_it(plant: Plant) -> None:
    plant(Sign=three_axes)
    report = sonnx_ort.check(parse(TURNED))
    assert "Graph.operator_set" not in {o.rule.id for o in report.mendable}


def test_a_session_that_conforms_does_not_make_it(plant: Plant) -> None:
    plant(Sign=three_axes)
    model = sonnx_ort.rewrite(parse(TURNED), conform=True, backend="native")
    assert "Conv" not in {node.op_type for node in model.graph.node}


def test_a_change_of_the_interface_is_not_made(
    plant: Plant, monkeypatch: pytest.MonkeyPatch
) -> None:
    def replace_by(edit: decomposing.NodeEdit, *values: ir.Value | None) -> None:
        edit.replacements = values

    plant(Sign=lambda _, x: x)
    monkeypatch.setattr(decomposing.NodeEdit, "replace_by", replace_by)
    made = sonnx_ort.conform(parse("(float[2] x) => (float[2] y) { [node] y = Sign(x) }"))
    assert [value.name for value in made.model.graph.input] == ["x"]
    assert operators(made) == ["Sign"]
    told = {o.rule.id: why for o, why in made.remaining}
    assert told["Graph.operator_set"] == "it would change the inputs or outputs of the model"


IN_STEPS = """() => (int64 y) <int64[1,1] x = {7}, bool c = {1}, int64[0] e = {}> {
    y = If (c) <
        then_branch = one () => (int64[] u) {
            n = Constant <value = int64 {2}> ()
            u = Loop (n, "", x) <body = b (int64 i, bool g, int64[] s) => (bool[] g, int64[] v) {
                v = Div(i, e)
            }>
        },
        else_branch = other () => (int64[] w) { w = Identity(x) }
    >
}"""


def test_a_change_at_a_node_that_was_moved_is_held_to_what_was_violated_before_it_was() -> None:
    """The Expand has no known shape, and the Div was violated in the body, too."""
    conformed = sonnx_ort.conform(parse(IN_STEPS, opset=21))
    assert [(o.rule.id, o.node) for o, _ in conformed.remaining] == [
        ("Graph.implicit_shape", "y_expand")
    ]
    assert sonnx_ort.conform(conformed.model).changes == ()
