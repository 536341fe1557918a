"""What is emitted for any number of operands, as steps: each operand adds the same."""

from collections.abc import Iterator, Sequence

import onnx

Step = tuple[str, tuple[str, ...], str]
"""An operator, what it reads, and what it gives."""


def of_same_shape(number: int) -> Iterator[Step]:
    """What lets operands of one known rank through where they have one shape.

    Args:
        number: How many operands there are.
    """
    yield from _shapes(number)
    yield "Constant", (), "code"
    yield from (("Equal", ("shape 0", f"shape {k}"), f"is equal {k}") for k in range(1, number))
    yield from _all([f"is equal {k}" for k in range(1, number)])
    yield "Where", ("all", "shape 0", "code"), "shape or code"
    yield from (("Reshape", (f"operand {k}", "shape or code"), f"{k}") for k in range(number))


def of_common_shape(number: int, *, any_rank: bool) -> Iterator[Step]:
    """What expands operands to their common shape, if they have one.

    Args:
        number: How many operands there are.
        any_rank: Whether ranks are unknown; else they are known, equal and beyond 1.
    """
    yield from _shapes(number)
    shapes = [f"shape {k}" for k in range(number)]
    if any_rank:
        ranks = [f"rank {k}" for k in range(number)]
        yield from (("Shape", (s,), r) for s, r in zip(shapes, ranks, strict=True))
        yield from _largest("largest rank", ranks)
        for k in range(number):
            yield "Neg", (f"rank {k}",), f"negative {k}"
            yield "Add", ("largest rank", f"negative {k}"), f"missing {k}"
            yield "ConstantOfShape", (f"missing {k}",), f"ones {k}"
            yield "Concat", (f"ones {k}", f"shape {k}"), f"aligned {k}"
        shapes = [f"aligned {k}" for k in range(number)]
    yield from _largest("largest", shapes)
    yield "Constant", (), "one"
    for k, shape in enumerate(shapes):
        yield "Equal", (shape, "one"), f"is one {k}"
        yield "Equal", (shape, "largest"), f"is largest {k}"
        yield "Or", (f"is largest {k}", f"is one {k}"), f"fits {k}"
    yield from _all([f"fits {k}" for k in range(number)])
    yield from [("Shape", ("largest",), "rank") if any_rank else ("Constant", (), "rank")]
    yield "Constant", (), "code"
    yield "Where", ("all", "rank", "code"), "rank or code"
    if any_rank:
        yield "Concat", ("rank or code", "rank"), "rank or code"
    yield "ReduceMin", ("rank or code",), "decided"
    yield "Reshape", ("largest", "decided"), "common shape"
    yield from (("Expand", (f"operand {k}", "common shape"), f"{k}") for k in range(number))


def _shapes(number: int) -> Iterator[Step]:
    yield from (("Shape", (f"operand {k}",), f"shape {k}") for k in range(number))


def _largest(name: str, values: Sequence[str]) -> Iterator[Step]:
    """The largest of values: each is compared with the largest of those before."""
    before = values[0]
    for k, value in enumerate(values[1:], start=1):
        found = name if value is values[-1] else f"{name} of {k + 1}"
        yield "Less", (before, value), f"{name} is smaller than {k}"
        yield "Where", (f"{name} is smaller than {k}", value, before), found
        before = found


def _all(conditions: Sequence[str]) -> Iterator[Step]:
    """Whether all conditions hold: each is joined to those before."""
    before = conditions[0]
    for k, condition in enumerate(conditions[1:], start=1):
        found = "all" if condition is conditions[-1] else f"all of {k + 1}"
        yield "And", (before, condition), found
        before = found


def steps_of(model: onnx.ModelProto, node: str, expected: Sequence[Step]) -> list[Step]:
    """The steps of a graph, with what they give called as in steps that are expected.

    Args:
        model: The model.
        node: The name of the guarded node, which is no step.
        expected: The steps that are expected, in their order.
    """
    names = {given.name: f"operand {k}" for k, given in enumerate(model.graph.input)}
    found = []
    emitted = [each for each in model.graph.node if each.name != node]
    for each, (_, _, called) in zip(emitted, expected, strict=True):
        (output,) = each.output
        found.append((each.op_type, tuple(names[name] for name in each.input), called))
        names[output] = called
    return found


def attributes_in(model: onnx.ModelProto) -> set[tuple[str, bytes]]:
    """Each operator of a graph with its attributes, but for the names of constants."""
    found = set()
    for node in model.graph.node:
        for attribute in node.attribute:
            plain = onnx.AttributeProto()
            plain.CopyFrom(attribute)
            plain.t.ClearField("name")
            found.add((node.op_type, plain.SerializeToString(deterministic=True)))
    return found
