"""What a file declares of a value, which is knowledge of the file and not of any run."""

import onnx_ir as ir

from sonnx_ort.profile.operand import Shape


def declared_type(value: ir.Value) -> str | None:
    """The ONNX name of the declared element type: "float", "int32"; None if none is declared.

    Args:
        value: A value of a graph.
    """
    return None if value.dtype is None else type_name(value.dtype)


def type_name(dtype: ir.DataType) -> str:
    """The ONNX name of an element type.

    Args:
        dtype: The type as the graph library knows it.
    """
    return dtype.name.lower()


def declared_shape(value: ir.Value) -> Shape | None:
    """The declared shape; None if not even the rank is declared. A negative size says nothing.

    Args:
        value: A value of a graph.
    """
    if value.shape is None:
        return None
    sizes = (d if isinstance(d, int) else d.value for d in value.shape)
    return tuple(None if isinstance(size, int) and size < 0 else size for size in sizes)


def is_sparse(value: ir.Value) -> bool:
    """Whether the value is declared as a sparse tensor, or as holding sparse tensors.

    Args:
        value: A value of a graph.
    """
    declared: object = value.type
    while isinstance(declared, ir.SequenceType | ir.OptionalType):
        declared = declared.elem_type
    return isinstance(declared, ir.SparseTensorType)
