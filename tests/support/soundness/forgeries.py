"""Changes of models at the level of their fields, and those by which a file means two things.

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

from sonnx_ort.loading.file_traversal import all_nodes

_TEXT, _BYTES, _MESSAGE = (
    FieldDescriptor.TYPE_STRING,
    FieldDescriptor.TYPE_BYTES,
    FieldDescriptor.TYPE_MESSAGE,
)
_NUMBER_FIELDS = (0, 1, -1, 2, 3, 4, 7, 13, 18, 2**31 - 1, 2**31, -(2**31), 2**62, -(2**63))
_UNKNOWN = bytes.fromhex("c2b802026162")
"""A text in a field of number 900, which no message has."""

Field = tuple[Any, FieldDescriptor]
"""A message, and one of its fields."""


def with_changed_fields(rng: random.Random, content: bytes) -> bytes:
    """The file of a model in which one field or two are changed."""
    model = onnx.load_model_from_string(content)
    for _ in range(rng.choice((1, 1, 2))):
        _change(rng, model)
    changed: bytes = model.SerializeToString()
    # A field of the model that is written a second time is merged with the first.
    return changed + _part_of(rng, model) if rng.random() < 0.05 else changed


def _part_of(rng: random.Random, model: onnx.ModelProto) -> bytes:
    part = onnx.ModelProto()
    if rng.random() < 0.5:
        part.opset_import.add(domain=rng.choice(("", "ai.onnx")), version=rng.choice((7, 13, 18)))
    else:
        part.graph.node.append(rng.choice([*model.graph.node, onnx.NodeProto()]))
    return bytes(part.SerializeToString())


def messages_of(message: Any) -> Iterator[Any]:
    """A message, and all that are in it."""
    yield message
    for field, value in message.ListFields():
        if field.type == _MESSAGE:
            for each in [value] if hasattr(value, "ListFields") else value:
                yield from messages_of(each)


def _change(rng: random.Random, model: onnx.ModelProto) -> None:
    messages: dict[str, list[Any]] = {}
    for message in messages_of(model):
        messages.setdefault(message.DESCRIPTOR.name, []).append(message)
    message = rng.choice(messages[rng.choice(sorted(messages))])
    if rng.random() < 0.02:
        message.MergeFromString(_UNKNOWN)
        return
    filled = [field for field, _ in message.ListFields()]
    field = rng.choice(filled if filled and rng.random() < 0.7 else message.DESCRIPTOR.fields)
    others = [
        getattr(each, field.name)
        for each in messages[message.DESCRIPTOR.name]
        if field in [own for own, _ in each.ListFields()]
    ]
    if is_repeated(message, field):
        _change_several(rng, (message, field), [each for several in others for each in several])
    elif field.type == _MESSAGE:
        if others and rng.random() < 0.7:
            getattr(message, field.name).CopyFrom(copy.deepcopy(rng.choice(others)))
        else:
            rng.choice([message.ClearField, _filled(message)])(field.name)
    elif rng.random() < 0.2:
        message.ClearField(field.name)
    else:
        _set(rng, (message, field), others)


def is_repeated(message: Any, field: FieldDescriptor) -> bool:
    """Whether a message may have several values of a field."""
    return not isinstance(getattr(message, field.name), str | bytes | int | float) and not (
        field.type == _MESSAGE and hasattr(getattr(message, field.name), "ListFields")
    )


def _filled(message: Any) -> Callable[[str], None]:
    return lambda name: getattr(message, name).SetInParent()


def _change_several(rng: random.Random, place: Field, others: list[Any]) -> None:
    """Have an element of a repeated field twice, leave it out, exchange it or add another."""
    message, field = place
    values = getattr(message, field.name)
    kept = list(values)
    at = rng.randrange(len(kept)) if kept else 0
    kind = rng.choice(("twice", "twice", "gone", "other order", "another"))
    if kind == "twice" and kept:
        again = copy.deepcopy(kept[at])
        if field.type == _MESSAGE and rng.random() < 0.7:
            _change_inside(rng, again, others)
        kept.insert(rng.choice((at, at + 1)), again)
    elif kind == "gone" and kept:
        del kept[at]
    elif kind == "other order":
        kept.reverse()
    else:
        kept.insert(at, copy.deepcopy(rng.choice(others)) if others else _new(rng, field))
    kept = [copy.deepcopy(each) for each in kept]
    message.ClearField(field.name)
    getattr(message, field.name).extend(kept)


def _change_inside(rng: random.Random, message: Any, others: list[Any]) -> None:
    """Give a copy what the same field of another message has."""
    field, _ = rng.choice(message.ListFields() or [(None, None)])
    donors = [each for each in others if field in [own for own, _ in each.ListFields()]]
    if field is not None and donors:
        _take(message, field, copy.deepcopy(rng.choice(donors)))


def _new(rng: random.Random, field: FieldDescriptor) -> Any:
    if field.type == _MESSAGE:
        return field.message_type._concrete_class()
    if field.type == _TEXT:
        return rng.choice(("", "x", "value", "ai.onnx", "\0"))
    if field.type == _BYTES:
        return rng.choice((b"", b"SAME_UPPER", b"\xff"))
    return rng.choice((0, 1, 2))


def _set(rng: random.Random, place: Field, others: list[Any]) -> None:
    message, field = place
    if field.type in (_TEXT, _BYTES):
        value = rng.choice(others) if others and rng.random() < 0.7 else _new(rng, field)
        setattr(message, field.name, value)
        return
    if field.enum_type is not None:
        setattr(message, field.name, rng.choice([each.number for each in field.enum_type.values]))
        return
    try:
        setattr(message, field.name, rng.choice([*_NUMBER_FIELDS, *others]))
    except ValueError:
        setattr(message, field.name, rng.choice((0, 1, 2, 7)))


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
