"""What is known of a model before it runs: facts, and the rules that make them.

A fact is the type, the shape, the elements or the bounds of a value in every run that continues. It
is made by the rule of the operator that computes the value, from facts about the operands, and in
no other way. One engine derives them, for the analysis and for the checker of certificates, each of
which reads its graph by a view. Python and onnx are all that this room needs.

    sizes        numbers, and polynomials of sizes that only a run decides
    ranges       intervals of floats
    decimals     bounds as decimals of few digits
    node         what a rule may read of a node, and what a graph is
    established  the facts of a model, each of which is made once
    deriving     the engine: all facts of a graph, in its order
    iterations   Loops and Scans, and what is assumed of their states
    misinference what ONNX Runtime may infer wrongly of shapes
    fatal_shapes the shapes at which it ends the process
    operators    the table: what is known of each operator, in one row
    catalog      the rules of a node whose version and attributes are verified
    layout, products, reductions, shaping
                 rules of shapes
    elements     rules of the elements of vectors and scalars that may be sizes
    bounds       rules of intervals of integers
    intervals    ranges of floats; interval_functions, interval_sums, interval_recurrent and
                 interval_layout have their rules
    moving       whose elements results have, and the rules that follow from that
    types        the types of values, from the schemas of operators
    schemas, attributes
                 what onnx knows of an operator, and what a file says of a node
"""
