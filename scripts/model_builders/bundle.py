"""A bundled model with its entry in the manifest, as code gives it or a file in `models/`."""

import tomllib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import onnx
from onnx import helper
from restrictions import AGAINST_KERNELS

from model_builders.graphs import parse
from model_builders.outcome import Array, outcome, rejection
from sonnx_ort.models import Case, Citation, Example, Expectation, Outputs, RunViolation
from sonnx_ort.profile.catalog import DEFAULT_OPERATORS
from sonnx_ort.profile.options import Broadcasting, Edition

FOLDER = Path(__file__).with_name("models")
"""The folder of the models that are written down, one file for each subject."""

_Known = dict[tuple[str, int], Array]


@dataclass(frozen=True, slots=True)
class Use:
    """A case of a model, of which the rest is computed.

    Attributes:
        name: What the case is called.
        edition: The edition of the profile.
        arrays: Inputs by name; and outputs, where a document prints them.
        rejected: The ids of the rules that the model breaks before any run, if any.
        broadcast: The way of broadcasting.
        node: Of a violation the node, where that is in a function.
        expected: What has to come of it, where nothing else says it.
    """

    name: str
    edition: Edition = Edition.TYPED
    arrays: Mapping[str, npt.ArrayLike] = field(default_factory=dict)
    rejected: tuple[str, ...] = ()
    broadcast: str = "reject"
    node: str = ""
    expected: Expectation | None = None


@dataclass(frozen=True, slots=True, eq=False)
class Bundle:
    """A model with its entry in the manifest."""

    example: Example
    model: onnx.ModelProto


def runs(what: str = "", /, **arrays: npt.ArrayLike) -> list[Use]:
    """Run a model once in each edition; elements are nested by axis."""
    return [Use(f"{what} {edition}".strip(), edition, arrays) for edition in Edition]


def rejections(typed: str = "", preliminary: str = "") -> list[Use]:
    """Have a model rejected before any run, in each edition that is given ids of rules."""
    found = {Edition.TYPED: typed, Edition.PRELIMINARY: preliminary}
    return [Use(e.value, e, rejected=tuple(ids.split())) for e, ids in found.items() if ids]


def explicit(*uses: Use) -> list[Use]:
    """Ask for explicit broadcasting, and say so in the names."""
    return [replace(use, name=f"explicit {use.name}", broadcast="explicit") for use in uses]


def read(subject: str) -> Iterator[Bundle]:
    """Give the models of a file; models/README.md says what it holds."""
    for table in tomllib.loads((FOLDER / f"{subject}.toml").read_text("utf-8"))["model"]:
        yield from_table(**table)


def from_table(
    *, text: str, uses: Iterable[Mapping[str, Any]], name: str, shows: str, **others: Any
) -> Bundle:
    """Give a model of a file; the keys of its table are in models/README.md."""
    sources = [Citation(*source) for source in others.pop("sources", ())]
    operators = others.pop("operators", "default")
    others["constants"] = {
        constant: np.array(elements, dtype)
        for dtype, of_type in others.get("constants", {}).items()
        for constant, elements in of_type.items()
    }
    cases = [use for table in uses for use in _uses(**table)]
    return bundle(name, shows, parse(text, **others), cases, *sources, operators=operators)


def _uses(*, broadcast: str = "reject", **table: Any) -> list[Use]:
    """Give the cases of a table: a run, a run in each edition, or rejections."""
    for name, value in table.items():
        if isinstance(value, dict):
            table[name] = np.resize(value["cycle"], value["shape"])
    if "runs" in table:
        found = runs(table.pop("runs"), **table)
    elif "run" in table:
        name, node = table.pop("run"), table.pop("node", "")
        found = [Use(name, Edition(table.pop("edition", Edition.TYPED)), table, node=node)]
    else:
        found = rejections(**table)
    return explicit(*found) if broadcast == "explicit" else found


def bundle(
    name: str,
    shows: str,
    model: onnx.ModelProto,
    uses: Iterable[Use],
    *sources: Citation,
    operators: str = "default",
) -> Bundle:
    """Put a model and its entry together.

    Args:
        name: What it is called.
        shows: What it shows.
        model: The model.
        uses: Its cases.
        *sources: Where its numbers come from.
        operators: The operators that are enforced, as for `rewrite`.
    """
    known: _Known = {}
    cases = tuple(_case(model, use, operators, known) for use in list(uses))
    return Bundle(Example(name, shows, sources, cases), model)


def _case(model: onnx.ModelProto, use: Use, operators: str, known: _Known) -> Case:
    arrays = {
        value.name: _converted(value, use.arrays[value.name], known)
        for value in (*model.graph.input, *model.graph.output)
        if value.name in use.arrays
    }
    outputs = {value.name for value in model.graph.output}
    inputs = {name: arrays[name] for name in use.arrays if name not in outputs}
    printed = {name: array for name, array in arrays.items() if name in outputs}
    expected, guarded = use.expected, None
    if use.rejected:
        expected = rejection(model, use.rejected)
    elif printed:
        expected = Outputs(printed)
    elif expected is None:
        chosen = DEFAULT_OPERATORS if operators == "default" else operators.split(",")
        explicitly = use.broadcast == "explicit"
        ask = partial(outcome, model, inputs, use.edition, explicit=explicitly, operators=chosen)
        expected = ask()
        if isinstance(expected, RunViolation) and expected.rule in AGAINST_KERNELS:
            guarded, expected = expected, ask(unneeded=AGAINST_KERNELS)
    if use.node and isinstance(expected, RunViolation):
        expected = replace(expected, node=use.node)
    broadcast = Broadcasting(use.broadcast)
    return Case(use.name, use.edition, broadcast, operators, inputs, expected, guarded)


def _converted(value: onnx.ValueInfoProto, elements: npt.ArrayLike, known: _Known) -> Array:
    """Make an array of an input's or output's type; of the same elements one array for all uses."""
    dtype = helper.tensor_dtype_to_np_dtype(value.type.tensor_type.elem_type)
    return known.setdefault((value.name, id(elements)), np.asarray(elements, dtype))
