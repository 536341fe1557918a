"""Reads a model strictly: what can be read in two ways is rejected.

The fields that a model may have: those of which is known what they say. A field that a newer
version of ONNX adds may change what a model means, so it is rejected until it is known.

ONNX Runtime takes the first of two attributes of one name, the last of two imports of one domain,
and a function of the model for an operator. Each model of a certificate goes through `strict`
first, so that what the checker reads is what ONNX Runtime runs.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from math import prod
from typing import Any

import onnx
from google.protobuf.descriptor import FieldDescriptor
from google.protobuf.unknown_fields import UnknownFieldSet
from onnx import (
    AttributeProto,
    FunctionProto,
    GraphProto,
    NodeProto,
    OperatorSetIdProto,
    SparseTensorProto,
    TensorProto,
    ValueInfoProto,
    defs,
    helper,
    numpy_helper,
)

from sonnx_ort.facts.schemas import operator_schema
from sonnx_ort.facts.sizes import Rejected, require

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


_BITS = {
    **dict.fromkeys(("UINT2", "INT2"), 2),
    **dict.fromkeys(("UINT4", "INT4", "FLOAT4E2M1"), 4),
    **dict.fromkeys(("BOOL", "UINT8", "INT8", "FLOAT8E8M0"), 8),
    **dict.fromkeys(("FLOAT8E4M3FN", "FLOAT8E4M3FNUZ", "FLOAT8E5M2", "FLOAT8E5M2FNUZ"), 8),
    **dict.fromkeys(("UINT16", "INT16", "FLOAT16", "BFLOAT16"), 16),
    **dict.fromkeys(("UINT32", "INT32", "FLOAT"), 32),
    **dict.fromkeys(("UINT64", "INT64", "DOUBLE", "COMPLEX64"), 64),
    "COMPLEX128": 128,
    "STRING": 0,
}
"""The bits of an element, by the name of its type."""

_KINDS = {number: kind for kind, number in TensorProto.DataType.items()}
_SIGNED = ("INT8", "INT16", "INT32")
_EXTERNAL_KEYS = frozenset({"location", "offset", "length", "checksum"})


def elements_of(tensor: TensorProto) -> Any:
    """The elements of a tensor."""
    inside = tensor.data_location != TensorProto.EXTERNAL
    require(inside, "its elements lie in another file, which no digest covers")
    return numpy_helper.to_array(tensor)


def read_sparse(tensor: SparseTensorProto) -> None:
    """Reject a sparse tensor whose parts are not what they seem."""
    read_tensor(tensor.values)
    read_tensor(tensor.indices)
    require(all(size >= 0 for size in tensor.dims), "a size of a sparse tensor is negative")


def read_tensor(tensor: TensorProto) -> None:
    """Reject a tensor whose elements do not stand in one place, as many as its shape says."""
    name = f"the tensor '{tensor.name}'"
    kind = _KINDS.get(tensor.data_type, "")
    require(kind in _BITS, f"the type of {name} is not known")
    require(all(size >= 0 for size in tensor.dims), f"a size of {name} is negative")
    filled = [field.name for field, _ in tensor.ListFields() if field.name in STORED]
    if tensor.data_location == TensorProto.EXTERNAL:
        _read_place(tensor, name)
        require(not filled, f"{name} has elements, and lies in another file")
        return
    require(not tensor.external_data, f"{name} lies in this file and in another one")
    count, bits = prod(tensor.dims), _BITS[kind]
    if filled == ["raw_data"]:
        size = len(tensor.raw_data)
        require(bits and size == -(-count * bits // 8), f"{name} has {size} bytes")
        return
    field = helper.tensor_dtype_to_field(tensor.data_type)
    require(filled in ([], [field]), f"{name} has elements of another type")
    entries, packed = getattr(tensor, field), bits in (2, 4)
    needed = -(-count * bits // 8) if packed else count * (2 if kind.startswith("COMPLEX") else 1)
    require(len(entries) == needed, f"{name} has {len(entries)} elements")
    if field in ("int32_data", "uint64_data") and entries:
        width = 8 if packed else bits
        low = -(1 << (width - 1)) if kind in _SIGNED else 0
        inside = low <= min(entries) and max(entries) < low + (1 << width)
        require(inside, f"an element of {name} is beyond its type")


def _read_place(tensor: TensorProto, name: str) -> None:
    keys = [entry.key for entry in tensor.external_data]
    require_once(keys, f"where {name} lies,")
    known = "location" in keys and _EXTERNAL_KEYS.issuperset(keys)
    require(known, f"it is not known where {name} lies")


VERSIONS = range(7, 24)
"""The versions of the opset whose documents were read."""

OWN_DOMAIN = "sonnx"
"""The domain of Broadcast, the operator of the profile that is no operator of ONNX."""

_FORMATS = range(3, 15)
"""The versions of the format that are known."""

_RESERVED = ("", OWN_DOMAIN, "sonnx.compiled")
"""The domains in which a model defines no operators."""

_VALUE_FIELDS = {
    AttributeProto.FLOAT: "f",
    AttributeProto.INT: "i",
    AttributeProto.STRING: "s",
    AttributeProto.TENSOR: "t",
    AttributeProto.GRAPH: "g",
    AttributeProto.SPARSE_TENSOR: "sparse_tensor",
    AttributeProto.TYPE_PROTO: "tp",
    AttributeProto.FLOATS: "floats",
    AttributeProto.INTS: "ints",
    AttributeProto.STRINGS: "strings",
}
"""The field that has the value of an attribute, by its type."""

_SINGLE = frozenset(_VALUE_FIELDS.values()) - {"floats", "ints", "strings"}


def strict(model: onnx.ModelProto) -> onnx.ModelProto:
    """Read a model.

    Returns:
        The model, or a copy in which the standard operators are in the domain "" alone.

    Raises:
        Rejected: Something in it can be read in two ways, or is not known.
    """
    require_known_fields(model)
    model = _with_one_name_of_domains(model)
    require(model.ir_version in _FORMATS, "the version of the format is not known")
    imports = _imports(model.opset_import)
    require(imports.get("") in VERSIONS, "the version of the opset is not known")
    require(imports.get(OWN_DOMAIN, 1) == 1, f"the version of '{OWN_DOMAIN}' is not known")
    _read_functions(model.functions)
    _Reader(imports).read_graph(model.graph, frozenset(), main=True)
    return model


def defined_in(graph: GraphProto) -> list[str]:
    """The names of the values that a graph defines, without those of its bodies."""
    names = [value.name for value in graph.input]
    inputs = {*names}
    names += [tensor.name for tensor in graph.initializer if tensor.name not in inputs]
    names += [tensor.values.name for tensor in graph.sparse_initializer]
    return [*names, *(name for node in graph.node for name in node.output if name)]


def _with_one_name_of_domains(model: onnx.ModelProto) -> onnx.ModelProto:
    """The model, or a copy in which no domain has the name "ai.onnx", the alias of ""."""
    if all(entry.domain != "ai.onnx" for entry in _in_domains(model)):
        return model
    copy = onnx.ModelProto()
    copy.CopyFrom(model)
    for entry in _in_domains(copy):
        if entry.domain == "ai.onnx":
            entry.domain = ""
    return copy


def _in_domains(model: onnx.ModelProto) -> Iterator[OperatorSetIdProto | FunctionProto | NodeProto]:
    yield from model.opset_import
    yield from _all_nodes(model.graph.node)
    for function in model.functions:
        yield from (function, *function.opset_import, *_all_nodes(function.node))


def _all_nodes(nodes: Iterable[NodeProto]) -> Iterator[NodeProto]:
    for node in nodes:
        yield node
        for attribute in node.attribute:
            if attribute.HasField("g"):
                yield from _all_nodes(attribute.g.node)


def _imports(entries: Iterable[OperatorSetIdProto]) -> dict[str, int]:
    imports: dict[str, int] = {}
    for entry in entries:
        require(entry.domain not in imports, f"the domain '{entry.domain}' is imported twice")
        imports[entry.domain] = entry.version
    return imports


def _read_functions(functions: Sequence[FunctionProto]) -> None:
    """Read functions, of which no obligation is concluded, and that stand for no operator."""
    calls: dict[tuple[str, str, str], set[tuple[str, str, str]]] = {}
    for function in functions:
        name = f"the function '{function.name}'"
        key = (function.domain, function.name, function.overload)
        require(function.domain not in _RESERVED, f"{name} is in the domain '{function.domain}'")
        require(key not in calls, f"{name} is there twice")
        nodes = _all_nodes(function.node)
        calls[key] = {(node.domain, node.op_type, node.overload) for node in nodes}
        parameters = [*function.attribute, *(each.name for each in function.attribute_proto)]
        require_once([*function.input], f"an input of {name}")
        require_once([*function.output], f"an output of {name}")
        require_once(parameters, f"a parameter of {name}")
        _Reader(_imports(function.opset_import), parameters=frozenset(parameters)).read_nodes(
            function.node, function.input, frozenset()
        )
    while calls:
        ends = {key for key, called in calls.items() if called.isdisjoint(calls)}
        require(ends, "functions call each other in a circle")
        calls = {key: called for key, called in calls.items() if key not in ends}


class _Reader:
    """Reads graphs whose nodes are of imported domains."""

    def __init__(self, imports: dict[str, int], parameters: Set[str] = frozenset()) -> None:
        self._imports = imports
        self._parameters = parameters

    def read_graph(self, graph: GraphProto, outer: Set[str], *, main: bool = False) -> None:
        """Read a graph inside others, which define names."""
        inputs = {value.name: value for value in graph.input}
        stored = [each.name for each in graph.initializer]
        stored += [each.values.name for each in graph.sparse_initializer]
        require_once(stored, "an initializer")
        for tensor in graph.initializer:
            read_tensor(tensor)
            if tensor.name in inputs:
                agree = main and _is_declared(tensor, inputs[tensor.name])
                require(agree, f"the initializer '{tensor.name}' is not as the input is declared")
        for sparse in graph.sparse_initializer:
            read_sparse(sparse)
        values = [name for name in defined_in(graph) if name in inputs or name in stored]
        scope = self.read_nodes(graph.node, values, outer)
        for value in graph.output:
            known = value.name in scope and value.name not in outer
            require(known, f"nothing in its graph computes the output '{value.name}'")

    def read_nodes(
        self, nodes: Sequence[NodeProto], values: Iterable[str], outer: Set[str]
    ) -> Set[str]:
        """Read nodes next to values that have other origins; all names that are defined then."""
        results = [name for node in nodes for name in node.output if name]
        own = [*values, *results]
        require_once(own, "a value")
        shadowing = next((name for name in own if name in outer), "")
        require(not shadowing, f"a value '{shadowing}' is there twice, in a graph and in its body")
        scope = {*outer, *own}
        for node in nodes:
            self._read_node(node, scope)
        return scope

    def _read_node(self, node: NodeProto, scope: Set[str]) -> None:
        name = f"the {node.op_type} of {[*node.output]}"
        require(any(node.output), f"{name} has no result")
        require(node.domain in self._imports, f"the domain '{node.domain}' is not imported")
        unknown = next((each for each in node.input if each and each not in scope), "")
        require(not unknown, f"nothing computes '{unknown}', which {name} reads")
        require_once([each.name for each in node.attribute], f"an attribute of {name}")
        if node.domain == "":
            require(not node.overload, f"{name} is an overload")
            _read_by_schema(node, self._imports[""], name)
        if node.domain == OWN_DOMAIN and node.op_type == "Broadcast":
            plain = not node.attribute and not node.overload and all(node.input)
            require(plain and len(node.output) <= len(node.input), f"{name} is not known")
        for attribute in node.attribute:
            self._read_attribute(attribute, f"the attribute {attribute.name} of {name}", scope)

    def _read_attribute(self, attribute: AttributeProto, name: str, scope: Set[str]) -> None:
        own = _VALUE_FIELDS.get(attribute.type, "")
        require(own, f"the type of {name} is not known")
        filled = {field.name for field, _ in attribute.ListFields()} - {"doc_string"}
        if attribute.ref_attr_name:
            given = attribute.ref_attr_name in self._parameters
            require(given, f"{name} refers to no parameter of a function")
            require(filled <= {"name", "type", "ref_attr_name"}, f"{name} has a value, too")
            return
        require(own in filled or own not in _SINGLE, f"{name} has no value of its type")
        require(filled <= {"name", "type", own}, f"{name} has a value of another type")
        if own == "t":
            read_tensor(attribute.t)
        elif own == "sparse_tensor":
            read_sparse(attribute.sparse_tensor)
        elif own == "g":
            self.read_graph(attribute.g, scope)


def _read_by_schema(node: NodeProto, version: int, name: str) -> None:
    """Hold the attributes and the numbers of operands and results to an operator's schema."""
    schema = operator_schema(node.op_type, version)
    if schema is None:
        raise Rejected(f"{name} is no operator of version {version}")
    kinds = {key: known.type for key, known in schema.attributes.items()}
    for attribute in node.attribute:
        key, kind = attribute.name, AttributeProto.AttributeType.Name(attribute.type)
        require(key in kinds, f"{name} has no attribute {key}")
        same = kinds[key] == getattr(defs.OpSchema.AttrType, kind, None)
        require(same, f"the attribute {key} of {name} has another type")
    given = {attribute.name for attribute in node.attribute}
    missing = [key for key, each in schema.attributes.items() if each.required and key not in given]
    require(not missing, f"{name} lacks the attribute {' '.join(missing)}")
    alone = node.op_type != "Constant" or len(node.attribute) == 1
    require(alone, f"{name} has {len(node.attribute)} values")
    inputs = schema.min_input <= len(node.input) <= schema.max_input
    outputs = schema.min_output <= len(node.output) <= schema.max_output
    require(inputs and outputs, f"{name} has another number of operands or results")


def _is_declared(tensor: TensorProto, declared: ValueInfoProto) -> bool:
    """Whether a tensor has the type and the shape of an input."""
    kind = declared.type.tensor_type
    sizes = [size.dim_value if size.HasField("dim_value") else -1 for size in kind.shape.dim]
    fits = len(sizes) == len(tensor.dims) and all(
        size < 0 or size == own for size, own in zip(sizes, tensor.dims, strict=False)
    )
    return kind.elem_type == tensor.data_type and (fits or not kind.HasField("shape"))
