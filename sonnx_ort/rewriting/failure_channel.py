"""How an enforced model fails: an impossible shape, at which `Reshape` refuses.

A custom operator cannot raise. It gives its result together with the result's shape, and where a
rule is violated the shape `[-ticket]` instead; the `Reshape` behind it makes the result of the two.
ONNX Runtime's message then holds the name of that `Reshape` and the ticket, whose last two digits
are the code of the rule:

    A, B -> sonnx::Div -> result, shape -> Reshape -> C

No output of the operator is reachable except through the `Reshape`.
"""

import onnx_ir as ir


def make_guard(result: ir.Value, shape: ir.Value, output: ir.Value, *, name: str) -> ir.Node:
    """Make the `Reshape` through which alone an enforced operator's result can be reached.

    Args:
        result: What the operator computed; of no use where a rule is violated.
        shape: The result's own shape, or `[-ticket]`.
        output: The value that the graph goes on with.
        name: The guard's name.
    """
    return ir.node("Reshape", [result, shape], outputs=[output], name=name)
