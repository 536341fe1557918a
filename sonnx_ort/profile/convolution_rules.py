"""What Conv and ConvInteger demand alike of attributes and sizes.

Source: SONNX Conv and ConvInteger, drafts of the working group, restrictions and constraints.
"""

from collections.abc import Sequence

from sonnx_ort.profile.requirements.attributes import AdmittedAttribute, HeldByRuntime
from sonnx_ort.profile.requirements.shapes import OnShapes, of_rank
from sonnx_ort.profile.rule import (
    Attributes,
    Illustration,
    Judgement,
    Rule,
    at_run_time,
    proved,
    violated,
)
from sonnx_ort.profile.windows import (
    SPATIAL,
    DraftRules,
    Window,
    bounds_of_size,
    kernel_of,
    known_size,
)
from sonnx_ort.terms.language import All, Decided, IsMultiple, Tensor, Term
from sonnx_ort.terms.operand import Operand

_UNKNOWN = "the sizes of X or W are known only in a run"
_X, _W = Tensor("X"), Tensor("W")


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


def _kernel_is_as_said(attributes: Attributes) -> Term:
    if "kernel_shape" not in attributes:
        return Decided(True, "the attribute kernel_shape is left out")
    kernel = kernel_of(attributes)
    if kernel is None:
        return Decided(False, "kernel_shape is no list of two numbers")
    return All(tuple(_W.size(a) == size for a, size in zip(SPATIAL, kernel, strict=True)))


def _kernel_fits(operands: Sequence[Operand], attributes: Attributes) -> Judgement:
    x, w = operands
    window = Window.of(attributes)
    unknown = False
    for place, axis in enumerate(SPATIAL):
        size, kernel = bounds_of_size(x, axis), known_size(w, axis)
        smallest = None if kernel is None else window.smallest(place, kernel)
        if size is None or smallest is None or size.lower < smallest <= size.upper:
            unknown = True
        elif size.upper < smallest:
            return violated(f"axis {axis} of X is {size}, and the kernel needs {smallest}")
    return at_run_time(_UNKNOWN) if unknown else proved("the kernel fits into the padded X")


def _channels_fit(attributes: Attributes) -> Term:
    return max(1, _group(attributes)) * _W.size(1) == _X.size(1)


_MORE_OR_NONE = "silently accepts more of them, or none, if shapes are not declared."


def convolution_rules(
    rules: DraftRules,
    *,
    negative_pads: str,
    empty: str,
    outputs: str,
    channels: str,
) -> tuple[Rule, ...]:
    """The rules of both, about attributes and sizes.

    What ONNX Runtime does with negative pads, an empty kernel and other channels differs, and the
    end of the tag of the rule about outputs.
    """
    return (
        rules.rule(
            "R1",
            3,
            "X and W have two spatial axes.",
            of_rank(
                4,
                Illustration(
                    "X (1, 3, 8, 8), W (6, 3, 3, 3)",
                    "X (1, 3, 8), W (6, 3, 3)",
                    "insert an axis of size 1 with Unsqueeze",
                ),
            ),
            "X",
            "W",
            at=rules.constraint("Inputs, X", "X_0010"),
            remark="The draft gives W four sizes too.",
            unenforced="silently convolves along one and three axes too. Versions up to 1.31.1 "
            "also accept a rank of 2, and end the process at lower ranks (SIGABRT).",
            survived=False,
        ),
        rules.not_set(
            "R2", 4, rules.constraint("Attributes, auto_pad", "AUTOPAD_0020"), given=True
        ),
        rules.rule(
            "group",
            5,
            "The attribute group is positive.",
            AdmittedAttribute(
                ("group",),
                1,
                lambda group: isinstance(group, int) and group > 0,
                Illustration("group=1", "group=0", "give the number of groups"),
            ),
            at=rules.constraint("Attributes, group", "GROUP_0010"),
            unenforced="rejects other numbers with an error.",
        ),
        rules.rule(
            "R3",
            6,
            "There is one group, or one for each channel of X.",
            OnShapes(
                ("X",),
                _whole_or_each,
                Illustration(
                    "X (1, 4, 8, 8), group=4",
                    "X (1, 4, 8, 8), group=2",
                    "split X and W with Split, and convolve each part separately",
                ),
                ("group",),
            ),
            "X",
            at=rules.constraint("Attributes, group", "GROUP_0030"),
            unenforced="silently convolves in any number of groups.",
        ),
        rules.numbers(
            "strides",
            7,
            2,
            1,
            "STRIDES_0010",
            remark="The draft does not say how many there are; there are two spatial axes.",
            unenforced=f"{_MORE_OR_NONE} If shapes are declared, versions up to 1.27 end the "
            "process at a 0 (SIGFPE).",
        ),
        rules.numbers(
            "dilations",
            8,
            2,
            1,
            "DILATIONS_0010",
            remark="The draft states their number as DILATIONS_0020.",
            unenforced=f"{_MORE_OR_NONE} Versions up to 1.25 take 0 and negative numbers too.",
            survived=True,
        ),
        rules.numbers(
            "pads",
            9,
            4,
            0,
            "PADS_0010",
            remark="The draft states their number as PADS_0020.",
            unenforced=f"{_MORE_OR_NONE} {negative_pads}",
        ),
        rules.rule(
            "kernel",
            10,
            "The kernel of W is not empty.",
            OnShapes(
                ("W",),
                lambda _: All(tuple(_W.size(axis) >= 1 for axis in SPATIAL)),
                Illustration("W (6, 3, 3, 3)", "W (6, 3, 0, 3)", "give a kernel"),
            ),
            "W",
            remark="The draft states it of kernel_shape, which is the shape of W.",
            at=rules.constraint("Attributes, kernel_shape", "KERNELSHAPE_0010"),
            unenforced=empty,
            survived=False,
        ),
        rules.rule(
            "kernel_shape",
            11,
            "The attribute kernel_shape is the shape of the kernel of W.",
            OnShapes(
                ("W",),
                _kernel_is_as_said,
                Illustration(
                    "W (6, 3, 3, 5), kernel_shape=[3, 5]",
                    "W (6, 3, 3, 5), kernel_shape=[5, 3]",
                    "correct kernel_shape",
                ),
                ("kernel_shape",),
                held=True,
            ),
            "W",
            at=rules.constraint("Attributes, kernel_shape", "KERNELSHAPE_0020"),
            remark="The rationale in the draft of Conv exchanges the two sizes; ONNX's order is "
            "taken.",
        ),
        rules.rule(
            "channels",
            12,
            "W takes as many channels as each group of X has.",
            OnShapes(
                ("X", "W"),
                _channels_fit,
                Illustration(
                    "X (1, 4, 8, 8), W (6, 4, 3, 3)",
                    "X (1, 4, 8, 8), W (6, 3, 3, 3)",
                    "correct the shape of W, or group",
                ),
                ("group",),
            ),
            "X",
            "W",
            at=rules.constraint("Inputs, X", "X_0020"),
            unenforced=channels,
            survived=False,
        ),
        rules.rule(
            "outputs",
            13,
            "The outputs of W are divided evenly among the groups.",
            OnShapes(
                ("W",),
                _outputs_fit,
                Illustration(
                    "W (8, 1, 3, 3), group=4", "W (6, 1, 3, 3), group=4", "correct the shape of W"
                ),
                ("group",),
                held=True,
            ),
            "W",
            at=rules.constraint("Inputs, W", outputs),
        ),
        rules.rule(
            "fits",
            14,
            "The dilated kernel fits into the padded X.",
            HeldByRuntime(
                ("pads", "dilations"),
                _kernel_fits,
                Illustration(
                    "X (1, 3, 4, 4), W (6, 3, 3, 3)",
                    "X (1, 3, 2, 4), W (6, 3, 3, 3)",
                    "pad X, or take a smaller kernel",
                ),
            ),
            "X",
            "W",
            remark="The draft gives a formula for the sizes of Y, in which the size of the dilated "
            "kernel is wrong: dilations * dW instead of dilations * (dW - 1) + 1, of ONNX. Y has "
            "these sizes wherever the kernel fits.",
            at=rules.constraint("Attributes, strides", "STRIDES_0020"),
        ),
    )
