"""What each rule demands of a node, by the operators' documents.

A rule that is not in the table cannot be concluded. Those that `HELD` names, ONNX Runtime holds: it
refuses the model, or fails in the run.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from .node import FLOATS, INTEGERS, Node
from .shapes import BROADCASTING
from .sizes import (
    Size,
    along_axes,
    from_the_front,
    is_broadcastable,
    is_positive,
    require,
)

Demand = Callable[[Node], None]

_SINGLES = frozenset({"float16", "float", "double"})
_SIGNED = frozenset({"int8", "int16", "int32", "int64"})
_BYTES = frozenset({"int8", "uint8"})
_BOOL = frozenset({"bool"})
_NUMBERS = FLOATS | INTEGERS


def _dense(node: Node) -> None:
    require(not any(each.name == "sparse_value" for each in node.proto.attribute), "it is sparse")
    sparse = [name for name in node.given() if not node.model.is_dense(name)]
    require(not sparse, "an operand is sparse")


def _one_shape(node: Node) -> None:
    shapes = {node.model.true_shape(name) for name in node.given()}
    require(len(shapes) == 1, "shapes differ")
    for result in node.proto.output:
        node.model.require_claimed(result, *shapes)


def _types(admitted: frozenset[str] | None, *places: int) -> Demand:
    """All operands at these places have the same type; of all places if none is named."""

    def demand(node: Node) -> None:
        types = {node.model.known("type", name) for name in node.given(places)}
        require(len(types) < 2, "types differ")
        require(admitted is None or types <= admitted, f"the type is {' '.join(types)}")

    return demand


def _attribute(name: str, default: Any, admits: Callable[[Any], object]) -> Demand:
    """An attribute has an admitted value; without a default it may be left out."""

    def demand(node: Node) -> None:
        value = node.attribute(name, default)
        require(value is None or admits(value), f"the attribute {name} is {value}")

    return demand


def _is(name: str, wanted: Any, default: Any = None) -> Demand:
    return _attribute(name, wanted if default is None else default, lambda v: bool(v == wanted))


def _numbers(name: str, count: int, least: int) -> Demand:
    def admits(value: Any) -> bool:
        return len(value) == count and all(isinstance(n, int) and n >= least for n in value)

    return _attribute(name, None, admits)


def _stands(*names: str) -> Demand:
    """These attributes stand in the file."""

    def demand(node: Node) -> None:
        missing = [name for name in names if node.attribute(name) is None]
        require(not missing, f"the attribute {' '.join(missing)} is left out")

    return demand


def _given(place: int) -> Demand:
    def demand(node: Node) -> None:
        require(node.name(place), f"input {place} is left out")

    return demand


def _both(*demands: Demand) -> Demand:
    def demand(node: Node) -> None:
        for each in demands:
            each(node)

    return demand


def _rank(rank: int, *places: int) -> Demand:
    def demand(node: Node) -> None:
        for name in node.given(places):
            found = len(node.model.true_shape(name))
            require(found == rank, f"'{name}' is of rank {found}")

    return demand


def _elements(place: int, admits: Callable[[Any, str], Any], *harmless: str) -> Demand:
    """The elements of a constant are admitted; of harmless types all are."""

    def demand(node: Node) -> None:
        for name in node.given() if place < 0 else node.given([place]):
            if not harmless or node.model.known("type", name) not in harmless:
                array = node.model.array(name)
                bad = [v for v in array.ravel().tolist() if not admits(v, str(array.dtype))]
                require(not bad, f"an element of '{name}' is {bad[:1]}")

    return demand


_UNSIGNED = tuple(sorted(INTEGERS - _SIGNED))
_INT32 = range(-(2**31), 2**31)


def _is_smallest(value: int, dtype: str) -> bool:
    bits = int(dtype.removeprefix("int"))
    return value == -(1 << (bits - 1))


def _finite(value: float, _: str) -> bool:
    return math.isfinite(value)


def _positive_sizes(place: int, *axes: int) -> Demand:
    def demand(node: Node) -> None:
        sizes = [node.true_shape(place)[axis] for axis in axes]
        require(all(map(is_positive, sizes)), f"a size is {sizes}")

    return demand


def _groups(node: Node) -> None:
    group = node.attribute("group", 1)
    require(group <= 1 or node.true_shape()[1] == group, "there are other groups")


def _channels(node: Node) -> None:
    (_, channels, *_), (_, taken, *_) = node.true_shape(0), node.true_shape(1)
    group = max(1, node.attribute("group", 1))
    fits = channels == (taken * group if isinstance(taken, int) else taken)
    require(fits and (group == 1 or isinstance(taken, int)), "the channels differ")


def _shape(place: int, *wanted: Callable[[Node], Sequence[Size]]) -> Demand:
    """An operand, if it is given, has one of these shapes."""

    def demand(node: Node) -> None:
        if node.name(place):
            shapes = [tuple(each(node)) for each in wanted]
            found = node.true_shape(place)
            require(found in shapes, f"the shape is {found}, not {shapes}")

    return demand


def _outputs_of_w(node: Node) -> Sequence[Size]:
    return node.true_shape(1)[:1]


def _gates(node: Node) -> tuple[int, int, int]:
    """The directions of an LSTM, its gates' sizes, and the size of its state."""
    hidden = int(node.attribute("hidden_size"))
    directions = 2 if node.attribute("direction") == b"bidirectional" else 1
    return directions, 4 * hidden, hidden


def _window(node: Node) -> list[tuple[Size, int, int, int]]:
    """Of each spatial axis its size and that of the kernel, the dilation and the padding."""
    kernel, sizes = node.attribute("kernel_shape"), node.true_shape()[2:]
    dilations = node.attribute("dilations", [1] * len(kernel))
    pads = node.attribute("pads", [0] * 2 * len(kernel))
    pads = [sum(pair) for pair in zip(pads[: len(kernel)], pads[len(kernel) :], strict=True)]
    return list(zip(sizes, kernel, dilations, pads, strict=True))


def _window_fits(node: Node) -> None:
    for size, kernel, dilation, pads in _window(node):
        fits = isinstance(size, int) and size + pads >= dilation * (kernel - 1) + 1
        require(fits, "the window may not fit")


def _window_reaches_elements(node: Node) -> None:
    for size, _, dilation, pads in _window(node):
        reaches = not pads or dilation <= 1 or (isinstance(size, int) and size >= dilation)
        require(reaches, "a window may hold padding alone")


def _not_signed_with_unsigned(node: Node) -> None:
    require((node.type(0), node.type(1)) != ("int8", "uint8"), "X is int8 and W uint8")


def _padded_with_zero(node: Node) -> None:
    if any(node.attribute("pads", ())) and node.name(2):
        require(not node.model.array(node.name(2)).any(), "the zero point is not 0")


def _cuts(node: Node) -> list[tuple[Size, Size, Size, int]]:
    """Of each axis of a Slice that is named its size, start, end and step."""
    x = node.true_shape()
    axes, steps = node.integers("", 3), node.integers("", 4)
    sizes = [x[from_the_front(axis, len(x))] for axis in axes]
    return list(zip(sizes, node.elements(1), node.elements(2), steps, strict=True))


def _every_axis(node: Node) -> None:
    require(node.true_shape(3) == (len(node.true_shape()),), "not all axes are named")


def _starts(node: Node) -> None:
    for size, start, _, _ in _cuts(node):
        known = isinstance(size, int) and isinstance(start, int)
        require(known and start in range(-int(size), int(size)), "a start may be no place")


def _ends(node: Node) -> None:
    for size, _, end, step in _cuts(node):
        if isinstance(size, int) and isinstance(end, int):
            down = step < 0
            require(-size - down <= end <= size - down, "an end is beyond its axis")
        else:
            require(size == end and step > 0, "an end may be beyond its axis")


def _in_order(node: Node) -> None:
    for size, start, end, step in _cuts(node):
        if isinstance(size, int) and isinstance(start, int) and isinstance(end, int):
            first, last = (at + size if at < 0 else at for at in (start, end))
            require(first >= last if step < 0 else first <= last, "a start lies behind its end")
        else:
            require(start == 0 and size == end and step > 0, "a start may lie behind its end")


def _inferable(node: Node) -> None:
    """A size of -1 follows from the others; an open one of these elements is a size of a value."""
    asked, x = node.elements(1), node.name(0)
    if -1 in asked and node.attribute("allowzero", 0) == 1:
        require(all(isinstance(size, int) and size for size in asked), "a size may be 0")
    elif -1 in asked:
        require(all(map(is_positive, node.model.true_shape(x))), "X may be empty")


def _alike_but_on_axis(node: Node) -> None:
    shapes = [node.true_shape(k) for k in range(len(node.proto.input))]
    if len(shapes) > 1:
        axis = node.axis(0, len(shapes[0]))
        rest = {(len(s), *s[:axis], *s[axis + 1 :]) for s in shapes}
        require(len(rest) == 1, "the shapes differ beside the axis")


def _named_once(node: Node) -> None:
    axes = node.integers("axes", 1)
    if len({axis < 0 for axis in axes}) > 1:
        axes = [from_the_front(axis, len(node.true_shape())) for axis in axes]
    require(len({*axes}) == len(axes), "an axis is named twice")


def _axis(node: Node) -> int:
    default = None if node.model.version < 11 and node.proto.op_type == "Concat" else 0
    if node.proto.op_type == "Softmax":
        default = 1 if node.model.version < 13 else -1
    return from_the_front(int(node.attribute("axis", default)), len(node.true_shape()))


def _has_axis(node: Node) -> None:
    _axis(node)


def _axis_has_elements(node: Node) -> None:
    require(is_positive(node.true_shape()[_axis(node)]), "the axis may be empty")


def _short_behind_axis(node: Node) -> None:
    behind = node.true_shape()[_axis(node) + 1 :]
    require(all(size in (0, 1) for size in behind), "an axis behind the axis is long")


def _difference(node: Node) -> None:
    if node.name(2):
        array = node.model.array(node.name(2))
        require(not array.any(), "a difference may be beyond int32")


def _constant_operands(node: Node) -> None:
    computed = [name for name in node.given()[1:] if not node.model.is_constant(name)]
    require(not computed, f"'{' '.join(computed)}' is no constant")


def _activations(value: Any) -> bool:
    gates = ([b"Sigmoid", b"Tanh", b"Tanh"], [b"Relu", b"Tanh", b"Tanh"])
    parts = [value[:3], value[3:]] if len(value) == 6 else [value]
    return all(part in gates for part in parts)


def _broadcastable(node: Node) -> None:
    axes = along_axes([node.model.true_shape(name) for name in node.given()])
    require(all(map(is_broadcastable, axes)), "the shapes do not fit")


def _converts_to_no_integer(node: Node) -> None:
    integers = (2, 3, 4, 5, 6, 7, 12, 13)
    require(node.attribute("to") not in integers, "a float may be beyond the type")


def _true(_: Node) -> None:
    """By the operator alone."""


_TYPES: Mapping[str, Mapping[str, frozenset[str]]] = {
    "Div Sub Add Mul Max Min PRelu Mod Pow Abs Neg MatMul Clip Where": {
        "float": FLOATS, "int": INTEGERS,
    },
    "Equal": {"float": FLOATS, "int": INTEGERS, "bool": _BOOL},
    "Less LessOrEqual Greater GreaterOrEqual ArgMax": {"float": FLOATS, "int": INTEGERS},
    "Reciprocal Sqrt Log Acos": {"float": FLOATS},
    "BitwiseAnd BitwiseOr BitwiseXor BitShift": {"int": INTEGERS},
    "And Or Xor": {"bool": _BOOL},
    "Sigmoid Tanh Exp Sin LeakyRelu Softmax": {"float": _SINGLES},
    "Relu": {"float": _SINGLES, "int": _SIGNED},
}  # fmt: skip

FAMILIES = {name: families for names, families in _TYPES.items() for name in names.split()}
"""The types of operators whose operands have the same type, by family; R2 of each."""


def _common_rules() -> Mapping[str, Demand]:
    """The rules of one pattern: one type, one shape, no sparse tensor."""
    rules: dict[str, Demand] = {}
    for operator, families in FAMILIES.items():
        places = {"Where": (1, 2), "Clip": (0, 1, 2)}.get(operator, ())
        for family, admitted in families.items():
            rules[f"{operator}.{family}.R2"] = _types(admitted, *places)
            rules[f"{operator}.{family}.RG1"] = _dense
            if operator in BROADCASTING:
                rules[f"{operator}.{family}.R1"] = _one_shape
    return rules


_CONVOLUTION: Mapping[str, Demand] = {
    "RG1": _dense,
    "R1": _rank(4, 0, 1),
    "R2": _both(_stands("auto_pad"), _is("auto_pad", b"NOTSET")),
    "R3": _groups,
    "group": _attribute("group", 1, lambda value: isinstance(value, int) and value > 0),
    "strides": _numbers("strides", 2, 1),
    "dilations": _numbers("dilations", 2, 1),
    "pads": _numbers("pads", 4, 0),
    "kernel": _positive_sizes(1, 2, 3),
    "channels": _channels,
}

_NO_ZERO = lambda value, _: value != 0  # noqa: E731

_FAMILIES = {"float": FLOATS, "int": INTEGERS, "bool": _BOOL}

RULES: Mapping[str, Demand] = {
    **_common_rules(),
    **{f"{name}.{tag}": demand for name in ("Conv", "ConvInteger")
       for tag, demand in _CONVOLUTION.items()},
    **dict.fromkeys(("Div.R1", "Div.R4", "Sub.R1"), _one_shape),
    **dict.fromkeys(("Div.R2", "Sub.R2"), _dense),
    **dict.fromkeys(("Div.R3", "Sub.R3"), _types(_NUMBERS)),
    **dict.fromkeys(("Div.int.C1", "Mod.int.C1"), _elements(1, _NO_ZERO)),
    **dict.fromkeys(("Div.int.C2", "Mod.int.C2"), _elements(1, lambda v, _: v != -1, *_UNSIGNED)),
    "Div.R5": _elements(1, _NO_ZERO, *FLOATS),
    **dict.fromkeys(
        ("Max.int.C1", "Min.int.C1"),
        _elements(-1, lambda v, _: v in _INT32, *sorted(INTEGERS - {"int64"})),
    ),
    "Pow.int.C1": _elements(1, lambda v, _: v >= 0, *_UNSIGNED),
    "BitShift.int.C1": _elements(1, lambda v, kind: v in range(int(kind.removeprefix("uint")))),
    "Abs.int.C1": _elements(0, lambda v, k: not _is_smallest(v, k), *_UNSIGNED),
    "Acos.float.C1": _elements(0, lambda v, _: -1 <= v <= 1),
    "Broadcast.E1": _broadcastable, "Broadcast.C1": _true,
    "Cast.RG1": _dense, "Cast.R2": _types(_NUMBERS | _BOOL),
    "Cast.float.C1": _converts_to_no_integer,
    "LeakyRelu.R1": _stands("alpha"),
    "MatMul.C1": _rank(2, 0, 1),
    "Clip.C1": _rank(0, 1, 2),
    "BatchNormalization.RG1": _dense,
    "BatchNormalization.R1": _is("training_mode", 0),
    "BatchNormalization.R2": _types(FLOATS, 0),
    "BatchNormalization.R3": _types(FLOATS, 1, 2),
    "BatchNormalization.R4": _types(FLOATS, 3, 4),
    "BatchNormalization.C1": _attribute("epsilon", 1e-5, lambda value: value > 0),
    "BatchNormalization.C3": _elements(4, lambda v, _: v >= 0),
    "Slice.R9": _types(_NUMBERS | _BOOL, 0),
    "Slice.R10": _types(frozenset({"int32", "int64"}), 1, 2, 3, 4),
    "Slice.R4": _dense, "Slice.R1": _given(3), "Slice.R3": _given(4), "Slice.R2": _every_axis,
    "Slice.R8": _starts, "Slice.C2": _ends, "Slice.R6": _in_order,
    "ArgMax.R4": _attribute("axis", 0, lambda value: value >= 0),
    "ArgMax.R5": _axis_has_elements,
    "ArgMax.float.C1": _elements(0, lambda v, _: not math.isnan(v)),
    "Softmax.R3": _stands("axis"), "Softmax.R4": _attribute("axis", None, lambda value: value >= 0),
    "Softmax.C2": _has_axis, "Softmax.C4": _short_behind_axis,
    "Softmax.float.C5": _elements(0, lambda v, _: v != math.inf),
    "QuantizeLinear.RG1": _dense,
    "QuantizeLinear.types": _types(frozenset({"float"}), 0, 1),
    "QuantizeLinear.zero_point": _types(frozenset({"uint8"}), 2),
    "QuantizeLinear.given": _given(2), "QuantizeLinear.signature": _rank(0, 1, 2),
    "QuantizeLinear.R1": _is("axis", 1), "QuantizeLinear.R2": _is("block_size", 0),
    "QuantizeLinear.R3": _is("output_dtype", 0), "QuantizeLinear.R4": _is("precision", 0),
    "QuantizeLinear.C1": _elements(1, lambda v, _: v != 0 and not math.isnan(v)),
    "QuantizeLinear.C2": _elements(0, _finite),
    "DequantizeLinear.RG1": _dense,
    "DequantizeLinear.types": _types(frozenset({"int32"}), 0, 2),
    "DequantizeLinear.scale": _types(frozenset({"float"}), 1),
    "DequantizeLinear.signature": _rank(0, 1, 2),
    "DequantizeLinear.R1": _is("axis", 1), "DequantizeLinear.R2": _is("block_size", 0),
    "DequantizeLinear.R3": _is("output_dtype", 0), "DequantizeLinear.C1": _difference,
    "Concat.RG1": _dense, "Concat.types": _types(None), "Concat.C2": _alike_but_on_axis,
    "Concat.R1": _attribute("axis", None, lambda value: value >= 0),
    "Reshape.RG1": _dense, "Reshape.types": _types(None, 0), "Reshape.S": _given(1),
    "Reshape.S.type": _types(frozenset({"int64"}), 1),
    "Reshape.allowzero.C1": _attribute("allowzero", 0, lambda value: value in (0, 1)),
    "Reshape.allowzero.C3": _inferable,
    "Flatten.RG1": _dense, "Flatten.types": _types(_SINGLES | INTEGERS),
    "Squeeze.RG1": _dense, "Squeeze.types": _types(None, 0), "Squeeze.A": _given(1),
    "Squeeze.A.type": _types(frozenset({"int64"}), 1), "Squeeze.A.C2": _named_once,
    "Squeeze.A.names": _positive_sizes(1, 0), "Squeeze.axes": _stands("axes"),
    "Squeeze.axes.names": _attribute("axes", None, len),
    "Unsqueeze.RG1": _dense, "Unsqueeze.types": _types(None, 0),
    "Unsqueeze.A.type": _types(frozenset({"int64"}), 1), "Unsqueeze.A.rank": _rank(1, 1),
    "Constant.R1": _stands("value"), "Constant.R2": _dense,
    "Shape.RG1": _dense, "Shape.types": _types(None),
    "Range.RG1": _dense, "Range.scalars": _rank(0, 0, 1, 2),
    "Range.types": _types(frozenset({"float", "double", "int16", "int32", "int64"})),
    "Conv.types": _types(_SINGLES), "Conv.B": _shape(2, _outputs_of_w),
    "ConvInteger.X": _types(_BYTES, 0, 2), "ConvInteger.W": _types(_BYTES, 1, 3),
    "ConvInteger.signs": _not_signed_with_unsigned, "ConvInteger.x_zero_point": _rank(0, 2),
    "ConvInteger.w_zero_point": _shape(3, lambda _: (), _outputs_of_w),
    "ConvInteger.C1": _padded_with_zero,
    "MaxPool.RG1": _dense, "MaxPool.types": _types(_SINGLES | _BYTES), "MaxPool.R1": _rank(4, 0),
    "MaxPool.R2": _stands("auto_pad", "kernel_shape", "pads", "strides"),
    "MaxPool.R2.storage_order": _stands("storage_order"),
    "MaxPool.R2.dilations": _stands("ceil_mode", "dilations"),
    "MaxPool.R3": _is("auto_pad", b"NOTSET"), "MaxPool.R4": _is("ceil_mode", 0),
    "MaxPool.R5": _is("storage_order", 0), "MaxPool.kernel_shape": _numbers("kernel_shape", 2, 1),
    "MaxPool.strides": _numbers("strides", 2, 1), "MaxPool.dilations": _numbers("dilations", 2, 1),
    "MaxPool.pads": _numbers("pads", 4, 0), "MaxPool.fits": _window_fits,
    "MaxPool.C1": _window_reaches_elements,
    "MaxPool.float.C2": _elements(0, lambda v, _: v > -math.inf),
    "Gemm.RG1": _dense, "Gemm.types": _types(_SINGLES), "Gemm.R1": _rank(2, 0, 1, 2),
    "Gemm.R2.alpha": _is("alpha", 1), "Gemm.R2.beta": _is("beta", 1),
    "Gemm.R2.transA": _is("transA", 0), "Gemm.R2.transB": _is("transB", 0), "Gemm.R4": _given(2),
    "Gemm.R3": _shape(2, lambda node: (node.true_shape(0)[0], node.true_shape(1)[1])),
    "LSTM.RG1": _dense, "LSTM.types": _types(FLOATS, 0, 1, 2, 3, 5, 6, 7),
    "LSTM.constant": _constant_operands,
    **{f"LSTM.{name}": _given(place) for place, name in enumerate(
        ("B", "sequence_lens", "initial_h", "initial_c", "P"), 3)},
    "LSTM.activations": _both(
        _stands("activations"), _attribute("activations", None, _activations)),
    "LSTM.input_forget": _both(_stands("input_forget"), _is("input_forget", 0)),
    "LSTM.layout": _both(_stands("layout"), _is("layout", 0)),
    "LSTM.clip": _attribute("clip", None, lambda _: False),
    "LSTM.X": _rank(3, 0),
    "LSTM.W": _shape(1, lambda node: (*_gates(node)[:2], node.true_shape()[2])),
    "LSTM.R": _shape(2, _gates),
    "LSTM.batch": _positive_sizes(0, 1), "LSTM.sequences": _positive_sizes(0, 0),
}  # fmt: skip
"""What each rule demands of a node."""

HELD = frozenset(
    {
        *("Concat.C3", "Concat.axis.C1", "Flatten.axis.C1", "Range.D.C1"),
        *("Reshape.S.rank", "Reshape.S.C1", "Reshape.S.C3", "Reshape.allowzero.C2"),
        *("Reshape.X.C1", "Squeeze.A.rank", "Squeeze.A.C1", "Squeeze.size"),
        *("Unsqueeze.A.C1", "Unsqueeze.A.C2", "MaxPool.padding", "Gemm.shapes", "LSTM.shapes"),
        *("Conv.kernel_shape", "Conv.outputs", "Conv.fits"),
        *("ConvInteger.kernel_shape", "ConvInteger.outputs", "ConvInteger.fits"),
    }
)
"""The rules that ONNX Runtime holds."""


NOT_CONCLUDED = frozenset({"Pow.int.C2", "Softmax.float.C6"})
"""The rules that are concluded of no node: powers and whole lines are computed in a run."""

_PRELIMINARY = ("Div.R1", "Div.R2", "Div.R3", "Div.R4", "Div.R5", "Sub.R1", "Sub.R2", "Sub.R3")
"""The rules of the preliminary edition; those of all other operators are the same."""

_SINCE = {
    "Softmax.C4": range(13),
    **dict.fromkeys(("Squeeze.axes", "Squeeze.axes.names"), range(13)),
    **dict.fromkeys(
        ("Squeeze.A", "Squeeze.A.type", "Squeeze.A.rank", "Squeeze.A.names"), range(13, 99)
    ),
    **dict.fromkeys(("MaxPool.R4", "MaxPool.R2.dilations", "MaxPool.dilations"), range(10, 99)),
    **dict.fromkeys(("MaxPool.R5", "MaxPool.R2.storage_order"), range(8, 99)),
    **dict.fromkeys(("LSTM.layout", "Reshape.allowzero.C1"), range(14, 99)),
}  # fmt: skip
"""The versions of the opset in which a rule applies; in all, if it is left out."""


def rules_of(node: Node, edition: str) -> set[str]:
    """The rules that bind a node: those of its operator, for the type of its operands.

    Args:
        node: The node. The type of an operand is known, if the rules differ by it.
        edition: "typed" or "preliminary".

    Raises:
        Rejected: The type is not known.
    """
    operator = node.proto.op_type
    own = {r for r in (*RULES, *HELD, *NOT_CONCLUDED) if r.partition(".")[0] == operator}
    own = {rule for rule in own if node.model.version in _SINCE.get(rule, range(99))}
    preliminary = own.intersection(_PRELIMINARY)
    if preliminary:
        own = preliminary if edition == "preliminary" else own - preliminary
    families = {rule: rule.split(".")[1] for rule in own if rule.split(".")[1] in _FAMILIES}
    if families:
        element_type = node.type(1 if operator == "Where" else 0)
        own -= {rule for rule, family in families.items() if element_type not in _FAMILIES[family]}
    return own


def conclude(node: Node, rule: str) -> None:
    """Conclude an obligation of a node.

    Args:
        node: The node.
        rule: The id of the rule.

    Raises:
        Rejected: It does not follow.
    """
    operator = rule.partition(".")[0]
    require(operator == node.proto.op_type, f"the node is a {node.proto.op_type}")
    if rule not in HELD:
        require(rule in RULES, "the rule is not known")
        RULES[rule](node)
