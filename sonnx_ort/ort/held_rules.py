"""Names the rule that a run broke which ONNX Runtime ended with an error of its own.

Some rules are left to ONNX Runtime, which refuses what breaks them. Its error names the node and
not the rule. So the part of the model in front of that node runs again, and the rules of the node
are held to the operands that it gives. This happens only after a failure.
"""

import re
import threading
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt
import onnx
import onnxruntime

from sonnx_ort.analysis.examined_node import ExaminedNode
from sonnx_ort.custom_ops.failure_channel import contract_violation
from sonnx_ort.errors import ContractViolation
from sonnx_ort.loading.file_traversal import nodes_needed
from sonnx_ort.loading.traversal import label_of
from sonnx_ort.options import Choices
from sonnx_ort.ort.violations import EnforcedRuns, interrupts_deferred, violation_of_error
from sonnx_ort.pipeline import examine_original
from sonnx_ort.profile.rule import Rule, Status, Subject, first_violation

Array = npt.NDArray[Any]

_FAILED = re.compile(r"returned while running (?P<operator>\w+) node\. Name:'(?P<node>.*?)' Status")
"""What ONNX Runtime says of the node at which a run ends."""


_BRANCH = "If '"
"""The beginning of a step into a branch of an If."""


class HeldRules:
    """The rules of a model that ONNX Runtime holds itself, in runs."""

    def __init__(self, choices: Choices, runs: EnforcedRuns) -> None:
        """Keep what the user asks for, the enforced model, and how it runs."""
        self._choices = choices
        self._runs = runs
        self._lock = threading.Lock()

    def violation_in(self, message: str, feeds: Mapping[str, Any]) -> ContractViolation | None:
        """The violation with which a run failed.

        Args:
            message: What ONNX Runtime says.
            feeds: The inputs of the run: arrays or `OrtValue`s, by name.

        Returns:
            The violation of the first rule that the operands of the named node break, or, if it is
            no node of the original model, those of any; None if they break none, or if the node is
            in a Loop or a Scan.
        """
        failures = [*_FAILED.finditer(message)]
        if not failures:
            return None
        # After the node that has a body comes the one in it.
        failed = failures[-1]
        with self._lock:
            nodes = self._nodes
        named = [n for n in nodes if n.ruled.node.op_type == failed["operator"]]
        named = [n for n in named if n.ruled.node.name == failed["node"]]
        # Else it is a node of a guard, or one that the optimizer put in the place of others.
        for examined in named or nodes:
            found = self._violation_at(examined, feeds)
            if found is not None:
                return found
        return None

    @cached_property
    def _nodes(self) -> tuple[ExaminedNode, ...]:
        """The nodes that ONNX Runtime holds to a rule in runs, but for those in a Loop or Scan."""
        examination = examine_original(self._runs.model, self._choices)
        return tuple(
            node
            for node in examination.nodes
            if all(step.startswith(_BRANCH) for step in node.ruled.path) and any(_held_at(node))
        )

    def _violation_at(
        self, examined: ExaminedNode, feeds: Mapping[str, Any]
    ) -> ContractViolation | None:
        ruled = examined.ruled
        arrays = self._values([value.name or "" for value in ruled.inputs], feeds, ruled.path)
        if arrays is None:
            return None
        names = ruled.operand_names
        broken = first_violation(_held_at(examined), names, arrays)
        if broken is None:
            return None
        shapes = tuple(array.shape for array in arrays)
        rule, violation = broken
        return contract_violation(ruled.operator, rule, ruled.label, names, shapes, violation)

    def _values(
        self, names: Sequence[str], feeds: Mapping[str, Any], path: Sequence[str]
    ) -> list[Array] | None:
        """Values that a run reads in a branch; None if they cannot be computed, or not there."""
        try:
            values = dict(feeds)
            model = onnx.load_model_from_string(self._runs.model)
            chosen = inline_branches(model.graph, path)
            computed = [name for name in dict.fromkeys((*names, *chosen)) if name not in feeds]
            if computed:
                values |= zip(computed, self._run(model, computed, feeds), strict=True)
        except Exception as error:  # noqa: BLE001 - the error of the run says what is wrong
            # A kernel may have recorded an error, which nobody else takes.
            violation_of_error(str(error))
            return None
        if any(bool(_as_array(values[name])) is not taken for name, taken in chosen.items()):
            return None
        return [_as_array(values[name]) for name in names]

    def _run(
        self, model: onnx.ModelProto, names: Sequence[str], feeds: Mapping[str, Any]
    ) -> list[Any]:
        """Compute these values by the model, cut down to them."""
        keep_only(model.graph, names)
        with interrupts_deferred():
            session = self._runs.start(model.SerializeToString(), self._runs.backend)
            return session.run(names, dict(feeds))  # type: ignore[no-any-return]


def _held_at(examined: ExaminedNode) -> Iterator[Rule]:
    """The rules of a node that its runs may break, and that ONNX Runtime holds."""
    for obligation in examined.obligations:
        held = obligation.rule.requirement.subject is Subject.HELD
        if held and obligation.enforced and obligation.status is Status.RUNTIME:
            yield obligation.rule


def _as_array(value: Any) -> Array:
    return value.numpy() if isinstance(value, onnxruntime.OrtValue) else np.asarray(value)


def inline_branches(graph: onnx.GraphProto, path: Sequence[str]) -> dict[str, bool]:
    """Put the nodes of a branch of an If after the node, branch by branch.

    Args:
        graph: The graph, which is changed.
        path: The steps into the branch, as in `RuledNode`.

    Returns:
        The conditions that lead there, and what they have to be.

    Raises:
        StopIteration: There is no such branch.
    """
    chosen, nodes = {}, list(graph.node)
    for step in path:
        condition, branch = next(
            (node.input[0], attribute)
            for node in nodes
            for attribute in node.attribute
            if step == f"{node.op_type} '{label_of(node)}' {attribute.name}"
        )
        chosen[condition] = branch.name == "then_branch"
        nodes = list(branch.g.node)
        graph.node.extend(nodes)
        graph.initializer.extend(branch.g.initializer)
    return chosen


def keep_only(graph: onnx.GraphProto, results: Sequence[str]) -> None:
    """Keep of a graph what computes some of its values, which become its outputs."""
    nodes = nodes_needed(graph.node, results)
    del graph.node[:], graph.output[:]
    graph.node.extend(nodes)
    graph.output.extend(onnx.ValueInfoProto(name=name) for name in results)
