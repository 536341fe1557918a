"""A model with 3 GiB of weights is checked and rewritten without loading them."""

from pathlib import Path

import onnx
import pytest
from onnx import helper

from support.child import run_python
from support.graphs import model, tensor

GIBIBYTE = 1 << 30
SIZE = 3 * GIBIBYTE
LIMIT_MEBIBYTES = 300

MEASURE = """
    import resource
    import onnxruntime_extensions
    import sonnx_ort

    def peak():
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024

    before = peak()
"""


@pytest.fixture
def large(tmp_path: Path) -> Path:
    columns = 1024
    rows = SIZE // 4 // columns
    weights = onnx.TensorProto(
        name="w",
        data_type=onnx.TensorProto.FLOAT,
        dims=[rows, columns],
        data_location=onnx.TensorProto.EXTERNAL,
    )
    for key, value in (("location", "w.bin"), ("offset", "0"), ("length", str(SIZE))):
        weights.external_data.add(key=key, value=value)
    made = model(
        [
            helper.make_node("MatMul", ["x", "w"], ["y"]),
            helper.make_node("Div", ["y", "y"], ["z"], name="div"),
        ],
        [tensor("x", "float", ["n", rows])],
        [tensor("z", "float", ["n", columns])],
        initializers=[weights],
    )
    path = tmp_path / "large.onnx"
    path.write_bytes(made.SerializeToString())
    with (tmp_path / "w.bin").open("wb") as data:
        # Takes no room on the disk: nothing is written.
        data.truncate(SIZE)
    return path


@pytest.mark.parametrize(
    "work",
    [
        "assert {{o.node for o in sonnx_ort.check({source!r}).violations}} == {{'y'}}",
        pytest.param("sonnx_ort.rewrite_file({source!r}, {beside!r})", marks=pytest.mark.thorough),
        pytest.param(
            "sonnx_ort.rewrite_file({source!r}, {elsewhere!r}, external_data='link')",
            marks=pytest.mark.thorough,
        ),
    ],
    ids=["check", "rewrite beside", "rewrite elsewhere"],
)
def test_peak_memory(large: Path, work: str) -> None:
    elsewhere = large.parent / "elsewhere"
    elsewhere.mkdir()
    filled = work.format(
        source=str(large),
        beside=str(large.with_name("enforced.onnx")),
        elsewhere=str(elsewhere / "enforced.onnx"),
    )
    child = run_python(MEASURE, filled, "print(peak() - before)", fresh=True)
    assert child.exit_status == 0, child
    assert float(child.stdout) < LIMIT_MEBIBYTES
