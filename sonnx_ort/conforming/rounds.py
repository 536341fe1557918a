"""One round of changes: a visit of all nodes, and what was changed at them.

All changes, in the order in which they are tried at a node. What gives the operands their rank,
shape and type comes before what reads these.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

import onnx_ir as ir

from sonnx_ort.conforming import (
    broadcasts,
    constants,
    convolutions,
    powers,
    products,
    recurrent,
    slices,
)
from sonnx_ort.conforming.change import Change, DryRun, NoChangeError, NodeEdit, Safety
from sonnx_ort.errors import printable
from sonnx_ort.loading.traversal import ValueNames
from sonnx_ort.obligations.examination import Examination
from sonnx_ort.obligations.examined_node import ExaminedNode
from sonnx_ort.obligations.obligation import Obligation
from sonnx_ort.profile.graph import GR3, GR4
from sonnx_ort.profile.rule import Status

CHANGES: tuple[Change, ...] = (
    *constants.CHANGES,
    *slices.CHANGES,
    *slices.AXES,
    *convolutions.CHANGES,
    *recurrent.CHANGES,
    *powers.CHANGES,
    *constants.SCALARS,
    *products.CHANGES,
    *products.GEMM,
    *broadcasts.CHANGES,
)
"""The changes. A new one needs one more line above."""


Place = tuple[str, str, str, tuple[str, ...], str]
"""A rule, the operator, node and path that it binds, and which attribute or input if it is GR4."""


def place_of(obligation: Obligation) -> Place:
    """What tells an obligation from the others of a model."""
    o = obligation
    return o.rule.id, o.operator, o.node, o.path, o.evidence if o.rule is GR4 else ""


@dataclass(frozen=True, slots=True)
class Made:
    """A change that was made at a node.

    Attributes:
        title: What it did, as an order.
        safety: What it does to results.
        mended: The obligations that it is to mend, as they were.
        operator: The operator of the node, or "value", "input" and so on, as in `Finding`.
        node: The node's name in messages.
        path: The nodes whose subgraphs contain it, outermost first.
        values: The values that the node computes.
        added: The operators and names of the nodes that were added.
    """

    title: str
    safety: Safety
    mended: tuple[Obligation, ...]
    operator: str
    node: str
    path: tuple[str, ...]
    values: tuple[str, ...]
    added: tuple[tuple[str, str], ...]

    @property
    def rules(self) -> tuple[str, ...]:
        """The ids of the rules that it is to mend."""
        return tuple(dict.fromkeys(o.rule.id for o in self.mended))

    @property
    def key(self) -> tuple[str, str, tuple[str, ...]]:
        """What tells it from all other changes of the model."""
        return self.title, self.node, self.path

    @property
    def place(self) -> str:
        """The node in words, with the subgraphs that contain it."""
        inside = "".join(f" in {step}" for step in reversed(self.path))
        return printable(f"{self.operator} '{self.node}'{inside}")

    def __str__(self) -> str:
        """The change on one line."""
        added = ", ".join(f"{operator} '{name}'" for operator, name in self.added)
        return printable(f"{self.place}: {self.title}" + (f", by {added}" if added else ""))


@dataclass(frozen=True, slots=True)
class Selection:
    """Which changes are to be made.

    Attributes:
        rules: The ids of the rules that are to be mended.
        unsafe: Whether changes are made that may round otherwise, or add an output.
        without: Changes that are not to be made: title, node and path.
    """

    rules: frozenset[str]
    unsafe: bool = False
    without: Collection[tuple[str, str, tuple[str, ...]]] = ()

    def allows(self, change: Change, examined: ExaminedNode) -> bool:
        """Whether a change may be made at a node."""
        target = examined.target
        return (change.title, target.label, target.path) not in self.without


_Node = tuple[str, str, tuple[str, ...], str]
"""A place without its rule."""


@dataclass(frozen=True, slots=True)
class Round:
    """One visit of all nodes, with the facts from before it.

    Attributes:
        model: The model, which is edited.
        examination: Its examination.
        selection: Which changes are to be made.
        reasons: Filled with why changes could not be made.
    """

    model: ir.Model
    examination: Examination
    selection: Selection
    reasons: dict[Place, str]

    def make_changes(self) -> list[Made]:
        """Make at each node the first change that has something to mend."""
        names = ValueNames(self.model)
        conversions = {
            place_of(o)[1:]: o for o in self.examination.report.violations if o.rule is GR3
        }
        made = (self._change(examined, names, conversions) for examined in self.examination.nodes)
        return [change for change in made if change is not None]

    def _change(
        self,
        examined: ExaminedNode,
        names: ValueNames,
        conversions: Mapping[_Node, Obligation],
    ) -> Made | None:
        open_rules = {o.rule.id for o in examined.obligations if o.status is not Status.PROVED}
        for change in CHANGES:
            if change.rules.isdisjoint(open_rules):
                continue
            concerned = change.concerned(examined, self.selection.rules)
            if not concerned or not self.selection.allows(change, examined):
                continue
            # Of the same operands, but an obligation of the graph.
            conversion = conversions.get(place_of(concerned[0])[1:])
            if conversion is not None and GR3.id in change.rules & self.selection.rules:
                concerned.append(conversion)
            tried = change.safety is Safety.UNSAFE and not self.selection.unsafe
            kind = DryRun if tried else NodeEdit
            edit = kind(examined, self.examination.facts, names, self.model.ir_version)
            made = self._make(change, edit, concerned)
            if made is not None and not tried:
                return made
            if made is not None:
                self._explain(concerned, f"an unsafe change may fix it: {change.title}")
        return None

    def _make(self, change: Change, edit: NodeEdit, concerned: Sequence[Obligation]) -> Made | None:
        target = edit.examined.target
        values = tuple(output.name or "" for output in edit.node.outputs)
        try:
            if not change.make(edit):
                return None
        except NoChangeError as reason:
            self._explain(concerned, str(reason))
            return None
        edit.finish()
        return Made(
            change.title,
            change.safety,
            tuple(o for o in concerned if o.rule.id not in edit.left),
            target.operator.name,
            target.label,
            target.path,
            values,
            tuple((node.op_type, node.name or "") for node in edit.added),
        )

    def _explain(self, concerned: Sequence[Obligation], reason: str) -> None:
        for place in map(place_of, concerned):
            known = self.reasons.get(place, "")
            if reason not in known:
                self.reasons[place] = f"{known}; {reason}" if known else reason
