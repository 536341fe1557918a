"""Random single nodes of every operator whose shapes are believed, with tensors to run them on.

Attributes, optional inputs, versions and sizes vary, also to what the operator's document does not
allow: `check` may know nothing of such a node, but never something wrong.
"""

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from onnx import defs

from sonnx_ort.knowledge.shapes.catalog import SHAPE_RULES
from support.soundness.nodes import elementwise, layout, products, sizes
from support.soundness.nodes.elementwise import like_first
from support.soundness.nodes.maker import Attributes, Inputs, Maker

_MISUSED = 0.1
"""How many of the nodes have an attribute of a value that may not be the document's."""


@dataclass(frozen=True)
class NodeCase:
    """A node and what it is run with.

    Attributes:
        operator: Its operator.
        opset: The version of the standard operators.
        inputs: One tensor for each input; None for one that is left out.
        attributes: Its attributes.
        outputs: The number of its outputs.
    """

    operator: str
    opset: int
    inputs: Inputs
    attributes: Attributes = field(default_factory=dict)
    outputs: int = 1


def random_case(rng: random.Random, operator: str) -> NodeCase:
    """Make a node of an operator."""
    version = rng.choice(believed_versions(operator))
    # Kernels begin at version 7 for most operators.
    opset = max(version, min(7, _next_version(operator, version) - 1))
    maker = Maker(rng, operator, version)
    inputs, attributes, outputs = _MAKERS.get(operator, like_first)(maker)
    schema = defs.get_schema(operator, version)
    attributes = {k: v for k, v in attributes.items() if k in schema.attributes}
    if rng.random() < _MISUSED:
        _misuse(rng, schema, attributes)
    return NodeCase(operator, opset, inputs, attributes, outputs)


def _versions() -> Mapping[str, Sequence[int]]:
    versions: dict[str, list[int]] = {}
    for schema in defs.get_all_schemas_with_history():
        if not schema.domain:
            versions.setdefault(schema.name, []).append(schema.since_version)
    return {name: sorted(since) for name, since in versions.items()}


VERSIONS = _versions()
"""The versions of each standard operator, oldest first."""


def believed_versions(operator: str) -> list[int]:
    """The versions of an operator whose shapes are believed, oldest first."""
    first, last = SHAPE_RULES[operator].since
    return [version for version in VERSIONS[operator] if first <= version <= last]


def _next_version(operator: str, version: int) -> int:
    return next((later for later in VERSIONS[operator] if later > version), 1000)


def _misuse(rng: random.Random, schema: Any, attributes: Attributes) -> None:
    """Leave an attribute out, or give it another value."""
    names = [n for n, a in schema.attributes.items() if a.type in (_INT, _INTS)]
    if not names:
        return
    name = rng.choice(names)
    if schema.attributes[name].type == _INT:
        attributes[name] = rng.choice([-2, -1, 0, 1, 2])
    elif isinstance(attributes.get(name), list) and attributes[name]:
        values = list(attributes[name])
        values[rng.randrange(len(values))] = rng.choice([-1, 0, 1, 2, 3])
        attributes[name] = values
    if rng.random() < 1 / 3:
        attributes.pop(name, None)


_MAKERS = elementwise.MAKERS | layout.MAKERS | products.MAKERS | sizes.MAKERS
_INT, _INTS = defs.OpSchema.AttrType.INT, defs.OpSchema.AttrType.INTS
