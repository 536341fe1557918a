"""Programs that run models where there is no sonnx_ort.

Such a program gets a folder, in which `runs.json` holds the runs: their names, the files of the
models, the optimizers that these name in their metadata, the element types of all inputs and
outputs, and the inputs by their bits. It writes one line of JSON for each run as soon as that has
ended: its `name`, and `outputs`, or `error`, a message, or `cannot_hold`, an element type.
"""

import base64
import itertools
import json
import shutil
import sys
import tempfile
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import ml_dtypes  # noqa: F401 - makes numpy know the name "bfloat16"
import numpy as np
import onnx
from onnx import helper

from sonnx_ort.enforcing.metadata import OPTIMIZERS
from support.child import TESTS, run_program
from support.plain_runs.run import Array, CannotHold, Outcome, Run

PYTHON = (sys.executable, "-I", TESTS / "plain_python" / "run_models.py")
NODE = ("node", TESTS / "node" / "run_models.mjs")


def outcomes_in(
    program: Sequence[str | Path], runs: Sequence[Run], packages: Sequence[Path] = ()
) -> dict[str, Outcome]:
    """Run everything in one process of another program.

    Args:
        program: The program and its arguments; the folder follows.
        runs: The runs; their names differ.
        packages: Folders with packages that the program takes in place of its own.

    Returns:
        How each ended, by its name.
    """
    executable, *arguments = program
    with tempfile.TemporaryDirectory() as folder:
        _write_runs(Path(folder), runs)
        ended = run_program(
            [str(shutil.which(executable)), *arguments, folder, *packages], timeout=300
        )
    outcomes: dict[str, Outcome] = dict.fromkeys((run.name for run in runs), ended)
    for line in ended.stdout.splitlines():
        entry = json.loads(line)
        outcomes[entry["name"]] = _outcome(entry)
    assert ended.exit_status == 0 or ended in outcomes.values(), ended
    return outcomes


def _write_runs(folder: Path, runs: Iterable[Run]) -> None:
    entries = []
    for number, run in enumerate(runs):
        file = f"{number}.onnx"
        model = run.make()
        (folder / file).write_bytes(model.SerializeToString())
        entries.append(
            {
                "name": run.name,
                "model": file,
                "optimized": run.optimized,
                "disabled_optimizers": _value_of_the_option(model),
                "types": sorted(_element_types(model)),
                "inputs": {name: _encode(array) for name, array in run.feeds.items()},
            }
        )
    (folder / "runs.json").write_text(json.dumps({"runs": entries}), encoding="utf-8")


def _value_of_the_option(model: onnx.ModelProto) -> str:
    """What a model says of its session; one without anything to enforce says nothing."""
    named = [json.loads(e.value)["off"] for e in model.metadata_props if e.key == OPTIMIZERS]
    return ";".join(itertools.chain.from_iterable(named))


def _element_types(model: onnx.ModelProto) -> set[str]:
    values = [*model.graph.input, *model.graph.output]
    types = (value.type.tensor_type.elem_type for value in values)
    return {helper.tensor_dtype_to_np_dtype(element_type).name for element_type in types}


def _outcome(entry: Mapping[str, Any]) -> Outcome:
    match entry:
        case {"outputs": outputs}:
            return {name: _decode(tensor) for name, tensor in outputs.items()}
        case {"error": str() as message}:
            return message
        case _:
            return CannotHold(entry["cannot_hold"])


def _encode(array: Array) -> dict[str, Any]:
    bits = base64.b64encode(np.asarray(array, order="C").tobytes()).decode("ascii")
    return {"type": array.dtype.name, "shape": list(array.shape), "bits": bits}


def _decode(tensor: Mapping[str, Any]) -> Array:
    elements = np.frombuffer(base64.b64decode(tensor["bits"]), tensor["type"])
    return elements.reshape(tensor["shape"])
