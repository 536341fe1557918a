"""Changes of a model: of its bytes, of any field, and of what ONNX means by them."""

import random
from collections.abc import Callable, Iterator
from typing import Any

import onnx
from google.protobuf.descriptor import FieldDescriptor
from google.protobuf.message import Message

from fuzzing.numbers import any_integer
from fuzzing.structure import STRUCTURAL

_UNSIGNED = (FieldDescriptor.CPPTYPE_UINT32, FieldDescriptor.CPPTYPE_UINT64)
_NARROW = (FieldDescriptor.CPPTYPE_INT32, FieldDescriptor.CPPTYPE_UINT32)
_INTEGERS = (
    *(FieldDescriptor.CPPTYPE_INT32, FieldDescriptor.CPPTYPE_INT64),
    *_UNSIGNED,
)
_TEXTS = ("", "x", "ai.onnx", "sonnx", "é", "a" * 300, "Div", "\x00", "n")


def mutated(rng: random.Random, model: onnx.ModelProto) -> bytes:
    """Change a model, and serialize it.

    Args:
        rng: Chooses what is changed.
        model: The model; changed as well.
    """
    for _ in range(rng.choice((0, 1, 1, 1, 2, 3))):
        change: Callable[[random.Random, onnx.ModelProto], None] = _change_field
        if rng.random() < 3 / 4:
            change = rng.choice(STRUCTURAL)
        change(rng, model)
    content: bytes = model.SerializeToString()
    return _change_bytes(rng, content) if rng.random() < 1 / 10 else content


def _change_bytes(rng: random.Random, content: bytes) -> bytes:
    changed = bytearray(content)
    for _ in range(rng.choice((1, 1, 2, 5))):
        place = rng.randrange(len(changed) + 1)
        match rng.randrange(4):
            case 0 if place < len(changed):
                changed[place] = rng.randrange(256)
            case 1 if place < len(changed):
                changed[place] ^= 1 << rng.randrange(8)
            case 2:
                changed[place:place] = rng.randbytes(rng.choice((1, 2, 8)))
            case _:
                del changed[place : place + rng.choice((1, 1, 4, 64, len(changed)))]
    return bytes(changed)


def _change_field(rng: random.Random, model: onnx.ModelProto) -> None:
    """Change one field of one message anywhere in the model."""
    message = rng.choice(list(_messages(model)))
    field = rng.choice(message.DESCRIPTOR.fields)
    if field.is_repeated:
        _change_repeated(rng, getattr(message, field.name), field)
    elif rng.random() < 1 / 4:
        message.ClearField(field.name)
    elif field.cpp_type == FieldDescriptor.CPPTYPE_MESSAGE:
        getattr(message, field.name).SetInParent()
    else:
        setattr(message, field.name, _scalar(rng, field))


def _change_repeated(rng: random.Random, elements: Any, field: FieldDescriptor) -> None:
    match rng.randrange(4):
        case 0 if elements:
            del elements[rng.randrange(len(elements))]
        case 1 if elements:
            elements.extend([rng.choice(list(elements))])
        case 2 if field.cpp_type == FieldDescriptor.CPPTYPE_MESSAGE:
            elements.add()
        case 3 if elements and field.cpp_type == FieldDescriptor.CPPTYPE_MESSAGE:
            one, other = (rng.randrange(len(elements)) for _ in range(2))
            kept = type(elements[one])()
            kept.CopyFrom(elements[one])
            elements[one].CopyFrom(elements[other])
            elements[other].CopyFrom(kept)
        case _ if field.cpp_type != FieldDescriptor.CPPTYPE_MESSAGE:
            elements.append(_scalar(rng, field))


def _scalar(rng: random.Random, field: FieldDescriptor) -> Any:
    if field.cpp_type in _INTEGERS:
        bits = 32 if field.cpp_type in _NARROW else 64
        if field.cpp_type in _UNSIGNED:
            return any_integer(rng, 0, 2**bits - 1)
        return any_integer(rng, -(2 ** (bits - 1)), 2 ** (bits - 1) - 1)
    match field.cpp_type:
        case FieldDescriptor.CPPTYPE_STRING:
            text = rng.choice(_TEXTS)
            return text.encode() if field.type == FieldDescriptor.TYPE_BYTES else text
        case FieldDescriptor.CPPTYPE_ENUM:
            enumeration = field.enum_type
            assert enumeration is not None  # noqa: S101 - so is a field of that kind
            return rng.choice(enumeration.values).number
        case _:
            return rng.choice((0.0, -1.0, 1e30, float("nan")))


def _messages(message: Message) -> Iterator[Message]:
    """A message and all messages in it."""
    pending = [message]
    while pending:
        current = pending.pop()
        yield current
        for field, value in current.ListFields():
            if field.cpp_type == FieldDescriptor.CPPTYPE_MESSAGE:
                pending.extend(value if field.is_repeated else [value])
