"""The checker concludes the elements of vectors of sizes, and the types of results."""

from collections.abc import Mapping

import pytest

from support.derived import Found, alone, concluded, followed
from support.graphs import parse

C = "int64[2] c = {6, 4}"
"""A constant vector."""


def constant(stored: str) -> str:
    return alone("Identity(c)", "float[n] x", stored)


def of(node: str, stored: str = C) -> str:
    """A node of constants, and of s: the sizes n, 3 and 4."""
    stored = f"<{stored}>" if stored else ""
    return f"(float[n, 3, 4] x, int64[2] z) => (int64[k] y) {stored} {{ s = Shape(x) y = {node} }}"


def behind(before: str, node: str, stored: str = C) -> str:
    return of(f"{node} }}", stored).replace("s = Shape(x)", f"s = Shape(x) {before}")[:-2]


ELEMENTS: Mapping[str, tuple[str, Found]] = {
    "a vector of int64": (constant(C), [6, 4]),
    "a vector of int32": (constant("int32[2] c = {6, 4}"), [6, 4]),
    "a scalar": (constant("int64 c = {6}"), [6]),
    "a matrix": (constant("int64[1, 2] c = {6, 4}"), "it is no vector and no scalar"),
    "other integers": (constant("uint64[1] c = {6}"), "it holds no sizes"),
    "floats": (constant("float[1] c = {6}"), "it holds no sizes"),
    "an input": (of("Identity(z)"), ["?", "?"]),
    "Shape": (of("Shape(x)"), ["n", 3, 4]),
    "a part of a Shape": (of("Shape<start = 1, end = -1>(x)"), [3]),
    "Gather": (of("Gather(s, i)", "int64[2] i = {2, -3}"), [4, "n"]),
    "Gather beyond": (of("Gather(s, i)", "int64[1] i = {3}"), "there is no axis 3 among 3"),
    "Gather at a size": (of("Gather(s, s)"), "an element of operand 1 is not known"),
    "Gather from an input": (of("Gather(z, i)", "int64 i = {0}"), ["?"]),
    "Concat": (of("Concat<axis = 0>(c, s, c)"), [6, 4, "n", 3, 4, 6, 4]),
    "Cast": (of("Cast<to = 7>(s)"), ["n", 3, 4]),
    "Cast to int32": (of("Cast<to = 6>(s)"), ["int32(n)", 3, 4]),
    "Cast of numbers to floats": (of("Cast<to = 1>(c)"), [6, 4]),
    "Cast of the largest numbers to doubles": (
        of("Cast<to = 11>(c)", "int64[2] c = {8388608, -8388608}"), [8388608, -8388608]),
    "Cast of a number beyond to floats": (of("Cast<to = 1>(c)", "int64[1] c = {8388609}"),
        ["?"]),
    "Cast of sizes without bounds to floats": (of("Cast<to = 1>(s)"), ["?", 3, 4]),
    "Cast to floats of 16 bits": (of("Cast<to = 10>(c)"), "it holds no sizes"),
    "Cast of floats back": (behind("f = Cast<to = 1>(c)", "Cast<to = 7>(f)"), [6, 4]),
    "Add of floats": (behind("f = Cast<to = 1>(c)", "Add(f, f)"), "it holds no sizes"),
    "Slice": (of("Slice(s, a, b)", "int64[1] a = {-2}, int64[1] b = {9}"), [3, 4]),
    "Slice in steps of 1": (
        of("Slice(s, a, b, c, p)", "int64[1] a = {0}, int64[1] b = {2}, int64[1] c = {0}, "
           "int64[1] p = {1}"),
        ["n", 3]),
    "Slice in steps": (
        of("Slice(s, a, b, c, p)", "int64[1] a = {0}, int64[1] b = {2}, int64[1] c = {0}, "
           "int64[1] p = {2}"),
        ["n"]),
    "Unsqueeze": (behind("r = Size(z)", "Unsqueeze(r, a)", "int64[1] a = {0}"), [2]),
    "Unsqueeze of a vector": (of("Unsqueeze(c, a)", f"{C}, int64[1] a = {{0}}"),
        "it is no vector and no scalar"),
    "Size": (of("Size(z)"), [2]),
    "Size of what is open": (of("Size(x)"), ["12*n"]),
    "Size beyond int32": (
        behind("v = ConstantOfShape(c)", "Size(v)", "int64[2] c = {65536, 32768}"), [2147483648]),
    "Size up to int32": (behind("v = ConstantOfShape(c)", "Size(v)", "int64[2] c = {65536, 32767}"),
        [2147418112]),
    "ReduceProd": (of("ReduceProd(c)"), [24]),
    "ReduceProd of the axis": (of("ReduceProd<axes = [0]>(c)"), [24]),
    "ReduceProd of the axis from behind": (of("ReduceProd<axes = [-1]>(c)"),
        "its axes are not known"),
    "ReduceProd of sizes": (of("ReduceProd(s)"), "a factor is open"),
    "Add of numbers": (of("Add(c, c)"), [12, 8]),
    "Add of a scalar": (of("Add(c, i)", f"{C}, int64 i = {{1}}"), [7, 5]),
    "Add to a scalar": (of("Sub(i, c)", f"{C}, int64 i = {{1}}"), [-5, -3]),
    "Add of other lengths": (of("Add(c, s)"), "their lengths do not fit"),
    "Add of a number to a size": (of("Add(s, i)", "int64[1] i = {2}"), ["n + 2", 5, 6]),
    "Add of a size to a number": (of("Add(i, s)", "int64[1] i = {2}"), ["n + 2", 5, 6]),
    "Add of sizes": (of("Add(s, s)"), ["2*n", 6, 8]),
    "Add of what is below 0": (of("Add(s, i)", "int64[1] i = {-2}"), ["n - 2", 1, 2]),
    "Sub of nothing": (of("Sub(s, i)", "int64[1] i = {0}"), ["n", 3, 4]),
    "Sub of a size": (of("Sub(s, s)"), ["?", 0, 0]),
    "Sub from a number": (of("Sub(i, s)", "int64[1] i = {9}"), ["?", 6, 5]),
    "Mul by 1": (of("Mul(s, i)", "int64[1] i = {1}"), ["n", 3, 4]),
    "Mul by 2": (of("Mul(s, i)", "int64[1] i = {2}"), ["2*n", 6, 8]),
    "Div of numbers": (of("Div(c, i)", "int64[2] c = {7, -7}, int64[1] i = {2}"), [3, -3]),
    "Div by 0": (of("Div(c, i)", f"{C}, int64[1] i = {{0}}"), ["?", "?"]),
    "Mod of numbers": (of("Mod(c, i)", "int64[2] c = {7, 0}, int64[1] i = {2}"), [1, 0]),
    "Mod of a number below 0": (of("Mod(c, i)", "int64[2] c = {7, -7}, int64[1] i = {2}"),
        [1, "?"]),
    "Mod by 0": (of("Mod(c, i)", f"{C}, int64[1] i = {{0}}"), ["?", "?"]),
    "Mod of a size": (of("Mod(s, i)", "int64[1] i = {2}"), ["?", 1, 0]),
    "Max of numbers": (of("Max(c, i)", f"{C}, int64[1] i = {{5}}"), [6, 5]),
    "Min of numbers": (of("Min(c, i)", f"{C}, int64[1] i = {{5}}"), [5, 4]),
    "Max of one": (of("Max(c)"), "there are no two operands"),
    "Max of three": (of("Max(c, c, c)"), "there are no two operands"),
    "numbers beyond int32": (of("Add(c, c)", "int32[1] c = {1073741824}"),
        ["?"]),
    "numbers up to int32": (of("Add(c, c)", "int32[1] c = {-1073741823}"), [-2147483646]),
    "numbers below int32": (of("Sub(c, d)", "int32[1] c = {-2147483648}, int32[1] d = {1}"),
        ["?"]),
    "sizes of int32": (behind("r = Cast<to = 6>(s)", "Add(r, i)", "int32[1] i = {1}"),
        "a size may be beyond int32"),
    "the smallest of numbers of which one is beyond int32": (
        of("Min(c, i)", "int64[1] c = {2147483648}, int64[1] i = {5}"), ["?"]),
    "another operator": (of("Neg(c)"), "the elements of a Neg have no rule"),
}  # fmt: skip


@pytest.mark.parametrize("name", ELEMENTS)
def test_elements_are_what_the_operator_gives(name: str) -> None:
    text, expected = ELEMENTS[name]
    assert followed(text, "elements") == expected


BOUNDS: Mapping[str, tuple[str, Found]] = {
    "a constant": (constant("int32[2] c = {6, -4}"), [-4, 6]),
    "an input": (of("Identity(z)"), "they are not known"),
    "no integers": (alone("Identity(x)"), "float is no type of integers"),
    "sizes": (of("Shape(x)"), [0, 2**63 - 1]),
    "a number and what is known of a type": (
        "(uint8[n] x) => (uint8[n] y) <uint8[1] c = {3}> { y = Max(x, c) }", [3, 255]),
    "truth": (alone("Equal(x, x)"), [0, 1]),
    "what may wrap": ("(uint8[n] x) => (uint8[n] y) { y = Add(x, x) }", "they are not known"),
    "a result of another place": (
        "(float[4] x) => (int64[k] y) <int64[1] k = {2}> { v, y = TopK(x, k) }", [0, 2**63 - 1]),
    "an operator without a rule": (alone("Neg(x)", "float[n] x"), "float is no type of integers"),
    "another operator": (of("NonMaxSuppression(x, x)"),
        "the bounds of a NonMaxSuppression have no rule"),
}  # fmt: skip


@pytest.mark.parametrize("name", BOUNDS)
def test_bounds_are_those_of_the_rule(name: str) -> None:
    text, expected = BOUNDS[name]
    assert followed(text, "bounds") == expected


def chosen(result: str, node: str) -> str:
    return (
        "(bool c, double[n] x) => (double[n] y) { y = If(c) <"
        "then_branch = t () => (double[n] a) { a = Neg(x) }, "
        f"else_branch = e () => ({result}) {{ b = {node} }}> }}"
    )


UNTYPED = "no rule says that it is a tensor, and of which type"
TYPES: Mapping[str, tuple[str, Found]] = {
    "an input": (alone("Neg(x)", "double[n] x"), "double"),
    "a constant": (constant(C), "int64"),
    "Broadcast": (alone("sonnx.Broadcast(x)", "int8[n] x"), "int8"),
    "Cast": (alone("Cast<to = 10>(x)"), "float16"),
    "ConstantOfShape": (alone("ConstantOfShape(x)", "int64[2] x"), "float"),
    "ConstantOfShape of a value": (alone("ConstantOfShape<value = int32[1] {7}>(x)", "int64[2] x"),
        "int32"),
    "Shape": (alone("Shape(x)"), "int64"),
    "Equal": (alone("Equal(x, x)"), "bool"),
    "Where": (alone("Where(c, x, x)", "bool[n] c, double[n] x"), "double"),
    "a result of another type": (alone("Dropout(x)", "double[n] x").replace("y =", "a, y ="),
        "bool"),
    "an operand of no known type": (
        "(int64[n] x) => (int64[n] y) { a = com.example.Twice(x) y = Neg(a) }",
        UNTYPED),
    "If": (chosen("double[n] b", "Abs(x)"), "double"),
    "If of two types": (chosen("int64[n] b", "Shape(x)"), UNTYPED),
}  # fmt: skip


@pytest.mark.parametrize("name", TYPES)
def test_type_is_what_the_schema_says(name: str) -> None:
    text, expected = TYPES[name]
    assert followed(text, "type") == expected


def test_input_that_is_left_out_gives_the_default_of_the_document() -> None:
    proto = parse(alone("QuantizeLinear(x, x)"))
    proto.graph.node[0].input.append("")
    assert followed(proto, "type") == "uint8"


def test_sequence_has_no_type_of_elements() -> None:
    node = alone("SequenceConstruct(x)")
    assert followed(node, "type") == UNTYPED


def division(before: str, stored: str, inputs: str = "") -> str:
    """A model that divides a by b."""
    return f"({inputs}) => (float[n] d) <{stored}> {{ {before} d = Div(a, b) }}"


FILLED = "a = ConstantOfShape(s) b = ConstantOfShape(t)"
NO_PROOFS: Mapping[str, tuple[int, str]] = {
    "integers that a Cast wraps": (
        17,
        division("s = Cast<to = 7>(c) a = Reshape(x, s) b = Reshape(z, s)",
            "uint64[1] c = {18446744073709551615}", "float[3] x, float[1] z")),
    "columns of a matrix": (
        17,
        division(f"s = ReduceProd<axes = [0], keepdims = 0>(c) {FILLED}",
            "int64[1, 2] c = {3, 1}, int64[1] t = {3}")),
    "a product of no axes": (
        18,
        division(f"s = ReduceProd<noop_with_empty_axes = 1, keepdims = 0>(c) {FILLED}",
            "int64[2] c = {3, 1}, int64[1] t = {3}")),
    "a table of products": (
        17,
        division(
            "p = Unsqueeze(c, i) q = Unsqueeze(c, j) m = Mul(p, q) "
            f"r = ReduceProd<keepdims = 0>(m) s = Unsqueeze(r, i) {FILLED}",
            "int64[2] c = {1, 2}, int64[1] i = {0}, int64[1] j = {1}, int64[1] t = {4}",
        )),
}  # fmt: skip
"""Models whose Div gets two shapes, by sizes that are no elements of vectors."""


@pytest.mark.parametrize("name", NO_PROOFS)
def test_elements_that_an_operator_does_not_give_prove_nothing(name: str) -> None:
    opset, text = NO_PROOFS[name]
    assert concluded(parse(text, opset=opset), "Div.float.R1") is not None
