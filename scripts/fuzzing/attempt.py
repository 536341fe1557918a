"""One mutated model through all that `sonnx_ort` does; and through ONNX Runtime alone."""

import logging
import math
import random
import traceback
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import onnx
import onnxruntime
from onnx import helper
from plain_sessions import PROVIDERS, make_options, start

import sonnx_ort
import sonnx_ort.custom_ops
from fuzzing.child import Fault, Say
from sonnx_ort.backends import Backend
from sonnx_ort.loading.file_traversal import all_graphs
from sonnx_ort.profile.catalog import OPERATORS
from sonnx_ort.profile.layout import BROADCAST
from sonnx_ort.profile.operator import DOMAIN, STANDARD_DOMAIN

_LARGE = 1 << 12
"""Models whose inputs have more elements are not run."""

_ONNX_RUNTIME = str(Path(onnxruntime.__file__).parent)
_PACKAGES = tuple(
    str(Path(module.__file__ or "").parent) for module in (sonnx_ort, sonnx_ort.custom_ops)
)
_DTYPES = {"float": "float32", "double": "float64"}
_INTEGERS = (0, 1, 2, 3, -1)
_OLDEST_KERNELS = 7
"""The first version of the standard operators of which ONNX Runtime has arithmetic."""

_OF_BROADCASTING = ("axis", "broadcast", "consumed_inputs")
"""Attributes of arithmetic in older versions."""


@dataclass(frozen=True, slots=True)
class FuzzedModel:
    """The bytes of a mutated model, and what is asked of it.

    `choices` are arguments of `rewrite`; `feeds` decides what the model is fed with.
    """

    content: bytes = field(repr=False)
    choices: dict[str, Any]
    feeds: int


def attempt(made: FuzzedModel, say: Say) -> list[str]:
    """Check, rewrite, start and run a model, by each backend.

    Returns:
        What came of each stage: "check: InvalidModel".

    Raises:
        Fault: Neither a result nor an error that is documented came of one.
    """
    outcomes = analyze(made.content, made.choices, list(Backend), say)
    if outcomes[0] != "check: InvalidModel":
        for backend in Backend:
            run = partial(_run, made, backend, say)
            outcomes.append(_perform(f"session, {backend}", run, say))
    return outcomes


def analyze(
    content: bytes, choices: dict[str, Any], backends: Sequence[Backend], say: Say
) -> list[str]:
    """Check, conform and rewrite a model, and start nothing.

    Returns:
        What came of each stage.

    Raises:
        Fault: As `attempt`.
    """
    logging.getLogger("sonnx_ort").disabled = True
    stages: dict[str, Callable[[], str]] = {
        "check": lambda: (
            "kept" if sonnx_ort.check(content, forecast=False, **choices).ok else "violated"
        ),
        "conform": lambda: _conform(content, choices),
        **{f"rewrite, {each}": partial(_rewrite, content, choices, each) for each in backends},
    }
    outcomes = []
    for stage, perform in stages.items():
        outcomes.append(_perform(stage, perform, say))
        if stage == "conform" and outcomes[0] == "check: InvalidModel":
            # All begin in the same way.
            break
    return outcomes


def attempt_alone(made: FuzzedModel, say: Say) -> list[str]:
    """Start and run a model in ONNX Runtime, without this project."""
    say("alone")
    try:
        session = start(as_runtime_takes_it(made.content))
        feeds = _feeds(session, made.feeds)
        if feeds is not None:
            session.run(None, feeds)
    except Exception:  # noqa: BLE001 - it survives, which is all that is asked
        return ["alone: refused"]
    return ["alone: survived"]


def as_runtime_takes_it(content: bytes) -> bytes:
    """The model as ONNX Runtime alone can load it.

    Each Broadcast hands its operands on, and operators of the profile are of the first version that
    ONNX Runtime has kernels for, which knows no attributes of broadcasting.
    """
    model = onnx.load_from_string(content)
    for entry in model.opset_import:
        if entry.domain == STANDARD_DOMAIN:
            entry.version = max(entry.version, _OLDEST_KERNELS)
    # The innermost first: adding a node copies it, with the graphs in it.
    lists = [*(f.node for f in model.functions), *(graph.node for graph in all_graphs(model))]
    for nodes in reversed(lists):
        old = list(nodes)
        del nodes[:]
        for node in old:
            nodes.extend(_nodes_taken(node))
    return bytes(model.SerializeToString())


def _nodes_taken(node: onnx.NodeProto) -> list[onnx.NodeProto]:
    if node.op_type in OPERATORS and OPERATORS[node.op_type].elementwise:
        kept = [each for each in node.attribute if each.name not in _OF_BROADCASTING]
        del node.attribute[:]
        node.attribute.extend(kept)
    if (node.domain, node.op_type) != (DOMAIN, BROADCAST.name):
        return [node]
    pairs = zip(node.input, node.output, strict=False)
    return [helper.make_node("Identity", [one], [other]) for one, other in pairs]


def _perform(stage: str, perform: Callable[[], str], say: Say) -> str:
    say(stage)
    return f"{stage}: {_outcome(stage, perform)}"


def _outcome(stage: str, perform: Callable[[], str]) -> str:
    try:
        return perform()
    except sonnx_ort.SonnxError as error:
        if not str(error).strip():
            raise Fault(f"{stage}: an error that says nothing") from error
        return type(error).__name__
    except Exception as error:
        frames = traceback.extract_tb(error.__traceback__)
        if stage.startswith("session") and frames[-1].filename.startswith(_ONNX_RUNTIME):
            return "refused by ONNX Runtime"
        own = [frame for frame in frames if frame.filename.startswith(_PACKAGES)][-1:] or frames[
            -1:
        ]
        place = " ".join(f"{frame.name} in {Path(frame.filename).name}" for frame in own)
        raise Fault(f"{type(error).__name__} from {place}: {error}") from error


def _conform(content: bytes, choices: dict[str, Any]) -> str:
    sonnx_ort.conform(content, rounding=True, measure=False, **choices)
    return "conformed"


def _rewrite(content: bytes, choices: dict[str, Any], backend: Backend) -> str:
    sonnx_ort.rewrite(content, backend=backend, **choices).SerializeToString()
    return "rewritten"


def _run(made: FuzzedModel, backend: Backend, say: Say) -> str:
    session = sonnx_ort.InferenceSession(
        made.content, make_options(), backend=backend, providers=PROVIDERS, **made.choices
    )
    feeds = _feeds(session, made.feeds)
    if feeds is None:
        return "started"
    say(f"run, {backend}")
    session.run(None, feeds)
    return "ran"


def _feeds(session: onnxruntime.InferenceSession, seed: int) -> dict[str, npt.NDArray[Any]] | None:
    """Small feeds of any kind; None if there can be none."""
    rng = random.Random(seed)  # noqa: S311 - no cryptography
    symbols: dict[object, int] = {}
    feeds = {}
    for declared in session.get_inputs():
        shape = []
        for size in declared.shape:
            known = isinstance(size, int) and size >= 0
            chosen = size if known else rng.choice((0, 1, 2, 3))
            shape.append(symbols.setdefault(size, chosen) if isinstance(size, str) else chosen)
        kind = declared.type.removeprefix("tensor(").removesuffix(")")
        if not declared.type.startswith("tensor(") or max(shape, default=0) > _LARGE:
            return None
        try:
            dtype = np.dtype(_DTYPES.get(kind, kind))
        except TypeError:
            return None
        if math.prod(shape) > _LARGE:
            return None
        choices: tuple[Any, ...] = (0.0, -0.0, 1.0, -1.0, 0.5, float("nan"), float("inf"))
        if dtype.kind in "iu":
            limits = np.iinfo(dtype)
            choices = tuple(number for number in _INTEGERS if number >= limits.min)
            # A scalar may be how often a Loop is gone through.
            choices += (int(limits.min), int(limits.max)) if shape else ()
        elements = rng.choices(choices, k=math.prod(shape))
        feeds[declared.name] = np.array(elements).astype(dtype).reshape(shape)
    return feeds
