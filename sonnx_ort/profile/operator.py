"""An operator with its rules in the profile."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import NoReturn

from sonnx_ort.profile.element_type import ElementType, Family
from sonnx_ort.profile.options import Edition
from sonnx_ort.profile.rule import VERSION, AttributeValue, Rule, Subject
from sonnx_ort.terms.operand import Operand

DOMAIN = "sonnx"
"""The domain of the custom operators; `Div` in it is the enforced `Div`."""

DOMAIN_VERSION = 1
"""The version of this domain."""

COMPILED_DOMAIN = "sonnx.compiled"
"""The domain of the compiled operators, of the same version.

It is not that of the operators in Python: ONNX Runtime takes a domain of one library only.
"""

OWN_DOMAINS = frozenset({DOMAIN, COMPILED_DOMAIN})
"""The domains of which only `rewrite` makes nodes, but for Broadcasts."""

STANDARD_DOMAIN = ""
"""The domain of the standard operators; its alias "ai.onnx" is resolved when loading."""


OF_THE_NODE = "of the node"
"""The result type depends on an attribute of the node, or is not restricted."""

Contract = Mapping[Family, tuple[Rule, ...]]
"""The rules of one edition by type family, in the order of their evaluation."""


@dataclass(frozen=True)
class Operator:
    """An operator with rules in the profile.

    Attributes:
        operands: The names of its inputs in the profile's documents, such as "A" and "B".
        versions: The supported versions of the operator.
        domain: The domain of the operator in models.
        repeated_operand: The name of a variadic input, such as "X" for X0, X1 and so on; None if
            each input has its own name.
        repeated_result: Whether there is one output per input: Z0, Z1 and so on.
        further_results: The names of the outputs after the first one that have another type.
        operand_types: The ONNX types of operands that differ from the common type, by operand name,
            such as "bool" for the condition of a Where.
        result_type: The ONNX type of the results if it differs from the operands' type;
            `OF_THE_NODE` if it depends on the node.
        broadcasting_since: The first version that broadcasts by default.
        rounds_once: Whether float16 and bfloat16 can be computed in float and then rounded.
        float16_defaults: The first version in which an operand that is left out counts as a number
            of float16, so that a node without it cannot be computed in float; 0 if there is none.
        moves_elements: Whether it only moves elements, for which ONNX Runtime has kernels of all
            types.
        copies_float16: Whether ONNX Runtime has a kernel of float16 that copies elements as they
            are, so that nothing has to be computed in float.
        oldest_kernels: The oldest opset version for which ONNX Runtime has kernels.
        single: The operands for which ONNX Runtime computes other results for one element than for
            a tensor filled with it. After a Broadcast, the operator still reads the single
            element.
        irreplaceable: Whether no optimizer may replace the operator's nodes, because results could
            differ; otherwise only the guards must remain.
        optional: The operands that may be omitted, or that older versions do not have.
        elementwise: Whether the result has the operands' shape, element by element. Other operators
            have the same run-time checks for all type families, but for those of elements.
        unsupported: The attributes that its draft does not support. Rules demand what ONNX assumes
            if they are omitted, and none has to be given.
        has_draft: Whether a document or a draft states any of its rules.
    """

    name: str
    operands: tuple[str, ...]
    versions: tuple[int, ...]
    contracts: Mapping[Edition, Contract]
    domain: str = STANDARD_DOMAIN
    repeated_operand: str | None = None
    result: str = "C"
    repeated_result: bool = False
    further_results: tuple[str, ...] = ()
    operand_types: Mapping[str, str] = field(default_factory=dict)
    result_type: str | None = None
    broadcasting_since: int = 7
    rounds_once: bool = True
    float16_defaults: int = 0
    moves_elements: bool = False
    copies_float16: bool = False
    oldest_kernels: int = 7
    single: tuple[str, ...] = ()
    irreplaceable: bool = False
    optional: tuple[str, ...] = ()
    elementwise: bool = True
    unsupported: tuple[str, ...] = ()
    has_draft: bool = True

    def __post_init__(self) -> None:
        """Reject a definition that cannot be enforced.

        Raises:
            ValueError: A field or rule names an unknown operand, or rules are not distinct.
        """
        for field_name in ("operand_types", "single", "optional"):
            self._require_operands(f"its {field_name}", getattr(self, field_name))
        rules = tuple(self.all_rules())
        require_distinct(rules)
        for rule in rules:
            if not rule.id.startswith(f"{self.name}."):
                self._reject(f"the id of the rule {rule.id} does not start with its name")
            self._require_operands(f"the rule {rule.id}", rule.operands or ())

    def _require_operands(self, where: str, names: Iterable[str]) -> None:
        for name in names:
            if name not in self.operands:
                operands = ", ".join(self.operands) or f"{self.repeated_operand}0 and so on"
                self._reject(f"{where} names the operand '{name}', and it has {operands}")

    def _reject(self, reason: str) -> NoReturn:
        raise ValueError(f"the operator {self.name} cannot be enforced: {reason}")

    @cached_property
    def checked_operands(self) -> tuple[str, ...]:
        """The operands that rules use in a run, and the first one."""
        if self.elementwise:
            return self.operands
        rules = [rule for rule in self.all_rules() if rule.in_run]
        select_operands = {name for rule in rules for name in rule.operands or self.operands}
        return tuple(n for n in self.operands if n in select_operands or n == self.operands[0])

    @cached_property
    def by_shape(self) -> frozenset[str]:
        """The operands of which its rules use only the shape; none of an element-wise operator."""
        shapes = set() if self.elementwise else set(self.operands)
        for rule in self.all_rules():
            if rule.requirement.subject is Subject.ELEMENTS:
                seen = getattr(rule.requirement, "seen_by_shape", ())
                names = rule.select_operands(self.operands, self.operands)
                shapes -= {name for place, name in enumerate(names) if place not in seen}
        return frozenset(shapes)

    def operand_names(self, count: int) -> tuple[str, ...]:
        """The names of a node's inputs, given their number."""
        if self.repeated_operand is None:
            return self.operands
        return tuple(f"{self.repeated_operand}{index}" for index in range(count))

    def result_names(self, count: int) -> tuple[str, ...]:
        """The names of a node's outputs, given their number."""
        if self.further_results:
            return (self.result, *self.further_results)[:count]
        if not self.repeated_result:
            return (self.result,) * count
        return tuple(f"{self.result}{index}" for index in range(count))

    @property
    def description(self) -> str:
        """Paragraphs for readers, which no verdict reads.

        They are the operator, its results ("Results: ..."), and how ONNX Runtime behaves if the
        rules are not enforced.
        """
        from sonnx_ort.profile.wording import description_of

        return description_of(self.name)

    @cached_property
    def checked_in_runs(self) -> bool:
        """Whether a run can violate any of its rules, so that backends have to check it."""
        return any(rule.in_run for rule in self.all_rules())

    @property
    def computes_bfloat16(self) -> bool:
        """Whether the result for bfloat16 is known, though ONNX Runtime computes nothing in it."""
        return self.rounds_once or self.moves_elements

    @property
    def families(self) -> frozenset[Family]:
        """The type families that it supports."""
        return frozenset(family for contract in self.contracts.values() for family in contract)

    @cached_property
    def attributes(self) -> tuple[str, ...]:
        """The attributes on which its run-time rules depend."""
        names = (name for rule in self.all_rules() if rule.in_run for name in rule.attributes)
        return tuple(dict.fromkeys(names))

    @cached_property
    def parameters(self) -> tuple[str, ...]:
        """What its run-time rules depend on besides operands: attributes, and the version."""
        in_run = [rule for rule in self.all_rules() if rule.in_run]
        versioned = any(rule.since > 1 or rule.until is not None for rule in in_run)
        return (*self.attributes, VERSION) if versioned else self.attributes

    def rules(self, edition: Edition, family: Family) -> tuple[Rule, ...]:
        """The rules for operands of a type family, in the order of evaluation."""
        return self.contracts[edition][family]

    def rules_of_node(
        self,
        edition: Edition,
        operands: Sequence[Operand],
        attributes: Mapping[str, AttributeValue],
        version: int,
    ) -> tuple[Rule, ...]:
        """The rules that bind a node: those of its operands' family; of all, if that is unknown.

        Args:
            edition: The edition that the node is held to.
            operands: What is known of its inputs.
            attributes: Its attributes, by name.
            version: The version of the standard operators that the model imports.
        """
        rules = self._rules_of_operands(self.contracts[edition], operands)
        given = {**attributes, VERSION: version}
        return tuple(rule.of_node(given) for rule in rules if rule.binds_version(version))

    def _rules_of_operands(
        self, contract: Contract, operands: Sequence[Operand]
    ) -> tuple[Rule, ...]:
        deciding = [o for o in operands if o.name not in self.operand_types]
        for operand in deciding:
            element_type = ElementType.named(operand.element_type)
            if element_type is not None and element_type.family in contract:
                return contract[element_type.family]
        if any(operand.element_type is not None for operand in deciding):
            # They break the first rule, which is about types.
            return next(iter(contract.values()))
        return tuple(dict.fromkeys(rule for rules in contract.values() for rule in rules))

    def all_rules(self) -> Iterator[Rule]:
        """All rules of all editions, without duplicates."""
        return iter(self._distinct_rules)

    @cached_property
    def _distinct_rules(self) -> tuple[Rule, ...]:
        contracts = self.contracts.values()
        rules = (rule for contract in contracts for rules in contract.values() for rule in rules)
        return tuple(dict.fromkeys(rules))


def require_distinct(rules: Iterable[Rule]) -> None:
    """Check that no two rules have the same id or code.

    Raises:
        ValueError: Two rules do.
    """
    ids: set[str] = set()
    codes: dict[int, str] = {}
    for rule in rules:
        if rule.id in ids:
            raise ValueError(f"there are two different rules {rule.id}")
        if rule.code in codes:
            raise ValueError(
                f"the rules {codes[rule.code]} and {rule.id} have one code, {rule.code}"
            )
        ids.add(rule.id)
        codes[rule.code] = rule.id
