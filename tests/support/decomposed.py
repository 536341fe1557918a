"""Nodes of operators outside the set, with operands that hold what is special of their types."""

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np
import onnx
import onnx_ir as ir
import onnxruntime as ort

from support.graphs import parse
from support.sessions import on_one_thread

_LARGEST = {"float16": 60000.0, "float": 3e38, "double": 1e308}
_SUBNORMAL = {"float16": 6e-8, "float": 1e-45, "double": 5e-324}


@dataclass(frozen=True)
class Case:
    """A node, as text: X, Y and Z are its operands, A and B its results.

    Attributes:
        node: The node.
        shapes: The shapes of its operands, as declared; n and m are open.
        dtypes: The types of the first operand that are tried.
        result: The type and the shape of its first result.
        opsets: The versions of the standard operators that are tried.
        others: The types of the further operands, where they are not that of the first.
        constants: Further operands that are constants.
        sizes: What n and m may be.
        further: The type and shape of its second result.
        near: How far results may be from those of the original, in parts of the larger of both or
            of 1; 0 if they have the same bits.
    """

    node: str
    shapes: Sequence[str]
    dtypes: Sequence[str]
    result: str
    opsets: Sequence[int] = (17,)
    others: Sequence[str] = ()
    constants: dict[str, object] = field(default_factory=dict)
    sizes: Sequence[int] = (1, 2, 5)
    further: str = ""
    near: float = 0

    def model(self, dtype: str, opset: int) -> onnx.ModelProto:
        """The model of the node."""
        types = [dtype, *(self.others or [dtype] * 2)]
        names = zip("XYZ", types, self.shapes, strict=False)
        inputs = ", ".join(f"{t}[{shape}] {name}" for name, t, shape in names)
        results = self.result.replace("T", dtype, 1) + " A"
        results += f", {self.further.replace('T', dtype, 1)} B" if self.further else ""
        constants = {name: np.asarray(value) for name, value in self.constants.items()}
        return parse(
            f"({inputs}) => ({results}) {{ [node] {self.node} }}",
            constants=constants,
            opset=opset,
            domains=self._learned,
        )

    @property
    def _learned(self) -> dict[str, int] | None:
        if "ai.onnx.ml" not in self.node:
            return None
        return {"ai.onnx.ml": 5 if "TreeEnsemble <" in self.node else 3}

    def runs(self, dtype: str, *, special: bool = True) -> Iterator[dict[str, np.ndarray]]:
        """Operands: random ones, and such with NaN, infinities, zeros and extreme numbers."""
        rng = np.random.default_rng(0)
        types = [dtype, *(self.others or [dtype] * 2)]
        kinds = (False, True) if special else (False,)
        for sizes, extreme in itertools.product(itertools.product(self.sizes, repeat=2), kinds):
            known = dict(zip("nm", sizes, strict=True))
            yield {
                name: elements(t, [_size(s, known) for s in shape.split(",") if s], rng, extreme)
                for name, t, shape in zip("XYZ", types, self.shapes, strict=False)
            }


def bits(runs: Sequence[Sequence[np.ndarray]]) -> list[list[tuple[str, tuple[int, ...], bytes]]]:
    """The types, shapes and bits of the outputs of runs; all NaNs have the same."""
    return [[(str(a.dtype), a.shape, _one_nan(a).tobytes()) for a in outputs] for outputs in runs]


def _one_nan(array: np.ndarray) -> np.ndarray:
    return np.where(np.isnan(array), np.nan, array) if array.dtype.kind == "f" else array


def deviation(
    runs: Sequence[Sequence[np.ndarray]], originals: Sequence[Sequence[np.ndarray]]
) -> float:
    """How far outputs are from the original ones at most, in parts of these or of 1."""
    worst = 0.0
    for one, other in zip(runs, originals, strict=True):
        for found, wanted in zip(one, other, strict=True):
            assert (found.dtype, found.shape) == (wanted.dtype, wanted.shape)
            assert (np.isnan(found) == np.isnan(wanted)).all()
            apart = np.abs(found.astype(np.float64) - wanted.astype(np.float64))
            size = np.maximum(np.abs(wanted.astype(np.float64)), 1)
            worst = max(worst, float(np.nanmax(apart / size, initial=0)))
    return worst


def _size(text: str, known: dict[str, int]) -> int:
    return known[text] if text in known else int(text)


def elements(
    dtype: str, shape: Sequence[int], rng: np.random.Generator, extreme: bool
) -> np.ndarray:
    """Random elements; half of them special numbers of the type."""
    kind = ir.DataType[dtype.upper()].numpy()
    if kind == np.bool_:
        return rng.integers(0, 2, shape).astype(np.bool_)
    if np.issubdtype(kind, np.integer):
        info = np.iinfo(kind)
        found = rng.integers(max(info.min, -9), 10, shape).astype(kind)
        chosen = np.array([info.min, info.max, 0, 1, info.max - 1], kind)
    else:
        found = (rng.standard_normal(shape) * 4).astype(kind)
        most, least = _LARGEST[dtype], _SUBNORMAL[dtype]
        chosen = np.array(
            [np.nan, np.inf, -np.inf, 0.0, -0.0, most, -most, least, -least, 0.5, 1.5, -2.5, 1.0],
            kind,
        )
    if extreme:
        taken = rng.integers(0, 2, shape).astype(bool)
        found = np.where(taken, rng.choice(chosen, shape), found)
    return found


def outputs(
    model: onnx.ModelProto, runs: Sequence[dict[str, np.ndarray]]
) -> list[list[np.ndarray]]:
    session = ort.InferenceSession(model.SerializeToString(), on_one_thread("none"))
    return [session.run(None, feeds) for feeds in runs]
