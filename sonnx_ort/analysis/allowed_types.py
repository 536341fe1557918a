"""The element types that a version of an operator takes, by ONNX's own schemas."""

import onnx.defs

from sonnx_ort.analysis.facts import Facts
from sonnx_ort.analysis.onnx_schemas import numeric_types
from sonnx_ort.analysis.targets import Target
from sonnx_ort.errors import InvalidModel
from sonnx_ort.profile.domain import STANDARD_DOMAIN
from sonnx_ort.profile.element_type import ElementType


def require_allowed_types(target: Target, facts: Facts) -> None:
    """Refuse operands of a numeric type that the imported version of the operator does not take.

    ONNX Runtime refuses such a model as well. What is no numeric type breaks a rule.

    Args:
        target: The node.
        facts: What is known of the model's values.

    Raises:
        InvalidModel: An operand is of such a type.
    """
    name = target.operator.name
    if target.operator.domain != STANDARD_DOMAIN:
        return
    for letter, value in zip(target.letters, target.inputs, strict=True):
        found = ElementType.named(facts.element_type(value))
        if found is None or found in _allowed(name, target.version):
            continue
        raise InvalidModel(
            f"{name} '{target.label}': {letter} is {found.value}, which {name} takes from version "
            f"{_first(name, found)} of the standard operators on, and the model imports version "
            f"{target.version}; convert the model, for example with onnx.version_converter"
        )


def _allowed(name: str, version: int) -> frozenset[ElementType]:
    return frozenset().union(*numeric_types(name, version, STANDARD_DOMAIN))


def _first(name: str, element_type: ElementType) -> int:
    versions = range(1, onnx.defs.onnx_opset_version() + 1)
    return next(v for v in versions if element_type in _allowed(name, v))
