"""Changes that move where 16-bit floats are rounded are no safe ones."""

import onnx.parser
import pytest
from onnx.defs import get_all_schemas_with_history
from onnxruntime.capi.onnxruntime_pybind11_state import get_all_opkernel_def

import sonnx_ort
from sonnx_ort.conforming.change import Safety
from sonnx_ort.conforming.sixteen_bit_floats import IN_FLOAT, WITH_KERNEL

BROADCAST = "make the broadcast of the operands explicit"


def conformed(graph, *, opset=20, **options):
    text = f'<ir_version: 10, opset_import: ["": {opset}]> g {graph}'
    return sonnx_ort.conform(onnx.parser.parse_model(text), **options)


SAFE = {
    "an input": "(float16[1] x, float16[8] w) => (float16[8] z) { z = Mul(x, w) }",
    "a constant": (
        "(float16[8] w) => (float16[8] z) <float16[1] c = {1}> { a = Exp(w) z = Mul(a, c) }"
    ),
    "what a kernel makes of an input": (
        "(float16[1, 1] x, float16[8] w) => (float16[8] z) <int64[1] s = {1}> "
        "{ a = Reshape(x, s) z = Mul(a, w) }"
    ),
    "only its shape": (
        "(float16[n, 8] x, float16[8] w) => (float16[n, 8] z) { a = Exp(x) z = Mul(a, w) }"
    ),
    "a float": "(float[1] x, float[8] w) => (float[8] z) { a = Exp(x) z = Mul(a, w) }",
}

ROUNDING = {
    "computed in float": (
        "(float16[1] x, float16[8] w) => (float16[8] z) { a = Exp(x) z = Mul(a, w) }"
    ),
    "converted to 16 bits": (
        "(float[1] x, float16[8] w) => (float16[8] z) { a = Cast<to = 10>(x) z = Mul(a, w) }"
    ),
    "moved after it was computed": (
        "(float16[1, 1] x, float16[8] w) => (float16[8] z) <int64[1] s = {1}> "
        "{ a = Exp(x) b = Reshape(a, s) z = Mul(b, w) }"
    ),
    "beside the shape of what a function computes": (
        "(float16[n, 8] x, float16[8] w) => (float16[n, 8] z) "
        "{ a = Exp(x) b = Relu(a) z = Mul(b, w) }"
    ),
    "beside one that is computed": (
        "(float16[8] x) => (float16[8] z) <float16[1] one = {1}> { a = Exp(x) z = Max(a, one) }"
    ),
}


@pytest.mark.parametrize("graph", SAFE.values(), ids=SAFE)
def test_broadcast_of_rounded_numbers_is_safe(graph):
    assert [c.safety for c in conformed(graph).changes if c.title == BROADCAST] == [Safety.SAFE]


@pytest.mark.parametrize("graph", ROUNDING.values(), ids=ROUNDING)
def test_broadcast_of_what_may_not_be_rounded_yet_rounds(graph):
    result = conformed(graph, rounding=True)
    changes = [change.safety for change in result.changes if change.title == BROADCAST]
    assert changes == [Safety.ROUNDING]


@pytest.mark.parametrize("graph", ROUNDING.values(), ids=ROUNDING)
def test_reason_says_that_the_change_moves_where_numbers_are_rounded(graph):
    reasons = {reason for _, reason in conformed(graph).remaining}
    assert (
        f"rounding=True may fix it: {BROADCAST}; it moves where 16-bit floats are rounded"
    ) in reasons


NOT_REMOVED = {
    "remove the Dropout": (
        "(float[8] f, float16[8] w) => (float16[8] z) "
        "{ a = Cast<to = 10>(f) b = Dropout(a) z = Mul(b, w) }"
    ),
    "remove the node": (
        "(float16[2, 4] x, float16[4, 4] w) => (float16[2, 4] z) <int64[1] s = {-1}> "
        "{ a = Exp(x) b = Transpose<perm = [0, 1]>(a) z = MatMul(b, w) d = Reshape(b, s) }"
    ),
}


@pytest.mark.parametrize(("title", "graph"), NOT_REMOVED.items(), ids=NOT_REMOVED)
def test_node_that_parts_a_chain_is_removed_by_a_change_that_rounds(title, graph):
    result = conformed(graph, opset=11)
    assert title not in {change.title for change in result.changes}
    expected = f"rounding=True may fix it: {title}; it moves where 16-bit floats are rounded"
    assert expected in {reason for _, reason in result.remaining}
    rounded = conformed(graph, opset=11, rounding=True)
    assert {c.safety for c in rounded.changes if c.title == title} == {Safety.ROUNDING}


def test_unread_part_of_what_is_computed_in_float_is_no_output():
    graph = (
        "(float16[2, 4] x, float16[1, 4] w) => (float16[1, 4] z) <int64[2] s = {1, 1}> "
        "{ a = Exp(x) b, c = Split<axis = 0>(a, s) z = Mul(b, w) }"
    )
    result = conformed(graph, name_outputs=True)
    assert [output.name for output in result.model.graph.output] == ["z"]
    assert "as an output, it would change where 16-bit floats are rounded" in {
        reason for _, reason in result.remaining
    }


@pytest.mark.parametrize("bits", [10, 1])
def test_branch_of_16_bit_floats_is_taken_by_a_change_that_rounds(bits):
    kind = {10: "float16", 1: "float"}[bits]
    graph = (
        f"({kind}[8] x) => ({kind}[8] z) <bool c = {{1}}> {{ a = Exp(x) b = If(c) <"
        f"then_branch = t () => ({kind}[8] t) {{ t = Neg(a) }},"
        f"else_branch = e () => ({kind}[8] e) {{ e = Abs(a) }}> z = Sqrt(b) }}"
    )
    taken = {c.safety for c in conformed(graph, rounding=True).changes if c.operator == "If"}
    assert (Safety.ROUNDING if bits == 10 else Safety.SAFE) in taken
    assert ("If" in {n.op_type for n in conformed(graph).model.graph.node}) == (bits == 10)


def kernels() -> dict[str, list[tuple[int, int]]]:
    found: dict[str, list[tuple[int, int]]] = {}
    for kernel in get_all_opkernel_def():
        kinds = {str(kind) for kinds in kernel.type_constraints.values() for kind in kinds}
        ours = kernel.provider == "CPUExecutionProvider" and not kernel.domain
        if ours and any("tensor(float16)" in kind for kind in kinds):
            found.setdefault(kernel.op_name, []).append(kernel.version_range)
    return found


@pytest.mark.parametrize("operator", sorted(WITH_KERNEL.keys() - {"Constant"}))
def test_operators_with_kernels_have_one_in_each_version_since(operator):
    ranges = kernels()[operator]
    versions = {s.since_version for s in get_all_schemas_with_history() if s.name == operator}
    lacking = {
        version
        for version in versions
        if WITH_KERNEL[operator] <= version <= 21
        and not any(first <= version <= last for first, last in ranges)
    }
    assert lacking == set()


@pytest.mark.parametrize("operator", sorted(IN_FLOAT))
def test_operators_that_are_computed_in_float_have_neither_kernel_nor_function(operator):
    assert operator not in kernels()
    assert operator not in WITH_KERNEL
    versions = [s for s in get_all_schemas_with_history() if s.name == operator and not s.domain]
    assert not any(s.has_function or s.has_context_dependent_function for s in versions)
