"""Changes models at the level of the fields of protocol buffers, whatever they mean."""

import copy
import random
from collections.abc import Callable, Iterator
from typing import Any

import onnx
from google.protobuf.descriptor import FieldDescriptor

_TEXT, _BYTES, _MESSAGE = (
    FieldDescriptor.TYPE_STRING,
    FieldDescriptor.TYPE_BYTES,
    FieldDescriptor.TYPE_MESSAGE,
)
_NUMBERS = (0, 1, -1, 2, 3, 4, 7, 13, 18, 2**31 - 1, 2**31, -(2**31), 2**62, -(2**63))
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
        donor = copy.deepcopy(rng.choice(donors))
        message.ClearField(field.name)
        value = getattr(donor, field.name)
        if is_repeated(message, field):
            getattr(message, field.name).extend(value)
        elif field.type == _MESSAGE:
            getattr(message, field.name).CopyFrom(value)
        else:
            setattr(message, field.name, value)


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
        setattr(message, field.name, rng.choice([*_NUMBERS, *others]))
    except ValueError:
        setattr(message, field.name, rng.choice((0, 1, 2, 7)))
