"""A graph optimizer of ONNX Runtime that has to be switched off."""

from dataclasses import dataclass


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
