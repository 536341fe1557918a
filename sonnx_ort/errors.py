"""The errors of this package. Each says what is wrong, where, and what to do."""

from __future__ import annotations

from typing import Any


class SonnxError(Exception):
    """Base of all errors of this package."""


class InvalidModel(SonnxError):  # noqa: N818 - a public name of the interface
    """The input is not a readable, valid ONNX model, or has false declarations."""


class ContractViolation(SonnxError):  # noqa: N818 - a public name of the interface
    """A rule of the profile was violated in a run.

    Attributes:
        rule: The id of the first violated rule, for example "Div.int.C1".
        operator: The operator, for example "Div".
        node: The name of the node in the original model.
        shapes: The shapes of the operands in this run, in their order; None if the model failed
            without a record of our kernel.
        index: The index of the first element that violates the rule; None if shapes violate it.
        values: The operands' elements there; None if shapes violate the rule.
    """

    def __init__(  # noqa: PLR0913 - one parameter for each public field
        self,
        message: str,
        *,
        rule: str,
        operator: str,
        node: str,
        shapes: tuple[tuple[int, ...], ...] | None = None,
        index: tuple[int, ...] | None = None,
        values: tuple[int | float, ...] | None = None,
    ) -> None:
        super().__init__(message)
        self.rule = rule
        self.operator = operator
        self.node = node
        self.shapes = shapes
        self.index = index
        self.values = values

    def __reduce__(self) -> tuple[Any, ...]:
        """Keep the fields when the error is pickled."""
        return _restore_violation, (str(self), dict(self.__dict__))


def _restore_violation(message: str, fields: dict[str, Any]) -> ContractViolation:
    return ContractViolation(message, **fields)
