"""Operands and attributes, read from the notation of the examples of rules.

    X (2, n), axes [0, -1], axis=1, or axis 1
    X [2.5, NaN], Y 3.0, both float16

An operand has a shape, in which ? and names are open sizes; it is a constant; or it has a type.
"X ?" has no known rank, "S (k,) in 1..9" integers between bounds, and "X (2, 3) of [1, NaN]" these
elements again and again. A type by itself is that of all operands, and "unknown types" says that
there is none. "scalars" says that an input is declared as a scalar, and "shared n" that several
dimensions are declared as n.
"""

import ast
import re
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np

from sonnx_ort.kernel.sizes import Bounds
from sonnx_ort.profile.element_type import ElementType
from sonnx_ort.profile.rule import Attributes, AttributeValue
from sonnx_ort.terms.operand import Operand

_NAN = "not a number"


def read(text: str) -> tuple[list[Operand], Attributes]:
    """The operands and the attributes.

    Raises:
        ValueError: It has anything else.
    """
    operands: list[Operand] = []
    attributes: dict[str, AttributeValue] = {}
    known: dict[str, Any] = {}
    kind = None
    for part in parts(text):
        name, is_attribute, value = part.partition("=")
        word, _, rest = part.partition(" ")
        if is_attribute:
            found = _literal(value)
            attributes[name] = tuple(found) if isinstance(found, list) else found
        elif word == "axis":
            attributes[word] = int(rest)
        elif (of_all := re.sub("^(both|all) ", "", part)) in list(ElementType):
            kind = ElementType(of_all)
        elif part == "unknown types":
            known["element_type"] = None
        elif part == "scalars":
            known["scalar_inputs"] = True
        elif word == "shared":
            known["shared_symbols"] = frozenset(rest.split())
        else:
            operands.append(_operand(word, rest))
    if kind is not None:
        operands = [_converted(operand, kind) for operand in operands]
    return [replace(operand, **known) for operand in operands], attributes


def parts(text: str) -> Iterator[str]:
    """The parts between commas that are in no brackets."""
    depth, part = 0, ""
    for letter in f"{text},":
        depth += (letter in "([") - (letter in ")]")
        if letter != "," or depth:
            part += letter
        else:
            yield from filter(None, [part.strip()])
            part = ""


def _literal(text: str) -> Any:
    text = re.sub(r"(?<!\w)NaN(?!\w)", repr(_NAN), text)
    try:
        return _with_nan(ast.literal_eval(re.sub(r"(?<!\w)inf(?!\w)", "1e999", text)))
    except SyntaxError as error:
        raise ValueError(f"{text} is no value") from error


def _with_nan(value: Any) -> Any:
    if isinstance(value, list):
        return [_with_nan(each) for each in value]
    return np.nan if value == _NAN else value


def _operand(name: str, said: str) -> Operand:
    said, _, bounds = said.partition(" in ")
    said, _, repeated = said.partition(" of ")
    operand = Operand(name, name.lower(), "input", "float")
    if bounds:
        interval = Bounds(*map(int, bounds.split("..")))
        operand = replace(operand, element_type="int64", bounds=interval)
    if said in list(ElementType):
        return replace(operand, element_type=said)
    if said.startswith("(") and not repeated:
        sizes = re.sub(r"[A-Za-z_]\w*", lambda symbol: f"'{symbol[0]}'", said)
        return replace(operand, shape=_literal(sizes.replace("?", "None")))
    if said == "?":
        return operand
    array = np.array(_literal(repeated or said))
    if repeated:
        array = np.resize(array, _literal(said))
    if array.dtype.kind not in "if":
        raise ValueError(f"{said} is no number")
    array = array if array.size else array.astype(np.int64)
    kind = ElementType.FLOAT if array.dtype.kind == "f" else ElementType.INT64
    return _converted(replace(operand, shape=array.shape, constant=array), kind)


def _converted(operand: Operand, kind: ElementType) -> Operand:
    constant = operand.constant
    array = None if constant is None else constant.astype(kind.dtype)
    return replace(operand, element_type=kind.value, constant=array)
