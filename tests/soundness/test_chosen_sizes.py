"""Sizes that a Where chooses are those that the kernels of ONNX Runtime choose.

Its condition compares sizes, known ones or those of an input that a contract bounds.
"""

from itertools import product

import numpy as np
import onnxruntime as ort

from sonnx_ort import Contract, SizeContract
from sonnx_ort.analysis.values.value_facts import Facts
from sonnx_ort.loading.canonical import load_canonical
from support.graphs import parse
from support.sessions import LEVELS, on_one_thread

NUMBERS = (-(2**63), -(2**31), -1, 0, 1, 2, 5, 7, 2**31 - 1, 2**31, 2**63 - 1)
VECTORS = {
    **{f"v{index}": np.array([number]) for index, number in enumerate(NUMBERS)},
    "pair": np.array([-1, 3]),
    "other": np.array([3, 2]),
    "none": np.array([], np.int64),
}
LENGTHS = {"n": 1, **{name: len(vector) for name, vector in VECTORS.items()}}
CHOSEN = (("v1", "v5"), ("pair", "other"), ("n", "v2"))
SIZE = 5
"""The size of the input in the runs."""


def fitting(*names: str) -> bool:
    """Whether vectors are of one length, but for those of one element."""
    return len({LENGTHS[name] for name in names} - {1}) <= 1


def test_sizes_that_a_where_chooses_are_those_of_the_kernels() -> None:
    compared = [pair for pair in product(LENGTHS, LENGTHS) if fitting(*pair)]
    cases = [(*pair, *each) for pair in compared for each in CHOSEN if fitting(*pair, *each)]
    nodes = (
        f" e{index} = Equal({a}, {b}) y{index} = Where(e{index}, {c}, {d})"
        for index, (a, b, c, d) in enumerate(cases)
    )
    outputs = ", ".join(f"int64[?] y{index}" for index in range(len(cases)))
    text = f"(float[n] x) => ({outputs}) {{ n = Shape(x){''.join(nodes)} }}"
    model = parse(text, constants=VECTORS, opset=17)
    loaded = load_canonical(model).graph_model
    facts = Facts(loaded, Contract(sizes=(SizeContract("n", 3, 6),)))
    said = [operand.sizes for operand in facts.operands(range(len(cases)), loaded.graph.outputs)]
    for level in LEVELS:
        session = ort.InferenceSession(model.SerializeToString(), on_one_thread(level))
        for case, sizes, result in zip(
            cases, said, session.run(None, {"x": np.zeros(SIZE, np.float32)}), strict=True
        ):
            if sizes is not None:
                assert len(sizes) == len(result), case
                numbers = [SIZE if size == "n" else size for size in sizes]
                pairs = zip(numbers, result.tolist(), strict=True)
                assert all(not isinstance(size, int) or size == n for size, n in pairs), case
    known = [sizes for sizes in said if sizes and all(isinstance(size, int) for size in sizes)]
    assert len(known) > len(cases) / 3
