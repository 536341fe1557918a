"""Each rule of the checker for shapes concludes what the operator does, and nothing more."""

from collections.abc import Mapping

import pytest

from support.graphs import parse
from support.steps import DOMAINS, Found, alone, followed

OPEN = "NonZero(v)"
"""A node of whose result the checker knows no shape."""


def stored(name: str, *numbers: int) -> str:
    """A vector of an initializer."""
    return f"int64[{len(numbers)}] {name} = {{{', '.join(map(str, numbers))}}}"


def of(node: str, x: str, **vectors: tuple[int, ...]) -> str:
    """A model of a node that reads constant vectors."""
    return alone(node, x, ", ".join(stored(name, *v) for name, v in vectors.items()))


def behind(before: str, node: str, x: str = "float[n, 3] x", constants: str = "") -> str:
    """A model of a node behind others."""
    return f"({x}) => (float[k] y) {constants and f'<{constants}>'} {{ {before} y = {node} }}"


def windows(operator: str, w: str = "5, 3, 2, 2", x: str = "1, 3, n, 7", **attributes: str) -> str:
    said = ", ".join(f"{name} = {value}" for name, value in attributes.items())
    given = f"<{said}>" if said else ""
    return alone(f"{operator}{given}(x, w)", f"float[{x}] x, float[{w}] w")


def pooled(x: str = "1, 3, n, 7", **attributes: str) -> str:
    said = ", ".join(f"{name} = {value}" for name, value in attributes.items())
    return alone(f"MaxPool<{said}>(x)", f"float[{x}] x")


def chosen(x: str, z: str) -> str:
    return (
        f"(bool c, {x}, {z}) => (float[k] y) {{ y = If(c) <"
        "then_branch = t () => (float[k] a) { a = Neg(x) }, "
        "else_branch = e () => (float[k] b) { b = Neg(z) }> }"
    )


def resized(scales: str, x: str = "2, n") -> str:
    return alone("Resize(x, , f)", f"float[{x}] x", f"float[2] f = {{{scales}}}")


BROADCAST: Mapping[str, tuple[str, Found]] = {
    "ones": (alone("Add(x, x)", "float[1] x"), [1]),
    "ones and a number": (alone("Add(x, z)", "float[1] x, float[4] z"), [4]),
    "a number and a size": (alone("Add(x, z)", "float[n] x, float[4] z"), [4]),
    "a one and a size": (alone("Add(x, z)", "float[n] x, float[1] z"), ["n"]),
    "a one and nothing": (alone("Add(x, z)", "float[0] x, float[1] z"), [0]),
    "the same size": (alone("Add(x, x)", "float[n] x"), ["n"]),
    "two sizes": (alone("Add(x, z)", "float[n] x, float[m] z"), ["?"]),
    "two numbers": (alone("Add(x, z)", "float[2] x, float[3] z"), "the sizes differ"),
    "ranks": (alone("Add(x, z)", "float[n, 2] x, float[2] z"), ["n", 2]),
    "an operand of no known shape": (
        behind(f"z = {OPEN}", "Add(x, z)", "float[n] x, float[n] v"),
        "no step gives the shape of 'z'",
    ),
    "two results": (alone("sonnx.Broadcast(x, x)", "float[n] x"), ["n"]),
}

PRODUCTS: Mapping[str, tuple[str, Found]] = {
    "matrices": (alone("MatMul(x, w)", "float[n, 3] x, float[3, m] w"), ["n", "m"]),
    "a vector at first": (
        alone("MatMul(x, w)", "float[3] x, float[3, 4] w"),
        "an operand is no matrix",
    ),
    "a vector at last": (
        alone("MatMul(x, w)", "float[4, 3] x, float[3] w"),
        "an operand is no matrix",
    ),
    "stacks of one shape": (
        alone("MatMul(x, x)", "float[n, 4, m] x"),
        ["n", 4, "m"],
    ),
    "stacks that are broadcast": (
        alone("MatMul(x, w)", "float[1, 4, 3] x, float[n, 3, 5] w"),
        ["n", 4, 5],
    ),
    "stacks that are broadcast if something is summed": (
        alone("MatMul(x, w)", "float[1, 4, k] x, float[2, k, 5] w"),
        ["?", 4, 5],
    ),
    "stacks of other ranks if something is summed": (
        alone("MatMul(x, w)", "float[4, k] x, float[2, k, 5] w"),
        "the summed axis may be empty",
    ),
    "stacks of other ranks": (
        alone("MatMul(x, w)", "float[4, 3] x, float[2, 3, 5] w"),
        [2, 4, 5],
    ),
    "Gemm": (alone("Gemm(x, w)", "float[n, 3] x, float[3, 4] w"), ["n", 4]),
    "Gemm of what is transposed": (
        alone("Gemm<transA = 1, transB = 1>(x, w)", "float[n, 3] x, float[4, n] w"),
        [3, 4],
    ),
    "Gemm of more axes": (
        alone("Gemm(x, w)", "float[n, 3, 1] x, float[3, 4, 1] w"),
        "an operand is no matrix",
    ),
    "an attribute of another value": (
        alone("Gemm<transA = 2>(x, x)", "float[3, 3] x"),
        "the attribute transA is not known",
    ),
    "letters": (
        alone('Einsum<equation = "ij, jk -> ki">(x, w)', "float[n, 3] x, float[3, 4] w"),
        [4, "n"],
    ),
    "letters of two sizes": (
        alone('Einsum<equation = "ij, jk -> j">(x, w)', "float[n, m] x, float[3, 4] w"),
        ["?"],
    ),
    "letters of no result": (
        alone('Einsum<equation = "ij">(x)', "float[n, 3] x"),
        "the equation is not known",
    ),
    "letters with dots": (
        alone('Einsum<equation = "...i -> ...i">(x)', "float[n, 3] x"),
        "the equation is not known",
    ),
}

WINDOWS: Mapping[str, tuple[str, Found]] = {
    "Conv": (windows("Conv"), [1, 5, "((n + -2) + 1)", 6]),
    "Conv with strides": (windows("Conv", strides="[2, 2]"), [1, 5, "(((n + -2) / 2) + 1)", 3]),
    "Conv with pads": (windows("Conv", pads="[1, 0, 1, 1]"), [1, 5, "(n + 1)", 7]),
    "Conv with dilations": (windows("Conv", dilations="[2, 3]"), [1, 5, "((n + -3) + 1)", 4]),
    "Conv with a stride of 0": (
        windows("Conv", strides="[1, 0]"),
        "a stride or dilation is below 1",
    ),
    "Conv with a dilation of 0": (
        windows("Conv", dilations="[0, 1]"),
        "a stride or dilation is below 1",
    ),
    "Conv with a pad below 0": (windows("Conv", pads="[0, 0, -1, 0]"), "a pad is below 0"),
    "Conv of an open kernel": (windows("Conv", "5, 3, k, 2"), "the kernel is not known"),
    "Conv of an empty kernel": (windows("Conv", "5, 3, 0, 2"), "the kernel is not known"),
    "Conv of a kernel beyond X": (windows("Conv", "5, 3, 2, 8"), "no window fits"),
    "Conv of a kernel like X": (windows("Conv", "5, 3, 2, 7"), [1, 5, "((n + -2) + 1)", 1]),
    "Conv of other axes": (windows("Conv", "5, 3, 2"), "X and W have other axes"),
    "Conv of no axes": (windows("Conv", "5, 3", "1, 3"), "X and W have other axes"),
    "Conv with padding by itself": (
        windows("Conv", auto_pad='"SAME_UPPER"'),
        "the attribute auto_pad is not known",
    ),
    "ConvTranspose": (windows("ConvTranspose", "3, 5, 2, 2"), [1, 5, "?", 8]),
    "ConvTranspose with attributes": (
        windows(
            "ConvTranspose",
            "3, 5, 2, 2",
            x="1, 3, 7, 7",
            strides="[2, 3]",
            dilations="[2, 1]",
            pads="[1, 0, 1, 0]",
            output_padding="[1, 0]",
            group="2",
        ),
        [1, 10, 14, 20],
    ),
    "ConvTranspose of an open kernel": (
        windows("ConvTranspose", "3, 5, 2, k"),
        [1, 5, "?", "?"],
    ),
    "ConvTranspose to open channels": (
        windows("ConvTranspose", "3, m, 2, 2"),
        "X and W have other axes",
    ),
    "ConvTranspose of other axes": (
        windows("ConvTranspose", "3, 5, 2"),
        "X and W have other axes",
    ),
    "ConvTranspose to less than nothing": (
        windows("ConvTranspose", "3, 5, 2, 2", pads="[0, 9, 0, 9]"),
        "a size is negative",
    ),
    "MaxPool": (pooled(kernel_shape="[2, 3]"), [1, 3, "((n + -2) + 1)", 5]),
    "MaxPool of other axes": (pooled(kernel_shape="[2]"), "the kernel has other axes"),
    "MaxPool that rounds up": (
        pooled(kernel_shape="[2, 2]", ceil_mode="1"),
        "the attribute ceil_mode is not known",
    ),
    "GlobalAveragePool": (alone("GlobalAveragePool(x)", "float[n, 3, 4, m] x"), ["n", 3, 1, 1]),
}

LAYOUTS: Mapping[str, tuple[str, Found]] = {
    "Transpose": (alone("Transpose(x)", "float[n, 3, 4] x"), [4, 3, "n"]),
    "Transpose in an order": (alone("Transpose<perm = [1, 0]>(x)", "float[n, 3] x"), [3, "n"]),
    "Transpose in no order": (
        alone("Transpose<perm = [0, 0]>(x)", "float[n, 3] x"),
        "perm is no order of the axes",
    ),
    "Flatten": (alone("Flatten(x)", "float[n, 3, 4] x"), ["n", 12]),
    "Flatten from behind": (alone("Flatten<axis = -1>(x)", "float[2, 3, 4] x"), [6, 4]),
    "Flatten of all": (alone("Flatten<axis = 3>(x)", "float[n, 3, 4] x"), ["(n * 12)", 1]),
    "Flatten of several sizes": (alone("Flatten(x)", "float[2, n, m] x"), [2, "(m * n * 1)"]),
    "Flatten of one size": (alone("Flatten(x)", "float[2, n, 1] x"), [2, "n"]),
    "Flatten of nothing": (alone("Flatten(x)", "float[2, n, 0] x"), [2, 0]),
    "Flatten beyond": (alone("Flatten<axis = 4>(x)", "float[n, 3, 4] x"), "there is no axis 4"),
    "Squeeze": (of("Squeeze(x, a)", "float[1, n, 1] x", a=(0, -1)), ["n"]),
    "Squeeze of all": (alone("Squeeze(x)", "float[1, 2, 1, 0] x"), [2, 0]),
    "Squeeze of what is open": (alone("Squeeze(x)", "float[1, n] x"), "its axes are not given"),
    "Squeeze beyond": (of("Squeeze(x, a)", "float[1] x", a=(1,)), "there is no axis 1 among 1"),
    "Squeeze by open axes": (
        alone("Squeeze(x, a)", "float[1, n] x, int64[1] a"),
        "no step gives the elements of 'a'",
    ),
    "Squeeze by a size": (
        behind("a = Shape(z)", "Squeeze(x, a)", "float[1, 2] x, float[n] z"),
        "'a' is open",
    ),
    "Unsqueeze": (of("Unsqueeze(x, a)", "float[n] x", a=(0, -1)), [1, "n", 1]),
    "Unsqueeze twice": (
        of("Unsqueeze(x, a)", "float[n] x", a=(0, -3)),
        "an axis is named twice",
    ),
    "Concat": (alone("Concat<axis = 1>(x, z)", "float[n, 3] x, float[n, m] z"), ["?", "(3 + m)"]),
    "Concat of numbers": (alone("Concat<axis = 0>(x, x)", "float[2, n] x"), [4, "n"]),
    "Concat with nothing": (
        alone("Concat<axis = 0>(x, z)", "float[n, 2] x, float[0, 2] z"),
        ["n", 2],
    ),
    "Concat of sizes": (
        alone("Concat<axis = 0>(x, z)", "float[n, 2] x, float[m, 2] z"),
        ["(n + m)", 2],
    ),
    "Concat of ranks": (
        alone("Concat<axis = 0>(x, z)", "float[n, 2] x, float[m] z"),
        "'y' cannot be followed",
    ),
    "Gather": (
        alone("Gather<axis = 1>(x, i)", "float[n, 3, 4] x, int64[m, 2] i"),
        ["n", "m", 2, 4],
    ),
    "Split": (alone("Split<axis = 1>(x)", "float[n, 6] x").replace("y =", "a, y ="), ["n", 3]),
    "Split of an open size": (
        alone("Split(x)", "float[n, 6] x").replace("y =", "a, y ="),
        ["?", 6],
    ),
    "Split in parts": (
        of("Split(x, s)", "float[n, 6] x", s=(2, 4)).replace("y =", "a, y ="),
        [4, 6],
    ),
    "Split in other parts": (
        of("Split(x, s)", "float[n, 6] x", s=(2, 4, 1)).replace("y =", "a, y ="),
        "its parts are not known",
    ),
    "Split in open parts": (
        alone("Split(x, s)", "float[n, 6] x, int64[2] s").replace("y =", "a, y ="),
        ["?", 6],
    ),
    "Pad": (of("Pad(x, p)", "float[n, 3] x", p=(1, 0, 1, 2)), ["(n + 2)", 5]),
    "Pad by open pads": (alone("Pad(x, p)", "float[n, 3] x, int64[4] p"), ["?", "?"]),
    "Pad of other axes": (
        of("Pad(x, p)", "float[n, 3] x", p=(1, 1)),
        "its pads are not those of all axes",
    ),
    "Pad to less than nothing": (
        of("Pad(x, p)", "float[n, 3] x", p=(0, -4, 0, 0)),
        "a size is negative",
    ),
    "If": (chosen("float[n, 2] x", "float[m, 2] z"), ["?", 2]),
    "If of ranks": (chosen("float[n, 2] x", "float[m] z"), "its branches have different ranks"),
}

RESHAPED: Mapping[str, tuple[str, Found]] = {
    "to numbers": (of("Reshape(x, s)", "float[n, 3] x", s=(3, 5)), [3, 5]),
    "to numbers of no known shape": (
        behind(f"z = {OPEN}", "Reshape(z, s)", "float[n] v", stored("s", 3, 5)),
        [3, 5],
    ),
    "to 0 of no known shape": (
        behind(f"z = {OPEN}", "Reshape(z, s)", "float[n] v", stored("s", 0, 5)),
        "no step gives the shape of 'z'",
    ),
    "to the rest of no known shape": (
        behind(f"z = {OPEN}", "Reshape(z, s)", "float[n] v", stored("s", -1, 5)),
        "no step gives the shape of 'z'",
    ),
    "to 0": (of("Reshape(x, s)", "float[n, 3] x", s=(0, 3)), ["n", 3]),
    "to nothing": (of("Reshape<allowzero = 1>(x, s)", "float[n, 3] x", s=(0, 3)), [0, 3]),
    "to open elements": (alone("Reshape(x, s)", "float[n, 3] x, int64[3] s"), ["?", "?", "?"]),
    "to an open rank": (
        alone("Reshape(x, s)", "float[n, 3] x, int64[k] s"),
        "its rank is not known",
    ),
    "to its own sizes": (behind("s = Shape(x)", "Reshape(x, s)"), ["n", 3]),
    "to another's sizes": (
        behind("s = Shape(z)", "Reshape(x, s)", "float[n, 3] x, float[m] z"),
        ["?"],
    ),
    "to another's sizes, which may be 0": (
        behind("s = Shape(z)", "Reshape<allowzero = 1>(x, s)", "float[n, 3] x, float[m] z"),
        ["m"],
    ),
    "to a size of another axis": (
        behind("s = Shape(z)", "Reshape(x, s)", "float[3] x, float[3, m] z"),
        [3, "?"],
    ),
    "to a size of no known shape": (
        behind(f"z = {OPEN} s = Shape(x)", "Reshape(z, s)", "float[n, 3] x, float[n] v"),
        ["?", 3],
    ),
    "to the rest": (of("Reshape(x, s)", "float[n, 3, 4] x", s=(0, -1)), ["n", 12]),
    "to the rest of numbers": (of("Reshape(x, s)", "float[6, 4] x", s=(8, -1)), [8, 3]),
    "to an open rest": (of("Reshape(x, s)", "float[n, 4] x", s=(2, -1)), [2, "?"]),
    "to no whole rest": (of("Reshape(x, s)", "float[6, 4] x", s=(5, -1)), [5, "?"]),
    "to the rest of open sizes": (
        behind("s = Shape(z) t = Concat<axis = 0>(s, r)", "Reshape<allowzero = 1>(x, t)",
               "float[n, 4] x, float[m] z", stored("r", -1)),
        ["m", "?"],
    ),
    "to the rest of a number for open sizes": (
        behind("s = Shape(z) t = Concat<axis = 0>(s, r)", "Reshape<allowzero = 1>(x, t)",
               "float[6, 4] x, float[m] z", stored("r", -1)),
        ["m", "?"],
    ),
    "to the rest beside what may be 0": (
        behind("s = Shape(z) t = Concat<axis = 0>(s, r)", "Reshape(x, t)",
               "float[6, 4] x, float[m] z", stored("r", -1)),
        ["?", "?"],
    ),
    "to the rest beside several that may be 0": (
        behind("s = Shape(z) t = Concat<axis = 0>(s, r)", "Reshape(x, t)",
               "float[6, 4] x, float[m, k] z", stored("r", -1)),
        ["?", "?", "?"],
    ),
    "to the rest of what is gone": (
        of("Reshape(x, s)", "float[n, 4, m] x", s=(0, 4, -1)),
        ["n", 4, "m"],
    ),
}  # fmt: skip

SIZES: Mapping[str, tuple[str, Found]] = {
    "Shape": (alone("Shape(x)", "float[n, 3] x"), [2]),
    "a part of a Shape": (alone("Shape<start = 1, end = -1>(x)", "float[n, 3, 4] x"), [1]),
    "ConstantOfShape": (of("ConstantOfShape(s)", "float[n] x", s=(2, 3)), [2, 3]),
    "ConstantOfShape of sizes": (behind("s = Shape(x)", "ConstantOfShape(s)"), ["n", 3]),
    "ConstantOfShape of what is open": (alone("ConstantOfShape(s)", "int64[2] s"), ["?", "?"]),
    "Expand": (of("Expand(x, s)", "float[n, 1] x", s=(2, 1, 4)), [2, "n", 4]),
    "Expand to 0": (
        of("Expand(x, s)", "float[1] x", s=(0,)),
        "the shape that is asked for has a 0",
    ),
    "Expand to what is open": (alone("Expand(x, s)", "float[n, 1] x, int64[3] s"), ["?", "?", "?"]),
    "Expand to fewer open sizes": (alone("Expand(x, s)", "float[n, 1] x, int64[1] s"), ["?", "?"]),
    "TopK": (of("TopK<axis = 0>(x, k)", "float[n, 3] x", k=(2,)).replace("y =", "y, i ="), [2, 3]),
    "Range": (alone("Range(a, a, a)", "int64 a"), ["?"]),
    "Size": (alone("Size(x)", "float[n] x"), []),
    "DynamicQuantizeLinear": (
        alone("DynamicQuantizeLinear(x)", "float[n] x").replace("y =", "y, s, z ="),
        ["n"],
    ),
    "DFT": (alone("DFT(x)", "float[1, n, 1] x"), ["?", "?", "?"]),
    "STFT": (alone("STFT(x, s)", "float[2, n, 1] x, int64 s"), [2, "?", "?", 2]),
    "an operator without a rule": (alone("NonZero(x)"), "a NonZero has no rule"),
    "a result without a rule": (
        alone("Dropout(x)").replace("y =", "a, y ="),
        "result 1 has no rule",
    ),
    "what follows indices": (
        alone("GatherElements(x, i)", "float[n, 3] x, int64[m, 2] i"),
        ["m", 2],
    ),
    "LSTM": (
        alone("LSTM<hidden_size = 4>(x, w, r)", "float[n, 2, 3] x, float[1, 16, 3] w, float[1] r"),
        ["n", 1, 2, 4],
    ),
    "LSTM in both directions": (
        alone(
            'LSTM<hidden_size = 4, direction = "bidirectional">(x, w, w)',
            "float[n, 2, 3] x, float[1] w",
        ).replace("y =", "a, y ="),
        [2, 2, 4],
    ),
    "LSTM of another layout": (
        alone("LSTM<hidden_size = 4, layout = 1>(x, x, x)", "float[n, 2, 3] x"),
        "the layout is not known",
    ),
    "LSTM of no size": (alone("LSTM(x, x, x)", "float[n, 2, 3] x"), "hidden_size is left out"),
    "Resize to sizes": (of("Resize(x, , , s)", "float[n, 3] x", s=(4, 5)), [4, 5]),
    "Resize to what is open": (alone("Resize(x, , , s)", "float[n, 3] x, int64[2] s"), ["?", "?"]),
    "Resize by numbers": (resized("1, 1"), [2, "?"]),
    "Resize by whole numbers": (resized("2, 2"), [4, "?"]),
    "Resize by a fraction": (resized("0.5, 1"), ["?", "?"]),
    "Resize beyond exact floats": (resized("2, 1", "8388608, n"), ["?", "?"]),
    "Resize up to exact floats": (resized("2, 1", "8388607, n"), [16777214, "?"]),
    "Resize with an attribute that is not known": (
        alone("Resize<antialias = 0>(x, , , s)", "float[n, 3] x, int64[2] s"),
        "the attribute antialias is not known",
    ),
    "Resize by open scales": (alone("Resize(x, , f)", "float[n, 3] x, float[2] f"), ["?", "?"]),
}

REDUCED: Mapping[str, tuple[str, Found]] = {
    "all": (alone("ReduceMax(x)", "float[n, 3] x"), [1, 1]),
    "all, without their axes": (alone("ReduceMax<keepdims = 0>(x)", "float[n, 3] x"), []),
    "an axis": (alone("ReduceMax<axes = [1]>(x)", "float[n, 3] x"), ["n", 1]),
    "an axis that is gone": (
        alone("ReduceMax<axes = [0], keepdims = 0>(x)", "float[n, 3] x"),
        [3],
    ),
    "an axis from behind": (alone("ReduceMax<axes = [-1]>(x)", "float[2, 3] x"), [2, 1]),
    "an axis from behind of what may be empty": (
        alone("ReduceMax<axes = [-1]>(x)", "float[n, 3] x"),
        ["n", "?"],
    ),
    "an axis from behind that is gone, of what may be empty": (
        alone("ReduceMax<axes = [-1], keepdims = 0>(x)", "float[n, 3] x"),
        "the tensor may be empty, and an axis is negative",
    ),
    "an axis from behind of what is empty": (
        alone("ReduceMax<axes = [-1]>(x)", "float[0, 3] x"),
        [0, "?"],
    ),
    "nothing or all": (
        alone("ReduceSum<noop_with_empty_axes = 1>(x)", "float[n, 3] x"),
        "its axes are not given",
    ),
    "an axis of an operand": (
        of("ReduceSum<noop_with_empty_axes = 1>(x, a)", "float[n, 3] x", a=(1,)),
        ["n", 1],
    ),
    "the place of the largest": (alone("ArgMax<axis = 1>(x)", "float[n, 3] x"), ["n", 1]),
    "the place of the largest, without its axis": (
        alone("ArgMax<keepdims = 0>(x)", "float[n, 3] x"),
        [3],
    ),
    "the place of the largest from behind": (
        alone("ArgMax<axis = -1, keepdims = 0>(x)", "float[2, 3] x"),
        [2],
    ),
    "the place of the largest of what may be empty": (
        alone("ArgMax<axis = -1>(x)", "float[n, 3] x"),
        ["n", "?"],
    ),
    "the place of the largest, without its axis, of what may be empty": (
        alone("ArgMax<axis = -1, keepdims = 0>(x)", "float[n, 3] x"),
        "the tensor may be empty, and the axis is negative",
    ),
}


def cut(starts: int, ends: int, steps: int = 1, x: str = "float[9] x") -> str:
    return of("Slice(x, s, e, a, p)", x, s=(starts,), e=(ends,), a=(0,), p=(steps,))


SLICES: Mapping[str, tuple[str, Found]] = {
    "numbers": (cut(1, 5), [4]),
    "numbers from behind": (cut(-3, 99), [3]),
    "numbers in steps": (cut(0, 9, 2), [5]),
    "numbers backwards": (cut(5, 1, -1), [4]),
    "all of an open size": (cut(0, 2**31 - 1, x="float[n, 2] x"), ["n", 2]),
    "less of an open size": (cut(0, 2**31 - 2, x="float[n, 2] x"), ["?", 2]),
    "all of an open size but for the first": (cut(1, 2**31 - 1, x="float[n, 2] x"), ["?", 2]),
    "an open size in steps": (cut(0, 2**31 - 1, 2, x="float[n, 2] x"), ["?", 2]),
    "no axes and steps": (of("Slice(x, s, e)", "float[n, 9] x", s=(0, 2), e=(2**31, 4)), ["n", 2]),
    "no axes, but steps": (
        of("Slice(x, s, e, , p)", "float[9, n] x", s=(0,), e=(9,), p=(3,)),
        [3, "n"],
    ),
    "open ends": (alone("Slice(x, s, e)", "float[9, n] x, int64[1] e", stored("s", 1)), ["?", "?"]),
    "ends that are sizes": (
        behind("e = Shape(z)", "Slice(x, s, e)", "float[9, n] x, float[m] z", stored("s", 1)),
        ["?", "?"],
    ),
}

OLDER: Mapping[str, tuple[int, str, Found]] = {
    "Squeeze": (11, alone("Squeeze<axes = [0]>(x)", "float[1, n] x"), ["n"]),
    "Squeeze of no axes": (11, alone("Squeeze(x)", "float[1, 2] x"), [2]),
    "Unsqueeze": (11, alone("Unsqueeze<axes = [0]>(x)", "float[n] x"), [1, "n"]),
    "Slice": (9, alone("Slice<starts = [1], ends = [3]>(x)", "float[4, n] x"), [2, "n"]),
    "Slice of axes": (
        9,
        alone("Slice<starts = [1], ends = [3], axes = [1]>(x)", "float[n, 4] x"),
        ["n", 2],
    ),
    "Pad": (10, alone("Pad<pads = [1, 0, 1, 2]>(x)", "float[n, 3] x"), ["(n + 2)", 5]),
    "Split": (
        11,
        alone("Split<split = [2, 4]>(x)", "float[n, 3] x").replace("y =", "a, y ="),
        [4, 3],
    ),
    "Resize": (10, alone("Resize(x, f)", "float[n, 3] x, float[2] f"), ["?", "?"]),
    "Pad of named axes": (
        18,
        of("Pad(x, p, , a)", "float[n, 3] x", p=(1, 0, 1, 2), a=(0, 1)),
        "its pads are not those of all axes",
    ),
    "Resize with an attribute that is not known": (
        18,
        alone("Resize<antialias = 0>(x, , , s)", "float[n, 3] x, int64[2] s"),
        "the attribute antialias is not known",
    ),
    "the last part of a Split": (
        18,
        alone("Split<axis = 1, num_outputs = 2>(x)", "float[n, 5] x").replace("y =", "a, y ="),
        ["n", 2],
    ),
}

CASES = {
    f"{kind}: {name}": (17, *case)
    for kind, table in (
        ("broadcast", BROADCAST),
        ("product", PRODUCTS),
        ("window", WINDOWS),
        ("layout", LAYOUTS),
        ("reshaped", RESHAPED),
        ("size", SIZES),
        ("reduced", REDUCED),
        ("slice", SLICES),
    )
    for name, case in table.items()
} | {f"another version: {name}": case for name, case in OLDER.items()}


@pytest.mark.parametrize("name", CASES)
def test_shape_is_what_the_operator_gives(name: str) -> None:
    opset, text, expected = CASES[name]
    assert followed(parse(text, opset=opset, domains=DOMAINS), "shape") == expected
