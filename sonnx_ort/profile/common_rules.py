"""Rules that most operators share: one type, dense tensors and, if element-wise, one shape.

Source: SONNX Div, typed edition, sections on floats and on integers, R1, R2 and RG1; later drafts
of the working group state the same for other operators.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Any

from sonnx_ort.profile.element_type import NUMERIC_TYPES, ElementType, Family
from sonnx_ort.profile.operator import Contract, Operator
from sonnx_ort.profile.options import Edition
from sonnx_ort.profile.requirements.attributes import Dense, SameNumericType
from sonnx_ort.profile.requirements.shapes import SameShape
from sonnx_ort.profile.rule import Requirement, Rule
from sonnx_ort.profile.source import Source, Standing, Words, draft_of

_RESTRICTIONS = "Restrictions"
_CODES_PER_FAMILY = 3
_FAMILIES = (Family.FLOAT, Family.INTEGER, Family.BOOLEAN)


def working_group(
    operator: str,
    remark: str = "",
    *,
    at: str = "Inputs, Constraints",
    later_tag: str | None = None,
    words: Words = Words.OURS,
) -> Source:
    """The source of a rule from the working group's draft of an operator.

    Args:
        operator: Its name.
        remark: How the rule differs from the draft.
        at: The headings above the sentence, without those of the operator and of the type, and the
            tag of the sentence in brackets if it has one: "Attributes, axis, Constraints [C1]".
        later_tag: The permanent tag that a later draft has for it.
        words: Whether the rule's sentence is the draft's.

    Raises:
        KeyError: There is no draft of the operator.
    """
    section, tag = _section_and_tag(at)
    return Source(
        draft_of(operator).title,
        section,
        tag,
        Standing.STATED,
        words,
        remark or "The draft states it as a constraint on the inputs.",
        later_tag,
    )


def _section_and_tag(at: str) -> tuple[str, str | None]:
    section, _, tag = at.removesuffix("]").partition(" [")
    return section, tag or None


def by_analogy(operator: str, remark: str = "", *, like: str = "Div") -> Source:
    """The source of a rule that is stated for another operator and contradicted by no draft."""
    return Source(
        f"SONNX {operator}",
        f"by analogy with {like}",
        None,
        Standing.BY_ANALOGY,
        Words.OURS,
        remark or f"No document and no draft covers {operator} yet.",
    )


def own(operator: str, remark: str) -> Source:
    """The source of a rule that no document states; the remark gives the reason for it."""
    return Source(f"SONNX {operator}", "none", None, Standing.OWN, Words.OURS, remark)


@dataclass(frozen=True, slots=True)
class CommonRules:
    """The rules of an operator that follow the pattern of Div.

    Attributes:
        first_code: The code of the first rule; each type family uses up to three codes.
        operands: The operands as named in sentences: "A and B".
        result_type: The ONNX name of the results' type if it differs from the operands' type.
        typed: The operands that have the same type; None for all.
        kinds: The allowed types.
        one_shape: Whether all operands must have the same shape.
        shape_source: The source of this demand; None if it is that of the others.
        shape_at: Where the draft states that shapes are the same, as for `working_group`, with `{}`
            for the family in capitals, and `{family}`; empty where the source says it.
        type_at: Where it states the types.
    """

    name: str
    first_code: int
    source: Source
    operands: str = "A and B"
    result: str = "C"
    result_type: str | None = None
    typed: tuple[str, ...] | None = None
    kinds: tuple[ElementType, ...] = NUMERIC_TYPES
    one_shape: bool = True
    shape_source: Source | None = None
    shape_at: str = ""
    type_at: str = ""

    def contracts(
        self, *families: Family, further: Mapping[Family, Sequence[Rule]] = MappingProxyType({})
    ) -> Mapping[Edition, Contract]:
        """The rules for these type families, the same in both editions.

        The rules in `further` follow the common ones.
        """
        contract = {f: (*self._rules(f), *further.get(f, ())) for f in families}
        return dict.fromkeys(Edition, contract)

    def operator(
        self,
        *families: Family,
        further: Mapping[Family, Sequence[Rule]] = MappingProxyType({}),
        **fields: Any,
    ) -> Operator:
        """An operator with these rules for these type families, as of `contracts`.

        Its name, operands and result are those of the rules, unless `fields` says others; these are
        the fields of `Operator`.
        """
        known = {
            "operands": tuple(re.split(", | and ", self.operands)),
            "result": self.result,
            "result_type": self.result_type,
        }
        contracts = self.contracts(*families, further=further)
        return Operator(name=self.name, contracts=contracts, **{**known, **fields})

    def _rules(self, family: Family) -> tuple[Rule, ...]:
        code = self.first_code + _CODES_PER_FAMILY * _FAMILIES.index(family)
        one_type = Rule(
            f"{self.name}.{family}.R2",
            code + 1,
            f"{self._tensors(self.typed)} have the same type{self._one_of(family)}.",
            self._source(self.type_at, family),
            SameNumericType(self.result_type, self._kinds(family), family, self._shown()),
            self.typed,
        )
        dense = Rule(
            f"{self.name}.{family}.RG1",
            code + 2,
            "Sparse tensors are not supported.",
            replace(self._source(_RESTRICTIONS, family), later_tag="GR1"),
            Dense(),
        )
        if not self.one_shape:
            return one_type, dense
        one_shape = Rule(
            f"{self.name}.{family}.R1",
            code,
            f"{self._tensors(None)} have the same shape.",
            self.shape_source or self._source(self.shape_at, family),
            SameShape(),
        )
        return one_type, dense, one_shape

    def _kinds(self, family: Family) -> tuple[ElementType, ...]:
        if family is Family.BOOLEAN:
            return (ElementType.BOOL,)
        if self.kinds == NUMERIC_TYPES:
            return self.kinds
        return tuple(kind for kind in self.kinds if kind.family is family)

    def _one_of(self, family: Family) -> str:
        """The allowed types in a sentence, if not all are."""
        if self.kinds == NUMERIC_TYPES:
            return ""
        *others, last = self._kinds(family)
        return f", {', '.join(others)} or {last}"

    def _shown(self) -> tuple[str, str]:
        """Two tensors that have the same type."""
        one, *others = self.typed or re.split(", | and | to ", self.operands)
        return one, others[0] if others else self.result

    def _tensors(self, names: tuple[str, ...] | None) -> str:
        operands = self.operands if names is None else " and ".join(names)
        if names is None and self.result_type is None:
            operands = f"{operands.replace(' and ', ', ')} and {self.result}"
        return f"Tensors {operands}"

    def _source(self, at: str, family: Family) -> Source:
        if not at or self.source.standing is not Standing.STATED:
            return self.source
        section, tag = _section_and_tag(at.format(family.upper(), family=family))
        return replace(self.source, section=section, tag=tag)


def all_types(rules: Sequence[Rule]) -> Mapping[Edition, Contract]:
    """The same rules for all families of types, in both editions."""
    return of_families(dict.fromkeys(Family, rules))


def of_families(rules: Mapping[Family, Sequence[Rule]]) -> Mapping[Edition, Contract]:
    """The rules of each family of types, in both editions."""
    contract: Contract = MappingProxyType({f: tuple(each) for f, each in rules.items()})
    return dict.fromkeys(Edition, contract)


RESTRICTED = "The draft applies the general restrictions of all operators."
"""The remark of a rule that a draft refers to instead of stating it."""

LISTED = "The draft lists the types, and has one for the tensors that have none of their own."
"""The remark of a rule about types that a draft lists in front of its section."""


@dataclass(frozen=True, slots=True)
class RulesOf:
    """Makes the rules of one operator, whose codes follow each other.

    Attributes:
        name: The operator.
        first_code: The code of the first rule.
        of: Makes the source of a rule from the operator and a remark.
    """

    name: str
    first_code: int
    of: Callable[[str, str], Source] = working_group

    def __call__(  # noqa: PLR0913 - keyword arguments
        self,
        tag: str,
        offset: int,
        sentence: str,
        requirement: Requirement,
        operands: tuple[str, ...] | None = None,
        *,
        remark: str = "",
        at: str = "",
        source: Source | None = None,
        survived: bool = False,
        since: int = 1,
        until: int | None = None,
    ) -> Rule:
        """Make the rule with this tag; its code is that of the first rule plus the offset.

        `at` is where the draft states it, as for `working_group`.
        """
        if at:
            source = working_group(self.name, remark, at=at)
        return Rule(
            f"{self.name}.{tag}",
            self.first_code + offset,
            sentence,
            source or self.of(self.name, remark),
            requirement,
            operands,
            survived,
            since,
            until,
        )

    def general(
        self,
        kinds: tuple[ElementType, ...] | None,
        operands: tuple[str, ...] | None = None,
        result_type: str | None = None,
        *,
        remark: str = RESTRICTED,
        at: str = "",
    ) -> tuple[Rule, Rule]:
        """The rules about types, of all operands or of some, and about sparse tensors.

        `remark` is about types, and `at` where the draft states them.
        """
        types = SameNumericType(result_type, kinds)
        told = "Tensors that have no type of their own have the same type."
        return (
            self("types", 0, told, types, operands, remark=remark, at=at),
            self(
                "RG1",
                1,
                "Sparse tensors are not supported.",
                Dense(),
                remark=RESTRICTED,
                at=_RESTRICTIONS if at else "",
            ),
        )
