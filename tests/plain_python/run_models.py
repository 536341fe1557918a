"""Runs models in a Python that has ONNX Runtime and numpy, and refuses to import sonnx_ort.

`python -I run_models.py FOLDER [PACKAGES ...]` reads the runs in FOLDER/runs.json and prints how
each ends; tests/support/plain_runs/program.py describes both. Packages in further folders go before
those of this Python.
"""

import base64
import ctypes
import json
import sys
from collections.abc import Mapping, Sequence
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec
from pathlib import Path
from types import ModuleType
from typing import Any

REFUSED = frozenset({"ml_dtypes", "onnx", "onnx_ir", "onnxruntime_extensions", "sonnx_ort"})


class Refusal(MetaPathFinder):
    """Finds none of these packages, nor lets anything else find them."""

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """Refuse a module of these packages, and leave any other to the next finder."""
        del path, target
        if fullname.partition(".")[0] in REFUSED:
            raise ModuleNotFoundError(f"{fullname} is not here", name=fullname)
        return None


sys.meta_path.insert(0, Refusal())
sys.path[:0] = sys.argv[2:]

import numpy as np  # noqa: E402 - behind the refusal, like all that a run needs
import onnxruntime as ort  # noqa: E402

BFLOAT16 = "bfloat16"
BFLOAT16_IN_ONNX = 16


def main() -> None:
    """Run everything in the folder that the command line names."""
    folder = Path(sys.argv[1])
    content = json.loads((folder / "runs.json").read_text(encoding="utf-8"))
    for run in content["runs"]:
        ended = outcome(folder, run)
        print(json.dumps({"name": run["name"], **ended}), flush=True)
    assert not REFUSED & set(sys.modules)


def outcome(folder: Path, run: Mapping[str, Any]) -> dict[str, Any]:
    """Run one model, and give its outputs or the message of its error."""
    options = ort.SessionOptions()
    options.log_severity_level = 4
    options.intra_op_num_threads = 1
    disabled = run["disabled_optimizers"]
    options.add_session_config_entry("optimization.disable_specified_optimizers", disabled)
    if not run["optimized"]:
        options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_DISABLE_ALL
    try:
        session = ort.InferenceSession(folder / run["model"], options)
        feeds = {name: to_value(tensor) for name, tensor in run["inputs"].items()}
        values = session.run_with_ort_values(None, feeds)
    except Exception as error:  # noqa: BLE001 - ONNX Runtime has classes of its own for each status
        return {"error": str(error)}
    names = [output.name for output in session.get_outputs()]
    tensors = [to_tensor(value) for value in values]
    return {"outputs": dict(zip(names, tensors, strict=True))}


def to_value(tensor: Mapping[str, Any]) -> ort.OrtValue:
    """Make a tensor from its bits; numpy itself knows no bfloat16."""
    is_bfloat16 = tensor["type"] == BFLOAT16
    elements = np.frombuffer(
        base64.b64decode(tensor["bits"]), np.uint16 if is_bfloat16 else tensor["type"]
    )
    array = elements.reshape(tensor["shape"])
    if is_bfloat16:
        return ort.OrtValue.ortvalue_from_numpy_with_onnx_type(array, BFLOAT16_IN_ONNX)
    return ort.OrtValue.ortvalue_from_numpy(array)


def to_tensor(value: ort.OrtValue) -> dict[str, Any]:
    """Give the bits of a tensor."""
    if value.data_type() == f"tensor({BFLOAT16})":
        size = 2 * int(np.prod(value.shape()))
        name, content = BFLOAT16, ctypes.string_at(value.data_ptr(), size) if size else b""
    else:
        array = value.numpy()
        name, content = array.dtype.name, array.tobytes()
    bits = base64.b64encode(content).decode("ascii")
    return {"type": name, "shape": list(value.shape()), "bits": bits}


if __name__ == "__main__":
    main()
