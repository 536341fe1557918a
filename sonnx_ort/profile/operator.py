"""An operator as the profile constrains it."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NoReturn

from sonnx_ort.profile.element_type import ElementType, Family
from sonnx_ort.profile.operand import Operand
from sonnx_ort.profile.options import Edition
from sonnx_ort.profile.rule import AttributeValue, Rule, SeesShapes, Subject

DOMAIN = "sonnx"
"""The domain; `Div` in it is the enforced `Div`."""

DOMAIN_VERSION = 1
"""The version of the domain that a model imports."""

STANDARD_DOMAIN = ""
"""The domain of the standard operators, whose alias "ai.onnx" the loader resolves."""


@dataclass(frozen=True, slots=True)
class Optimizer:
    """What a graph optimizer takes away, and a model to see it by.

    ONNX Runtime calls the names of its optimizers internal, and ignores those that it does not
    know. So a name alone switches nothing off for certain.

    Attributes:
        name: Its name in ONNX Runtime.
        effect: What it does, as "leaves out x / 1".
        canary: A model in ONNX's textual syntax. Left on, the optimizer takes at least one of the
            nodes away that have a name; nothing else may.
    """

    name: str
    effect: str
    canary: str


OF_THE_NODE = "of the node"
"""Stands for a type of results that an attribute of each node says, or that is no matter."""

Contract = Mapping[Family, tuple[Rule, ...]]
"""The rules of one edition, in the order in which they are decided."""


@dataclass(frozen=True, slots=True)
class Operator:
    """An operator that the profile constrains.

    Attributes:
        name: Its name.
        operands: The names of its inputs in the profile's documents, such as "A" and "B".
        versions: The versions of the operator that the profile is applied to.
        contracts: The rules of each edition.
        domain: The domain in which models have it.
        repeated_operand: The name of inputs of which there may be any number, such as "X" for
            X0, X1 and so on; None where each input has a name of its own.
        result: The name of the output.
        repeated_result: Whether there is an output for each input: Z0, Z1 and so on.
        operand_types: The ONNX names of the types of those operands that have a type of their own,
            by name, such as "bool" for the condition of a Where.
        result_type: The ONNX name of the type of the results, where it is not the operands';
            `OF_THE_NODE` where each node says it.
        broadcasting_since: The first version that broadcasts without being asked to.
        rounds_once: Whether float16 and bfloat16 can be computed in float and rounded once more.
        oldest_kernels: The oldest version of the standard operators for which ONNX Runtime has
            kernels of it.
        single: The names of operands with whose one element ONNX Runtime computes otherwise than
            with a tensor full of it. Behind a Broadcast, the operator still reads the one.
        stays: Whether no optimizer may put anything in the place of the operator's nodes, because
            that could compute something else; where it may, the guards in front have to stay.
        optimizers: The graph optimizers of ONNX Runtime that take the operator away. One that
            takes several operators of the profile away at once stands with one of them.
        optional: The names of operands that may be left out, or that older versions do not have.
        by_shape: The names of the operands of which the rules of an operator that is not
            element-wise see nothing but the shape, the first among them; empty for an element-wise
            operator. What runs decide of such an operator is the same for all families of types.
        description: Paragraphs for people: what the operator is, what it computes ("Results: ..."),
            and what ONNX Runtime does where nothing enforces the rules.
    """

    name: str
    operands: tuple[str, ...]
    versions: tuple[int, ...]
    contracts: Mapping[Edition, Contract]
    domain: str = STANDARD_DOMAIN
    repeated_operand: str | None = None
    result: str = "C"
    repeated_result: bool = False
    operand_types: Mapping[str, str] = field(default_factory=dict)
    result_type: str | None = None
    broadcasting_since: int = 7
    rounds_once: bool = True
    oldest_kernels: int = 7
    single: tuple[str, ...] = ()
    stays: bool = False
    optimizers: tuple[Optimizer, ...] = ()
    optional: tuple[str, ...] = ()
    by_shape: tuple[str, ...] = ()
    description: str = ""

    def __post_init__(self) -> None:
        """Refuse what could not be enforced as it is written.

        Raises:
            ValueError: A field or a rule names an operand that the operator does not have; a rule
                is about elements of which kernels see the shape alone; or rules are confused.
        """
        for field_name in ("operand_types", "single", "optional", "by_shape"):
            self._require_operands(f"its {field_name}", getattr(self, field_name))
        if self.by_shape and self.operands[0] not in self.by_shape:
            self._refuse(f"its by_shape leaves out its first operand, {self.operands[0]}")
        rules = tuple(self.all_rules())
        require_distinct(rules)
        for rule in rules:
            if not rule.id.startswith(f"{self.name}."):
                self._refuse(f"the id of the rule {rule.id} does not start with its name")
            self._require_operands(f"the rule {rule.id}", rule.operands or ())
            self._require_elements(rule)

    def _require_operands(self, where: str, names: Iterable[str]) -> None:
        for name in names:
            if name not in self.operands:
                operands = ", ".join(self.operands) or f"{self.repeated_operand}0 and so on"
                self._refuse(f"{where} names the operand '{name}', and it has {operands}")

    def _require_elements(self, rule: Rule) -> None:
        """Demand that kernels see the elements that a rule speaks of."""
        requirement = rule.requirement
        if requirement.subject is not Subject.ELEMENTS:
            return
        by_shape = requirement.seen_by_shape if isinstance(requirement, SeesShapes) else ()
        names = rule.spoken_of(self.operands, self.operands)
        for position, name in enumerate(names):
            if name in self.by_shape and position not in by_shape:
                self._refuse(
                    f"the rule {rule.id} is about elements of '{name}', of which its kernel sees "
                    "the shape alone (by_shape)"
                )

    def _refuse(self, reason: str) -> NoReturn:
        raise ValueError(f"the operator {self.name} cannot be enforced: {reason}")

    @property
    def elementwise(self) -> bool:
        """Whether it computes element by element, with a result of its operands' shape."""
        return not self.by_shape

    @property
    def looked_at(self) -> tuple[str, ...]:
        """The names of the operands that rules look at in a run, and of the first one."""
        if self.elementwise:
            return self.operands
        rules = [rule for rule in self.all_rules() if rule.in_run]
        spoken_of = {name for rule in rules for name in rule.operands or self.operands}
        return tuple(n for n in self.operands if n in spoken_of or n == self.operands[0])

    def operand_names(self, count: int) -> tuple[str, ...]:
        """The names of a node's inputs.

        Args:
            count: How many inputs the node has.
        """
        if self.repeated_operand is None:
            return self.operands
        return tuple(f"{self.repeated_operand}{index}" for index in range(count))

    def result_names(self, count: int) -> tuple[str, ...]:
        """The names of a node's outputs.

        Args:
            count: How many outputs the node has.
        """
        if not self.repeated_result:
            return (self.result,) * count
        return tuple(f"{self.result}{index}" for index in range(count))

    @property
    def families(self) -> frozenset[Family]:
        """The families of types that it takes."""
        return frozenset(family for contract in self.contracts.values() for family in contract)

    @property
    def attributes(self) -> tuple[str, ...]:
        """The names of the attributes that say what its rules demand in a run."""
        names = (name for rule in self.all_rules() if rule.in_run for name in rule.attributes)
        return tuple(dict.fromkeys(names))

    def rules(self, edition: Edition, family: Family) -> tuple[Rule, ...]:
        """The rules that bind operands of that family of types, in order of decision."""
        return self.contracts[edition][family]

    def rules_of_node(
        self,
        edition: Edition,
        operands: Sequence[Operand],
        attributes: Mapping[str, AttributeValue],
    ) -> tuple[Rule, ...]:
        """The rules that bind a node: those of its operands' family; of all, if that is unknown.

        Args:
            edition: The edition that the node is held to.
            operands: What is known of its inputs.
            attributes: Its attributes, by name.
        """
        rules = self._rules_of_operands(self.contracts[edition], operands)
        return tuple(rule.of_node(attributes) for rule in rules)

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
        """Every rule of every edition, each once."""
        rules = (
            rule
            for contract in self.contracts.values()
            for family_rules in contract.values()
            for rule in family_rules
        )
        return iter(dict.fromkeys(rules))


def require_distinct(rules: Iterable[Rule]) -> None:
    """Demand that no two rules have one id or one code.

    Args:
        rules: Different rules.

    Raises:
        ValueError: Two rules have.
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
