"""The SONNX profile: editions, element types, rules and operators.

This package depends on no graph, file or runtime. Each operator has a file that lists its rules;
`catalog.py` lists the operators.
"""
