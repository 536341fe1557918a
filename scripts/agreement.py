"""Compare the working group's models, test data and generated C with the profile and the oracle.

`scripts/agreement.py --against CHECKOUT [--record PAGE]` reads them from a clone of the group's
repository, in the commit whose drafts are followed; none of them is in this repository. Each model
is checked and audited. Each C function is compiled with `cc`, gets operands with special values,
and its results are audited as those of another implementation. Each Clip of the test data is run
by every backend. `--record` writes the table between the marks of a page.
"""

import argparse
import ctypes
import json
import re
import shutil
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import BrokenExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from environment import exit_status, run_in_environment

run_in_environment()

import numpy as np
import numpy.typing as npt
import onnx
import onnxruntime
from benchmarks.turns import apart
from model_builders.graphs import declared, parse
from onnx import helper
from onnxruntime.capi import onnxruntime_pybind11_state as state

import sonnx_ort
from sonnx_ort.backends import Backend
from sonnx_ort.profile.source import draft_of
from sonnx_ort.runs.audit.verdicts import Verdict

Array = npt.NDArray[Any]

_COMMIT = draft_of("Div").commit
_PROFILE = "safety-related-profile"
_CODE = f"{_PROFILE}/sonnx/ops/code"
_CLIPS = f"{_PROFILE}/sonnx/ops/spec/tests/clip/hypothesis/generated_data.json"
_SPECIAL = (0.0, -0.0, 1.0, -1.0, np.inf, -np.inf, np.nan, 5e-324, 1.7e308, -1.7e308)
_FEEDS = {"reshape": {"X": np.arange(5, dtype=np.int32), "shape": np.array([5])}}
_SUMS = ("add", "add_int")
_BACKENDS = tuple(Backend)
_MARKS = re.compile(r"(<!-- table -->\n).*(<!-- end of the table -->)", re.DOTALL)
_UNDECLARED = re.compile(r"implicit declaration of function \W(\w+)")
_OPSET = 22
_FLAGS = ("-fPIC", "-shared", "-Werror=implicit-function-declaration", "-Wl,--no-undefined")


class NotComputed(Exception):  # noqa: N818 - reads as what it is
    """A function can't be compiled; the message says why."""


class NotThere(Exception):  # noqa: N818 - reads as what it is
    """The clone has not what is compared; the message says what."""


@dataclass(frozen=True, slots=True)
class Row:
    """One line of the table: what was compared, whether it agrees, and what was seen."""

    kind: str
    name: str
    agrees: bool
    seen: str


@dataclass(frozen=True, slots=True)
class Function:
    """A C function of the group, and the operator that it computes.

    Attributes:
        folder: Its folder.
        name: Its name.
        operator: The operator.
        arguments: What it is called with, in its order: a name of an operand, `=` for the result,
            or the number of a scalar.
        shapes: The shapes of the operands, by name, and of the result under `=`.
        attributes: Those of the node.
        finite: Whether its operands are without special values.
    """

    folder: str
    name: str
    operator: str
    arguments: tuple[str | float, ...]
    shapes: Mapping[str, tuple[int, ...]]
    attributes: Mapping[str, Any] = field(default_factory=dict)
    finite: bool = False


_VECTOR: tuple[int, ...] = (len(_SPECIAL) ** 2,)
_NORMALIZED = ("X", "scale", "mean", "var", "B", float(np.float32(1e-5)), "=")
_CHANNELS = {"X": (2, 3, 4), **dict.fromkeys(("scale", "B", "mean", "var"), (3,)), "=": (2, 3, 4)}
_TRAINED = {"epsilon": 1e-5, "momentum": 0.9, "training_mode": 0}
_BOUNDED = {"X": _VECTOR, "L": (), "M": (), "=": _VECTOR}
_IMAGE = {"X": (1, 2, 5, 6), "W": (3, 2, 2, 2), "=": (1, 3, 3, 6)}
_WINDOW = {"auto_pad": "NOTSET", "dilations": [1, 2], "group": 1, "strides": [2, 1]}
_KERNEL = {**_WINDOW, "kernel_shape": [2, 2], "pads": [1, 0, 1, 2]}
_MATRICES = {"A": (4, 7), "B": (7, 5), "=": (4, 5)}
_FLATTENED = {"X": (5, 2, 10), "=": (10, 10)}
_LINES = dict.fromkeys("X=", (40, 5))


def _elementwise(folder: str, operator: str, *operands: str) -> Function:
    shapes = dict.fromkeys((*operands, "="), _VECTOR)
    return Function(folder, f"ctensor_{folder}", operator, (*operands, "="), shapes)


FUNCTIONS = (
    _elementwise("add", "Add", "A", "B"),
    Function(
        *("batch_normalization", "ctensor_batchnorm", "BatchNormalization"),
        arguments=_NORMALIZED,
        shapes=_CHANNELS,
        attributes=_TRAINED,
        finite=True,
    ),
    Function("clip", "ctensor_clip", "Clip", ("X", "L", "M", "="), _BOUNDED),
    Function(
        "conv", "cconv", "Conv", ("X", "W", "=", 2, 1, 1, 2, 1, 0, 1, 2), _IMAGE, _KERNEL, True
    ),
    Function("flatten", "flatten", "Flatten", ("X", "=", 2), _FLATTENED, {"axis": 2}),
    Function(
        *("leakyrelu", "ctensor_leaky_relu", "LeakyRelu"),
        arguments=(0.125, "X", "="),
        shapes={"X": _VECTOR, "=": _VECTOR},
        attributes={"alpha": 0.125},
    ),
    _elementwise("less", "Less", "A", "B"),
    Function("matmul", "matmul", "MatMul", ("A", "B", "="), _MATRICES, {}, True),
    _elementwise("mul", "Mul", "A", "B"),
    _elementwise("relu", "Relu", "X"),
    Function("softmax", "c_softmax", "Softmax", ("X", "=", 1), _LINES, {"axis": 1}),
    _elementwise("tanh", "Tanh", "X"),
    _elementwise("where", "Where", "condition", "X", "Y"),
)


class _Tensor(ctypes.Structure):
    """The tensor of the group's C code: its rank, its sizes and its elements."""

    _fields_ = (
        ("rank", ctypes.c_int32),
        ("sizes", ctypes.POINTER(ctypes.c_int32)),
        ("elements", ctypes.c_void_p),
    )


_TYPES: dict[type, Any] = {str: _Tensor, int: ctypes.c_int32, float: ctypes.c_double}
"""How an argument is passed."""


def run(arguments: Sequence[str]) -> int:
    """Compare all, and write the table."""
    parser = argparse.ArgumentParser(description=__doc__, allow_abbrev=False)
    parser.add_argument("--against", type=Path, required=True, metavar="CHECKOUT")
    parser.add_argument("--record", type=Path, metavar="PAGE")
    options = parser.parse_args(arguments)
    try:
        rows = [
            *_models(options.against),
            *(_function(options.against, function) for function in FUNCTIONS),
            _sum_of_integers(options.against),
            _clips(options.against),
        ]
    except NotThere as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    lines = [
        f"| {row.kind} | {row.name} | {'yes' if row.agrees else '**no**'} | {row.seen} |"
        for row in rows
    ]
    table = "\n".join(["| what | name | agrees | seen |", "| --- | --- | --- | --- |", *lines])
    if options.record is None:
        print(table)
    else:
        page = options.record.read_text(encoding="utf-8")
        options.record.write_text(
            _MARKS.sub(lambda marks: f"{marks[1]}{table}\n{marks[2]}", page), encoding="utf-8"
        )
    print(f"{sum(row.agrees for row in rows)} of {len(rows)} agree")
    return 0


def _git(checkout: Path, *arguments: str) -> bytes:
    git = shutil.which("git") or "git"
    done = subprocess.run([git, "-C", checkout, *arguments], capture_output=True, check=False)
    if done.returncode:
        raise NotThere(f"{checkout}: {done.stderr.decode(errors='replace').strip()}")
    return done.stdout


def _files(checkout: Path, folder: str) -> list[str]:
    listed = _git(checkout, "ls-tree", "-r", "--name-only", _COMMIT, folder)
    return listed.decode("utf-8").splitlines()


def _content(checkout: Path, path: str) -> bytes:
    return _git(checkout, "cat-file", "blob", f"{_COMMIT}:{path}")


def _models(checkout: Path) -> Iterator[Row]:
    """Check and audit each model; those with the same bytes once."""
    seen = set()
    for path in _files(checkout, _PROFILE):
        if not path.endswith(".onnx"):
            continue
        content = _content(checkout, path)
        if content not in seen:
            seen.add(content)
            yield _model(path.removeprefix(f"{_PROFILE}/"), content)


def _model(name: str, content: bytes) -> Row:
    try:
        violated = {o.rule.id for o in sonnx_ort.check(content).violations}
        audited = sonnx_ort.audit(content, _FEEDS.get(Path(name).stem))
    except sonnx_ort.SonnxError as error:
        return Row("model", f"`{name}`", agrees=False, seen=str(error).splitlines()[0])
    counts = ", ".join(f"{count} {verdict}" for verdict, count in audited.counts.items() if count)
    rules = f"violates {', '.join(f'`{rule}`' for rule in sorted(violated))}; " if violated else ""
    return Row("model", f"`{name}`", audited.ok and not violated, f"{rules}nodes: {counts}")


def _function(checkout: Path, function: Function) -> Row:
    name = f"`{function.folder}`"
    values = _operands(function)
    with tempfile.TemporaryDirectory() as made:
        folder = Path(made)
        try:
            library = _compiled(checkout, function, folder)
            result = apart(_called, library, function, values)
        except NotComputed as error:
            return Row("C code", name, agrees=False, seen=str(error))
        except BrokenExecutor:
            return Row("C code", name, agrees=False, seen="the process dies in the call")
        for value, array in {**values, "result": result}.items():
            np.save(folder / f"{value}.npy", array)
        (node,) = sonnx_ort.audit(_model_of(function), values=folder, samples=10_000).nodes
    worst = node.worst
    seen = f"{node.verdict}, {node.audited} elements"
    if node.verdict is Verdict.OUTSIDE and worst is not None:
        operands = ", ".join(worst.operands)
        seen += f": {worst.found} for {worst.exact} at {operands}"
    return Row("C code", name, node.verdict is not Verdict.OUTSIDE, seen)


def _compiled(checkout: Path, function: Function, folder: Path) -> Path:
    """Compile the sources of a function to a library in a folder.

    Raises:
        NotComputed: They have errors, or call a function that they do not declare.
    """
    code = f"{_CODE}/{function.folder}/generated_code/c_code/"
    sources = []
    for path in _files(checkout, code):
        if path.endswith((".c", ".h")):
            (folder / Path(path).name).write_bytes(_content(checkout, path))
            sources.extend([Path(path).name] if path.endswith(".c") else [])
    library = folder / "lib.so"
    compiler = shutil.which("cc") or "cc"
    command = [compiler, *_FLAGS, "-o", str(library), *sources, "-lm"]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    if done.returncode:
        undeclared = _UNDECLARED.search(done.stderr)
        errors = [line for line in done.stderr.splitlines() if "error" in line]
        why = f"it calls `{undeclared[1]}`, which it does not declare" if undeclared else errors[:1]
        raise NotComputed(f"does not compile: {why}")
    return library


def _called(library: Path, function: Function, values: dict[str, Array]) -> Array:
    """Call a function in this process, which it may end."""
    called = getattr(ctypes.CDLL(str(library)), function.name)
    called.argtypes = [_TYPES[type(given)] for given in function.arguments]
    called.restype = None
    result = np.zeros(function.shapes["="])
    arrays = {**{n: np.ascontiguousarray(v, np.float64) for n, v in values.items()}, "=": result}
    called(*(_argument(given, arrays) for given in function.arguments))
    return result.astype(bool) if function.operator == "Less" else result


def _argument(given: str | float, arrays: dict[str, Array]) -> _Tensor | float:
    if not isinstance(given, str):
        return given
    array = arrays[given]
    # At least one size is there to point to.
    sizes = (ctypes.c_int32 * max(array.ndim, 1))(*array.shape)
    return _Tensor(array.ndim, sizes, array.ctypes.data)


def _sum_of_integers(checkout: Path) -> Row:
    """Look whether the sum of integers has code of its own."""
    paths = (f"{_CODE}/{folder}/generated_code/c_code/ctensoradd.c" for folder in _SUMS)
    same = len({_content(checkout, path) for path in paths}) == 1
    seen = "its code is that of `add`, which adds doubles" if same else "not compared yet"
    return Row("C code", f"`{_SUMS[1]}`", agrees=False, seen=seen)


def _operands(function: Function) -> dict[str, Array]:
    """Operands of a function: each pair of special values, or random ones of moderate size."""
    generator = np.random.default_rng(0)
    pairs = np.array(np.meshgrid(_SPECIAL, _SPECIAL))
    made: dict[str, Array] = {}
    for place, (name, shape) in enumerate(function.shapes.items()):
        if name == "=":
            continue
        elements: Array = generator.normal(size=shape)
        if name == "condition":
            elements = elements > 0
        elif elements.size == pairs.size:
            elements = pairs.reshape(shape)
        elif not function.finite and elements.size == _VECTOR[0]:
            elements = pairs[place % 2].reshape(shape)
        made[name] = np.abs(elements) if name == "var" else np.asarray(elements)
    if function.operator == "Clip":
        made |= {"L": np.array(-1.0), "M": np.array(1.0)}
    return made


def _model_of(function: Function) -> onnx.ModelProto:
    operands = [name for name in function.shapes if name != "="]
    kinds = dict.fromkeys(operands, "double") | {"condition": "bool"}
    given = ", ".join(f"{declared(kinds[n], function.shapes[n])} {n}" for n in operands)
    result = declared("bool" if function.operator == "Less" else "double", function.shapes["="])
    node = f"[{function.folder}] result = {function.operator}({', '.join(operands)})"
    model = parse(f"({given}) => ({result} result) {{ {node} }}", opset=_OPSET, ir_version=10)
    for name, value in function.attributes.items():
        model.graph.node[0].attribute.append(helper.make_attribute(name, value))
    return model


def _clips(checkout: Path) -> Row:
    """Run each Clip of the test data, whose X was not kept, with special values as X."""
    data = json.loads(_content(checkout, _CLIPS))
    cases = list(zip(data["size_input_axis"], data["l_tensor"], data["m_tensor"], strict=True))
    found: Counter[str] = Counter()
    sessions: dict[tuple[str, int], tuple[sonnx_ort.InferenceSession, ...]] = {}
    for shape, (low, element), (high, _) in cases:
        kind = (element, len(shape))
        if kind not in sessions:
            sessions[kind] = _clip_sessions(*kind)
        if not sessions[kind]:
            continue
        found["cases"] += 1
        x = _x_of(shape, element)
        feeds = {"X": x, "L": np.array(low, element), "M": np.array(high, element)}
        expected = np.minimum(np.maximum(x, feeds["L"]), feeds["M"])
        for session in sessions[kind]:
            (result,) = session.run(None, feeds)
            found["runs"] += 1
            found["different"] += not np.array_equal(result, expected)
    without = sorted({element for (element, _), made in sessions.items() if not made})
    seen = f"{found['cases']} cases, {found['runs']} runs: {found['different']} with other results"
    if without:
        left = len(cases) - found["cases"]
        seen += f"; {left} cases of types without a kernel of ONNX Runtime: {', '.join(without)}"
    return Row("test data", f"`{Path(_CLIPS).parts[-3]}`", not found["different"], seen)


def _x_of(shape: Sequence[int], element: str) -> Array:
    dtype = np.dtype(element)
    if dtype.kind == "f":
        values = np.array([x for x in _SPECIAL if not np.isnan(x)]).clip(
            np.finfo(dtype).min, np.finfo(dtype).max
        )
    else:
        bounds = np.iinfo(dtype)
        values = np.array([bounds.min, bounds.max, 0, 1], object)
    return np.resize(values, shape).astype(dtype)


def _clip_sessions(element: str, rank: int) -> tuple[sonnx_ort.InferenceSession, ...]:
    """Sessions with each backend; none if ONNX Runtime has no kernel for the type."""
    kind = onnx.TensorProto.DataType.Name(helper.np_dtype_to_tensor_dtype(np.dtype(element)))
    bound = kind.lower()
    x = declared(bound, [f"n{axis}" for axis in range(rank)])
    text = f"({x} X, {bound} L, {bound} M) => ({x} Y) {{ [clip] Y = Clip(X, L, M) }}"
    model = parse(text, opset=13, ir_version=10)
    try:
        onnxruntime.InferenceSession(model.SerializeToString())
    except (state.NotImplemented, state.InvalidGraph):
        return ()
    return tuple(
        sonnx_ort.InferenceSession(model, operators="Clip", backend=backend)
        for backend in _BACKENDS
    )


if __name__ == "__main__":
    sys.exit(exit_status(lambda: run(sys.argv[1:])))
