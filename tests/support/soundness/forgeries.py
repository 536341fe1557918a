"""Changes by which a file of a model comes to mean two things, at the level of its fields.

None of them knows what a field means: an element of any repeated field is there again with a
change, any two messages of a type exchange the values of a field, the elements of any tensor lie in
another file, any operator of the model gets a function of its name.
"""

import copy
import random
from collections.abc import Callable, Iterator
from typing import Any

import onnx
from google.protobuf.descriptor import FieldDescriptor
from onnx import TensorProto, helper, numpy_helper

from sonnx_ort.loading.traversal import all_nodes
from support.soundness.fields import is_repeated, messages_of

ELEMENTS = "elements.bin"
"""The file in which the elements of moved tensors lie."""

_TEXTS = ("", "ai.onnx")
_NAMES = ("name", "key", "domain")
_NUMBERS = (0, 1, -1, 7, 11, 13, 18)

Files = dict[str, bytes]
"""Further files of a model, by their names."""

Forged = tuple[str, Files]
"""What was changed, and the further files that the changed model needs."""


def repeat(rng: random.Random, model: onnx.ModelProto, place: random.Random) -> Forged:
    """Have an element of a repeated field again with other contents, in front of it or behind it.

    Args:
        rng: Draws what is repeated.
        model: The model.
        place: Draws whether in front or behind.
    """
    lists = [
        (message, field)
        for message in messages_of(model)
        for field, _ in message.ListFields()
        if is_repeated(message, field) and field.type == FieldDescriptor.TYPE_MESSAGE
    ]
    message, field = _of_any_kind(rng, lists)
    kept = [copy.deepcopy(each) for each in getattr(message, field.name)]
    at = rng.randrange(len(kept))
    again = copy.deepcopy(kept[at])
    _change_contents(rng, again)
    kept.insert(place.choice((at, at + 1)), again)
    message.ClearField(field.name)
    getattr(message, field.name).extend(kept)
    return f"repeated {_name(field)}", {}


def exchange(rng: random.Random, model: onnx.ModelProto, _: random.Random) -> Forged:
    """Exchange the values of a field among two messages of a type, most often neighbours."""
    neighbours: list[list[Any]] = []
    for parent in messages_of(model):
        for field, value in parent.ListFields():
            if field.type == FieldDescriptor.TYPE_MESSAGE and is_repeated(parent, field):
                neighbours.append([*value])
    groups = [group for group in neighbours if len(group) > 1]
    if not groups or rng.random() < 0.3:
        by_type: dict[str, list[Any]] = {}
        for message in messages_of(model):
            by_type.setdefault(message.DESCRIPTOR.name, []).append(message)
        groups = [group for group in by_type.values() if len(group) > 1]
    places = [(group, field) for group in groups for field, _ in group[0].ListFields()]
    group, field = _of_any_kind(rng, places)
    one, other = rng.sample(group, 2)
    first, second = copy.deepcopy(one), copy.deepcopy(other)
    _take(one, field, second)
    _take(other, field, first)
    return f"exchanged {_name(field)}", {}


def move_outside(rng: random.Random, model: onnx.ModelProto, _: random.Random) -> Forged:
    """Have the elements of a tensor, or of all, in another file."""
    tensors = [each for each in messages_of(model) if isinstance(each, TensorProto)]
    tensors = [each for each in tensors if each.data_location != TensorProto.EXTERNAL]
    moved = b""
    for tensor in tensors if rng.random() < 0.3 else rng.sample(tensors, min(1, len(tensors))):
        content = numpy_helper.to_array(tensor).tobytes()
        for field, _ in tensor.ListFields():
            if field.name.endswith("_data"):
                tensor.ClearField(field.name)
        tensor.data_location = TensorProto.EXTERNAL
        place = {"location": ELEMENTS, "offset": len(moved), "length": len(content)}
        for key, value in place.items():
            tensor.external_data.add(key=key, value=str(value))
        moved += content
    return "elements in another file", {ELEMENTS: moved}


def define(rng: random.Random, model: onnx.ModelProto, _: random.Random) -> Forged:
    """Have a function of the name of an operator of the model, that gives operands back."""
    node = rng.choice(_of_each_operator(all_nodes(model)))
    operands = [f"a{number}" for number in range(len(node.input))] or ["a"]
    results = [f"r{number}" for number in range(len(node.output))]
    order = rng.choice((operands, operands[::-1]))
    body = [
        helper.make_node("Identity", [order[number % len(order)]], [result])
        for number, result in enumerate(results)
    ]
    imports = [helper.make_opsetid(domain, 1 if domain else 17) for domain in {"", node.domain}]
    made = helper.make_function(
        rng.choice((node.domain, node.domain, *_TEXTS)),
        node.op_type,
        operands[: len(node.input)],
        results,
        body,
        imports,
        [attribute.name for attribute in node.attribute],
    )
    model.functions.append(made)
    return f"function for {'.'.join(filter(None, (node.domain, node.op_type)))}", {}


def leave(_: random.Random, __: onnx.ModelProto, ___: random.Random) -> Forged:
    """Change nothing in the model: what is claimed of it is another thing, such as the edition."""
    return "nothing", {}


FORGERIES: tuple[Callable[[random.Random, onnx.ModelProto, random.Random], Forged], ...] = (
    repeat,
    repeat,
    repeat,
    exchange,
    move_outside,
    define,
    leave,
)
"""The kinds of changes."""


def other_contents(content: bytes) -> tuple[bytes, ...]:
    """What may lie in place of a file: of integers, zeros and -1."""
    return bytes(len(content)), b"\xff" * len(content)


def _name(field: FieldDescriptor) -> str:
    return str(field.full_name.removeprefix("onnx."))


def _of_each_operator(nodes: list[onnx.NodeProto]) -> list[onnx.NodeProto]:
    return [*{(node.domain, node.op_type): node for node in nodes}.values()]


def _of_any_kind(rng: random.Random, places: list[Any]) -> Any:
    """One of the places, each kind of field as likely as any other."""
    kinds: dict[str, list[Any]] = {}
    for place in places:
        kinds.setdefault(place[1].full_name, []).append(place)
    return rng.choice(kinds[rng.choice(sorted(kinds))])


def _take(message: Any, field: FieldDescriptor, donor: Any) -> None:
    """Give a message the value that another has of a field."""
    message.ClearField(field.name)
    part = type(message)()
    value = getattr(donor, field.name)
    if is_repeated(donor, field):
        getattr(part, field.name).extend(value)
    elif not donor.HasField(field.name):
        return
    elif field.type == FieldDescriptor.TYPE_MESSAGE:
        getattr(part, field.name).CopyFrom(value)
    else:
        setattr(part, field.name, value)
    message.MergeFrom(part)


def _leaves(message: Any) -> Iterator[tuple[Any, FieldDescriptor]]:
    for each in messages_of(message):
        for field, _ in each.ListFields():
            if field.type != FieldDescriptor.TYPE_MESSAGE:
                yield each, field
        if isinstance(each, onnx.OperatorSetIdProto) and not each.HasField("domain"):
            yield each, each.DESCRIPTOR.fields_by_name["domain"]


def _change_contents(rng: random.Random, message: Any) -> None:
    """Change a part of a message; half of the time under the same name, or another one of it."""
    leaves = [*_leaves(message)]
    contents = [place for place in leaves if place[1].name not in _NAMES]
    if contents and rng.random() < 0.5:
        _change_leaf(rng, contents)
        if message.DESCRIPTOR.fields_by_name.get("domain") and rng.random() < 0.7:
            message.domain = {"": "ai.onnx", "ai.onnx": ""}.get(message.domain, message.domain)
    elif leaves:
        _change_leaf(rng, leaves)


def _change_leaf(rng: random.Random, leaves: list[Any]) -> None:
    owner, field = _of_any_kind(rng, leaves)
    value = getattr(owner, field.name)
    try:
        if isinstance(value, str):
            setattr(owner, field.name, rng.choice((*_TEXTS, f"{value}_")))
        elif isinstance(value, bytes):
            setattr(owner, field.name, rng.choice(other_contents(value)))
        elif is_repeated(owner, field):
            one = rng.choice(value)
            other = rng.choice((0, 1, -1)) if not isinstance(one, str | bytes) else one
            value[:] = [other] * len(value)
        else:
            setattr(owner, field.name, rng.choice((*_NUMBERS, value + 1, -value)))
    except (ValueError, TypeError):
        owner.ClearField(field.name)
