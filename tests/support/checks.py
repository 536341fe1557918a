"""Checks of models as the formats get them, without files."""

import onnx

import sonnx_ort
from sonnx_ort.reporting.checked_models import Check, CheckedModel, FailOn
from support.graphs import binary_model, parse

MIXED = """
    (float[n, 3] x, float[3] y, int32[2] i, int32[2] j, bool c)
        => (float[?, ?] z, int32[2] k, float[?, ?] w) {
        [rectify] r = Softplus(x)
        [ratio] z = Div(r, y)
        [quotient] k = Div(i, j)
        [choose] w = If(c) <
            then_branch = t () => (float[?, ?] p) { [inner] p = Div(x, y) },
            else_branch = e () => (float[?, ?] q) { q = LogSoftmax(x) }>
    }"""
"""Violations in the graph and in a branch, rules left to the run, proofs, and findings."""


def mixed() -> onnx.ModelProto:
    return parse(MIXED)


def alone(
    model: onnx.ModelProto, name: str = "model.onnx", fail_on: FailOn = FailOn.VIOLATED, **options
) -> Check:
    """Check one model."""
    return Check(
        (CheckedModel(name, sonnx_ort.check(model, **{"operators": "default", **options})),),
        fail_on,
    )


def together() -> Check:
    """Check one model that keeps the profile, one that breaks it, and what is no model."""
    kept = sonnx_ort.check(binary_model("Div", "float", [3], [3]), operators="default")
    broken = sonnx_ort.check(mixed(), operators="default")
    models = (
        CheckedModel("kept.onnx", kept),
        CheckedModel("folder/broken.onnx", broken),
        CheckedModel("none.onnx", None, "there is no file 'none.onnx'"),
    )
    return Check(models, alone=False)


MENDABLE = """
    (float[2, 3] x) => (float[4, 3] y, float[?, ?] z) {
        [join] y = Concat<axis = -2>(x, x)
        [soft] z = Softmax<axis = 5>(x)
    }"""
"""A violation that `conform` can mend, and one that it cannot."""

MENDING = "count the axis from the front"
"""How it mends the first."""


def mendable() -> onnx.ModelProto:
    return parse(MENDABLE)


MADE = """
    (float[n, 3] x, float[3] y, int32[2] i, int32[2] j, float[k] w)
        => (float[?, ?] z, int32[2] q, float[k] d) {
        [relu] r = Softplus(x)
        [ratio] z = Div(r, y)
        [quotient] q = Div(i, j)
        [difference] d = Sub(w, w)
        [sum] s = Add(w, w)
    }"""
"""Violated, decided in runs, proved, not asked for and of no rule: a node of each."""
