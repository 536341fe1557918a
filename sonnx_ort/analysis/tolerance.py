"""What is enforced of a node with a violation that somebody answers for.

Where the shapes of operands are not equal a Broadcast is written out in front, and all other rules
are enforced behind it. Of another rule nothing is enforced; of what else binds the node, all is.
"""

from collections.abc import Callable, Iterable
from dataclasses import replace

from sonnx_ort.analysis.examined_node import ExaminedNode
from sonnx_ort.analysis.obligation import Obligation
from sonnx_ort.analysis.waivers import Waiver
from sonnx_ort.profile.judgement import Status
from sonnx_ort.profile.rule import Subject


def tolerate(
    examined: ExaminedNode, waivers: Iterable[Waiver], broadcasting: Callable[[], ExaminedNode]
) -> ExaminedNode:
    """Give what is to be enforced of a node whose violations waivers may be for.

    Args:
        examined: The node.
        waivers: Those of the model.
        broadcasting: Examines the node with a Broadcast in front.
    """
    violated = [o for o in examined.obligations if o.status is Status.VIOLATED]
    waived = tuple(o for o in violated if any(w.is_for(o.rule.id, o.node, o.path) for w in waivers))
    if not waived:
        return examined
    unequal = [o for o in violated if _about_equal_shapes(o)]
    if unequal and all(o in waived for o in unequal):
        examined = broadcasting()
    return replace(examined, waived=waived)


def still_violated(examined: ExaminedNode) -> tuple[Obligation, ...]:
    """Say why no Broadcast takes the place of equal shapes that are waived; empty where one does.

    Args:
        examined: The node, with what is to be enforced of it.
    """
    waived = {o.rule.id for o in examined.waived if _about_equal_shapes(o)}
    return tuple(
        o for o in examined.obligations if o.rule.id in waived and o.status is Status.VIOLATED
    )


def _about_equal_shapes(obligation: Obligation) -> bool:
    return obligation.rule.requirement.subject is Subject.EQUAL_SHAPES
