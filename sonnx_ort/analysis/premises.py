"""What a model was conformed for: the premises that `conform` writes into its metadata.

A conformed model gives the results of its original only in runs that keep its premises. So they
are a part of it: `premises_of` reads them wherever a model is loaded, its contract is demanded as
if its user gave it, and what cannot be read is refused.
"""

import json
import re
from collections import Counter
from collections.abc import Container, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import chain

import onnx

from sonnx_ort.errors import InvalidModel, SonnxError, printable
from sonnx_ort.profile.both_contracts import ASSUMED_CONTRACT, ContradictionError, both
from sonnx_ort.profile.contract import (
    NO_CONTRACT,
    Contract,
    contract_document,
    contract_from_json,
    contract_to_json,
)
from sonnx_ort.terms.operand import Shape, format_shape

ASSUMED = "sonnx_ort.assumed."
"""The beginning of the keys of a model's metadata that say what was assumed of an input."""

_AGAIN = "conform the original model again"


@dataclass(frozen=True, slots=True)
class Premises:
    """What a model was conformed for.

    Attributes:
        contract: What its inputs may be; demands nothing if it was conformed without a contract.
        inputs: What was assumed of single inputs, in words, by name.
        axes: The axes that the model declares of its inputs, by name.
    """

    contract: Contract = NO_CONTRACT
    inputs: Mapping[str, str] = field(default_factory=dict)
    axes: Mapping[str, Shape | None] = field(default_factory=dict)

    def with_contract(self, given: Contract) -> Contract:
        """The contract that its user gives, and its own.

        Raises:
            SonnxError: No contract says what both say.
        """
        try:
            return both(given, self.contract, self.axes)
        except ContradictionError as error:
            raise SonnxError(
                f"contract: the model was conformed within the contract {self._in_json}, and the "
                f"given one differs: {error}; give one that fits, or conform the original model "
                "with it"
            ) from error

    def require_enforced(self, contract: Contract) -> None:
        """Refuse a model that `rewrite` made if the contract that it enforces is a weaker one.

        Raises:
            InvalidModel: It is.
        """
        try:
            kept = both(contract, self.contract, self.axes) == contract
        except ContradictionError:
            kept = False
        if not kept:
            raise InvalidModel(
                f"the model was conformed within the contract {self._in_json}, and it enforces "
                "another one; rewrite the conformed model again"
            )

    def limits(self, name: str) -> bool:
        """Whether the contract says anything of an input."""
        contract = self.contract
        return (
            contract.of(name) is not None
            or contract.axes_of(name, self.axes.get(name)) is not None
            or any(entry.input == name for entry in contract.types)
        )

    def lines(self) -> Iterator[str]:
        """What it was conformed for, each as a clause of `conformed for: ...`."""
        for name, text in self.inputs.items():
            yield printable(f"{name} is {text} in every run")
        if self.contract:
            yield printable(f"inputs within the contract {self._in_json}")

    @property
    def _in_json(self) -> str:
        return contract_to_json(self.contract)


def shape_in_words(shape: tuple[int, ...]) -> str:
    """What the metadata say of an assumed shape."""
    return f"of shape {shape}"


def premises_of(model: onnx.ModelProto) -> Premises:
    """Read the premises of a model from its metadata.

    Raises:
        InvalidModel: They cannot be read, or the model has no longer the inputs that they are of.
    """
    written: dict[str, str] = {}
    for entry in model.metadata_props:
        if entry.key != ASSUMED_CONTRACT and not entry.key.startswith(ASSUMED):
            continue
        if written.setdefault(entry.key, entry.value) != entry.value:
            raise InvalidModel(f"the metadata has two entries '{entry.key}'; {_AGAIN}")
    axes = dict(_name_and_axes(value) for value in model.graph.input)
    text = written.pop(ASSUMED_CONTRACT, None)
    contract = NO_CONTRACT if text is None else _contract(text, axes)
    inputs = {key.removeprefix(ASSUMED): value for key, value in written.items()}
    for name, said in inputs.items():
        _require_assumed(name, said, axes)
    return Premises(contract, inputs, axes)


def _name_and_axes(value: onnx.ValueInfoProto) -> tuple[str, Shape | None]:
    tensor = value.type.tensor_type
    if not tensor.HasField("shape"):
        return value.name, None
    axes = (
        d.dim_value if d.HasField("dim_value") else d.dim_param or None for d in tensor.shape.dim
    )
    return value.name, tuple(axes)


def _contract(text: str, axes: Container[str]) -> Contract:
    """The contract in the metadata, if it is of inputs that there are, each named once."""
    try:
        contract = contract_from_json(text)
        complete = contract_document(contract) == json.loads(text)
    except Exception as error:
        raise InvalidModel(
            f"the metadata entry '{ASSUMED_CONTRACT}' cannot be read ({type(error).__name__}: "
            f"{error}); {_AGAIN}"
        ) from error
    if not complete or not contract:
        raise InvalidModel(
            f"the metadata entry '{ASSUMED_CONTRACT}' is no contract of `conform`; {_AGAIN}"
        )
    of_inputs = (
        [entry.value for entry in contract.values],
        [entry.input for entry in contract.shapes],
        [entry.input for entry in contract.types],
    )
    for names in (*of_inputs, [entry.name for entry in contract.sizes]):
        for name, number in Counter(names).items():
            if number > 1:
                raise InvalidModel(
                    f"the metadata entry '{ASSUMED_CONTRACT}' has two entries for '{name}'; "
                    f"{_AGAIN}"
                )
    for name in chain(*of_inputs):
        if name not in axes:
            raise InvalidModel(
                f"the model was conformed within a contract of its input '{name}', and has no such "
                f"input; {_AGAIN}"
            )
    return contract


_SHAPE = re.compile(r"of shape \(((?:\d+,? ?)*)\)")


def _require_assumed(name: str, said: str, axes: Mapping[str, Shape | None]) -> None:
    """Refuse a model that takes as an input again what it was conformed for.

    A run may replace the default of an input, too. ONNX Runtime holds the sizes that a file
    declares, so an assumed shape has to be declared.
    """
    shape = _SHAPE.fullmatch(said)
    if shape is None:
        if name in axes:
            raise InvalidModel(
                f"the model was conformed for the value {said} of '{name}', which is an input "
                f"again; {_AGAIN}"
            )
        return
    sizes = tuple(int(size) for size in re.findall(r"\d+", shape[1]))
    if name not in axes or axes[name] != sizes:
        found = "is no input" if name not in axes else f"is declared as {format_shape(axes[name])}"
        raise InvalidModel(
            f"the model was conformed for the shape {format_shape(sizes)} of '{name}', which "
            f"{found}; declare this shape, or {_AGAIN}"
        )
