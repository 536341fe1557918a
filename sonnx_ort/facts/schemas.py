"""The schemas of operators, as onnx has them: one question, asked here alone."""

import functools

import onnx.defs


def operator_schema(name: str, version: int, domain: str = "") -> onnx.defs.OpSchema | None:
    """The schema of an operator in a version of the opset of its domain; None if there is none."""
    try:
        return onnx.defs.get_schema(name, version, domain)
    except onnx.defs.SchemaError:
        return None


def known_schema(name: str, version: int) -> onnx.defs.OpSchema:
    """The schema of an operator of the standard that is known to exist in a version.

    Raises:
        LookupError: It does not.
    """
    schema = operator_schema(name, version)
    if schema is None:
        raise LookupError(f"there is no {name} in version {version}")
    return schema


@functools.cache
def allowed_types(name: str, version: int, domain: str) -> tuple[frozenset[str], ...]:
    """The types of each input of an operator, such as "tensor(float)"; none without a schema."""
    schema = operator_schema(name, version, domain)
    if schema is None:
        return ()
    constraints = {c.type_param_str: c.allowed_type_strs for c in schema.type_constraints}
    return tuple(frozenset(constraints.get(i.type_str, [i.type_str])) for i in schema.inputs)
