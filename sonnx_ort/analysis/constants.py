"""The elements of values that are the same in every run."""

import onnx_ir as ir


def constant_tensor(value: ir.Value) -> ir.TensorProtocol | None:
    """The tensor of an initializer, or of a Constant.

    An initializer that a graph input of the same name can override is no constant. External data
    may be large, and is not at hand where the model came without a place.

    Args:
        value: The value.

    Returns:
        The tensor; None if the elements may differ, lie in external data, or are said twice.
    """
    if value.is_graph_input():
        return None
    try:
        tensor = ir.convenience.get_const_tensor(value)
    except ValueError:
        # A Constant with two attributes, which ONNX Runtime takes.
        return None
    return None if isinstance(tensor, ir.ExternalTensor) else tensor
