"""What is known of a model without running it: facts, obligations and the report of them.

Changes no graph. A premise is what the runtime enforces or what the file itself contains: declared
types of graph inputs, initializers, and operators of known meaning. What a file claims about its
intermediate values and outputs is no premise.
"""
