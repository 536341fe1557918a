"""Judges a node that an optimizer joined with those that compute its operands.

The run has no values between such nodes. Where only one value is admitted, it is that one. Where an
operator admits several, such as a sum in any order, the node is held to the results for all of
them: they are enclosed by balls.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np

from sonnx_ort.auditing.audited_node import Audited, attributes_of, meaning_of
from sonnx_ort.comparing.isolated_run import Array
from sonnx_ort.oracle import Enclosure, Result, Undefined
from sonnx_ort.oracle.ball_node import balls
from sonnx_ort.oracle.enclosed import enclosed_meaning, type_of_results
from sonnx_ort.oracle.excerpts import Excerpt, excerpts
from sonnx_ort.oracle.node import Node
from sonnx_ort.profile.options import Edition

_BOUND = "what the joined nodes admit together (ours)"


def joined_meaning(
    audited: Audited, excerpt: Excerpt, edition: Edition
) -> Sequence[Result] | Undefined:
    """What the elements of an excerpt are, for all admitted values of operands that are apart.

    Args:
        audited: The node.
        excerpt: An excerpt of it.
        edition: The edition of the profile.

    Raises:
        ValueError: The elements that it reads of such an operand are not known.
    """
    operands = list(excerpt.operands)
    for position, name in enumerate(audited.node.input):
        operand = operands[position] if position < len(operands) else None
        if name not in audited.apart or operand is None:
            continue
        reads = excerpt.reads[position] if position < len(excerpt.reads) else None
        if reads is None:
            raise ValueError(f"the run has no value '{name}', and several are admitted")
        operands[position] = _admitted(audited.apart[name], name, reads, edition).reshape(
            operand.shape
        )
    asked = audited.meant, audited.version, excerpt.attributes
    if not any(o is not None and o.dtype == object for o in operands):
        return meaning_of(*asked, operands, edition)
    result_type = type_of_results(excerpt.attributes, excerpt.operands)
    return enclosed_meaning(*asked, operands, result_type, edition=edition, bound=_BOUND)


def _admitted(producer: Audited, name: str, indices: Any, edition: Edition) -> Array:
    """The elements of a value, or balls with all that are admitted."""
    position = list(producer.node.output).index(name)
    node = Node(producer.version, attributes_of(producer.node), tuple(producer.operands))
    found: dict[int, Any] = {}
    single = True
    wanted = np.unique(indices)
    for excerpt in excerpts(producer.meant, node, producer.results, lambda *_: wanted):
        meant = joined_meaning(producer, excerpt, edition)
        if isinstance(meant, Undefined):
            raise ValueError(meant.reason)  # noqa: TRY004 - nothing is known
        result, places = meant[position], excerpt.places[position]
        if places is None or result.undefined.any():
            raise ValueError(f"the value '{name}' is not known")
        single = single and _is_single(result)
        elements = result.nearest if single else _balls(result)
        found.update(zip(places.tolist(), elements.ravel(), strict=True))
    chosen = [found[index] for index in indices.tolist()]
    if single:
        return np.array(chosen, producer.results[position].dtype)  # type: ignore[union-attr]
    return balls(np.array([*chosen, None], object)[:-1])


def _is_single(result: Result) -> bool:
    admitted = result.admitted
    if not isinstance(admitted, Enclosure):
        return True
    same = (admitted.lowest == admitted.highest) | (result.nearest != result.nearest)
    return bool(same.all()) and not bool(admitted.anything.any())


def _balls(result: Result) -> Array:
    """A ball around all admitted results of each element."""
    from flint import arb  # noqa: PLC0415 - an optional dependency

    admitted = result.admitted
    if not isinstance(admitted, Enclosure):
        raise TypeError("only floats are enclosed")
    if admitted.anything.any():
        raise ValueError("every value is admitted")
    ends = zip(admitted.lowest.ravel(), admitted.highest.ravel(), strict=True)
    made = np.empty(admitted.lowest.size, object)
    made[:] = [arb(float(low)).union(arb(float(high))) for low, high in ends]
    return made.reshape(admitted.lowest.shape)
