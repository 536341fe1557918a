"""The fields that a model may have: those of which is known what they say.

A field that a newer version of ONNX adds may change what a model means, so it is rejected until it
is known.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from google.protobuf.descriptor import FieldDescriptor
from google.protobuf.unknown_fields import UnknownFieldSet

from sonnx_ort.kernel.sizes import require

_NAMED = "name doc_string metadata_props"
_STORED = "raw_data float_data int32_data int64_data double_data uint64_data string_data"

FIELDS: Mapping[str, frozenset[str]] = {
    message: frozenset(fields.split())
    for message, fields in {
        "ModelProto": "ir_version opset_import producer_name producer_version domain model_version "
        "doc_string graph metadata_props functions",
        "OperatorSetIdProto": "domain version",
        "StringStringEntryProto": "key value",
        "GraphProto": f"{_NAMED} node initializer sparse_initializer input output value_info",
        "FunctionProto": f"{_NAMED} domain overload input output attribute attribute_proto node "
        "opset_import value_info",
        "NodeProto": f"{_NAMED} input output op_type domain overload attribute",
        "AttributeProto": "name doc_string type ref_attr_name f i s t g floats ints strings "
        "sparse_tensor tp",
        "TensorProto": f"{_NAMED} dims data_type data_location external_data {_STORED}",
        "SparseTensorProto": "values indices dims",
        "ValueInfoProto": f"{_NAMED} type",
        "TypeProto": "tensor_type sparse_tensor_type sequence_type optional_type map_type "
        "denotation",
        "Tensor": "elem_type shape",
        "SparseTensor": "elem_type shape",
        "Sequence": "elem_type",
        "Optional": "elem_type",
        "Map": "key_type value_type",
        "TensorShapeProto": "dim",
        "Dimension": "dim_value dim_param denotation",
    }.items()
}
"""The fields that each message may have."""

STORED = tuple(_STORED.split())
"""The fields of a tensor of which one has its elements."""


def require_once(names: Sequence[str], what: str) -> None:
    """Reject what has no name, or the name of another."""
    seen = set[str]()
    for name in names:
        require(name, f"{what} has no name")
        require(name not in seen, f"{what} '{name}' is there twice")
        seen.add(name)


def require_known_fields(message: Any) -> None:
    """Reject a message that has a field of which nothing is known, or a text that is none."""
    kind = message.DESCRIPTOR.name
    require(not len(UnknownFieldSet(message)), f"a {kind} has a field that is not known")
    for field, value in message.ListFields():
        require(field.name in FIELDS.get(kind, ()), f"a {kind} has a {field.name}")
        if field.type not in (FieldDescriptor.TYPE_STRING, FieldDescriptor.TYPE_MESSAGE):
            continue
        single = isinstance(value, str | bytes) or hasattr(value, "ListFields")
        for each in [value] if single else value:
            if field.type == FieldDescriptor.TYPE_MESSAGE:
                require_known_fields(each)
            else:
                require(isinstance(each, str), f"the {field.name} {each!r} of a {kind} is no UTF-8")
