"""The names in a file: of values, nodes, operators, attributes, functions and domains.

A text of a file may have any bytes, and Python gets one that is not UTF-8 as bytes. Names of values
are given back to ONNX Runtime, and all names are shown. So such a name is refused when the file is
read.
"""

from collections.abc import Iterator
from itertools import chain

import onnx

from sonnx_ort.errors import InvalidModel
from sonnx_ort.loading.file_traversal import graphs_and_nodes


def require_readable_names(proto: onnx.ModelProto) -> None:
    """Check that all names in a model are UTF-8, and its metadata, which say what it is made of.

    Raises:
        InvalidModel: One is not.
    """
    for name in _names(proto):
        if isinstance(name, bytes):
            raise InvalidModel(f"the name {name!r} is not valid UTF-8; give it another")
    for entry in proto.metadata_props:
        texts: tuple[str | bytes, ...] = entry.key, entry.value
        if any(isinstance(text, bytes) for text in texts):
            raise InvalidModel(
                f"the entry {entry.key!r} of its metadata is not valid UTF-8; write it in UTF-8"
            )


def _names(proto: onnx.ModelProto) -> Iterator[str | bytes]:
    """What has a name in a file: graphs, values, sizes, nodes, attributes and functions."""
    graphs, nodes = graphs_and_nodes(proto)
    for graph in graphs:
        yield graph.name
        for declared in chain(graph.input, graph.output, graph.value_info):
            yield declared.name
            for dimension in declared.type.tensor_type.shape.dim:
                yield dimension.dim_param
        for tensor in graph.initializer:
            yield tensor.name
        for sparse in graph.sparse_initializer:
            yield sparse.values.name
    for node in nodes:
        yield node.name
        yield node.op_type
        yield node.domain
        yield node.overload
        yield from node.input
        yield from node.output
        for attribute in node.attribute:
            yield attribute.name
            yield attribute.ref_attr_name
    for function in proto.functions:
        yield function.name
        yield function.domain
        yield function.overload
        yield from chain(function.input, function.output, function.attribute)
        yield from (attribute.name for attribute in function.attribute_proto)
        yield from (declared.name for declared in function.value_info)
    imports = chain(proto.opset_import, *(each.opset_import for each in proto.functions))
    yield from (entry.domain for entry in imports)
