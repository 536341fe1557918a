"""The bodies of nodes such as If, Loop and Scan."""

import onnx_ir as ir


def bodies_of(node: ir.Node) -> list[ir.Graph]:
    """The bodies of a node such as If or Loop.

    Args:
        node: The node.
    """
    return [body for attribute in node.attributes.values() for body in bodies_in(attribute)]


def bodies_in(attribute: ir.Attr) -> tuple[ir.Graph, ...]:
    """The bodies in one attribute of a node.

    Args:
        attribute: The attribute; a reference to one of a function has none.
    """
    if attribute.is_ref():
        return ()
    match attribute.type:
        case ir.AttributeType.GRAPH:
            return (attribute.as_graph(),)
        case ir.AttributeType.GRAPHS:
            return tuple(attribute.as_graphs())
        case _:
            return ()
