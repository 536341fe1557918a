"""Reads a model strictly: what can be read in two ways is rejected.

ONNX Runtime takes the first of two attributes of one name, the last of two imports of one domain,
and a function of the model for an operator. Each model of a certificate goes through `strict`
first, so that what the checker reads is what ONNX Runtime runs.
"""

from collections.abc import Iterable, Iterator, Sequence, Set

import onnx
from onnx import (
    AttributeProto,
    FunctionProto,
    GraphProto,
    NodeProto,
    OperatorSetIdProto,
    TensorProto,
    ValueInfoProto,
    defs,
)

from sonnx_ort.checker.fields import require_known_fields, require_once
from sonnx_ort.checker.tensors import read_sparse, read_tensor
from sonnx_ort.kernel.sizes import Rejected, require

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

    Args:
        model: The model; it is not changed.

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


def _in_domains(
    model: onnx.ModelProto,
) -> Iterator[OperatorSetIdProto | FunctionProto | NodeProto]:
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
    try:
        schema = defs.get_schema(node.op_type, version, "")
    except defs.SchemaError as error:
        raise Rejected(f"{name} is no operator of version {version}") from error
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
