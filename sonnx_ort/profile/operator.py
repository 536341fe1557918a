"""An operator of the profile: its rules in each edition."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from sonnx_ort.profile.domain import STANDARD_DOMAIN
from sonnx_ort.profile.edition import Edition
from sonnx_ort.profile.element_type import Family
from sonnx_ort.profile.rule import Rule

Contract = Mapping[Family, tuple[Rule, ...]]
"""The rules of one edition, in the order in which they are decided."""


@dataclass(frozen=True, slots=True)
class Operator:
    """An operator that the profile constrains.

    Attributes:
        name: Its name.
        operands: The letters of its inputs in the profile's documents.
        versions: The versions of the operator that the profile is applied to.
        contracts: The rules of each edition.
        domain: The domain in which models have it.
        repeated_operand: The letter of inputs of which there may be any number, such as "X" for
            X0, X1 and so on; None where each input has a letter of its own.
        result: The letter of the output; of each one, with a number, where inputs are repeated.
    """

    name: str
    operands: tuple[str, ...]
    versions: tuple[int, ...]
    contracts: Mapping[Edition, Contract]
    domain: str = STANDARD_DOMAIN
    repeated_operand: str | None = None
    result: str = "C"

    def letters(self, count: int) -> tuple[str, ...]:
        """The letters of a node's inputs.

        Args:
            count: How many inputs the node has.
        """
        if self.repeated_operand is None:
            return self.operands
        return tuple(f"{self.repeated_operand}{index}" for index in range(count))

    def result_letters(self, count: int) -> tuple[str, ...]:
        """The letters of a node's outputs.

        Args:
            count: How many outputs the node has.
        """
        if self.repeated_operand is None:
            return (self.result,) * count
        return tuple(f"{self.result}{index}" for index in range(count))

    def rules(self, edition: Edition, family: Family) -> tuple[Rule, ...]:
        """The rules that bind operands of that family of types, in order of decision."""
        return self.contracts[edition][family]

    def all_rules(self) -> Iterator[Rule]:
        """Every rule of every edition, each once."""
        rules = (
            rule
            for contract in self.contracts.values()
            for family_rules in contract.values()
            for rule in family_rules
        )
        return iter(dict.fromkeys(rules))
