"""The rules that operands break, and what comes of operands that keep them.

Sources: the two editions of SONNX Div and the preliminary edition of SONNX Sub, "Restrictions":
equal shapes (R1). SONNX Broadcast, "Informal specification": condition 1 (ranks), condition 2
(sizes) and the relations between multi-indexes of step 1 and step 2, evaluated index by index;
indexes start at 0 here and at 1 there.

The bundled models are built with this, and the tests hold the backends to it. Rules on elements of
element-wise operators are those of `meaning.domains`, told a second time; those of other operators
are `statements`. Which rules there are is asked of the profile, and not what they decide.
"""

from collections.abc import Callable, Container, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from statements import NEWEST, SHOWN, kept_by

from sonnx_ort.meaning import Undefined, elementwise, meaning
from sonnx_ort.meaning.domains import Domain, ElementRule, domain, smallest_by_minus_one
from sonnx_ort.meaning.numbers import NO_ATTRIBUTES, Attributes, Operands, exact_elements
from sonnx_ort.profile.catalog import OPERATORS as PROFILED
from sonnx_ort.profile.element_type import ElementType
from sonnx_ort.profile.options import Edition


@dataclass(frozen=True, slots=True)
class Violation:
    """The first violated rule, in the order of the operator's contract.

    `index` is that of the first invalid elements in row-major order, and `values` are these
    elements; both are None for shapes.
    """

    rule: str
    index: tuple[int, ...] | None = None
    values: tuple[int | float, ...] | None = None


Array = npt.NDArray[Any]
Sizes = tuple[int, ...]
_COMPUTED = frozenset({"MatMul", "BatchNormalization", "Clip", "Slice", "ArgMax"})
"""The operators that are not element-wise and have an `outcome`."""

AGAINST_KERNELS = frozenset({"Max.int.C1", "Min.int.C1", "Mod.int.C2"})
"""The rules on elements that have a result, which kernels of ONNX Runtime compute wrongly."""

ZEROS_OF_EITHER_SIGN = frozenset({"Max", "Min", "Clip", "MatMul", "BatchNormalization"})
"""Operators that may return a zero of either sign for zeros of both signs.

Compare their results by value. The oracle considers 0 larger than -0, as IEEE 754-2019 does (9.6).
"""

OPERATORS = elementwise.OPERATORS | _COMPUTED
"""The operators that have an `outcome`."""


def outcome(  # noqa: PLR0913 - what a node has
    operator: str,
    operands: Operands,
    element_type: ElementType,
    edition: Edition,
    attributes: Attributes = NO_ATTRIBUTES,
    *,
    unneeded: Container[str] = frozenset(),
) -> Array | Violation:
    """The exact results of an operator, each rounded once, or the first violated rule.

    For a NaN result, any quiet NaN is correct; for some operators a zero of either sign is, see
    `ZEROS_OF_EITHER_SIGN`. For operators without a finite exact computation, `meaning` admits
    other results too.

    Args:
        operator: Its name.
        operands: All operands, of any shapes, None for omitted ones; conditions of a Where have
            dtype bool, and indices of a Slice are integers.
        element_type: The type of all other operands.
        edition: It determines the violated rule of Div and Sub, and the result for a zero divisor.
        attributes: The attributes of the node. The default direction of a BitShift is left.
        unneeded: Rules of `AGAINST_KERNELS` that do not count, because no kernel is wrong there.

    Raises:
        ValueError: The operator does not support the type, or the operands do not fit each other.
    """
    broken = violation(operator, operands, element_type, edition, attributes, unneeded=unneeded)
    if broken is not None:
        return broken
    found = meaning(operator, NEWEST, attributes, operands, edition)
    if not isinstance(found, Undefined):
        return found[0].nearest
    raise ValueError(f"{operator} has no result: {found.reason}")


def violation(  # noqa: PLR0913 - what a node has
    operator: str,
    operands: Operands,
    element_type: ElementType,
    edition: Edition,
    attributes: Attributes = NO_ATTRIBUTES,
    *,
    unneeded: Container[str] = frozenset(),
) -> Violation | None:
    """The first rule that operands violate; the arguments are those of `outcome`.

    Raises:
        ValueError: The operator does not support the type.
    """
    if operator in _COMPUTED:
        decided = decided_in_run(operator, operands, element_type, edition, attributes)
        return next((broken for _, broken in decided if broken is not None), None)
    elementwise.computation(operator, element_type, edition, attributes)
    present = [operand for operand in operands if operand is not None]
    if len({operand.shape for operand in present}) > 1:
        return Violation(_shape_rule(operator, element_type, edition))
    result_type = elementwise.result_type(operator, element_type, attributes)
    bounds = domain(operator, element_type, result_type)
    against_kernels = _rules_against_kernels(operator, element_type, len(present))
    rules = [*bounds.rules, *(rule for rule in against_kernels if rule.id not in unneeded)]
    bounds = Domain(rules, bounds.limits)
    if not bounds.rules:
        return None
    decoded = [exact_elements(operand, element_type).ravel().tolist() for operand in present]
    return violation_of_elements(bounds, present, decoded, edition)


def decided_in_run(  # noqa: PLR0913 - what a node has
    operator: str,
    operands: Operands,
    element_type: ElementType,
    edition: Edition,
    attributes: Attributes,
    *,
    version: int = NEWEST,
) -> Iterator[tuple[str, Violation | None]]:
    """Decide the rules that a run decides, in their order.

    What follows a broken rule may raise an error. The arguments are those of `outcome`, and the
    version of the standard operators.
    """
    names = PROFILED[operator].operand_names(len(operands))
    given = {n: o for n, o in zip(names, operands, strict=False) if o is not None}
    for rule in PROFILED[operator].rules(edition, element_type.family):
        if rule.in_run and rule.binds_version(version):
            own = {n: o for n, o in given.items() if rule.operands is None or n in rule.operands}
            yield rule.id, stated_violation(rule.id, own, {**attributes, "version": version})


def stated_violation(
    rule: str, given: Mapping[str, Array], attributes: Attributes
) -> Violation | None:
    """The violation of a rule by its operands, by name, as `statements` has it."""
    kept = kept_by(rule, given, attributes)
    if np.all(kept):
        return None
    if isinstance(kept, bool):
        return Violation(rule)
    index = tuple(int(place) for place in np.argwhere(~kept)[0])
    shown = [*given.values()][SHOWN.get(rule, slice(None))]
    whole = [o.ndim == kept.ndim and o.size >= kept.size for o in shown]
    values = tuple(
        _plain(o[index] if w else o.ravel()[0]) for o, w in zip(shown, whole, strict=True)
    )
    return Violation(rule, index, values)


@dataclass(frozen=True, slots=True)
class KernelRule(ElementRule):
    """A rule on elements that have a result, which kernels of ONNX Runtime compute wrongly.

    A violation reports the elements of the operands at the indices `reported`, and of another rule
    those of all operands.
    """

    reported: Sequence[int] = (0, 1)


def _rules_against_kernels(
    operator: str, element_type: ElementType, operands: int
) -> Sequence[KernelRule]:
    if operator == "Mod" and element_type in (ElementType.INT32, ElementType.INT64):
        return [KernelRule("Mod.int.C2", smallest_by_minus_one)]
    if operator in ("Max", "Min") and element_type is ElementType.INT64:
        halves = f"{operator}.int.C1"
        return [KernelRule(halves, _beyond_int32(k), (k,)) for k in range(operands)]
    return []


def _beyond_int32(position: int) -> Callable[[Sequence[Any], Any], bool]:
    return lambda elements, _: not -(1 << 31) <= elements[position] < 1 << 31


def _shape_rule(operator: str, element_type: ElementType, edition: Edition) -> str:
    if operator in ("Div", "Sub") and edition is Edition.PRELIMINARY:
        return f"{operator}.R1"
    return f"{operator}.{element_type.family}.R1"


def violation_of_elements(
    bounds: Domain, operands: Sequence[Array], decoded: Sequence[Sequence[Any]], edition: Edition
) -> Violation | None:
    """Find the first rule, and the first elements that violate it in row-major order.

    The operands have one shape, and `decoded` are their exact elements.
    """
    for rule in bounds.rules:
        places = zip(np.ndindex(operands[0].shape), zip(*decoded, strict=True), strict=True)
        for index, elements in places:
            if rule.violates(elements, bounds.limits):
                everywhere = range(len(operands))
                reported = rule.reported if isinstance(rule, KernelRule) else everywhere
                values = tuple(_plain(operands[position][index]) for position in reported)
                return Violation(rule.named(edition), index, values)
    return None


def _plain(element: Any) -> int | float:
    return int(element) if element.dtype.kind in "iu" else float(element)


def broadcast(*tensors: Array) -> tuple[Array, ...] | Violation:
    """Broadcast tensors X0 to XL, at least one, to their common shape.

    Returns:
        Z0 to ZL with bit-identical elements, or the violated rule.
    """
    rank = max(tensor.ndim for tensor in tensors)
    padded = [_prepended(tensor.shape, rank) for tensor in tensors]
    common = tuple(max(sizes[k] for sizes in padded) for k in range(rank))
    if not all(_is_broadcastable(sizes, common) for sizes in padded):
        return Violation("Broadcast.E1")
    return tuple(
        _repeated(tensor, sizes, common) for tensor, sizes in zip(tensors, padded, strict=True)
    )


def _prepended(sizes: Sizes, rank: int) -> Sizes:
    """Step 1: prepend sizes of 1 until the rank is reached."""
    return (1,) * (rank - len(sizes)) + sizes


def _is_broadcastable(sizes: Sizes, common: Sizes) -> bool:
    return all(size in (largest, 1) for size, largest in zip(sizes, common, strict=True))


def _repeated(tensor: Array, sizes: Sizes, common: Sizes) -> Array:
    """Step 2: copy each element of Zm from the element of Ym, and so of Xm, at the mapped index."""
    bits = np.dtype(f"u{tensor.dtype.itemsize}")
    elements, result = tensor.view(bits), np.empty(common, bits)
    prepended = len(common) - tensor.ndim
    for index in np.ndindex(common):
        leading_to = tuple(map(_index, index, sizes, common))
        result[index] = elements[leading_to[prepended:]]
    return result.view(tensor.dtype)


def _index(current: int, size: int, common_size: int) -> int:
    """The document's f: the current index if the size is the common one, else the first index."""
    return current if size == common_size else 0
