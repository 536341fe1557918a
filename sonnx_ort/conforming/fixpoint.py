"""Conforms a graph: rounds of changes, until a round makes none; or says what they would fix.

Types, shapes and defaults are written down first, since a default may be one that a round has to
fix. Each round visits every node in its order, and makes the first change of the catalog that has
something to fix there; what it leaves is for the next round. After the last round all is written
down again, for the new nodes, until nothing changes. So a graph that needs no change gets none.

A graph is examined again only where something changed, and no more of it than an edit concerns:
what is written down changes no value, so that all that is known of values stays.
"""

import re
from collections.abc import Callable, Container, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace

import onnx_ir as ir

from sonnx_ort.analysis.examination import Examination
from sonnx_ort.analysis.findings import dead_nodes
from sonnx_ort.analysis.obligation import Obligation
from sonnx_ort.conforming.bounds import Bound
from sonnx_ort.conforming.change import Safety, safety_of
from sonnx_ort.conforming.constants import store_densely
from sonnx_ort.conforming.dead_nodes import (
    remove_dead_nodes,
    remove_unread,
    remove_unread_initializers,
    unread,
)
from sonnx_ort.conforming.declarations import declare_outputs, give_inputs, make_graph_explicit
from sonnx_ort.conforming.dropouts import remove_dropouts
from sonnx_ort.conforming.failing import MAY_END, may_end_a_run
from sonnx_ort.conforming.origins import Origin
from sonnx_ort.conforming.outputs import add_outputs, omit_outputs, unread_outputs
from sonnx_ort.conforming.rounds import (
    Key,
    Made,
    Place,
    Round,
    Selection,
    place_of,
    rounded,
)
from sonnx_ort.conforming.simplifying import correct_false_claims, simplify
from sonnx_ort.conforming.sixteen_bit_floats import (
    MOVED_ROUNDING,
    WHY_IT_ROUNDS,
    SixteenBitFloats,
)
from sonnx_ort.errors import SonnxError
from sonnx_ort.errors.remedies import Advice, Option, Remedy
from sonnx_ort.loading.declarations import declared_elsewhere, forget_elsewhere
from sonnx_ort.loading.traversal import ValueNames, defined_values, every_node, label_of
from sonnx_ort.profile.graph import (
    DEAD_NODE,
    EDGES,
    FALSE_CLAIM,
    GR2,
    GR4,
    IMPLICIT_SHAPE,
    INFERENCE,
    UNREAD,
)
from sonnx_ort.profile.rule import Rule, Status

_MOST_ROUNDS = 20
"""More rounds than changes can need one after the other."""

WRITE_DOWN = "write what the file omits"
"""The title of what is written into the file, and changes nothing that is computed."""

REMOVE_NODE = "remove the node"
REMOVE_INITIALIZER = "remove the initializer"
REMOVE_DROPOUT = "remove the Dropout"
STORE_DENSELY = "store the sparse tensor densely"
CORRECT = "correct the declaration"
ADD_OUTPUTS = "make outputs that are left out or unread outputs of the graph"
"""The titles of what is done in the whole graph before the first round."""

Examine = Callable[[Examination | None], Examination]
"""Examines a graph as it is then, given what is known of it; see `examine_model`."""


_NAMED = Advice(Remedy("name_outputs"), " fixes it: the output becomes one of the model")

NO_CHANGE = "no change fixes it: "
"""The beginning of a reason that names what only the author of the model can do."""

_OUTPUT_MOVES_ROUNDING = Advice("as an output, it would change where 16-bit floats are rounded")

_UNKNOWN = {
    GR2.id: Advice("its type is not known"),
    IMPLICIT_SHAPE.id: Advice("its rank is not known"),
    GR4.id: Advice("ONNX defines no default value for it, or the value is unknown"),
}
"""Why what has to stand in the file does not."""


@dataclass
class ConformedGraph:
    """A graph with all changes that could be made.

    Attributes:
        model: The graph.
        examine: Examines it as it is then.
        examination: The last examination.
        selection: Which changes were to be made.
        made: The changes, in the order in which they were made.
        reasons: Why what is still violated was not fixed.
        origins: By path and label of a node, the change that made it what it is, or the first one
            of those that followed each other there.
        moved: Where the node of a change was before any change.
        held_back: The changes that were not made because they round. If there are none, changes
            that round lead to the same graph.
    """

    model: ir.Model
    examine: Examine
    examination: Examination
    selection: Selection
    made: list[Made] = field(default_factory=list)
    reasons: dict[Place, Advice] = field(default_factory=dict)
    origins: dict[tuple[tuple[str, ...], str], Key] = field(default_factory=dict)
    moved: dict[Key, Origin] = field(default_factory=dict)
    held_back: set[Key] = field(default_factory=set)

    @property
    def remaining(self) -> tuple[tuple[Obligation, Advice], ...]:
        """What is violated still, each with the reason why no change fixes it."""
        return tuple((o, self._reason(o)) for o in self.examination.report.violations)

    def _reason(self, obligation: Obligation) -> Advice:
        """Why an obligation is left, or what would fix it."""
        if obligation.rule.id not in self.selection.rules:
            return Advice("its rule is not selected")
        known = self.reasons.get(place_of(obligation)) or self._reason_of_the_operator(obligation)
        known = known or _UNKNOWN.get(obligation.rule.id)
        if obligation.rule is EDGES and _leaves_out_output(obligation) and not obligation.path:
            return known if known in (_OUTPUT_MOVES_ROUNDING, MAY_END) else _NAMED
        if known is not None and obligation.rule.id == GR4.id:
            return Advice(f"{obligation.evidence.partition(' is left out')[0]}: ", known)
        return known or Advice(NO_CHANGE, obligation.hint)

    def _reason_of_the_operator(self, obligation: Obligation) -> Advice | None:
        """Why an input stays left out that a rule of the operator wants too, such as LSTM.P."""
        _, operator, label, path, evidence = place_of(obligation)
        left_out = re.search(r"'(\w+)' is left out", evidence)
        if left_out is None:
            return None
        return self.reasons.get((f"{operator}.{left_out[1]}", operator, label, path, ""))


def conform_graph(
    model: ir.Model, examination: Examination, examine: Examine, selection: Selection
) -> ConformedGraph:
    """Make all changes in a canonical graph, in place, until there is none left to make.

    Raises:
        SonnxError: The changes come to no end, or a sparse tensor is not made dense.
    """
    editing = _Editing(ConformedGraph(model, examine, examination, selection))
    for _ in range(_MOST_ROUNDS):
        # A branch that is taken may leave others unread, and tell the shape that a file claims.
        editing.prepare()
        # A default that is written down may be one that a round has to fix.
        editing.write_down()
        if not editing.make_rounds():
            editing.add_outputs()
            return editing.finish()
    raise _without_end()


class _Editing:
    """Edits a graph, and knows what is so after each edit."""

    def __init__(self, conformed: ConformedGraph) -> None:
        self.conformed = conformed
        self._model = model = conformed.model
        self._examine = conformed.examine
        self._original = frozenset(map(place_of, conformed.examination.report.violations))
        self._unread_before = unread(model.graph)
        self._original_nodes = frozenset(every_node(model.graph))

    def prepare(self) -> None:
        """Remove what computes nothing, and correct what is claimed falsely.

        Raises:
            SonnxError: A sparse tensor is not made dense, as which alone it can be written.
        """
        model = self._model
        if store_densely(model):
            self._examine_again(STORE_DENSELY)
        report = self.conformed.examination.report
        violated = {o.rule.id for o in report.violations} & self.conformed.selection.rules
        facts = self.conformed.examination.facts
        if INFERENCE.id in violated:
            self._remove(
                INFERENCE,
                REMOVE_DROPOUT,
                lambda floats: remove_dropouts(
                    model, facts, lambda value: floats.all_settled([value])
                ),
                lambda: remove_dropouts(model, facts),
            )
        if FALSE_CLAIM.id in violated:
            known = self.conformed.examination
            correct_false_claims(model, known.facts)
            # Rules judge what is declared of results.
            self._examine_again(CORRECT, replace(known, nodes=()))
        if DEAD_NODE.id in violated:
            dead, ending = dead_nodes(every_node(model.graph)), self._ending()
            self._remove(
                DEAD_NODE,
                REMOVE_NODE,
                lambda floats: remove_dead_nodes(model.graph, floats.cutting(dead) | ending),
                lambda: remove_dead_nodes(model.graph, ending),
            )
        # A dead node may have been the last to read an initializer.
        if {DEAD_NODE.id, UNREAD.id} & violated and UNREAD.id in self.conformed.selection.rules:
            self._edit(REMOVE_INITIALIZER, lambda: remove_unread_initializers(model.graph))

    def _ending(self) -> frozenset[ir.Node]:
        """The dead nodes that may end a run, which has to end then."""
        examination, dead = self.conformed.examination, dead_nodes(every_node(self._model.graph))
        proved = examination.proved if dead else ()
        return frozenset(n for n in dead if may_end_a_run(n, examination.facts, proved))

    def _remove(
        self,
        rule: Rule,
        title: str,
        safe: Callable[[SixteenBitFloats], None],
        whole: Callable[[], None],
    ) -> None:
        """Remove nodes: those without which all bits stay, and if changes may round, the others."""
        conformed = self.conformed
        floats = SixteenBitFloats.of(self._model, conformed.examination.facts)
        self._edit(title, lambda: safe(floats))
        if floats.present and conformed.selection.rounding:
            self._edit(title, whole, MOVED_ROUNDING)
        elif floats.present:
            conformed.held_back.add((title, "", ()))
            reason = rounded(f"{title}; {WHY_IT_ROUNDS}")
            left = (o for o in conformed.examination.report.violations if o.rule is rule)
            conformed.reasons.update((place_of(o), reason) for o in left)

    def _explain_ending(self) -> None:
        """Say why dead nodes stay that may end a run."""
        violations = self.conformed.examination.report.violations
        dead = [obligation for obligation in violations if obligation.rule is DEAD_NODE]
        labels = {label_of(node) for node in self._ending()} if dead else set()
        for obligation in dead:
            if obligation.node in labels:
                self.conformed.reasons[place_of(obligation)] = MAY_END

    def add_outputs(self) -> None:
        """Make outputs that are omitted or unread outputs of the graph, if that is wanted.

        It is the last edit, because a change may put another node in the place of one of these.
        """
        conformed, keys = self.conformed, self.conformed.selection.without
        if not conformed.selection.name_outputs:
            return
        without = {label for title, label, path in keys if title == ADD_OUTPUTS and not path}
        rules = conformed.selection.rules
        kept = dict.fromkeys(map(label_of, self._ending()), MAY_END)
        if not conformed.selection.rounding:
            moving = self._outputs_that_move_rounding()
            conformed.held_back.update((ADD_OUTPUTS, label, ()) for label in moving)
            kept |= dict.fromkeys(moving, _OUTPUT_MOVES_ROUNDING)
        without |= kept.keys()
        for obligation in conformed.examination.report.violations:
            if obligation.rule in (EDGES, UNREAD) and obligation.node in kept:
                conformed.reasons[place_of(obligation)] = kept[obligation.node]
        given = add_outputs(self._model, ValueNames(self._model), rules, without)
        if not given:
            return
        before = len(conformed.made)
        self._examine_again(ADD_OUTPUTS)
        facts = conformed.examination.facts
        self._edit(WRITE_DOWN, lambda: declare_outputs(self._model, facts))
        conformed.made[before:] = [
            replace(made, safety=Safety.INTERFACE, values=given.get(made.node, ()))
            for made in conformed.made[before:]
        ]

    def _outputs_that_move_rounding(self) -> set[str]:
        """The nodes, and their values, that are computed in float if they give no output."""
        floats = SixteenBitFloats.of(self._model, self.conformed.examination.facts)
        nodes = [node for node in self._model.graph if floats.depends_on_readers(node)]
        return {str(v.name) for node in nodes for v in node.outputs} | set(map(label_of, nodes))

    def write_down(self) -> None:
        """Write down what is omitted."""
        known, rules = self.conformed.examination, self.conformed.selection.rules
        self._edit(WRITE_DOWN, lambda: _write_down(self._model, known, rules))

    def make_round(self) -> list[Made]:
        """Make the changes of one round."""
        conformed, facts = self.conformed, self.conformed.examination.facts
        return Round(
            self._model,
            conformed.examination,
            conformed.selection,
            conformed.reasons,
            SixteenBitFloats.of(self._model, facts),
            self._ending(),
            conformed.held_back,
            conformed.moved,
        ).make_changes()

    def make_rounds(self) -> bool:
        """Make rounds of changes until one makes none; say whether there was a change.

        Raises:
            SonnxError: There is no end.
        """
        for number in range(_MOST_ROUNDS):
            made = self.make_round()
            if not made:
                return number > 0
            self.conformed.made += made
            _trace(self.conformed.origins, made)
            simplify(self._model, self._original_nodes, ValueNames(self._model))
            remove_unread(self._model.graph, self._unread_before)
            self.conformed.examination = self._examine(None)
        raise _without_end()

    def finish(self) -> ConformedGraph:
        """Tell of each change what it fixed, and give the graph."""
        conformed = self.conformed
        self._forget_elsewhere()
        self._explain_ending()
        still = set(map(place_of, conformed.examination.report.violations))
        outputs = {value.name for node in self._model.graph for value in unread_outputs(node)}
        for obligation in conformed.examination.report.violations:
            if obligation.rule is UNREAD and obligation.node in outputs:
                conformed.reasons.setdefault(place_of(obligation), _NAMED)
        # Of added nodes that are equal, or undo each other, not all are left.
        present = {(node.op_type, node.name or "") for node in every_node(self._model.graph)}
        conformed.made = [
            replace(
                change,
                fixed=tuple(o for o in change.fixed if place_of(o) not in still),
                added=tuple(node for node in change.added if node in present),
            )
            for change in conformed.made
        ]
        return conformed

    def _forget_elsewhere(self) -> None:
        """Forget what is declared of values in other places: the graph is written without it.

        A graph without a change is given back as its file has it.
        """
        stated = declared_elsewhere(defined_values(self._model.graph))
        if stated and self.conformed.made:
            for value in stated:
                forget_elsewhere(value)
            self.conformed.examination = self._examine(None)

    def _edit(self, title: str, edit: Callable[[], None], bound: Bound | None = None) -> None:
        """Make an edit that leaves every value as it is, and examine what it concerns."""
        before = _content(self._model)
        edit()
        after = _content(self._model)
        if after == before:
            return
        known, new = self.conformed.examination, after.values - before.values
        # What a removed node read tells fewer values: more is known of them.
        if new or before.nodes.keys() - after.nodes.keys():
            self._examine_again(title, bound=bound)
            return
        same = {node for node, content in after.nodes.items() if content == before.nodes.get(node)}
        nodes = tuple(examined for examined in known.nodes if examined.ruled.node in same)
        self._examine_again(title, replace(known, nodes=nodes), bound)

    def _examine_again(
        self, title: str, known: Examination | None = None, bound: Bound | None = None
    ) -> None:
        before = self.conformed.examination
        after = self.conformed.examination = self._examine(known)
        made = _fixed(before, after, title, self._original)
        self.conformed.made += (
            replace(each, safety=safety_of(bound), bound=bound) for each in made
        )


def _trace(origins: dict[tuple[tuple[str, ...], str], Key], made: Iterable[Made]) -> None:
    """Tell of each node that changes edited or added which one came first there."""
    for change in made:
        origin = origins.setdefault((change.path, change.node), change.key)
        for _, name in change.added:
            origins[change.path, name] = origin


@dataclass(frozen=True, slots=True)
class _Content:
    """What stands in a graph."""

    nodes: Mapping[ir.Node, tuple[int, tuple[ir.Value | None, ...]]]
    values: frozenset[ir.Value]
    declarations: int


def _content(model: ir.Model) -> _Content:
    """What an edit can change, to compare it before and after."""
    values = defined_values(model.graph)
    return _Content(
        {node: (len(node.attributes), tuple(node.inputs)) for node in every_node(model.graph)},
        frozenset(values),
        sum((value.type is not None) + (value.shape is not None) for value in values),
    )


def _leaves_out_output(obligation: Obligation) -> bool:
    return obligation.evidence.startswith("the output ") and obligation.evidence.endswith(" out")


def _without_end() -> SonnxError:
    return SonnxError(Advice("the changes do not end; exclude some rules with ", Option("ignore")))


def _write_down(model: ir.Model, examination: Examination, rules: frozenset[str]) -> None:
    violated = frozenset(
        node.ruled.node
        for node in examination.nodes
        if any(o.status is Status.VIOLATED and o.rule.id in rules for o in node.found)
    )
    if EDGES.id in rules:
        omit_outputs(model)
    for rule in (GR4, EDGES):
        _give_inputs(model, examination, rules, rule)
    make_graph_explicit(model, examination.facts, rules, violated, in_words=True)


def _give_inputs(
    model: ir.Model, examination: Examination, rules: frozenset[str], rule: Rule
) -> None:
    if rule.id in rules and any(o.rule is rule for o in examination.report.violations):
        give_inputs(model, examination.facts, ValueNames(model), rule.id)


def _fixed(
    before: Examination, after: Examination, title: str, original: Container[Place]
) -> Iterator[Made]:
    """What is violated no more of what was so in the original, node by node."""
    still = {place_of(o) for o in after.report.violations}
    fixed: dict[tuple[str, str, tuple[str, ...]], list[Obligation]] = {}
    for obligation in before.report.violations:
        place = place_of(obligation)
        if place in original and place not in still:
            at = obligation.operator, obligation.node, obligation.path
            fixed.setdefault(at, []).append(obligation)
    for (operator, node, path), obligations in fixed.items():
        yield Made(title, Safety.SAFE, tuple(obligations), operator, node, path, (), ())
