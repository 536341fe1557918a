"""Conv and ConvInteger.

Source: SONNX Conv and ConvInteger, drafts of the working group, restrictions and constraints.
"""

from collections.abc import Sequence

from sonnx_ort.profile.common_rules import RulesOf
from sonnx_ort.profile.element_type import IEEE_TYPES, ElementType, Family
from sonnx_ort.profile.requirements.attributes import NotBoth, admitted, held
from sonnx_ort.profile.requirements.elements import OnElements
from sonnx_ort.profile.requirements.same_type import SameNumericType
from sonnx_ort.profile.requirements.shapes import of_rank, on_shapes
from sonnx_ort.profile.rule import (
    Attributes,
    Judgement,
    Rule,
    at_run_time,
    proved,
    violated,
)
from sonnx_ort.profile.windows import (
    SPATIAL,
    Window,
    attribute_has_numbers,
    auto_pad_is_not_set,
    bounds_of_size,
    kernel_of,
    known_size,
)
from sonnx_ort.terms.language import All, Decided, Either, IfGiven, IsMultiple, Tensor, Term
from sonnx_ort.terms.numbers import NumberSet
from sonnx_ort.terms.operand import Operand

_conv = RulesOf("Conv", 741, survived=True)
_conv_integer = RulesOf("ConvInteger", 761, survived=True)

_X, _W, _B, _ZERO = map(Tensor, ("X", "W", "B", "w_zero_point"))


def _group(attributes: Attributes) -> int:
    group = attributes.get("group", 1)
    return group if isinstance(group, int) else 1


def _whole_or_each(attributes: Attributes) -> Term:
    group = _group(attributes)
    return Decided(True, "there is one group") if group <= 1 else _X.size(1) == group


def _outputs_fit(attributes: Attributes) -> Term:
    group = _group(attributes)
    if group <= 1:
        return Decided(group == 1, f"the number of groups is {group}")
    return IsMultiple(_W.size(0), group)


def _kernel_is_kernel_shape(attributes: Attributes) -> Term:
    if "kernel_shape" not in attributes:
        return Decided(True, "the attribute kernel_shape is left out")
    kernel = kernel_of(attributes)
    if kernel is None:
        return Decided(False, "kernel_shape is no list of two numbers")
    return All(tuple(_W.size(a) == size for a, size in zip(SPATIAL, kernel, strict=True)))


def _kernel_fits(operands: Sequence[Operand], attributes: Attributes) -> Judgement:
    x, w = operands
    window = Window.of(attributes)
    judgement = proved("the kernel fits into the padded X")
    for place, axis in enumerate(SPATIAL):
        size, kernel = bounds_of_size(x, axis), known_size(w, axis)
        smallest = 0 if kernel is None else window.smallest(place, kernel)
        if size is not None and kernel is not None and size.upper < smallest:
            return violated(f"axis {axis} of X is {size}, and the kernel needs {smallest}")
        if size is None or kernel is None or size.lower < smallest:
            judgement = at_run_time("the sizes of X or W depend on the inputs")
    return judgement


def _rules_of_both(rules: RulesOf) -> tuple[Rule, ...]:
    """The rules of both, about attributes and sizes."""
    return (
        rules("R1", 3).states(of_rank(4), *("X", "W"), survived=False),
        auto_pad_is_not_set(rules, "R2", 4, given=True),
        rules("group", 5).states(
            admitted("group", 1, lambda group: isinstance(group, int) and group > 0)
        ),
        rules("R3", 6).states(on_shapes(("X",), _whole_or_each, attributes=("group",))),
        attribute_has_numbers(rules, 7, "strides", 2, 1),
        attribute_has_numbers(rules, 8, "dilations", 2, 1, survived=True),
        attribute_has_numbers(rules, 9, "pads", 4, 0),
        rules("kernel", 10).states(
            on_shapes(("W",), lambda _: All(tuple(_W.size(axis) >= 1 for axis in SPATIAL))),
            survived=False,
        ),
        rules("kernel_shape", 11).states(
            on_shapes(("W",), _kernel_is_kernel_shape, attributes=("kernel_shape",), held=True)
        ),
        rules("channels", 12).states(
            on_shapes(
                ("X", "W"),
                lambda attributes: max(1, _group(attributes)) * _W.size(1) == _X.size(1),
                attributes=("group",),
            ),
            survived=False,
        ),
        rules("outputs", 13).states(
            on_shapes(("W",), _outputs_fit, attributes=("group",), held=True)
        ),
        rules("fits", 14).states(held(_kernel_fits, attributes=("pads", "dilations")), *("X", "W")),
    )


CONV = _conv.operator(
    Family.FLOAT,
    rules=[
        *_conv.general(IEEE_TYPES),
        *_rules_of_both(_conv),
        _conv("B", 15).states(
            on_shapes(("W", "B"), lambda _: IfGiven(_B, _B.is_of_shape(_W.size(0)))), survived=False
        ),
    ],
    operands=("X", "W", "B"),
    versions=(1, 11, 22),
    oldest_kernels=1,
    optional=("B",),
)


_ONLY_ZERO = NumberSet("not 0", lambda _: (0, 0))


def _zero_where_padded(attributes: Attributes) -> NumberSet | Decided:
    window = Window.of(attributes)
    if not any((*window.before, *window.after)):
        return Decided(True, "X is not padded")
    return _ONLY_ZERO


def _of_same_bytes(name: str, offset: int) -> Rule:
    zero_point = f"{name.lower()}_zero_point"
    return _conv_integer(name, offset).states(
        SameNumericType("int32", (ElementType.INT8, ElementType.UINT8)),
        *(name, zero_point),
        survived=False,
    )


CONV_INTEGER = _conv_integer.operator(
    Family.INTEGER,
    rules=[
        _of_same_bytes("X", 0),
        _of_same_bytes("W", 1),
        _conv_integer("signs", 18).states(
            NotBoth((ElementType.INT8, ElementType.UINT8)), *("X", "W")
        ),
        _conv_integer.dense(2),
        *_rules_of_both(_conv_integer),
        _conv_integer("x_zero_point", 15).states(of_rank(0), "x_zero_point"),
        _conv_integer("w_zero_point", 16).states(
            on_shapes(
                ("W", "w_zero_point"),
                lambda _: IfGiven(_ZERO, Either((_ZERO.rank == 0, _ZERO.is_of_shape(_W.size(0))))),
            )
        ),
        _conv_integer("C1", 17).states(
            OnElements(("x_zero_point",), "x_zero_point", _zero_where_padded, ("pads",))
        ),
    ],
    operands=("X", "W", "x_zero_point", "w_zero_point"),
    versions=(10,),
    result_type="int32",
    oldest_kernels=10,
    optional=("x_zero_point", "w_zero_point"),
)
