"""The models that are mutated."""

import functools
import importlib
import random
from pathlib import Path

import onnx

from fuzzing.handmade import handmade_models
from fuzzing.operators import random_operator_model
from sonnx_ort import models

_LARGE = 1 << 16
"""Bundled models of more bytes are left out: a mutation would mostly meet weights."""


def seed(rng: random.Random) -> tuple[str, onnx.ModelProto]:
    """Choose or make a model, and say what kind it is of.

    Args:
        rng: Chooses.
    """
    made = onnx.ModelProto()
    kind = rng.choice(("bundled", "handmade", "graph", "graph", "operator", "operator"))
    match kind:
        case "bundled":
            made.CopyFrom(rng.choice(_bundled()))
        case "handmade":
            made.CopyFrom(rng.choice(_handmade()))
        case "graph":
            random_graphs = importlib.import_module("support.soundness.models")
            made = random_graphs.random_model(rng).proto
        case "operator":
            made = random_operator_model(rng)
    return kind, made


def load_seeds() -> None:
    """Read what is read once, so that forks of this process share it."""
    _bundled()
    _handmade()
    importlib.import_module("support.soundness.models")


@functools.cache
def _bundled() -> tuple[onnx.ModelProto, ...]:
    paths = (Path(models.path(name)) for name in models.names())
    return tuple(onnx.load(path) for path in paths if path.stat().st_size <= _LARGE)


@functools.cache
def _handmade() -> tuple[onnx.ModelProto, ...]:
    return tuple(handmade_models().values())
