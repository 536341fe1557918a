"""What a run checks of a rule: one flag, computed from the operands.

A guard says how, by operators of ONNX. Who adds nodes to a model gets the flag as a value; the
checker of certificates gets it as an expression, and looks for it in the model.

    guard          what a guard is, and what it knows of a node
    catalog        the guard of each kind of requirement, that of terms too, and of single values
    element_guards, shape_guards    what the guards compute
    zeros          the signs of zeros, which are set after a node
"""
