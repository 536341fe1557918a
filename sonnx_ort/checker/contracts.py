"""What follows of a model within a contract, and what the rules of contracts say of its values.

What a contract demands of a value is a premise of what is derived after it. In a certificate with
an enforced model it is an obligation as well, which follows from the contract of other values, or
is held by a guard wherever the value is read.

The checker loads this for certificates under contracts alone.
"""

from collections.abc import Iterator
from types import MappingProxyType
from typing import Any

import onnx

from sonnx_ort.checker.model import Model
from sonnx_ort.checker.premises import demands_on_shapes, require_contract
from sonnx_ort.facts.iterations import Changing
from sonnx_ort.facts.node import FLOATS
from sonnx_ort.facts.sizes import PartialSizes, Rejected, Size, Symbolic
from sonnx_ort.profile.contract import Axis, Contract, SizeContract, ValueContract
from sonnx_ort.profile.contract_rules import (
    WITHIN_SIZES,
    OnSizes,
    ShapeDemand,
    contract_requirement,
    contract_rule,
)
from sonnx_ort.profile.graph import is_of_contract
from sonnx_ort.profile.requirements.elements import OnElements
from sonnx_ort.terms.operand import Operand, dimensions


class Limited(Model):
    """A model within a contract, and what is established of it.

    It holds in every run in which each value that the contract names keeps it: after the guard that
    enforces it.

    Attributes:
        contract: What its values may be.
        demands: What the contract demands of the shapes of inputs, by their names.
    """

    def __init__(
        self,
        model: onnx.ModelProto,
        contract: Contract,
        changing: Changing = MappingProxyType({}),
    ) -> None:
        """Nothing is established; of states of Loops that may change, nothing is assumed.

        Raises:
            Rejected: The file can be read in two ways, or the contract is of other values.
        """
        super().__init__(model, changing)
        self.contract = contract
        self.limited = frozenset(entry.value for entry in contract.values)
        require_contract(self.proto.graph, contract)
        self.demands = demands_on_shapes(self.proto.graph, contract)

    def _declared_sizes(self, value: str) -> PartialSizes:
        """What is declared of the shape of an input, or what the contract demands of it."""
        demand = self.demands.get(value)
        if demand is None:
            return super()._declared_sizes(value)
        declared = self._declared_axes(value)
        # Without its guard a size that is not declared is open, and so is a rank.
        self._keep_unguarded("shape", value, self._with_symbols(declared) if declared else None)
        own = declared or (None,) * len(demand.axes)
        pairs = zip(demand.axes, own, strict=True)
        return tuple(self._demanded(axis, size) for axis, size in pairs)

    def _demanded(self, axis: Axis, declared: Size | None) -> Size | None:
        """The size of an axis after the guard of a contract; a declared number stays."""
        if isinstance(declared, int):
            return declared
        if isinstance(axis, SizeContract):
            return axis.size
        # A name of the contract is the size of the axes alone that the contract gives it.
        named = isinstance(declared, Symbolic) and declared.names & self.contract.size_names
        return axis if isinstance(axis, int) else None if named else declared

    def _narrowed(self, value: str, before: Any) -> Any:
        return self.contract.narrowed(
            value, self.known("type", value), before, self.known_or_none("shape", value)
        )

    def obligations_of_contract(self) -> Iterator[list[str]]:
        """The obligations that the contract makes: each a value, and the id of a rule."""
        for name in self.demands:
            yield [name, WITHIN_SIZES.id]
        for entry in self.contract.values:
            for demand in entry.demands:
                yield [entry.value, contract_rule(demand).id]

    def demanded(self, value: str, rule: str) -> tuple[OnElements | OnSizes, list[str]]:
        """What a rule demands of a value, and the values that decide it.

        Raises:
            Rejected: The rule does not bind the value.
        """
        if not is_of_contract(rule):
            return super().demanded(value, rule)
        stated, sizes = self.contract.of(value), self.demands.get(value)
        entries: list[ValueContract | ShapeDemand] = [*(stated.demands if stated else ())]
        entries += [] if sizes is None else [sizes]
        entry = next((each for each in entries if contract_rule(each).id == rule), None)
        if entry is None:
            raise Rejected("the rule does not bind the value")
        names = [*entry.operands] if isinstance(entry, ShapeDemand) else [value]
        return contract_requirement(entry), names

    def in_front(self, value: str, requirement: OnElements | OnSizes) -> Operand:
        """What is known of a value without its own guard, as far as a requirement asks for it.

        Raises:
            Rejected: Nothing is.
        """
        self.require_true_claims(value)
        if isinstance(requirement, OnSizes):
            shape = self.unguarded("shape", value)
            return Operand(value, value, "", shape=None if shape is None else dimensions(shape))
        element_type = self.known("type", value)
        if element_type in FLOATS:
            interval = self.unguarded("interval", value)
            known = None if interval is None else interval.whole
            return Operand(value, value, "", element_type, range=known)
        return Operand(value, value, "", element_type, bounds=self.unguarded("bounds", value))
