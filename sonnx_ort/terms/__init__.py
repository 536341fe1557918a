"""Demands on the operands of a node: one term each, and its readers.

A rule of the profile is a sentence, its source and a term. What a run checks, what the analysis
decides, what stands in front of a node and what is proved of it are readings of the term.

    language     what a term is made of: ranks, sizes, comparisons, sets of numbers
    reading      whether a term holds of shapes, as far as they are known, and why, in words
    operand      an operand of a node, as far as it is known
    text         names and texts of a model as people may see them
"""
