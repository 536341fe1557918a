"""Axes that are counted from the end or left out: counted from the front, and named.

An axis of -n is the n-th from the end, by ONNX's definition of each of these operators, so that
adding the rank gives the same axis. A Squeeze without axes removes all axes of size 1; named, it
removes the same ones if it is certain of each axis whether its size is 1.
"""

from sonnx_ort.conforming.change import AXES_AS_INPUT, Change, NoChangeError, Site


def count_axis_from_the_front(site: Site) -> bool:
    """Add the rank to a negative attribute `axis`."""
    axis = site.node.attributes.get("axis")
    if axis is None or axis.is_ref() or (number := axis.as_int()) >= 0:
        return False
    rank = _rank(site)
    if number + rank < 0:
        raise NoChangeError(f"an operand of rank {rank} has no axis {number}")
    site.set_attribute("axis", number + rank)
    return True


def _rank(site: Site) -> int:
    """The rank of the operands, which have the same; one of them may be known alone."""
    reasons: list[NoChangeError] = []
    for value in site.examined.target.inputs:
        try:
            return len(site.shape(value))
        except NoChangeError as reason:
            reasons.append(reason)
    raise reasons[0]


def name_squeezed_axes(site: Site) -> bool:
    """Name the axes of size 1."""
    x = site.operand(0)
    shape = site.shape(x)
    if any(not isinstance(size, int) for size in shape):
        raise NoChangeError(f"which axes of '{x.name}' have the size 1 is known only in a run")
    axes = [axis for axis, size in enumerate(shape) if size == 1]
    if not axes:
        raise NoChangeError("it removes no axis, but the profile requires one to be named")
    if site.opset >= AXES_AS_INPUT:
        site.set_input(1, site.constant(axes, "axes"))
    else:
        site.set_attribute("axes", axes)
    return True


CHANGES = (
    Change(
        "count the axis from the front",
        frozenset({"Softmax.R4", "ArgMax.R4", "Concat.R1"}),
        count_axis_from_the_front,
    ),
    Change(
        "name the removed axes",
        frozenset({"Squeeze.A", "Squeeze.axes"}),
        name_squeezed_axes,
    ),
)
