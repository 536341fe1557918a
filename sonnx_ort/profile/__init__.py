"""What the SONNX profile demands: editions, element types, rules and operators.

The bottom room: it knows no graph, no file and no runtime. An operator of the profile is one file
here that lists its rules; `catalog.py` names them all.
"""
