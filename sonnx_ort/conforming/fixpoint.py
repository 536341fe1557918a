"""Conforms a graph: rounds of changes, until a round makes none.

Types, shapes and defaults are written down first, since a default may be one that a round has to
mend. Each round visits every node in its order, and makes the first change of the catalog that has
something to mend there; what it leaves is for the next round. Behind the last round all is written
down again, for the new nodes, until nothing changes. So a graph that needs no change gets none.
"""

from collections.abc import Callable, Container, Iterator, Sequence
from dataclasses import dataclass, field

import onnx_ir as ir

from sonnx_ort.conforming.catalog import CHANGES
from sonnx_ort.conforming.change import Change, NoChangeError, Safety, Site
from sonnx_ort.conforming.declarations import give_inputs, make_graph_explicit
from sonnx_ort.conforming.removal import (
    correct_false_claims,
    remove_dead_nodes,
    remove_dropouts,
    remove_unread,
    unread,
)
from sonnx_ort.errors import SonnxError
from sonnx_ort.loading.traversal import ValueNames
from sonnx_ort.obligations.examination import Examination
from sonnx_ort.obligations.examined_node import ExaminedNode
from sonnx_ort.obligations.obligation import Obligation
from sonnx_ort.profile.graph import (
    DEAD_NODE,
    FALSE_CLAIM,
    GR2,
    GR3,
    GR4,
    IMPLICIT_SHAPE,
    INFERENCE,
)
from sonnx_ort.profile.rule import Rule, Status

_MOST_ROUNDS = 20
"""More rounds than changes can need one behind the other."""

WRITE_DOWN = "write down what is left out"
"""The title of what is written into the file, and changes nothing that is computed."""

REMOVE_NODE = "remove the node"
REMOVE_DROPOUT = "remove the Dropout"
CORRECT = "correct the declaration"
"""The titles of what is done in the whole graph before the first round."""

Place = tuple[str, str, str, tuple[str, ...]]
"""A rule, and the operator, node and path that it binds."""


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
        return f"{self.operator} '{self.node}'{inside}"

    def __str__(self) -> str:
        """The change on one line."""
        added = ", ".join(f"{operator} '{name}'" for operator, name in self.added)
        return f"{self.place}: {self.title}" + (f", by {added}" if added else "")


@dataclass(frozen=True, slots=True)
class Selection:
    """Which changes are to be made.

    Attributes:
        rules: The ids of the rules that are to be mended.
        unsafe: Whether changes are made that may round otherwise.
        without: Changes that are not to be made: title, node and path.
    """

    rules: frozenset[str]
    unsafe: bool = False
    without: Container[tuple[str, str, tuple[str, ...]]] = ()

    def allows(self, change: Change, examined: ExaminedNode) -> bool:
        """Whether a change may be made at a node."""
        target = examined.target
        return (change.title, target.label, target.path) not in self.without


_UNKNOWN = {
    GR2.id: "its type is not known",
    IMPLICIT_SHAPE.id: "its rank is not known",
    GR4.id: "ONNX states no value that could be written down, or it is not known",
}
"""Why what has to stand in the file does not."""


@dataclass
class ConformedGraph:
    """A graph with all changes that could be made.

    Attributes:
        examination: The last examination.
        selection: Which changes were to be made.
        made: The changes, in the order in which they were made.
        reasons: Why what is still violated was not mended.
    """

    examination: Examination
    selection: Selection
    made: list[Made] = field(default_factory=list)
    reasons: dict[Place, str] = field(default_factory=dict)

    @property
    def remaining(self) -> tuple[tuple[Obligation, str], ...]:
        """What is violated still, each with the reason why no change mends it."""
        return tuple((o, self._reason(o)) for o in self.examination.report.violations)

    def _reason(self, obligation: Obligation) -> str:
        if obligation.rule.id not in self.selection.rules:
            return "its rule is not among the chosen ones"
        known = self.reasons.get(place_of(obligation)) or _UNKNOWN.get(obligation.rule.id)
        return known or f"no change mends it: {obligation.hint}"


def place_of(obligation: Obligation) -> Place:
    """The rule and the node of an obligation."""
    return obligation.rule.id, obligation.operator, obligation.node, obligation.path


def conform_graph(
    model: ir.Model,
    examination: Examination,
    examine: Callable[[], Examination],
    selection: Selection,
) -> ConformedGraph:
    """Make all changes in a canonical graph, in place, until there is none left to make.

    Args:
        model: The model.
        examination: Its examination.
        examine: Examines it as it is then.
        selection: Which changes are to be made.

    Raises:
        SonnxError: The changes come to no end.
    """
    editing = _Editing(model, examine, ConformedGraph(examination, selection))
    editing.prepare()
    for _ in range(_MOST_ROUNDS):
        # A default that is written down may be one that a round has to mend.
        editing.write_down()
        if not editing.make_rounds():
            return editing.conformed
    raise _without_end()


class _Editing:
    """Edits a graph, and knows what is so after each edit."""

    def __init__(
        self, model: ir.Model, examine: Callable[[], Examination], conformed: ConformedGraph
    ) -> None:
        self.conformed = conformed
        self._model = model
        self._examine = examine
        self._original = frozenset(map(place_of, conformed.examination.report.violations))
        self._unread_before = unread(model.graph)

    def prepare(self) -> None:
        """Remove what computes nothing, and correct what is claimed falsely."""
        model, facts = self._model, self.conformed.examination.facts
        edits: tuple[tuple[Rule, str, Callable[[], None]], ...] = (
            (INFERENCE, REMOVE_DROPOUT, lambda: remove_dropouts(model)),
            (FALSE_CLAIM, CORRECT, lambda: correct_false_claims(model, facts)),
            (DEAD_NODE, REMOVE_NODE, lambda: remove_dead_nodes(model.graph)),
        )
        violated = {rule for rule, *_ in self._original} & self.conformed.selection.rules
        for rule, title, change in edits:
            if rule.id in violated:
                self._edit(title, change)

    def write_down(self) -> None:
        """Write down what is left out."""
        given, rules = self.conformed.examination, self.conformed.selection.rules
        self._edit(WRITE_DOWN, lambda: _write_down(self._model, given, rules))

    def make_rounds(self) -> bool:
        """Make rounds of changes until one makes none; say whether there was a change.

        Raises:
            SonnxError: There is no end.
        """
        conformed = self.conformed
        for number in range(_MOST_ROUNDS):
            made = Round(
                self._model, conformed.examination, conformed.selection, conformed.reasons
            ).make_changes()
            if not made:
                return number > 0
            conformed.made += made
            remove_unread(self._model.graph, self._unread_before)
            conformed.examination = self._examine()
        raise _without_end()

    def _edit(self, title: str, change: Callable[[], None]) -> None:
        before = self.conformed.examination
        change()
        after = self.conformed.examination = self._examine()
        self.conformed.made += _mended(before, after, title, self._original)


def _without_end() -> SonnxError:
    return SonnxError("the changes come to no end; leave some out with --ignore")


def _write_down(model: ir.Model, examination: Examination, rules: frozenset[str]) -> None:
    violated = frozenset(
        node.target.node
        for node in examination.nodes
        if any(o.status is Status.VIOLATED and o.rule.id in rules for o in node.found)
    )
    if GR4.id in rules and any(o.rule is GR4 for o in examination.report.violations):
        give_inputs(model, examination.facts, ValueNames(model))
    make_graph_explicit(model, examination.facts, rules, violated, in_words=True)


def _mended(
    before: Examination, after: Examination, title: str, original: Container[Place]
) -> Iterator[Made]:
    """What is violated no more of what was so in the original, node by node."""
    still = {place_of(o) for o in after.report.violations}
    mended: dict[tuple[str, str, tuple[str, ...]], list[Obligation]] = {}
    for obligation in before.report.violations:
        place = place_of(obligation)
        if place in original and place not in still:
            at = obligation.operator, obligation.node, obligation.path
            mended.setdefault(at, []).append(obligation)
    for (operator, node, path), obligations in mended.items():
        yield Made(title, Safety.SAFE, tuple(obligations), operator, node, path, (), ())


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
        made = (self._change(examined, names) for examined in self.examination.nodes)
        return [change for change in made if change is not None]

    def _change(self, examined: ExaminedNode, names: ValueNames) -> Made | None:
        for change in CHANGES:
            concerned = change.concerned(examined, self.selection.rules)
            if not concerned or not self.selection.allows(change, examined):
                continue
            if change.safety is Safety.UNSAFE and not self.selection.unsafe:
                self._explain(change, concerned, f"an unsafe change may mend it: {change.title}")
                continue
            site = Site(examined, self.examination.facts, names, self.model.ir_version)
            if (made := self._try(change, site, concerned)) is not None:
                return made
        return None

    def _try(self, change: Change, site: Site, concerned: Sequence[Obligation]) -> Made | None:
        target = site.examined.target
        values = tuple(output.name or "" for output in site.node.outputs)
        try:
            if not change.make(site):
                return None
        except NoChangeError as reason:
            self._explain(change, concerned, str(reason))
            return None
        site.finish()
        return Made(
            change.title,
            change.safety,
            tuple(concerned),
            target.operator.name,
            target.label,
            target.path,
            values,
            tuple((node.op_type, node.name or "") for node in site.added),
        )

    def _explain(self, change: Change, concerned: Sequence[Obligation], reason: str) -> None:
        places = [place_of(obligation) for obligation in concerned]
        if GR3.id in change.rules:
            # Of the same operands, but an obligation of the graph.
            places.append((GR3.id, *places[0][1:]))
        for place in places:
            known = self.reasons.get(place, "")
            if reason not in known:
                self.reasons[place] = f"{known}; {reason}" if known else reason
