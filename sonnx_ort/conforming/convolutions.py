"""Conv, ConvInteger and MaxPool: along one axis as along two, and with the padding written down.

A window along one axis is one along two whose other axis has the size 1: there the kernel is 1, the
stride has nothing to move over, and nothing is padded, so that each window holds the same elements
in the same order (ONNX, Conv-11, ConvInteger-10 and MaxPool-12). ONNX Runtime adds them up in the
same order too: its float convolution promotes one axis to two before it chooses an algorithm, and
its integers are exact. A MaxPool depends on the order only where NaNs or zeros of both signs meet;
the axis of size 1 is its last one, moved over by 3, with which ONNX Runtime compares in the same
order as along one axis, unless the window is the whole axis.
"""

from collections.abc import Mapping, Sequence

import numpy as np
import onnx_ir as ir

from sonnx_ort.analysis.values.declarations import constant_tensor
from sonnx_ort.conforming.bounds import EQUAL_BUT_FOR_NAN
from sonnx_ort.conforming.change import Attribute, Change, NoChangeError, NodeEdit
from sonnx_ort.conforming.operators import Operators
from sonnx_ort.conforming.verified_operators import verified_of
from sonnx_ort.terms.operand import Shape

_X, _W = 0, 1
_SPATIAL = 2
"""The first spatial axis."""

_STRIDE_OF_GENERAL_KERNEL = 3
"""The least stride along the last axis with which ONNX Runtime pools one element after another."""

_LEAST = {"kernel_shape": 1, "strides": 1, "dilations": 1, "pads": 0}
"""The attributes with numbers for each spatial axis, and the least number of each."""


def convolve_along_two_axes(edit: NodeEdit) -> bool:
    """Insert an axis of size 1 in front of the one that a convolution moves along.

    X (N, C, L) becomes (N, C, 1, L), W (M, C, k) becomes (M, C, 1, k), and the axis is removed from
    Y. What is padded, skipped and added up along L is the same. See the module for the bits. Where
    the rank of X is not known, that of W is: of another one, X is refused before and after.
    """
    x, w = edit.operand(_X), edit.operand(_W)
    rank = len(edit.shape(w))
    if rank == _SPATIAL + 2:
        return False
    if rank != _SPATIAL + 1:
        raise NoChangeError(f"'{w.name}' has {max(rank - _SPATIAL, 0)} spatial axes")
    shape = edit.facts.shape(x)
    if shape is not None and len(shape) != rank:
        raise NoChangeError(f"'{x.name}' and '{w.name}' have different ranks")
    attributes = _of_two_axes(edit, in_front=True, strides=1)
    op, tensor = Operators(edit), constant_tensor(w)
    if tensor is None:
        kernel = op.unsqueeze(w, [_SPATIAL])
    else:
        kernel = edit.constant(np.expand_dims(tensor.numpy(), _SPATIAL), "kernel")
    _replace(edit, [op.unsqueeze(x, [_SPATIAL]), kernel], attributes, _SPATIAL)
    return True


def pool_along_two_axes(edit: NodeEdit) -> bool:
    """Append an axis of size 1 to the one that a MaxPool moves along, if no bit can change.

    X (N, C, L) becomes (N, C, L, 1), and the axis is removed from Y. A window of one element is all
    that the new axis has room for, whatever the stride. See the module for the stride of 3.
    """
    shape = _of_one_axis(edit)
    if shape is None:
        return False
    kernel = edit.integers("kernel_shape")
    if kernel is not None and len(kernel) != 1:
        raise NoChangeError("its kernel does not fit the axes of its operand")
    is_part = isinstance(shape[-1], int) and kernel is not None and kernel[-1] != shape[-1]
    of_integers = "int" in (edit.facts.element_type(edit.operand(_X)) or "")
    if not (is_part or any(edit.integers("pads") or ()) or of_integers):
        raise NoChangeError("a window of the whole axis meets NaN in another order")
    return _pool_as_two_axes(edit)


def pool_along_two_axes_in_any_order(edit: NodeEdit) -> bool:
    """Append an axis of size 1 to the one that a MaxPool moves along.

    Where a window is the whole axis, NaNs and zeros of both signs are compared in another order.
    """
    return _of_one_axis(edit) is not None and _pool_as_two_axes(edit)


def _of_one_axis(edit: NodeEdit) -> Shape | None:
    """The shape of X if it has one spatial axis; None if it has two."""
    x = edit.operand(_X)
    shape = edit.shape(x)
    axes = len(shape) - _SPATIAL
    if axes not in {1, 2}:
        raise NoChangeError(f"'{x.name}' has {max(axes, 0)} spatial axes")
    if any(output.uses() or output.is_graph_output() for output in edit.node.outputs[1:]):
        raise NoChangeError(
            "its second output is used, and its indices would change with a second axis"
        )
    return shape if axes == 1 else None


def _pool_as_two_axes(edit: NodeEdit) -> bool:
    attributes = _of_two_axes(edit, in_front=False, strides=_STRIDE_OF_GENERAL_KERNEL)
    attributes.setdefault("strides", [1, _STRIDE_OF_GENERAL_KERNEL])
    axis = _SPATIAL + 1
    operand = Operators(edit).unsqueeze(edit.operand(_X), [axis])
    _replace(edit, [operand], attributes, axis)
    return True


def _of_two_axes(edit: NodeEdit, *, in_front: bool, strides: int) -> dict[str, Attribute]:
    """The attributes, with a window of 1 along the new axis."""
    other = {"kernel_shape": 1, "strides": strides, "dilations": 1, "pads": 0}
    attributes: dict[str, Attribute] = {}
    for name, least in _LEAST.items():
        given = edit.integers(name)
        if given is None:
            continue
        ends = 2 if name == "pads" else 1
        if len(given) != ends or min(given) < least:
            raise NoChangeError(
                f"its attribute {name} is {list(given)}, which does not fit one axis"
            )
        pairs = [(other[name], number) if in_front else (number, other[name]) for number in given]
        attributes[name] = [number for pair in pairs for number in pair]
    return attributes


def _replace(
    edit: NodeEdit, operands: Sequence[ir.Value], attributes: Mapping[str, Attribute], axis: int
) -> None:
    """Put a node of two spatial axes in the place of the node, and remove the axis after it."""
    node = edit.node
    inputs = [*operands, *node.inputs[len(operands) :]]
    result = edit.add(node.op_type, inputs, attributes, node.name)
    made = edit.added[-1]
    for name, attribute in node.attributes.items():
        if name not in made.attributes:
            made.attributes[name] = attribute
    edit.replace_by(Operators(edit).squeeze(result, [axis]))


def write_padding_down(edit: NodeEdit) -> bool:
    """Write the padding down that auto_pad asks for, and set auto_pad to NOTSET.

    VALID pads nothing. SAME_UPPER and SAME_LOWER pad each axis so that Y has as many elements as X
    has strides, rounded up; an odd one more is padded after it or before it (ONNX, Conv-11
    and MaxPool-12). Where ONNX Runtime does otherwise, which is at dilated windows and at strides
    that leave elements of X out, there is no change: it refuses the first for convolutions and pads
    them as if they were not dilated for MaxPool, and lets a stride begin after the first element.
    """
    mode = edit.node.attributes.get_string("auto_pad", "NOTSET")
    if mode == "NOTSET":
        return False
    if edit.integers("pads") is not None:
        raise NoChangeError("it has both pads and auto_pad, which ONNX does not allow")
    axes = len(edit.shape(edit.operand(_X))) - _SPATIAL
    if axes < 1:
        raise NoChangeError("its operand has no axis to move along")
    if mode == "VALID":
        pads = [(0, 0)] * axes
    elif mode in {"SAME_UPPER", "SAME_LOWER"}:
        pads = _same_pads(edit, axes, upper=mode == "SAME_UPPER")
    else:
        raise NoChangeError(f"ONNX has no auto_pad={mode}")
    edit.set_attribute("pads", [*(front for front, _ in pads), *(after for _, after in pads)])
    edit.set_attribute("auto_pad", "NOTSET")
    return True


def _same_pads(edit: NodeEdit, axes: int, *, upper: bool) -> list[tuple[int, int]]:
    """The padding before each axis and after it."""
    pooling = edit.node.op_type == "MaxPool"
    x = edit.operand(_X)
    sizes = edit.shape(x)[_SPATIAL:]
    kernel = edit.integers("kernel_shape")
    if kernel is None:
        kernel = edit.sizes(edit.operand(_W))[_SPATIAL:]
    strides = edit.integers("strides") or (1,) * axes
    dilations = edit.integers("dilations") or (1,) * axes
    if {len(kernel), len(strides), len(dilations)} != {axes} or min(*kernel, *strides) < 1:
        raise NoChangeError("its attributes do not fit the axes of its operand")
    if set(dilations) != {1}:
        raise NoChangeError("ONNX Runtime pads a dilated window differently than ONNX says")
    if pooling and edit.integer("ceil_mode"):
        raise NoChangeError("ceil_mode adds windows of its own to the padding")
    pads = []
    for size, extent, stride in zip(sizes, kernel, strides, strict=True):
        if isinstance(size, int):
            needed = (-(-size // stride) - 1) * stride + extent - size
        elif stride == 1:
            needed = extent - 1
        else:
            raise NoChangeError(
                f"the padding depends on the sizes of '{x.name}', which are open",
                edit.fixing_sizes(x),
            )
        # A convolution that leaves the last element out pads nothing in front of the first.
        if needed < (0 if pooling else -1):
            raise NoChangeError("its strides skip elements, where auto_pad shifts the windows")
        less, more = max(needed, 0) // 2, -(-max(needed, 0) // 2)
        pads.append((less, more) if upper else (more, less))
    return pads


_WINDOW = ("strides", "dilations", "pads", "kernel_shape")

CHANGES = (
    Change(
        "write the padding that auto_pad stands for",
        frozenset({"Conv.R2", "ConvInteger.R2", "MaxPool.R3"}),
        write_padding_down,
        verified_of("Conv", "ConvInteger", "MaxPool"),
    ),
    Change(
        "insert an axis of size 1",
        frozenset(
            f"{operator}.{rule}"
            for operator in ("Conv", "ConvInteger")
            for rule in ("R1", "kernel", *_WINDOW)
        ),
        convolve_along_two_axes,
        verified_of("Conv", "ConvInteger"),
    ),
    Change(
        "append an axis of size 1",
        frozenset(f"MaxPool.{rule}" for rule in ("R1", *_WINDOW)),
        pool_along_two_axes,
        verified_of("MaxPool"),
    ),
    Change(
        "append an axis of size 1, after which NaN may be met in another order",
        frozenset(f"MaxPool.{rule}" for rule in ("R1", *_WINDOW)),
        pool_along_two_axes_in_any_order,
        verified_of("MaxPool"),
        EQUAL_BUT_FOR_NAN,
    ),
)
"""The changes of windows: padding is written down while it has one number for each axis."""
