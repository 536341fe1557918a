"""A guard holds a rule if its flag is that of the rule's guard, and not if anything differs."""

from collections.abc import Iterator, Sequence

import numpy as np
import onnx
import pytest

from sonnx_ort.checker import Rejected
from sonnx_ort.checker.enforced import Enforced
from sonnx_ort.checker.expressions import Expressions, Facts, Tree
from sonnx_ort.checker.guards import holds_after, require_guarded
from sonnx_ort.guards.catalog import deciding_guard
from sonnx_ort.guards.guard import GuardedNode
from sonnx_ort.profile.catalog import RULES
from sonnx_ort.profile.element_type import ElementType
from sonnx_ort.terms.operand import Operand
from support.derived import alone, derived
from support.examined import enforced_with_certificate
from support.graphs import parse

X, Z, W = (("value", name) for name in "xzw")


def shape(tree: Tree) -> Tree:
    return ("Shape", (), tree)


def of(operator: str, *operands: Tree) -> Tree:
    return (operator, (), *operands)


BINARY = alone("Div(x, z)", "int32[n] x, int32[m] z")
OF_RANKS = alone("Div(x, z)", "int32[n] x, int32[m, k] z")
THREE = alone("Max(x, z, w)", "int32[n] x, int32[m] z, int32[k] w")
EQUAL = of("Equal", shape(X), shape(Z))
EQUAL_RANKS = of("Equal", shape(shape(X)), shape(shape(Z)))

Case = tuple[str, str, Sequence[Tree], Sequence[Tree]]
"""A model, a rule, flags that are kept, and flags that are broken."""

SHAPES: dict[str, tuple[Case, bool]] = {
    "equal shapes": ((BINARY, "Div.int.R1", [EQUAL], []), True),
    "equal shapes, the other way round": (
        (BINARY, "Div.int.R1", [of("Equal", shape(Z), shape(X))], []), True),
    "part of what is kept": ((BINARY, "Div.int.R1", [of("And", EQUAL, EQUAL_RANKS)], []), True),
    "one of what is kept": ((BINARY, "Div.int.R1", [of("Or", EQUAL, EQUAL_RANKS)], []), False),
    "nothing": ((BINARY, "Div.int.R1", [], []), False),
    "broken equal shapes": ((BINARY, "Div.int.R1", [], [EQUAL]), False),
    "equal shapes of other ranks": ((OF_RANKS, "Div.int.R1", [EQUAL], []), False),
    "equal shapes and ranks": ((OF_RANKS, "Div.int.R1", [EQUAL, EQUAL_RANKS], []), True),
    "equal ranks alone": ((OF_RANKS, "Div.int.R1", [EQUAL_RANKS], []), False),
    "the same operand": ((alone("Div(x, x)", "int32[n] x"), "Div.int.R1", [], []), True),
    "three equal shapes": ((THREE, "Max.int.R1", [EQUAL, of("Equal", shape(X), shape(W))], []),
        True),
    "two of three equal shapes": ((THREE, "Max.int.R1", [EQUAL], []), False),
}  # fmt: skip


WIDE, SHORT, UNSIGNED = (
    alone("Div(x, z)", f"{kind}[n] x, {kind}[n] z") for kind in ("int64", "int16", "uint32")
)


def above(
    limit: float, *, carried: Tree = Z, operator: str = "ReduceMin", kind: str = "int32"
) -> Tree:
    """Whether the smallest element is above a number."""
    smallest = (operator, (("keepdims", 0),), carried)
    return of("Greater", smallest, ("constant", kind, (), (limit,)))


def cast(to: int, operand: Tree = Z) -> Tree:
    return ("Cast", (("to", to),), operand)


SMALLEST: dict[str, tuple[Case, bool]] = {
    "above zero": ((BINARY, "Div.int.C1", [above(0)], []), True),
    "above one": ((BINARY, "Div.int.C1", [above(1)], []), False),
    "above zero, by floats": ((BINARY, "Div.int.C1", [above(0, carried=cast(1))], []), False),
    "above zero, by int32": ((BINARY, "Div.int.C1", [above(0, carried=cast(6))], []), False),
    "int64 above zero": ((WIDE, "Div.int.C1", [above(0, kind="int64")], []), False),
    "int64 above zero, by floats": (
        (WIDE, "Div.int.C1", [above(0, carried=cast(1), kind="float32")], []), True),
    "int64 above zero, by doubles": (
        (WIDE, "Div.int.C1", [above(0, carried=cast(11), kind="float64")], []), False),
    "int64 above zero, by int32": ((WIDE, "Div.int.C1", [above(0, carried=cast(6))], []), False),
    "int64 without the smallest dividend, by floats": (
        (WIDE, "Div.int.C2", [above(-(2**63), carried=cast(1, X), kind="float32")], []), True),
    "int64 without the smallest dividend, by int32": (
        (WIDE, "Div.int.C2", [above(-5, carried=cast(6, X))], []), False),
    "int16 above zero, by int32": ((SHORT, "Div.int.C1", [above(0, carried=cast(6))], []), True),
    "int16 above zero": ((SHORT, "Div.int.C1", [above(0, kind="int16")], []), False),
    "uint32 above zero": ((UNSIGNED, "Div.int.C1", [above(0, kind="uint32")], []), False),
    "uint32 above zero, by int32": (
        (UNSIGNED, "Div.int.C1", [above(0, carried=cast(6))], []), False),
    "above zero as another type": ((BINARY, "Div.int.C1", [above(0, kind="int64")], []), False),
    "above no number": ((WIDE, "Div.int.C1",
        [above(float("nan"), carried=cast(1), kind="float32")], []), False),
    "above zero, by bytes": ((BINARY, "Div.int.C1", [above(0, carried=cast(2))], []), False),
    "not above zero": ((BINARY, "Div.int.C1", [], [above(0)]), False),
    "above minus one": ((BINARY, "Div.int.C1", [above(-1)], []), False),
    "the largest above zero": ((BINARY, "Div.int.C1", [above(0, operator="ReduceMax")], []), False),
    "the other operand above zero": ((BINARY, "Div.int.C1", [above(0, carried=X)], []), False),
    "no smallest dividend, which may be divided by zero": (
        (BINARY, "Div.int.C1", [above(-(2**31), carried=X)], []), False),
    "positive divisors": ((BINARY, "Div.int.C2", [above(0)], []), True),
    "no divisor of minus one": ((BINARY, "Div.int.C2", [above(-1)], []), False),
    "divisors of minus one": ((BINARY, "Div.int.C2", [above(-2)], []), False),
    "no smallest dividend": ((BINARY, "Div.int.C2", [above(-(2**31), carried=X)], []), True),
    "a rule of floats": ((alone("Div(x, z)", "float[n] x, float[n] z"), "Div.R5", [above(0)], []),
        False),
}  # fmt: skip
CASES = {**SHAPES, **SMALLEST}


@pytest.mark.parametrize("name", CASES)
def test_comparison_of_shapes_or_of_the_smallest_element_holds_a_rule(name: str) -> None:
    (text, rule, kept, broken), expected = CASES[name]
    model = derived(text)
    beside = Enforced(model, model.proto)
    facts = Facts(frozenset(kept), frozenset(broken))
    assert holds_after(model.node("y"), beside, facts, rule) is expected


def sliced(starts: str, ends: str = "", axes: str = "0", steps: str = "1", x: str = "n") -> str:
    named = {"s": starts, "a": axes, "p": steps} | ({"z": ends} if ends else {})
    stored = ", ".join(
        f"int64[{len(said.split(','))}] {name} = {{{said}}}" for name, said in named.items()
    )
    given = "" if ends else f", int64[{len(axes.split(','))}] z"
    return alone("Slice(x, s, z, a, p)", f"float[{x}] x{given}", stored)


POOL = alone(
    'MaxPool<auto_pad = "NOTSET", ceil_mode = 0, dilations = [1, 1], kernel_shape = [2, 3],'
    " pads = [0, 0, 0, 0], storage_order = 0, strides = [1, 1]>(x)",
    "float[1, 1, n, m] x",
)
GROUPED = alone(
    'Conv<auto_pad = "NOTSET", group = 4>(x, z)', "float[1, n, 8, 8] x, float[4, k, 3, 3] z"
)
INT32_PAIR = "int32[n] x, int32[n] z"
GUARDED = {
    "Abs.int.C1": alone("Abs(x)", "int8[n] x"),
    "Acos.float.C1": alone("Acos(x)", "float[n] x"),
    "ArgMax.R5": alone("ArgMax<axis = 1>(x)", "float[n, m] x"),
    "ArgMax.float.C1": alone("ArgMax<axis = 1>(x)", "float[n, 3] x"),
    "BatchNormalization.C3": alone("BatchNormalization(x, z, z, z, z)",
        "float[2, n] x, float[n] z"),
    "BitShift.int.C1": alone('BitShift<direction = "LEFT">(x, z)', "uint32[n] x, uint32[n] z"),
    "Cast.float.C1": alone("Cast<to = 6>(x)", "float[n] x"),
    "Clip.C1": alone("Clip(x, , z)", "float[n] x, float[] z"),
    "Concat.C2": alone("Concat<axis = 0>(x, z)", "float[n, 3] x, float[m, k] z"),
    "Conv.R3": GROUPED,
    "Conv.channels": GROUPED,
    "DequantizeLinear.C1": alone("DequantizeLinear(x, w, z)", "int32[n] x, int32[] z, float[] w"),
    "Div.int.C1": alone("Div(x, z)", "int32[n] x, int32[m] z"),
    "Div.int.C2": alone("Div(x, z)", INT32_PAIR),
    "MatMul.C1": alone("MatMul(x, z)", "float[] x, float[] z"),
    "Max.int.C1": alone("Max(x, z)", "int64[n] x, int64[n] z"),
    "MaxPool.fits": POOL,
    "MaxPool.float.C2": POOL,
    "Pow.int.C1": alone("Pow(x, z)", INT32_PAIR),
    "Pow.int.C2": alone("Pow(x, z)", INT32_PAIR),
    "QuantizeLinear.signature": alone("QuantizeLinear(w, x, z)",
        "float[n] w, float[] x, uint8[] z"),
    "Reshape.allowzero.C3": alone("Reshape(x, s)", "float[n] x, int64[1] s"),
    "Slice.C2": sliced("1"),
    "Slice.R2": alone("Slice(x, z, z, z, z)", "float[n] x, int64[k] z"),
    "Slice.R6": sliced("1"),
    "Slice.R8": sliced("1, 1", "4, 4", "0, 1", "1, 1", x="n, m"),
    "Softmax.float.C6": alone("Softmax<axis = 0>(x)", "float[n] x"),
    "Squeeze.A.C2": alone("Squeeze(x, z)", "float[] x, int64[k] z"),
}  # fmt: skip
"""A model by the rule that a guard in front of its node holds."""


def with_inferred_result(text: str) -> onnx.ModelProto:
    """A model whose result has the type that the operator gives it."""
    proto = parse(text)
    (result,) = proto.graph.output
    result.ClearField("type")
    result.CopyFrom(onnx.shape_inference.infer_shapes(proto).graph.output[0])
    result.type.tensor_type.ClearField("shape")
    return proto


def emitted(text: str) -> tuple[Enforced, list[Facts]]:
    """A model beside what enforces it, and what holds in front of its node."""
    proto = with_inferred_result(text)
    content, _ = enforced_with_certificate(proto.SerializeToString(), operators="all,-Graph")
    made = onnx.load_model_from_string(content)
    enforced = Enforced(derived(proto), made)
    return enforced, enforced.facts_of("y")


ONE_SHAPE = Facts(frozenset([EQUAL]))
"""What guards of quotients and powers presume. None of the rules below says it."""


def flag_of(rule: str, enforced: Enforced, facts: Facts) -> tuple[bool, Tree]:
    """The flag by which facts hold a rule, and whether it is kept."""
    node = enforced._original.node("y")
    flags = [(True, flag) for flag in facts.kept] + [(False, flag) for flag in facts.broken]
    (found,) = (
        (kept, flag)
        for kept, flag in flags
        if holds_after(node, enforced, ONE_SHAPE | alone_of(flag, kept=kept), rule)
    )
    return found


def alone_of(flag: Tree, *, kept: bool) -> Facts:
    return Facts(kept=frozenset([flag])) if kept else Facts(broken=frozenset([flag]))


def changed(tree: Tree) -> Iterator[Tree]:
    """The expression with one thing changed, in each of its parts."""
    match tree:
        case ("value", name):
            yield ("value", f"not {name}")
            return
        case ("constant", kind, dims, elements):
            yield ("constant", kind, (*dims, 1), elements)
            for place, element in enumerate(elements):
                other = (not element) if kind == "bool" else element + max(1, abs(element))
                yield ("constant", kind, dims, (*elements[:place], other, *elements[place + 1 :]))
            return
    operator, attributes, *operands = tree
    yield ("Neg" if operator != "Neg" else "Not", attributes, *operands)
    yield (operator, (*attributes, ("other", 1)), *operands)
    yield (operator, attributes, *operands, X)
    for place, operand in enumerate(operands):
        for other in changed(operand):
            yield (operator, attributes, *operands[:place], other, *operands[place + 1 :])


@pytest.mark.parametrize("rule", GUARDED)
def test_guard_holds_its_rule_and_nothing_else_does(rule: str) -> None:
    enforced, cases = emitted(GUARDED[rule])
    node = enforced._original.node("y")
    facts = cases[-1]
    assert all(holds_after(node, enforced, each, rule) for each in cases)
    kept, flag = flag_of(rule, enforced, facts)
    others = [alone_of(flag, kept=not kept)]
    others += [alone_of(other, kept=kept) for other in changed(flag)]
    assert len(others) > 5
    held = [other for other in others if holds_after(node, enforced, ONE_SHAPE | other, rule)]
    assert held == []


@pytest.mark.parametrize("rule", ["Div.int.C2", "Pow.int.C2"])
@pytest.mark.parametrize(("sizes", "expected"), [("n", False), ("3", True)])
def test_guard_of_pairs_of_elements_presumes_one_shape(
    rule: str, sizes: str, expected: bool
) -> None:
    """Elements that meet in a flag, line by line, are not those that meet in a broadcast."""
    operator = rule.partition(".")[0]
    enforced, cases = emitted(alone(f"{operator}(x, z)", f"int32[{sizes}] x, int32[{sizes}] z"))
    kept, flag = flag_of(rule, enforced, cases[-1])
    facts = alone_of(flag, kept=kept)
    assert holds_after(enforced._original.node("y"), enforced, facts, rule) is expected


@pytest.mark.parametrize("rule", ["Div.int.C2", "Pow.int.C2"])
@pytest.mark.parametrize("kept", [(), (EQUAL, EQUAL_RANKS)], ids=["alone", "with one shape"])
def test_shapes_of_which_nothing_is_known_are_not_one(rule: str, kept: Sequence[Tree]) -> None:
    model, kind = derived(alone(f"{rule[:3]}(x, z)", "int32[] x, int32[] z")), ElementType.INT32
    known = [Operand(name, name.lower(), "", "int32") for name in "XZ"]
    flag = deciding_guard(RULES[rule].requirement).look(
        Expressions(17), [X, Z], GuardedNode(known, kind, kind)
    )
    facts = Facts(frozenset(kept)) | alone_of(flag.value, kept=flag.when_kept)
    held = holds_after(model.node("y"), Enforced(model, model.proto), facts, rule)
    assert held is bool(kept)


def test_no_guard_holds_what_is_violated_in_every_run() -> None:
    """A guard of known axes looks for ranks by which two of them are one, and here are none."""
    model = derived(alone("Squeeze(x, z)", "float[n] x", "int64[2] z = {0, 0}"))
    rule, kind = "Squeeze.A.C2", ElementType.FLOAT
    axes = Operand("A", "z", "", "int64", shape=(2,), constant=np.array([0, 0]))
    known = GuardedNode([Operand("X", "x", "", "float", shape=(None,)), axes], kind, kind)
    flag = deciding_guard(RULES[rule].requirement).look(Expressions(17), [X, Z], known)
    ranks = of("Equal", shape(shape(X)), ("constant", "int64", (0,), ()))
    assert flag.value[2][2][2] == ranks
    facts = alone_of(flag.value, kept=flag.when_kept)
    assert holds_after(model.node("y"), Enforced(model, model.proto), facts, rule) is False


@pytest.mark.parametrize("rule", ["Conv.outputs", "Conv.R2"])
def test_no_guard_holds_what_no_run_decides(rule: str) -> None:
    model = derived(GROUPED)
    beside = Enforced(model, model.proto)
    assert holds_after(model.node("y"), beside, Facts(), rule) is None


UNGUARDED = {
    "a rule of another operator": ("Sub.int.R1", "the node is a Div"),
    "a rule without known guards": ("Div.int.R2",
        "Div.int.R2 of the node of 'y' has no guards of a known form"),
    "a rule that no guard holds": ("Div.int.R1", "Div.int.R1 of the node of 'y' is not guarded"),
}  # fmt: skip


@pytest.mark.parametrize("name", UNGUARDED)
def test_rule_without_a_guard_is_rejected(name: str) -> None:
    rule, message = UNGUARDED[name]
    model = derived(BINARY)
    with pytest.raises(Rejected) as caught:
        require_guarded(model, Enforced(model, model.proto), "y", rule)
    assert str(caught.value) == message
