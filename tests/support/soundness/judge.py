"""Judges each visit to a node, and what `check` says of it."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from restrictions import Violation as Breach
from restrictions import broadcast

import sonnx_ort
from sonnx_ort.analysis.report import Report
from sonnx_ort.profile.catalog import DEFAULT_OPERATORS, OPERATORS, RULES
from sonnx_ort.profile.rule import Status
from support.soundness import exact_results, rules
from support.soundness.arrays import Array
from support.soundness.evaluator import Missing, Value, Visit
from support.soundness.leaves import Abandoned, LeafError

Violation = tuple[str, str]
"""The label of a node, and the id of the first rule that it breaks."""

E1 = "Broadcast.E1"

_FATAL = frozenset({"Conv", "ConvInteger", "LSTM", "MaxPool"})
"""Operators that ONNX Runtime may not survive where nothing enforces rules that say so."""

Tally = Counter[str]
"""What a test has looked at, so that it cannot pass by looking at nothing."""


@dataclass
class Judge:
    """Judges every visit to a node by the rules, and the report by that.

    A rule of an operator that is not to be enforced changes no run, and is judged all the same.

    Attributes:
        report: What `check` says.
        tally: Counts.
        operators: Those that are to be enforced.
        declared: The sizes that the model declares of values by their names; 0 where one is open.
        needed: The violations that an output of the model depends on.
        possible: These, and those of dead nodes, which a runtime may leave out.
        visited: The labels of the nodes that were reached.
        broken_at_the_start: What kept a session from starting.
        concluded: What the checker of certificates concludes for this run.
    """

    report: Report
    tally: Tally
    operators: frozenset[str] = DEFAULT_OPERATORS
    declared: Mapping[str, Sequence[Sequence[int]]] = field(default_factory=dict)
    needed: set[Violation] = field(default_factory=set)
    possible: set[Violation] = field(default_factory=set)
    visited: set[str] = field(default_factory=set)
    broken_at_the_start: frozenset[Violation] = frozenset()
    concluded: frozenset[Violation] = frozenset()
    _statuses: dict[tuple[str, str], Status] = field(init=False)
    _enforced: dict[str, set[bool]] = field(init=False)

    def __post_init__(self) -> None:
        """Index the report."""
        self._statuses = {(o.node, o.rule.id): o.status for o in self.report.obligations}
        self._enforced = {}
        for o in self.report.obligations:
            self._enforced.setdefault(o.node, set()).add(o.enforced)

    def decide(self, visit: Visit) -> Sequence[Value] | Missing:
        """Compute a node that keeps all rules, or that nothing keeps from breaking them."""
        enforced = visit.operator in self.operators
        if not enforced and visit.node not in self._enforced:
            # The report tells of a node in a function only where that is inlined.
            self.tally["not told of"] += 1
            return visit.standard(visit.operands)
        assert self._enforced.get(visit.node) == {enforced}, visit.node
        operands, rule = self._judged(visit, enforced=enforced)
        self.tally[f"{visit.operator}: {'broken' if rule else 'kept'}"] += 1
        if not enforced and rule and visit.operator in _FATAL and not RULES[rule].survived:
            raise Abandoned(visit.node)
        if not enforced and rule and visit.operator in exact_results.NETWORKS:
            raise LeafError(visit.node)
        if not enforced:
            return visit.standard(visit.operands) if rule else self._computed(visit, operands)
        self.visited.add(visit.node)
        if rule and RULES[rule].needed_before:
            # Whether the python backend enforces it depends on the version of onnxruntime.
            raise Abandoned(visit.node)
        if rule:
            return self._violation(visit, rule)
        match visit.operator:
            case "Broadcast":
                return [np.array(operand) for operand in operands]
            case "Div" | "Sub":
                result = rules.result_of(visit.operator, operands, self.report.edition)
                assert not isinstance(result, Breach), result
                return [result]
        return self._computed(visit, operands)

    def _computed(self, visit: Visit, operands: Sequence[Array]) -> Sequence[Value]:
        """What the oracle gives of operands that keep the rules, or else onnx.reference."""
        if visit.operator in exact_results.OPERATORS:
            rest = iter(operands)
            places = [None if place is None else next(rest) for place in visit.places]
            node = visit.operator, visit.version, visit.attributes
            found = exact_results.exact_results(*node, places)
            if found is not None:
                self.tally[f"{visit.operator}: by the oracle"] += 1
                return found
        if visit.operator in exact_results.NETWORKS:
            raise LeafError(visit.node)
        return visit.standard(operands)

    def _judged(self, visit: Visit, *, enforced: bool) -> tuple[Sequence[Array], str]:
        """The operands that a node computes of, and the first rule that it breaks, if any."""
        operands: Sequence[Array] = visit.operands
        if visit.operator == "Broadcast" or (visit.node, E1) in self._statuses:
            repeated = broadcast(*operands)
            self._compare(visit.node, E1, broken=isinstance(repeated, Breach))
            if isinstance(repeated, Breach):
                return operands, E1
            operands = repeated
        if visit.operator == "Broadcast":
            return operands, ""
        edition = self.report.edition
        places = operands if OPERATORS[visit.operator].elementwise else visit.places
        decided = rules.decided_rules(
            visit.operator, places, edition, visit.attributes, visit.version
        )
        shape_rules = rules.shape_rules(visit.operator, operands, edition)
        if enforced and self._declared_alike(visit):
            self.possible.add((visit.node, next(iter(decided))))
        for rule, broken in decided.items():
            refused = self._refused_before(visit.node, rule) if broken else set()
            if refused:
                self.needed |= refused if visit.live else set()
                continue
            shape = operands[0].shape if operands else ()
            declared = rule in shape_rules and self._declared_to_break(visit, rule, shape)
            self._compare(visit.node, rule, broken=broken or declared)
        return operands, next((rule for rule, broken in decided.items() if broken), "")

    def _refused_before(self, node: str, rule: str) -> set[Violation]:
        """What a node before must have been refused for, on which the proof of a rule rests."""
        proofs = (o for o in self.report.obligations if (o.node, o.rule.id) == (node, rule))
        evidence = next((o.evidence for o in proofs if o.status is Status.PROVED), "")
        return {(n, r) for n, r in self.possible if f"'{n}', which comes before" in evidence}

    def _declared_to_break(self, visit: Visit, rule: str, shape: tuple[int, ...]) -> bool:
        """Whether what the model declares of the result is why a rule about shapes is violated."""
        if self._statuses.get((visit.node, rule)) is not Status.VIOLATED:
            return False
        return any(
            len(sizes) != len(shape)
            or any(size not in (0, own) for size, own in zip(sizes, shape, strict=True))
            for sizes in self.declared.get(visit.result, ())
        )

    def _declared_alike(self, visit: Visit) -> bool:
        """Whether an operand is not expanded for its symbols, which the run does not keep to."""
        shape_rules = rules.shape_rules(visit.operator, visit.operands, self.report.edition)
        statuses = [self._statuses.get((visit.node, rule)) for rule in (E1, *shape_rules)]
        unequal = len({operand.shape for operand in visit.operands}) > 1
        return unequal and None not in statuses and Status.PROVED not in statuses

    def compare_with_run(
        self, violation: sonnx_ort.ContractViolation, *, uncertain: bool = False
    ) -> None:
        """A rule that a run broke is not proved.

        Args:
            violation: What the run raised.
            uncertain: Whether ONNX Runtime's kernels may differ from the inference by which it
                computes a Shape: a Broadcast makes operands equal as far as their Shapes are right.
        """
        proved = self._statuses.get((violation.node, violation.rule)) is Status.PROVED
        broadcast = self._statuses.get((violation.node, E1)) is Status.RUNTIME
        if uncertain and proved and broadcast:
            self.tally["broken behind a wrong Shape"] += 1
            return
        self._compare(violation.node, violation.rule, broken=True)

    def _compare(self, node: str, rule: str, *, broken: bool) -> None:
        status = self._statuses.get((node, rule))
        assert status is not None, f"{node}: no obligation for {rule}"
        self.tally[f"{status} {'broken' if broken else 'kept'}"] += 1
        if self._enforced[node] == {False}:
            self.tally[f"not enforced: {status} {'broken' if broken else 'kept'}"] += 1
        assert not (broken and status is Status.PROVED), f"{node}: {rule} is proved, and broken"
        assert broken or status is not Status.VIOLATED, f"{node}: {rule} is violated, and kept"
        if (node, rule) in self.concluded:
            self.tally["concluded"] += 1
            assert not broken, f"{node}: {rule} is concluded by the checker, and broken"
        refused = (node, rule) in self.broken_at_the_start
        assert broken or not refused, f"{node}: {rule} kept a session from starting, and is kept"

    def _violation(self, visit: Visit, rule: str) -> Missing:
        self.possible.add((visit.node, rule))
        if visit.live:
            self.needed.add((visit.node, rule))
        return Missing()
