"""Keeps ONNX Runtime from computing a Shape from static shapes that are wrong, or not to be known.

    shapes         a shape that is known only in a run
    read_shapes    what only Shapes read: a check that ONNX Runtime would remove
    body_outputs   an output of a body, which enforcement may replace
    scan_outputs   outputs of the bodies of Scans, which need their declared rank
    loop_outputs   outputs of the bodies of Loops, of which no more may be known than before

An example: the rank of `r`, the largest element of an empty tensor, may be inferred wrongly. So a
guard of `Div(r, x)` does not read the Shape of r but that of a value which a Loop without
iterations passes on:

    r -> Shape -> Equal                       computed when the session starts, wrongly
    r -> Loop -> r_of_any_rank -> Shape -> Equal    computed in the run
"""
