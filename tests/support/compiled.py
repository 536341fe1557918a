"""Runs all compiled kernels of a library: `python -m support.compiled LIBRARY`.

It prints a digest of what they give and say, which is the same for every build of them. It runs in
a process of its own, which a faulty kernel can end.
"""

import functools
import hashlib
import itertools
import os
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import onnx
import onnxruntime as ort
from onnx import helper
from onnxruntime.capi.onnxruntime_pybind11_state import get_all_opkernel_def

from sonnx_ort.custom_ops.compiled.catalog import (
    COMPILED_OPERATORS,
    CompiledOperator,
    compiled_name,
)
from sonnx_ort.facts.catalog import operator_version
from sonnx_ort.profile.element_type import ElementType, Family
from sonnx_ort.profile.layout import BROADCAST
from sonnx_ort.profile.operator import COMPILED_DOMAIN
from sonnx_ort.profile.options import Edition
from sonnx_ort.vectors.applied import special_values
from support.graphs import model, tensor
from support.ort_values import run
from support.sessions import quiet

SOURCES = Path(__file__).resolve().parents[2] / "custom_ops/compiled"

KERNELS = SOURCES / "kernels.cc"

HEADER = Path(os.environ.get("ONNXRUNTIME_C_API", "/usr/include/onnxruntime/onnxruntime_c_api.h"))
"""ONNX Runtime's own header: that of libonnxruntime-dev, unless the variable names another."""

OPSET = 17
"""The version of the standard operators."""

SHAPES: tuple[tuple[tuple[int, ...], tuple[int, ...]], ...] = (
    ((), ()),
    ((0, 3), (0, 3)),
    ((7,), (7,)),
    ((3, 1, 5), (4, 1)),
    ((5,), (1, 2, 1)),
    ((2, 300), (300,)),
    ((300, 2), (300, 1)),
    ((33000, 3), (33000, 3)),
    ((100000,), (1,)),
    ((1,), (100000,)),
    ((3, 20000), (3, 1)),
    ((2, 2), (3,)),
    ((0,), (1,)),
)
"""Shapes of two operands: equal ones, such that are broadcast, and two that are not."""


def operands_of(compiled: CompiledOperator) -> tuple[str, ...]:
    """The names of the operands that are tried: three of an operator that takes any number."""
    return compiled.operator.operand_names(3)


def broadcasting(compiled: CompiledOperator) -> dict[str, str]:
    """The attributes of a kernel that broadcasts all its operands."""
    names = operands_of(compiled)
    return {"expanded": " ".join(names)} | {f"operand_{i}": n for i, n in enumerate(names)}


RUNS = Path(__file__).with_name("kernel_runs.cc")
"""The program that runs kernels without ONNX Runtime."""

ARITHMETIC = ("-ffp-contract=off", "-fno-math-errno", "-fno-trapping-math")
"""What the installation compiles with, beside what optimizes."""


def compile_kernels(library: Path, *options: str, compiler: str = "g++") -> None:
    """Compile the kernels, with all warnings as errors.

    Raises:
        CalledProcessError: The compiler refuses; its messages are the output.
    """
    compile_cpp([compiler], KERNELS, library, "-shared", "-fPIC", *options)


def compile_cpp(compiler: Sequence[str], source: Path, made: Path, *options: str) -> None:
    """Compile C++ as the installation does, with all warnings as errors.

    Raises:
        CalledProcessError: The compiler refuses; its messages are the output.
    """
    command = [*compiler, "-std=c++17", "-Wall", "-Wextra", "-Werror", "-fvisibility=hidden"]
    command += [*ARITHMETIC, *options, str(source), "-o", str(made)]
    subprocess.run(command, check=True, capture_output=True, text=True)


STANDARD_ATTRIBUTES: Mapping[str, dict[str, str | int]] = {
    "BitShift": {"direction": "LEFT"},
    "Mod": {"fmod": 1},
}
"""What nodes of operators need that ONNX Runtime computes."""


def session_of(
    library: str,
    compiled: CompiledOperator,
    element_type: ElementType,
    attributes: Mapping[str, str | int],
) -> ort.InferenceSession:
    """Start a session on a model of one compiled operator, with two threads."""
    operator = compiled.operator
    given: dict[str, str | int] = dict(STANDARD_ATTRIBUTES.get(operator.name, {}))
    if compiled.standard is not None:
        given["version"] = operator_version(operator.name, OPSET)
    node = helper.make_node(
        compiled_name(operator),
        operands_of(compiled),
        ["result"],
        domain=COMPILED_DOMAIN,
        **{**given, **attributes},
    )
    result = operator.result_type or element_type.value
    return _session(library, node, operand_types(compiled, element_type), {"result": result})


def operand_types(compiled: CompiledOperator, element_type: ElementType) -> dict[str, str]:
    """The names of the types of operands."""
    own = compiled.operator.operand_types
    return dict.fromkeys(operands_of(compiled), element_type.value) | dict(own)


def _session(
    library: str, node: onnx.NodeProto, operands: Mapping[str, str], results: Mapping[str, str]
) -> ort.InferenceSession:
    values = [
        [tensor(name, kind, None) for name, kind in declared.items()]
        for declared in (operands, results)
    ]
    made = model([node], *values, opset=OPSET, domains={COMPILED_DOMAIN: 1})
    options = quiet()
    options.intra_op_num_threads = 2
    options.register_custom_ops_library(library)
    return ort.InferenceSession(made.SerializeToString(), options)


def session_of_broadcast(
    library: str,
    element_type: ElementType,
    operands: Sequence[str] = ("a", "b", "c"),
    attributes: Mapping[str, str] | None = None,
) -> ort.InferenceSession:
    """Start a session on a Broadcast, with two threads.

    Without attributes the node is "tried", and its operands have their names.
    """
    results = [f"result_{index}" for index in range(len(operands))]
    named = {"node": "tried"} | {f"operand_{i}": name for i, name in enumerate(operands)}
    node = helper.make_node(
        compiled_name(BROADCAST),
        operands,
        results,
        domain=COMPILED_DOMAIN,
        **(named if attributes is None else attributes),
    )
    inputs = dict.fromkeys(filter(None, operands), element_type.value)
    return _session(library, node, inputs, dict.fromkeys(results, element_type.value))


def outcomes(library: str) -> Iterator[bytes]:
    """What every kernel gives or says, for operands of each pair of shapes."""
    for element_type in ElementType:
        session = session_of_broadcast(library, element_type)
        for shapes in SHAPES:
            operands = [_elements(element_type, shape) for shape in (*shapes, (1,))]
            yield _outcome(session, ("a", "b", "c"), operands)
    for compiled in COMPILED_OPERATORS.values():
        names = operands_of(compiled)
        attributes = {"node": "tried"} | (broadcasting(compiled) if len(names) > 1 else {})
        for element_type, edition in itertools.product(compiled.types, Edition):
            if not has_standard_kernel(compiled, element_type):
                continue
            types = [ElementType(t) for t in operand_types(compiled, element_type).values()]
            session = session_of(
                library, compiled, element_type, {**attributes, "edition": edition.value}
            )
            for shapes in SHAPES if len(names) > 1 else SHAPES[:3]:
                operands = zip(types, (*shapes, (1,)), strict=False)
                yield _outcome(session, names, [_elements(*operand) for operand in operands])


def has_standard_kernel(compiled: CompiledOperator, element_type: ElementType) -> bool:
    """Whether ONNX Runtime has the kernel that a compiled one asks for, if it does."""
    if compiled.standard is None:
        return True
    version = operator_version(compiled.operator.name, OPSET)
    return any(
        kernel.op_name == compiled.operator.name
        and kernel.version_range[0] <= version <= kernel.version_range[1]
        and f"tensor({element_type.value})" in kernel.type_constraints["T"]
        for kernel in _kernels_of_onnx_runtime()
    )


@functools.cache
def _kernels_of_onnx_runtime() -> Sequence[Any]:
    return tuple(get_all_opkernel_def())


def _outcome(
    session: ort.InferenceSession, names: Sequence[str], operands: Sequence[npt.NDArray[np.generic]]
) -> bytes:
    try:
        results = run(session, dict(zip(names, operands, strict=False)))
    except Exception as error:  # noqa: BLE001 - what a kernel says is what it gives
        return str(error).encode()
    given = b""
    for result in results:
        assert result is not None
        if result.dtype.kind in "fV":
            # Which NaN it is depends on the instructions.
            result[np.isnan(result.astype(np.float64))] = np.nan
        given += str(result.shape).encode() + result.tobytes()
    return given


@functools.cache
def _elements(element_type: ElementType, shape: tuple[int, ...]) -> npt.NDArray[np.generic]:
    """Special values, and numbers at random; of many integers none that breaks a rule of Div."""
    count = int(np.prod(shape, dtype=np.int64))
    random = np.random.default_rng(count)
    dtype = element_type.dtype
    bits = random.integers(0, 1 << 8 * dtype.itemsize, count, np.uint64, endpoint=False)
    elements = bits.astype(f"u{dtype.itemsize}").view(dtype)
    if element_type.family is Family.BOOLEAN:
        elements = bits % 2 == 0
    edges = special_values(element_type)
    elements[: len(edges)] = edges[:count]
    if element_type.family is Family.INTEGER and count > len(edges):
        elements[(elements == 0) | (elements == edges[0])] = 7
    return elements.reshape(shape)


if __name__ == "__main__":
    whole = hashlib.sha256()
    for outcome in outcomes(sys.argv[1]):
        whole.update(outcome)
    sys.stdout.write(f"{whole.hexdigest()}\n")
