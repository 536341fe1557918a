"""Runs of two models in a folder, whose values can be compared again without a run.

A sample is a folder: `run.json` says what is known of it, and each value is a tensor of ONNX, so
that all types are kept. The inputs are `input_0.pb` and so on: the folder is also one of samples.
"""

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

from onnx import numpy_helper

from sonnx_ort.comparing.difference import Pair, Runs, Stop, Trace
from sonnx_ort.comparing.inputs import Inputs
from sonnx_ort.comparing.isolated_run import Results
from sonnx_ort.errors import SonnxError
from sonnx_ort.value_files import new_folder, read_tensor

_FILE, _VERSION = "run.json", 1


def keep(
    samples: Iterable[tuple[str, Runs]], folder: Path, models: tuple[str, str]
) -> Iterator[tuple[str, Runs]]:
    """Write samples to a new or empty folder as they pass.

    Args:
        samples: The runs by the names of the samples.
        folder: The folder.
        models: The names of the models.

    Raises:
        SonnxError: The folder is not empty or cannot be written.
    """
    new_folder(folder)
    for number, (name, runs) in enumerate(samples):
        try:
            _write(folder / f"{number:06}", runs, {"models": models, "sample": name})
        except OSError as error:
            raise SonnxError(f"'{folder}' cannot be written: {error.strerror or error}") from error
        yield name, runs


def _write(place: Path, runs: Runs, said: Mapping[str, Any]) -> None:
    place.mkdir()
    traces = [
        {
            "nodes": trace.nodes,
            "stop": None if trace.stop is None else asdict(trace.stop),
            "values": _written(place, prefix, trace.values),
        }
        for prefix, trace in zip(("a", "b"), runs.traces, strict=True)
    ]
    inputs = runs.inputs
    about = {
        "version": _VERSION,
        **said,
        "pair": asdict(runs.pair),
        "inputs": _written(place, "input", inputs.arrays),
        "made_up": [inputs.seed, inputs.random, dict(inputs.chosen), inputs.able],
        "traces": traces,
    }
    # Written last, so that a sample without it is none.
    (place / _FILE).write_text(json.dumps(about, indent=1), encoding="utf-8")


def _written(place: Path, prefix: str, values: Results) -> dict[str, str | None]:
    """Write values; their files by name, and None for those that are no tensors."""
    files: dict[str, str | None] = {}
    for number, (name, array) in enumerate(values.items()):
        files[name] = None if array is None else f"{prefix}_{number}.pb"
        if array is not None:
            tensor = numpy_helper.from_array(array, name)
            (place / f"{prefix}_{number}.pb").write_bytes(tensor.SerializeToString())
    return files


def kept(folder: Path) -> tuple[tuple[str, str], Iterator[tuple[str, Runs]]]:
    """Read the names of the models, and then the samples, that `keep` wrote.

    Raises:
        SonnxError: It did not write them, or they cannot be read.
    """
    paths = sorted(folder.glob(f"*/{_FILE}"))
    if not paths:
        raise SonnxError(f"'{folder}' has no runs that `diff --save` has written")
    models, _ = _read(paths[0])
    return models, (sample for _, sample in map(_read, paths))


def _read(path: Path) -> tuple[tuple[str, str], tuple[str, Runs]]:
    """The names of the models, and a sample by its name."""
    try:
        said = json.loads(path.read_text(encoding="utf-8"))
        if said["version"] == _VERSION:
            one, other = said["models"]
            return (one, other), (said["sample"], _runs(path.parent, said))
    except (OSError, ValueError, LookupError, TypeError, AttributeError) as error:
        raise SonnxError(f"'{path}' cannot be read: {error!r}; save the runs again") from error
    raise SonnxError(f"'{path}' is of another version of sonnx_ort; save the runs again")


def _runs(place: Path, said: Mapping[str, Any]) -> Runs:
    seed, random, chosen, able = said["made_up"]
    inputs = Inputs(_values(place, said["inputs"]), seed, tuple(random), chosen, able)
    one, other = (
        Trace(
            each["nodes"],
            _values(place, each["values"]),
            None if each["stop"] is None else Stop(**each["stop"]),
        )
        for each in said["traces"]
    )
    pair = said["pair"].items()
    fields: Any = {key: tuple(it) if isinstance(it, list) else it for key, it in pair}
    return Runs(inputs, (one, other), Pair(**fields))


def _values(place: Path, files: Mapping[str, str | None]) -> dict[str, Any]:
    return {
        name: None if file is None else read_tensor(place / file)[1] for name, file in files.items()
    }
