"""What makes the rules of an operator, and the rules that most operators share.

These are one type, dense tensors and, if element-wise, one shape. Source: SONNX Div, typed edition,
sections on floats and on integers, R1, R2 and RG1; later drafts of the working group state the same
for other operators.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from sonnx_ort.profile.element_type import NUMERIC_TYPES, ElementType, Family
from sonnx_ort.profile.operator import Operator
from sonnx_ort.profile.options import Edition
from sonnx_ort.profile.requirements.attributes import Dense
from sonnx_ort.profile.requirements.same_shape import SameShape
from sonnx_ort.profile.requirements.same_type import SameNumericType
from sonnx_ort.profile.rule import Requirement, Rule

_CODES_PER_FAMILY = 3


@dataclass(frozen=True, slots=True)
class RulesOf:
    """Makes an operator and its rules, whose codes follow each other.

    Attributes:
        name: The operator.
        first_code: The code of its first rule.
        survived: Whether ONNX Runtime survives the violation of a rule that does not say it.
        has_draft: Whether a document or a draft states any of the rules.
    """

    name: str
    first_code: int
    survived: bool = field(default=False, kw_only=True)
    has_draft: bool = field(default=True, kw_only=True)

    def __call__(self, tag: str, offset: int) -> "Place":
        """The place of a rule, whose code is that of the first rule plus the offset.

        Args:
            tag: The end of its id.
            offset: The distance of its code from the first one.
        """
        return Place(self, tag, offset)

    def dense(self, offset: int) -> Rule:
        """The general restriction on sparse tensors."""
        return self("RG1", offset).states(Dense(), survived=False)

    def general(
        self,
        kinds: tuple[str, ...],
        *operands: str,
        result_type: str | None = None,
        added: tuple[ElementType, ...] = (),
    ) -> tuple[Rule, Rule]:
        """The rules about types, of all operands or of some, and about sparse tensors.

        `added` are those of the types that the draft does not list.
        """
        same = SameNumericType(result_type, kinds, added=added)
        return self("types", 0).states(same, *operands, survived=False), self.dense(1)

    def common(self, family: Family) -> tuple[Rule, ...]:
        """The rules of a type family that the operator shares with others."""
        del family
        return ()

    def operator(self, *families: Family, rules: Sequence[Rule] = (), **fields: Any) -> Operator:
        """The operator, with the common rules and these, in both editions.

        Args:
            families: Its type families; all that its rules allow if there are none.
            rules: Its rules. One with a family in its id is a rule of this family alone.
            fields: The fields of `Operator`; what is not element-wise gives Y by default, and
                rounds more than once.
        """
        contract = {
            family: (*self.common(family), *(rule for rule in rules if _binds(rule, family)))
            for family in families or self.families
        }
        known = {"contracts": dict.fromkeys(Edition, contract), **self.fields}
        return Operator(self.name, **{**known, **fields})

    @property
    def families(self) -> tuple[Family, ...]:
        """The type families that the rules allow."""
        return tuple(Family)

    @property
    def fields(self) -> dict[str, Any]:
        """The fields of the operator that follow from its rules."""
        return {
            "result": "Y",
            "elementwise": False,
            "rounds_once": False,
            "has_draft": self.has_draft,
        }


@dataclass(frozen=True, slots=True)
class Place:
    """The place of a rule among those of an operator."""

    rules: RulesOf
    tag: str
    offset: int

    def states(
        self,
        requirement: Requirement,
        *operands: str,
        survived: bool | None = None,
        **fields: Any,
    ) -> Rule:
        """Make the rule.

        Args:
            requirement: What it requires.
            operands: The operands that it is about; if there are none, those of the requirement, or
                all.
            survived: Whether ONNX Runtime survives its violation.
            fields: Further fields of `Rule`.
        """
        return Rule(
            f"{self.rules.name}.{self.tag}",
            self.rules.first_code + self.offset,
            requirement,
            operands or getattr(requirement, "operands", ()) or None,
            self.rules.survived if survived is None else survived,
            **fields,
        )


def _binds(rule: Rule, family: Family) -> bool:
    tag = rule.id.split(".")[1]
    return tag == family or tag not in list(Family)


@dataclass(frozen=True, slots=True)
class CommonRules(RulesOf):
    """Makes an element-wise operator with the rules that follow the pattern of Div.

    Each type family uses up to three codes.

    Attributes:
        operands: The operands as they are named together: "A and B".
        result_type: The ONNX name of the results' type if it differs from the operands' type.
        typed: The operands that have the same type; None for all.
        kinds: The allowed types.
        one_shape: Whether all operands must have the same shape.
        added: Types that are allowed, and that a draft does not list.
    """

    operands: str = "A and B"
    result: str = "C"
    result_type: str | None = None
    typed: tuple[str, ...] | None = None
    kinds: tuple[ElementType, ...] = NUMERIC_TYPES
    one_shape: bool = True
    added: tuple[ElementType, ...] = (ElementType.BFLOAT16,)

    @property
    def families(self) -> tuple[Family, ...]:
        """The type families that the rules allow."""
        return tuple(dict.fromkeys(kind.family for kind in self.kinds))

    @property
    def fields(self) -> dict[str, Any]:
        """The fields of the operator that follow from its rules."""
        return {
            "operands": tuple(re.split(", | and ", self.operands)),
            "result": self.result,
            "result_type": self.result_type,
            "has_draft": self.has_draft,
        }

    def common(self, family: Family) -> tuple[Rule, ...]:
        """The rules about types, sparse tensors and shapes."""
        offset = _CODES_PER_FAMILY * list(Family).index(family)
        kinds = self._kinds(family)
        types = SameNumericType(self.result_type, kinds, family, self._added(family, kinds))
        one_type = self(f"{family}.R2", offset + 1).states(types, *self.typed or (), survived=False)
        dense = self(f"{family}.RG1", offset + 2).states(Dense(), survived=False)
        if not self.one_shape:
            return one_type, dense
        return one_type, dense, self(f"{family}.R1", offset).states(SameShape(), survived=False)

    def _added(self, family: Family, kinds: tuple[ElementType, ...]) -> tuple[ElementType, ...]:
        """The types of a family that the draft, if there is one, does not list."""
        if not self.has_draft:
            return ()
        return tuple(kind for kind in self.added if kind.family is family and kind in kinds)

    def _kinds(self, family: Family) -> tuple[ElementType, ...]:
        if family is Family.BOOLEAN:
            return (ElementType.BOOL,)
        if self.kinds == NUMERIC_TYPES:
            return self.kinds
        return tuple(kind for kind in self.kinds if kind.family is family)


def of_one_operand(name: str, first_code: int, **fields: Any) -> CommonRules:
    """The rules of an operator whose result has the shape of its only operand by definition."""
    known: dict[str, Any] = {"operands": "X", "result": "Y", "one_shape": False}
    return CommonRules(name, first_code, **{**known, **fields})
