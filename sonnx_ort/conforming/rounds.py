"""One round of changes: a visit of all nodes, and what was changed at them.

All changes, in the order in which they are tried at a node. What gives the operands their rank,
shape and type comes before what reads these.
"""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import onnx_ir as ir

from sonnx_ort.analysis.examination import Examination
from sonnx_ort.analysis.examined_node import ExaminedNode
from sonnx_ort.analysis.obligation import Obligation
from sonnx_ort.analysis.progress import followed
from sonnx_ort.analysis.ruled_nodes import nodes_with_paths
from sonnx_ort.conforming import (
    broadcasts,
    constants,
    convolutions,
    exponents,
    products,
    quantized,
    recurrent,
    reductions,
    slices,
)
from sonnx_ort.conforming.bounds import Bound
from sonnx_ort.conforming.change import (
    MOST_STEPS,
    Change,
    NoChangeError,
    NodeEdit,
    Safety,
    operator_of,
    safety_of,
)
from sonnx_ort.conforming.decomposing import decomposition_of, refusal_of
from sonnx_ort.conforming.failing import MAY_END
from sonnx_ort.conforming.moved_constants import SIZED_BY, store_sizes
from sonnx_ort.conforming.origins import Origin, origin_of
from sonnx_ort.conforming.sixteen_bit_floats import (
    MOVED_ROUNDING,
    WHY_IT_ROUNDS,
    SixteenBitFloats,
)
from sonnx_ort.conforming.stated import Stated
from sonnx_ort.conforming.verified_operators import verified_of
from sonnx_ort.errors import printable
from sonnx_ort.errors.remedies import Advice, Remedy
from sonnx_ort.facts.operators import REDUCTIONS
from sonnx_ort.loading.traversal import ValueNames, every_node, index_of, label_of, subgraphs_of
from sonnx_ort.profile.graph import EDGES, GR3, GR4, IMPLICIT_SHAPE, OPERATORS_OF_THE_SET
from sonnx_ort.profile.operator import STANDARD_DOMAIN
from sonnx_ort.terms.operand import Operand

_FILES = (constants, quantized, slices, convolutions, recurrent, exponents, products, broadcasts)

CHANGES: tuple[Change, ...] = tuple(change for file in _FILES for change in file.CHANGES)
"""The changes. A new file needs its place above."""

TELLING_SIZES = (
    Change("store the sizes that are known", frozenset(), store_sizes, verified_of(*SIZED_BY)),
    Change(
        "count the axes of a reduction from the front",
        frozenset(),
        reductions.count_axes_from_the_front,
        verified_of(*REDUCTIONS),
        Bound(0, remark="an empty tensor is reduced, which ONNX Runtime before 1.32 does not do"),
        undecided=True,
    ),
)
"""The changes that fix nothing themselves, after which more sizes are known."""

_OF_SIZES = (IMPLICIT_SHAPE, OPERATORS_OF_THE_SET)
"""The rules that may be violated because the sizes of a value are not known."""

ROUNDING = Remedy("rounding")
"""The option that lets changes round."""

Place = tuple[str, str, str, tuple[str, ...], str]
"""A rule, the operator, node and path that it binds, and what the node leaves out, if it does."""


def place_of(obligation: Obligation) -> Place:
    """What tells an obligation from the others of a model."""
    o = obligation
    return o.rule.id, o.operator, o.node, o.path, o.evidence if o.rule in (GR4, EDGES) else ""


Key = tuple[str, str, tuple[str, ...]]
"""What tells a change from the others of a model: its title, the label of the node and its path."""


@dataclass(frozen=True, slots=True)
class Made:
    """A change that was made at a node.

    Attributes:
        title: What it did, as an order.
        safety: What it does to results.
        fixed: The obligations that it is to fix, as they were.
        operator: The operator of the node, or "value", "input" and so on, as in `Finding`.
        node: The node's name in messages.
        path: The nodes whose subgraphs contain it, outermost first.
        values: The values that the node computes.
        added: The operators and names of the nodes that were added.
        bound: How far results may be from the original ones, if it rounds.
    """

    title: str
    safety: Safety
    fixed: tuple[Obligation, ...]
    operator: str
    node: str
    path: tuple[str, ...]
    values: tuple[str, ...]
    added: tuple[tuple[str, str], ...]
    bound: Bound | None = None

    @property
    def rules(self) -> tuple[str, ...]:
        """The ids of the rules that it is to fix."""
        return tuple(dict.fromkeys(o.rule.id for o in self.fixed))

    @property
    def key(self) -> Key:
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
        rules: The ids of the rules that are to be fixed.
        rounding: Whether changes are made that may round otherwise.
        name_outputs: Whether outputs that nodes omit, or that nothing reads, become outputs of
            the graph.
        most_steps: How many steps a Loop or Scan may have that is unrolled.
        both_branches: Whether both branches of an If may be computed.
        without: Changes that are not to be made.
        worsening: Changes after which more is violated, each with the reason.
        stated: What is known of inputs, which reasons propose to fix.
    """

    rules: frozenset[str]
    rounding: bool = False
    name_outputs: bool = False
    most_steps: int = MOST_STEPS
    both_branches: bool = False
    without: Collection[Key] = ()
    worsening: Mapping[Key, str] = field(default_factory=dict)
    stated: Stated = field(default_factory=Stated)


_Node = tuple[str, str, tuple[str, ...], str]
"""A place without its rule."""


@dataclass(frozen=True, slots=True)
class Round:
    """One visit of all nodes, with the facts from before it.

    `reasons` is filled with why changes could not be made, and `held_back` with those that were not
    made because they round. `moved` is filled with where nodes were before any change, by what was
    made at them. `sixteen_bit_floats` are those of the model. The nodes of `ending` may end a run,
    and nothing reads them.
    """

    model: ir.Model
    examination: Examination
    selection: Selection
    reasons: dict[Place, Advice]
    sixteen_bit_floats: SixteenBitFloats
    ending: frozenset[ir.Node]
    held_back: set[Key]
    moved: dict[Key, Origin]

    def make_changes(self) -> list[Made]:
        """Make at each node the first change that has something to fix."""
        names = ValueNames(self.model)
        violations = self.examination.report.violations
        conversions = {place_of(o)[1:]: o for o in violations if o.rule is GR3}
        outside = {place_of(o)[1:]: o for o in violations if o.rule is OPERATORS_OF_THE_SET}
        made = [
            *self._tell_sizes(names),
            *(self._decompose(node, o, names) for node, o in self._placed(outside)),
        ]
        nodes = self.examination.nodes
        if outside:
            # A decomposition removes a node, with all that its branches hold.
            present = set(every_node(self.model.graph))
            nodes = tuple(node for node in nodes if node.ruled.node in present)
        changing = followed(nodes, "changing nodes", len(nodes))
        made += [self._change(examined, names, conversions) for examined in changing]
        return [change for change in made if change is not None]

    def _tell_sizes(self, names: ValueNames) -> Iterator[Made]:
        """Make sizes known on which ranks, conditions and rules may depend."""
        changes = [change for change in TELLING_SIZES if self._may_help(change)]
        apart: ValueNames | None = None
        for node, path in list(nodes_with_paths(index_of(self.model.graph))) if changes else ():
            for change in changes:
                if operator_of(node) not in change.verified:
                    continue
                edit = self._edit(node, names)
                key = change.title, label_of(node), path
                if key in self.selection.without or key in self.selection.worsening:
                    continue
                if not _is_verified(change, edit):
                    continue
                bound = self._bound(change, edit)
                if bound is not None and not self.selection.rounding:
                    # What is only tried takes no names from what is made.
                    apart = apart or ValueNames(self.model)
                    if change.make(self._edit(node, apart).dry_run()):
                        self.held_back.add(key)
                elif change.make(edit):
                    edit.finish()
                    values = tuple(output.name or "" for output in node.outputs)
                    place = node.op_type, label_of(node), path
                    yield Made(change.title, safety_of(bound), (), *place, values, (), bound)

    def _may_help(self, change: Change) -> bool:
        """Whether a rule depends on sizes; in a run, too, if the change also fixes that."""
        chosen = self.selection.rules
        if any(
            o.rule in _OF_SIZES and o.rule.id in chosen for o in self.examination.report.violations
        ):
            return True
        obligations = (o for node in self.examination.nodes for o in node.obligations)
        return change.undecided and any(
            o.left_to_the_run and o.rule.id in chosen for o in obligations
        )

    def _placed(self, outside: Mapping[_Node, Obligation]) -> list[tuple[ir.Node, Obligation]]:
        """The nodes that these obligations are of, in the order of the graph."""
        if not outside or OPERATORS_OF_THE_SET.id not in self.selection.rules:
            return []
        found = (
            (node, outside.get((node.op_type, label_of(node), path, "")))
            for node, path in nodes_with_paths(index_of(self.model.graph))
        )
        return [(node, obligation) for node, obligation in found if obligation is not None]

    def _decompose(self, node: ir.Node, outside: Obligation, names: ValueNames) -> Made | None:
        """Write a node of an operator outside the set by operators of the set."""
        if (refusal := refusal_of(node, self.model.opset_imports)) is not None:
            self._note_reason([outside], Advice(refusal))
            return None
        edit = self._edit(node, names)
        decomposition = decomposition_of(edit)
        if decomposition is None:
            return None
        return self._try(decomposition, edit, [outside])

    def _change(
        self, examined: ExaminedNode, names: ValueNames, conversions: Mapping[_Node, Obligation]
    ) -> Made | None:
        """Make the first change that open obligations of a node want; None if none is made."""
        ruled = examined.ruled
        open_rules = {o.rule.id for o in examined.obligations if not o.settled}
        for change in CHANGES:
            if change.rules.isdisjoint(open_rules):
                continue
            concerned = change.concerned(examined, self.selection.rules)
            if not concerned:
                continue
            # Of the same operands, but an obligation of the graph.
            conversion = conversions.get(place_of(concerned[0])[1:])
            if conversion is not None and GR3.id in change.rules & self.selection.rules:
                concerned.append(conversion)
            edit = self._edit(ruled.node, names, tuple(examined.operands), ruled.declared_results)
            made = self._try(change, edit, concerned)
            if made is not None:
                return made
        return None

    def _edit(
        self,
        node: ir.Node,
        names: ValueNames,
        operands: tuple[Operand, ...] = (),
        declared_results: tuple[Operand, ...] = (),
    ) -> NodeEdit:
        """An edit of a node, with what is known of its values and what the user chose."""
        opset = self.model.opset_imports[STANDARD_DOMAIN]
        imports = self.model.opset_imports
        known = self.examination.facts, names, self.model.ir_version, imports
        chosen = self.selection
        edit = NodeEdit(node, opset, *known, operands, declared_results)
        edit.most_steps, edit.both_branches = chosen.most_steps, chosen.both_branches
        edit.stated = chosen.stated
        if chosen.both_branches and node.op_type == "If":
            edit.proved = self.examination.proved
        return edit

    def _try(self, change: Change, edit: NodeEdit, concerned: Sequence[Obligation]) -> Made | None:
        """Make a change if it is selected; say of one that rounds that it would be possible."""
        first = concerned[0]
        key = change.title, first.node, first.path
        if key in self.selection.without:
            return None
        if key in self.selection.worsening:
            self._note_reason(concerned, Advice(self.selection.worsening[key]))
            return None
        values = tuple(output.name or "" for output in edit.node.outputs)
        origin = origin_of(edit.node)
        try:
            change.require_verified(edit)
            self._require_kept(edit, replaced=bool(subgraphs_of(edit.node)))
            bound = self._bound(change, edit)
            why = f"; {WHY_IT_ROUNDS}" if bound is MOVED_ROUNDING else ""
            only_tried = bound is not None and not self.selection.rounding
            # The bodies of a node are moved even if that is only tried.
            if not (only_tried and why and subgraphs_of(edit.node)):
                edit = edit.dry_run() if only_tried else edit
                if not change.make(edit):
                    edit.discard()
                    return None
                self._require_kept(edit, replaced=bool(edit.replacements))
        except NoChangeError as reason:
            edit.discard()
            self._note_reason(concerned, reason.reason)
            return None
        if only_tried:
            self.held_back.add(key)
            self._note_reason(concerned, rounded(f"{change.title}{why}"))
            return None
        if origin is not None:
            self.moved[key] = origin
        edit.finish()
        return Made(
            change.title,
            safety_of(bound),
            tuple(o for o in concerned if o.rule.id not in edit.not_fixed),
            first.operator,
            first.node,
            first.path,
            values,
            tuple((node.op_type, node.name or "") for node in edit.added),
            bound,
        )

    def _require_kept(self, edit: NodeEdit, *, replaced: bool) -> None:
        """Refuse to replace a node that nothing reads and that may end a run.

        Raises:
            NoChangeError: It is one; nothing reads what would replace it.
        """
        if replaced and edit.node in self.ending:
            raise NoChangeError(MAY_END)

    def _bound(self, change: Change, edit: NodeEdit) -> Bound | None:
        """How far a change at a node may move results; None if all keep their bits.

        Raises:
            NoChangeError: As the change does.
        """
        if change.bound is None and self.sixteen_bit_floats.moved_by(change, edit):
            return MOVED_ROUNDING
        return change.bound

    def _note_reason(self, concerned: Sequence[Obligation], reason: Advice) -> None:
        for place in map(place_of, concerned):
            known = self.reasons.get(place)
            # Of changes that round, the first one would be made.
            repeated = known is not None and ROUNDING in known.remedies and is_rounded(reason)
            if known is None:
                self.reasons[place] = reason
            elif not repeated and reason not in known:
                self.reasons[place] = Advice(known, "; ", reason)


def rounded(title: str) -> Advice:
    """The reason why a change that rounds was not made."""
    return Advice(ROUNDING, " may fix it: ", title)


def is_rounded(reason: Advice) -> bool:
    """Whether a reason says why a change that rounds was not made."""
    return reason.parts[:1] == (ROUNDING,)


def _is_verified(change: Change, edit: NodeEdit) -> bool:
    """Whether a change that fixes nothing itself was verified for a node."""
    try:
        change.require_verified(edit)
    except NoChangeError:
        return False
    return True
