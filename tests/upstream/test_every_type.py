"""ONNX Runtime's own operators in each element type: where it has kernels, and what they do."""

import json
import platform

import numpy as np
import pytest

from sonnx_ort.profile.catalog import ELEMENTWISE_OPERATORS, OPERATORS
from sonnx_ort.profile.element_type import ElementType
from sonnx_ort.profile.operator import OF_THE_NODE
from support import operator_cases
from support.bare_nodes import RUN
from support.changes import before_and_since, changed
from support.child import run_python
from support.operator_cases import OPERATOR_CASES, called
from support.values import SIGNED_INTEGERS

pytestmark = pytest.mark.upstream

FLOATS = tuple(map(str, operator_cases.FLOATS))
SIGNED = tuple(map(str, SIGNED_INTEGERS))
UNSIGNED = tuple(map(str, operator_cases.UNSIGNED_INTEGERS))
NUMBERS = FLOATS + SIGNED + UNSIGNED
TYPES = (*NUMBERS, "bfloat16", "bool")

KERNELS = {
    name: {str(t) for t in case.kernels}
    for name, case in OPERATOR_CASES.items()
    if name != "Slice" and OPERATORS[name].result_type != OF_THE_NODE
}
"""The types of which the operators' pages say that ONNX Runtime has kernels, in version 22."""

KERNELS["QuantizeLinear"].add("float16")
KERNELS["DequantizeLinear"] |= {"int8", "uint8", "int16", "uint16"}
# It refuses every run.
KERNELS["LSTM"].add("double")

if changed("BitShift has kernels for uint16"):
    KERNELS["BitShift"].add("uint16")

STARTING = """
def starts(node, result, inputs):
    options = ort.SessionOptions()
    options.log_severity_level = 4
    options.graph_optimization_level = AS_WRITTEN
    model = parse(f"({inputs}) => ({result}[] y) {{ y = {node} }}", opset=22)
    try:
        ort.InferenceSession(model.SerializeToString(), options)
    except Exception as error:
        assert "NOT_IMPLEMENTED" in str(error) or "Type Error" in str(error), error
        return False
    return True

def report_kernels(asked):
    for name, element_type, *rest in asked:
        print(json.dumps([name, element_type, starts(*rest)]), flush=True)
"""


def node_of(name: str, element_type: str) -> tuple[str, str]:
    """The type of a node's result, and the node on operands a, b and so on."""
    operands = "abcdefgh"[: len(OPERATORS[name].operand_names(2))]
    result = OPERATORS[name].result_type or element_type
    return result, called(name, ElementType(element_type).family, operands)


def asked_of(name: str, element_type: str) -> tuple[str, str, str, str, str]:
    """An operator with operands of a type, for `starts`."""
    declared = ", ".join(
        f"{OPERATORS[name].operand_types.get(operand, element_type)}[] {letter}"
        for operand, letter in zip(OPERATORS[name].operand_names(2), "abcdefgh", strict=False)
    )
    result, node = node_of(name, element_type)
    return name, element_type, node, result, declared


@pytest.fixture(scope="module")
def kernels():
    asked = [asked_of(name, t) for name in KERNELS for t in TYPES]
    child = run_python(RUN, STARTING, f"report_kernels({asked!r})")
    assert child.exit_status == 0, child
    found = {}
    for name, element_type, there in map(json.loads, child.stdout.splitlines()):
        found.setdefault(name, set()).update([element_type] if there else [])
    return found


@pytest.mark.parametrize("name", KERNELS)
def test_kernels_are_those_of_the_operators_page(kernels, name):
    """Once there are others, the operator's page and the tests' table have to tell of them."""
    assert kernels[name] == KERNELS[name]


def elements(element_type, *numbers):
    return (f"{element_type}[?]", list(numbers))


def alike(element_type, *sizes):
    """Tensors of ones of these sizes, declared with one symbol."""
    return [(f"{element_type}[n]", [1] * size) for size in sizes]


NAN, INF = float("nan"), float("inf")
SMALLEST = {t: -(2 ** (int(t.removeprefix("int")) - 1)) for t in SIGNED}
LARGE = 3_000_000_000


def broadcast_cases():
    for name in sorted(ELEMENTWISE_OPERATORS & KERNELS.keys()):
        if len(OPERATORS[name].operand_names(2)) == 1:
            continue
        # In this version PRelu of float16 is no kernel, but other nodes.
        for t in ("float",) if name == "PRelu" else sorted(KERNELS[name]):
            operands = [("bool[n]", [True])] if name == "Where" else []
            expression = " ".join(node_of(name, t))
            yield f"{name} of {t}", expression, [*operands, *alike(t, 3, 1)], 3


def silent_cases_of_floats():
    for t in FLOATS:
        yield f"Sqrt of {t}", f"{t} Sqrt(a)", [elements(t, -1, -0.0, -INF)], [NAN, -0.0, NAN]
        yield f"Log of {t}", f"{t} Log(a)", [elements(t, -1, 0, -0.0)], [NAN, -INF, -INF]
        yield f"Reciprocal of {t}", f"{t} Reciprocal(a)", [elements(t, 0, -0.0)], [INF, -INF]
        minus = [elements(t, -0.0)] * 2
        yield f"Where of {t}", f"{t} Where(a, b, c)", [elements("bool", True), *minus], [0.0]
        one = [elements(t, x) for x in (1, 0, 0, -1)]
        normalized = f"{t} BatchNormalization(a, b, c, d, e)"
        yield f"BatchNormalization of {t}", normalized, [(f"{t}[?,?]", [[3]]), *one], [[NAN]]
        divided = [elements(t, 7, INF), elements(t, 0, 2)]
        yield f"Mod of {t}", f"{t} Mod <fmod = 1> (a, b)", divided, [NAN, NAN]
    for t in sorted(KERNELS["Acos"]):
        yield f"Acos of {t}", f"{t} Acos(a)", [elements(t, 1.5, -INF)], [NAN, NAN]


def silent_cases_of_integers():
    for t in SIGNED:
        for operator in ("Abs", "Neg"):
            given = [elements(t, SMALLEST[t])]
            yield f"{operator} of {t}", f"{t} {operator}(a)", given, [SMALLEST[t]]
    for t in ("int8", "int16"):
        smallest = [elements(t, SMALLEST[t]), elements(t, -1)]
        yield f"Div of {t}", f"{t} Div(a, b)", smallest, [SMALLEST[t]]
        yield f"Mod of smallest {t}", f"{t} Mod(a, b)", smallest, [0]
    for t in sorted(KERNELS["BitShift"]):
        width = int(t.removeprefix("uint"))
        for way in ("LEFT", "RIGHT"):
            shifts = [elements(t, 255, 255, 255), elements(t, width, width + 1, 255)]
            expression = f'{t} BitShift <direction = "{way}"> (a, b)'
            yield f"BitShift {way} of {t}", expression, shifts, [0, 0, 0]
    for t in ("uint32", "uint64"):
        pair = [elements(t, *[LARGE] * 5), elements(t, *[0] * 5)]
        yield f"Max of {t}", f"{t} Max(a, b)", pair, [LARGE] * 5
        yield f"Min of {t}", f"{t} Min(a, b)", pair, [0] * 5
    halves = [elements("int64", *[LARGE] * 5), elements("int64", *[0] * 5)]
    rightly = "int64 is compared rightly"
    largest = before_and_since(rightly, [0, 0, 0, 0, LARGE], [LARGE] * 5)
    yield "Max of int64", "int64 Max(a, b)", halves, largest
    smallest = before_and_since(rightly, [LARGE, LARGE, LARGE, LARGE, 0], [0] * 5)
    yield "Min of int64", "int64 Min(a, b)", halves, smallest


def silent_cases_of_shapes():
    for t in sorted(KERNELS["Clip"]):
        bounds = [elements(t, 0, 9), elements(t, 1), elements(t, 3)]
        yield f"Clip of {t}", f"{t} Clip(a, b, c)", bounds, [1, 3]
    for t in sorted(KERNELS["MatMul"]):
        stack, vector = (f"{t}[?,?,?]", [[[1, 1]], [[1, 1]]]), elements(t, 1, 1)
        yield f"MatMul of {t}", f"{t} MatMul(a, b)", [stack, vector], [[2], [2]]
    for t in NUMBERS:
        cut = [elements(t, 1, 2), elements("int64", 7), elements("int64", 9)]
        yield f"Slice of {t}", f"{t} Slice(a, b, c)", cut, []


def silent_cases():
    yield from silent_cases_of_floats()
    yield from silent_cases_of_integers()
    yield from silent_cases_of_shapes()


NUMBERS_OF_ONNX = {"uint8": 2, "int8": 3, "uint16": 4, "int16": 5, "int32": 6, "int64": 7}
NUMBERS_OF_ONNX |= {"uint32": 12, "uint64": 13}


def converted_cases():
    beyond = [NAN, INF, 66000.0]
    for source in ("float", "double"):
        for t, number in NUMBERS_OF_ONNX.items():
            width = int(t.removeprefix("u").removeprefix("int"))
            lower = {"int8": -48, "uint8": 208, "int16": 464, "uint16": 464}.get(t, 66000)
            if width < 32 or t == "uint32":
                told = [0, 0, lower]
            elif t in SIGNED:
                told = [SMALLEST[t], SMALLEST[t], lower]
            else:
                told = [2 ** (width - 1), 0, lower]
            expression = f"{t} Cast <to = {number}> (a)"
            yield f"Cast of {source} to {t}", expression, [elements(source, *beyond)], told
        placed = f"Cast of {source} to uint32, in a longer tensor"
        yield placed, "uint32 Cast <to = 12> (a)", [elements(source, *[NAN] * 9)], [*[2**31] * 8, 0]


def refusing_cases():
    for t in SIGNED + UNSIGNED:
        zero = [elements(t, 7), elements(t, 0)]
        yield f"Div of {t} by zero", f"{t} Div(a, b)", zero, "Integer division by zero"
        yield f"Mod of {t} by zero", f"{t} Mod(a, b)", zero, "Integer modulo by zero"
    for t in sorted(KERNELS["ArgMax"]):
        nothing = [elements(t)]
        yield f"ArgMax of no {t}", "int64 ArgMax <axis = 0> (a)", nothing, "Status Message: $"


CASES = {
    kind: {name: (expression, operands, told) for name, expression, operands, told in cases()}
    for kind, cases in {
        "broadcast": broadcast_cases,
        "silent": silent_cases,
        "converted": converted_cases,
        "refusing": refusing_cases,
    }.items()
}


@pytest.fixture(scope="module")
def outcomes():
    """What each case gives or raises; one child process decides all."""
    asked = [
        (f"{kind}, {name}", expression, operands)
        for kind, cases in CASES.items()
        for name, (expression, operands, _) in cases.items()
    ]
    child = run_python(RUN, f"report({asked!r})")
    found = dict(map(json.loads, child.stdout.splitlines()))
    assert len(found) == len(asked), child
    return found


def given(outcomes, kind, name):
    return eval(outcomes[f"{kind}, {name}"], {"nan": NAN, "inf": INF})  # noqa: S307 - our own child


@pytest.mark.parametrize("name", CASES["broadcast"])
def test_inputs_declared_alike_are_broadcast_silently_in_each_type(outcomes, name):
    """Once it raises, a rule about shapes no longer guards a result that nobody asked for."""
    assert len(given(outcomes, "broadcast", name)) == CASES["broadcast"][name][2]


@pytest.mark.parametrize("name", CASES["silent"])
def test_result_comes_silently_in_each_type(outcomes, name):
    """Once it raises or is another one, the operator's page has to tell so."""
    expected = CASES["silent"][name][2]
    # Infinities, NaN and the signs of zeros count.
    told = np.array(given(outcomes, "silent", name))
    np.testing.assert_array_equal(told, expected)
    np.testing.assert_array_equal(np.signbit(told), np.signbit(expected))


@pytest.mark.skipif(
    platform.machine().lower() not in {"x86_64", "amd64"},
    reason="other processors convert out of range otherwise",
)
@pytest.mark.parametrize("name", CASES["converted"])
def test_float_that_does_not_fit_is_converted_silently(outcomes, name):
    """Once it raises, the rule about what fits can go; another number is another processor."""
    assert given(outcomes, "converted", name) == CASES["converted"][name][2]


@pytest.mark.parametrize("name", CASES["refusing"])
def test_error_is_raised_in_each_type(outcomes, name):
    """Once it is a result, the operator's page has to tell so."""
    assert CASES["refusing"][name][2] in outcomes[f"refusing, {name}"]
