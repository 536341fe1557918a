"""An operator of the profile: its rules in each edition."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from sonnx_ort.profile.edition import Edition
from sonnx_ort.profile.element_type import Family
from sonnx_ort.profile.rule import Rule

Contract = Mapping[Family, tuple[Rule, ...]]
"""The rules of one edition, in the order in which they are decided."""


@dataclass(frozen=True, slots=True)
class Operator:
    """An operator that the profile constrains.

    Attributes:
        name: Its ONNX name in the default domain, and its name in the domain `sonnx`.
        operands: The letters of its inputs in the profile's documents.
        versions: The versions of the ONNX operator that the profile is applied to.
        contracts: The rules of each edition.
    """

    name: str
    operands: tuple[str, ...]
    versions: tuple[int, ...]
    contracts: Mapping[Edition, Contract]

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
