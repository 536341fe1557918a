"""A graph or a subgraph while it is made, with the tensors that one run gives in it.

Every node is computed as soon as it is added, on the tensors of one nominal run. One that cannot
be computed there is left out, so that whatever is made runs at least once.
"""

import random
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import onnx
from onnx import helper, numpy_helper

from support.soundness.arrays import Array
from support.soundness.evaluator import Evaluation, Missing, lenient
from support.soundness.leaves import Abandoned

DOMAIN = "local"
"""The domain of the model-local functions."""

_LARGEST_NOMINAL = 600


@dataclass
class Draft:
    """What all graphs of a model have in common.

    Attributes:
        rng: Chooses.
        opset: The version of the standard operators.
        functions: The model-local functions.
        parameters: The types of each function's parameters, by its name.
        initializers: Those of the main graph, by name.
        overridable: The names of those that an input can override.
    """

    rng: random.Random
    opset: int
    functions: list[onnx.FunctionProto] = field(default_factory=list)
    parameters: dict[str, list[np.dtype[Any]]] = field(default_factory=dict)
    initializers: dict[str, Array] = field(default_factory=dict)
    overridable: set[str] = field(default_factory=set)
    _serial: int = 0

    def fresh(self, stem: str) -> str:
        """A name that nothing in the model has."""
        self._serial += 1
        return f"{stem}{self._serial}"

    def imports(self) -> list[onnx.OperatorSetIdProto]:
        """The versions of all domains."""
        versions = {"": self.opset, "sonnx": 1, DOMAIN: 1}
        return [helper.make_opsetid(domain, version) for domain, version in versions.items()]


@dataclass
class Scope:
    """A graph, a subgraph or a function.

    Attributes:
        draft: The model that it belongs to.
        values: Every value that can be read in it, with the tensor of the nominal run.
        takes_initializers: Whether constants may be initializers: in the main graph and below.
        depth: How many nodes with subgraphs it lies in.
        nodes: Its nodes, in order.
        made: The names of the values that its nodes made, those of hopeless nodes included.
    """

    draft: Draft
    values: dict[str, Array]
    takes_initializers: bool = True
    depth: int = 0
    nodes: list[onnx.NodeProto] = field(default_factory=list)
    made: dict[str, np.dtype[Any]] = field(default_factory=dict)

    @property
    def rng(self) -> random.Random:
        """Chooses."""
        return self.draft.rng

    def chance(self, probability: float) -> bool:
        """Whether something of that probability happens."""
        return self.rng.random() < probability

    def inner(self, given: dict[str, Array], *, isolated: bool = False) -> "Scope":
        """Start a subgraph, or a function.

        Args:
            given: Its inputs.
            isolated: Whether it sees nothing else: it is a function.
        """
        values = dict(given) if isolated else self.values | given
        return Scope(self.draft, values, not isolated and self.takes_initializers, self.depth + 1)

    def pick(self, fits: Callable[[Array], bool]) -> str | None:
        """Choose a value, more often than not one of the last."""
        names = [name for name, array in self.values.items() if fits(array)]
        if not names:
            return None
        return self.rng.choice(names[-4:] if self.chance(0.6) else names)

    def constant(self, array: Array) -> str:
        """Add a constant: a node, or an initializer."""
        name = self.draft.fresh("c")
        if self.takes_initializers and self.chance(0.5):
            self.draft.initializers[name] = array
            if self.chance(0.15):
                self.draft.overridable.add(name)
        else:
            tensor = numpy_helper.from_array(array, name)
            label = self.draft.fresh("constant")
            self.nodes.append(helper.make_node("Constant", [], [name], label, value=tensor))
        self.values[name] = array
        return name

    def add(
        self,
        operator: str,
        inputs: list[str],
        *,
        outputs: int = 1,
        domain: str = "",
        hopeless: float = 0,
        result_type: np.dtype[Any] | None = None,
        **attributes: Any,
    ) -> list[str] | None:
        """Add a node, unless the nominal run fails in it.

        Args:
            operator: Its operator.
            inputs: Its inputs.
            outputs: How many outputs it has.
            domain: Its domain.
            hopeless: The probability that it is added even where the nominal run fails in it.
            result_type: What its first output is of where it is not computed; by default, what its
                first input is of.
            **attributes: Its attributes.

        Returns:
            The names of its outputs; None if it was not added.
        """
        names = [self.draft.fresh("v") for _ in range(outputs)]
        name = self.draft.fresh(operator.lower())
        node = helper.make_node(operator, inputs, names, name=name, domain=domain, **attributes)
        computed = self._nominal(node)
        if computed is None:
            if not (hopeless and self.chance(hopeless)):
                return None
            self.made[names[0]] = result_type or self.values[inputs[0]].dtype
        else:
            self.values.update(zip(names, computed, strict=True))
            self.made.update({n: array.dtype for n, array in zip(names, computed, strict=True)})
        self.nodes.append(node)
        return names

    def _nominal(self, node: onnx.NodeProto) -> list[Array] | None:
        model = onnx.ModelProto(opset_import=self.draft.imports(), functions=self.draft.functions)
        evaluation = Evaluation(model, lenient)
        try:
            visible = self.draft.initializers | self.values
            outputs = evaluation.node(node, dict(visible), "", live=True)[: len(node.output)]
        except Abandoned:
            return None
        arrays = [output for output in outputs if not isinstance(output, Missing)]
        if evaluation.uncertain or len(arrays) < len(outputs):
            return None
        if any(array.size > _LARGEST_NOMINAL or array.ndim > 5 for array in arrays):
            return None
        return arrays
