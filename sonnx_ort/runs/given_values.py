"""Values of a run of another implementation, read from files."""

import os
from collections.abc import Iterator, Mapping
from pathlib import Path

import ml_dtypes
import numpy as np
import onnx

from sonnx_ort.errors import SonnxError
from sonnx_ort.errors.remedies import Advice, Option
from sonnx_ort.ort.feeds import as_tensors, graph_inputs, in_machine_order, what_is_wrong
from sonnx_ort.runs.derived_models import constants_of
from sonnx_ort.runs.diff.difference import same
from sonnx_ort.runs.isolated_run import UNOPTIMIZED, Array, IsolatedRuns
from sonnx_ort.runs.observing import Observation, Step, array_of
from sonnx_ort.runs.value_files import file_names, new_folder, place_of, read_value, write_value

_LISTED = 3
_BFLOAT16 = np.dtype(ml_dtypes.bfloat16)


class GivenValues(Observation):
    """A graph with the values that another implementation computed.

    A value without a file counts as joined with the node that reads it, unless it is an input or an
    output.
    """

    def __init__(
        self, model: onnx.ModelProto, folder: Path, feeds: Mapping[str, Array], runs: IsolatedRuns
    ) -> None:
        """Look at the files.

        Raises:
            SonnxError: The folder does not exist, a file has the name of no value, or of two, or
                an input or an output has none.
        """
        super().__init__(model, feeds, UNOPTIMIZED, runs)
        self._names = file_names_of(model)
        self._files = _files(self._names, folder)
        self._constants = constants_of(model.graph)
        self.feeds = self._inputs(feeds)
        self.outputs = {value.name: self._read_value(value.name) for value in model.graph.output}
        self._computed: dict[str, Array | None] = {}

    def _inputs(self, feeds: Mapping[str, Array]) -> dict[str, Array]:
        """The inputs, given or from files; raises if one is missing, or the file of an output."""
        names = [v.name for v in self.model.graph.input if v.name not in self._constants]
        declared = graph_inputs(self.model)
        found = as_tensors(declared, feeds)
        for name in names:
            if name not in self._files:
                continue
            loaded = self._load(name)
            if not same(found.setdefault(name, loaded), loaded):
                raise SonnxError(
                    f"the input '{name}' that is given and '{self._files[name]}' differ; leave "
                    "one of them out"
                )
        missing = [name for name in names if name not in found]
        missing += [v.name for v in self.model.graph.output if v.name not in self._files]
        if missing:
            raise SonnxError(
                Advice(
                    f"there is no file for {_listed(missing)}; write "
                    f"'{self._names[missing[0]]}.npy' with numpy.save, or give inputs with ",
                    Option("inputs"),
                )
            )
        if wrong := what_is_wrong(declared, found):
            raise SonnxError(*wrong.splitlines())
        return found

    def steps(self) -> Iterator[Step]:
        """Each node with its values, which are read when it is reached."""
        for node in self.model.graph.node:
            yield self.step_of(node, self._files.keys(), self._read_value, self._computed)

    def _read_value(self, name: str) -> Array | None:
        if name in self.feeds:
            return self.feeds[name]
        if name in self._constants:
            return array_of(self._constants[name])
        if name in self._files:
            return self._load(name)
        return self._computed.get(name)

    def _load(self, name: str) -> Array:
        """The tensor in the file of a value; numpy writes bfloat16 without its type."""
        path = self._files[name]
        array = read_value(path, mapped=True)
        if not isinstance(array, np.ndarray):
            raise SonnxError(f"'{path}' is no tensor; write the value '{name}' with numpy.save")
        if array.dtype.kind == "U":
            return array.astype(object)
        if array.dtype.kind == "V" and array.dtype.isbuiltin == 0:
            # numpy writes elements of bfloat16 as two bytes without a type.
            if array.dtype.names or array.dtype.itemsize != _BFLOAT16.itemsize:
                raise SonnxError(
                    f"'{path}' does not say the type of its elements; write the value '{name}' "
                    "with numpy.save(file, array.view([(array.dtype.name, 'u1')]))"
                )
            array = array.view(_BFLOAT16)
        return np.asarray(in_machine_order(array))


def file_names_of(model: onnx.ModelProto) -> dict[str, str]:
    """The names of the files of a graph's values, without their extension.

    Raises:
        SonnxError: Two values would have the same file.
    """
    names = [value.name for value in (*model.graph.input, *model.graph.output)]
    names += [name for node in model.graph.node for name in node.output if name]
    return file_names(dict.fromkeys(names))


def _files(names: Mapping[str, str], folder: Path) -> dict[str, Path]:
    """The files of values; raises if one has the name of no value."""
    if not os.path.isdir(folder):  # noqa: PTH112 - Path.is_dir raises an error of a name too long
        raise SonnxError(f"there is no folder '{folder}'")
    by_file = {f"{name}.npy": value for value, name in names.items()}
    present = {path.name: path for path in sorted(folder.glob("*.npy"))}
    strange = [name for name in present if name not in by_file]
    if strange:
        raise SonnxError(
            f"{_listed(strange)} in '{folder}' has the name of no value of the model; remove it, "
            "or give it the name of its value"
        )
    return {by_file[name]: path for name, path in present.items()}


def _listed(names: list[str]) -> str:
    shown = ", ".join(f"'{name}'" for name in names[:_LISTED])
    more = len(names) - _LISTED
    return f"{shown} and {more} more" if more > 0 else shown


class SavedValues:
    """A folder to which the values of a run are written."""

    def __init__(self, model: onnx.ModelProto, folder: Path) -> None:
        """Make the folder if need be.

        Raises:
            SonnxError: It is not empty or cannot be made, or two values would have the same file.
        """
        constants = constants_of(model.graph)
        names = file_names_of(model)
        self._names = {value: name for value, name in names.items() if value not in constants}
        self._folder = folder
        new_folder(folder)

    def save(self, step: Step) -> None:
        """Write what a node reads and computes, but no constants or what is not of the run.

        Raises:
            SonnxError: A file cannot be written.
        """
        audited = step.audited
        own = (
            {} if step.unobserved else dict(zip(audited.node.output, audited.results, strict=True))
        )
        for name, array in {**step.scope, **own}.items():
            if array is None or name not in self._names or name in audited.recomputed:
                continue
            path = place_of(array, self._folder, self._names[name])
            if not path.exists():
                write_value(array, path)
