"""How accurate ONNX Runtime's functions of one operand are.

functions    the functions, each with its exact results
findings     what is found of the results, and how findings are added up
arguments    the arguments of each type
sweeps       sessions that compute them
table        the table of the package, made from the record of the campaign
"""
