"""A node is judged together with those that an optimizer joined with it."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import sonnx_ort
from sonnx_ort.auditing.audit import Audit
from support.graphs import parse

Array = np.ndarray[Any, Any]
F = np.float32
ACTIVATED = parse(
    "(float[n, k] x, float[k, m] y, float[m] b) => (float[n, m] z) "
    "{ [multiply] p = MatMul(x, y) [add] a = Add(p, b) [activate] z = Relu(a) }"
)


def arrays() -> dict[str, Array]:
    generator = np.random.default_rng(6)
    shapes = {"x": (4, 64), "y": (64, 5), "b": (5,)}
    return {name: generator.uniform(-1, 1, shape).astype(F) for name, shape in shapes.items()}


def audit_of(folder: Path, values: dict[str, Array]) -> Audit:
    for name, array in values.items():
        np.save(folder / f"{name}.npy", array)
    return sonnx_ort.audit(ACTIVATED, values=folder)


def joined(values: dict[str, Array]) -> Array:
    """The result of an implementation that rounds once, at the end."""
    wide = {name: array.astype(np.float64) for name, array in values.items()}
    return np.maximum(wide["x"] @ wide["y"] + wide["b"], 0).astype(F)


def test_joined_nodes_that_round_less_are_admitted(tmp_path: Path) -> None:
    values = arrays()
    audit = audit_of(tmp_path, {**values, "z": joined(values)})
    assert [str(node.verdict) for node in audit.nodes] == ["admitted"] * 3
    assert [node.reason for node in audit.nodes[:2]] == [
        "the optimizer joined it with Relu 'activate'; they were judged together"
    ] * 2
    assert audit.nodes[2].bound == "what the joined nodes admit together (ours)"


@pytest.mark.parametrize("error", [1e-3, -1e-3])
def test_fault_in_joined_nodes_is_found(error: float, tmp_path: Path) -> None:
    values = arrays()
    z = joined(values)
    place = np.unravel_index(np.argmax(z), z.shape)
    z[place] += F(error)
    (node,) = audit_of(tmp_path, {**values, "z": z}).outside
    assert node.worst is not None
    assert (node.node, node.worst.index) == ("activate", tuple(map(int, place)))


def test_window_of_a_joined_sum_is_not_known(tmp_path: Path) -> None:
    model = parse(
        "(float[1, 1, h, w] x, float[1, 1, k, l] y) => (float[1, 1, p, q] z) "
        "{ [convolve] c = Conv(x, y) [pool] z = MaxPool <kernel_shape = [2, 2]> (c) }"
    )
    generator = np.random.default_rng(8)
    x, y = (generator.uniform(-1, 1, (1, 1, n, n)).astype(F) for n in (5, 3))
    audit = sonnx_ort.audit(model, {"x": x, "y": y}, save_values=tmp_path / "values")
    assert [str(node.verdict) for node in audit.nodes][1] == "exact"
    (tmp_path / "values" / "c.npy").unlink()
    audit = sonnx_ort.audit(model, values=tmp_path / "values")
    assert [(node.node, str(node.verdict), node.reason) for node in audit.nodes][1] == (
        "pool",
        "not known",
        "the run has no value 'c', and several are admitted",
    )
