"""What makes the rules of an operator, and the rules that most operators share.

These are one type, dense tensors and, if element-wise, one shape. Source: SONNX Div, typed edition,
sections on floats and on integers, R1, R2 and RG1; later drafts of the working group state the same
for other operators.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from sonnx_ort.profile.element_type import NUMERIC_TYPES, ElementType, Family
from sonnx_ort.profile.operator import Operator
from sonnx_ort.profile.options import Edition
from sonnx_ort.profile.requirements.attributes import Dense, SameNumericType
from sonnx_ort.profile.requirements.shapes import SameShape
from sonnx_ort.profile.rule import Requirement, Rule
from sonnx_ort.profile.source import Source, Standing, Words, draft_of

RESTRICTED = "The draft applies the general restrictions of all operators."
"""The remark of a rule that a draft refers to instead of stating it."""

STATED = "The draft states it as a constraint on the inputs."
"""The usual remark of a rule that a draft states."""

LISTED = "The draft lists the types, and has one for the tensors that have none of their own."
"""The remark of a rule about types that a draft lists in front of its section."""

LISTED_TYPE = "Tensors that have no type of their own have the same type, which the draft lists."
"""The sentence of a rule about types that a draft lists."""

ADDED = "sonnx_ort adds bfloat16, which the draft does not list."
"""The remark of a rule about types that a draft lists without bfloat16."""

SPARSE = "Sparse tensors are not supported."
"""The sentence of the general restriction."""

_RESTRICTIONS = "Restrictions"
_CODES_PER_FAMILY = 3


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
        draft_of(operator).title, section, tag, Standing.STATED, words, remark or STATED, later_tag
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
class RulesOf:
    """Makes an operator and its rules, whose codes follow each other.

    Attributes:
        name: The operator.
        first_code: The code of its first rule.
        survived: Whether ONNX Runtime survives the violation of a rule that does not say it.
    """

    name: str
    first_code: int
    survived: bool = field(default=False, kw_only=True)

    def __call__(self, tag: str, offset: int, at: str = "", remark: str = "") -> "Place":
        """The place of a rule, whose code is that of the first rule plus the offset.

        Args:
            tag: The end of its id.
            offset: The distance of its code from the first one.
            at: Where the draft states it, as for `working_group`; if empty, the rule is our own.
            remark: What the source says of it if the rule does not.
        """
        return Place(self, tag, offset, at, remark or "The words are ours.")

    def dense(self, offset: int, source: Source | None = None) -> Rule:
        """The general restriction on sparse tensors."""
        place = self("RG1", offset, _RESTRICTIONS, RESTRICTED)
        return place.states(SPARSE, Dense(), source=source, survived=False)

    def general(  # noqa: PLR0913 - a row of a table, by name
        self,
        kinds: tuple[str, ...],
        *operands: str,
        result_type: str | None = None,
        source: Source | None = None,
        at: str = "",
        remark: str = "",
        sentence: str = "Tensors that have no type of their own have the same type.",
        added: tuple[ElementType, ...] = (),
    ) -> tuple[Rule, Rule]:
        """The rules about types, of all operands or of some, and about sparse tensors.

        `at` is where the draft states the one about types, with a remark; `sentence` is its text.
        `added` are those of the types that the draft does not list.
        """
        same = SameNumericType(result_type, kinds, added=added)
        place = self("types", 0, at, remark)
        types = place.states(sentence, same, *operands, source=source, survived=False)
        return types, self.dense(1, source)

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
        return {"result": "Y", "elementwise": False, "rounds_once": False}


@dataclass(frozen=True, slots=True)
class Place:
    """The place of a rule among those of an operator, and in the draft if it states it."""

    rules: RulesOf
    tag: str
    offset: int
    at: str
    remark: str

    def states(  # noqa: PLR0913 - a row of a table, by name
        self,
        sentence: str,
        requirement: Requirement,
        *operands: str,
        remark: str = "",
        words: Words = Words.OURS,
        source: Source | None = None,
        survived: bool | None = None,
        unenforced: str = "",
        contradicted: bool = False,
        **fields: Any,
    ) -> Rule:
        """Make the rule.

        Args:
            sentence: What it says.
            requirement: What it requires.
            operands: The operands that it is about; if there are none, those of the requirement, or
                all.
            remark: How the rule differs from the draft, or the reason for it.
            words: Whose sentence it is.
            source: Another source.
            survived: Whether ONNX Runtime survives its violation.
            unenforced: What ONNX Runtime 1.32.0 does where nothing enforces it.
            contradicted: Whether another sentence of the draft contradicts it.
            fields: Further fields of `Rule`.
        """
        rules, remark = self.rules, remark or self.remark
        if source is None and self.at:
            stated = working_group(rules.name, remark, at=self.at, words=words)
            source = replace(stated, contradicted=contradicted)
        return Rule(
            f"{rules.name}.{self.tag}",
            rules.first_code + self.offset,
            sentence,
            source or own(rules.name, remark),
            requirement,
            operands or getattr(requirement, "operands", ()) or None,
            rules.survived if survived is None else survived,
            unenforced=f"ONNX Runtime 1.32.0 {unenforced}" if unenforced else "",
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
        source: The source of these rules; None for the draft.
        remark: How they differ from the draft.
        operands: The operands as named in sentences: "A and B".
        result_type: The ONNX name of the results' type if it differs from the operands' type.
        typed: The operands that have the same type; None for all.
        kinds: The allowed types.
        one_shape: Whether all operands must have the same shape.
        shape_source: The source of this demand; None if it is that of the others.
        shape_at: Where the draft states that shapes are the same, as for `working_group`, with `{}`
            for the family in capitals, and `{family}`; empty where the source says it.
        type_at: Where it states the types.
        added: Types that are allowed, and that a draft does not list.
    """

    source: Source | None = None
    remark: str = ""
    operands: str = "A and B"
    result: str = "C"
    result_type: str | None = None
    typed: tuple[str, ...] | None = None
    kinds: tuple[ElementType, ...] = NUMERIC_TYPES
    one_shape: bool = True
    shape_source: Source | None = None
    shape_at: str = ""
    type_at: str = ""
    added: tuple[ElementType, ...] = (ElementType.BFLOAT16,)

    @property
    def families(self) -> tuple[Family, ...]:
        """The type families that the rules allow."""
        return tuple(dict.fromkeys(kind.family for kind in self.kinds))

    @property
    def fields(self) -> dict[str, Any]:
        """The fields of the operator that follow from its rules."""
        operands = tuple(re.split(", | and ", self.operands))
        return {"operands": operands, "result": self.result, "result_type": self.result_type}

    def common(self, family: Family) -> tuple[Rule, ...]:
        """The rules about types, sparse tensors and shapes."""
        offset = _CODES_PER_FAMILY * list(Family).index(family)
        kinds, source = self._kinds(family), self._source(self.type_at, family)
        added = self._added(family, kinds, source)
        types = SameNumericType(self.result_type, kinds, family, self._shown(), added)
        if added:
            source = replace(source, remark=f"{source.remark} {ADDED}")
        one_type = self(f"{family}.R2", offset + 1).states(
            f"{self._tensors(self.typed)} have the same type{self._one_of(family)}.",
            types,
            *self.typed or (),
            source=source,
            survived=False,
        )
        dense = self(f"{family}.RG1", offset + 2).states(
            SPARSE,
            Dense(),
            source=replace(self._source(_RESTRICTIONS, family), later_tag="GR1"),
            survived=False,
        )
        if not self.one_shape:
            return one_type, dense
        one_shape = self(f"{family}.R1", offset).states(
            f"{self._tensors(None)} have the same shape.",
            SameShape(),
            source=self.shape_source or self._source(self.shape_at, family),
            survived=False,
        )
        return one_type, dense, one_shape

    def _added(
        self, family: Family, kinds: tuple[ElementType, ...], source: Source
    ) -> tuple[ElementType, ...]:
        """The types of a family that the draft, if there is one, does not list."""
        if source.standing is not Standing.STATED:
            return ()
        return tuple(kind for kind in self.added if kind.family is family and kind in kinds)

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
        source = self.source or working_group(self.name, self.remark)
        if not at or source.standing is not Standing.STATED:
            return source
        section, tag = _section_and_tag(at.format(family.upper(), family=family))
        return replace(source, section=section, tag=tag)


def of_one_operand(name: str, first_code: int, **fields: Any) -> CommonRules:
    """The rules of an operator whose result has the shape of its only operand by definition."""
    known: dict[str, Any] = {"operands": "X", "result": "Y", "one_shape": False}
    return CommonRules(name, first_code, **{**known, **fields})
