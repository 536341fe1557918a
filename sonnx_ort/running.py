"""One run of a model from files to files, as the command does it."""

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import onnxruntime

from sonnx_ort.errors import SonnxError
from sonnx_ort.loading.process import silenced
from sonnx_ort.runtime.session import InferenceSession

Tensors = dict[str, npt.NDArray[Any]]

_FATAL = 4


def run_once(
    model: Path,
    feeds: Sequence[str],
    *,
    waivers: Path | None = None,
    verify_proofs: bool = False,
    **choices: str,
) -> Tensors:
    """Run a model once on inputs from files.

    Args:
        model: The model's file.
        feeds: One `NAME=FILE.npy` for each input.
        waivers: A file of waivers, as for `rewrite`.
        verify_proofs: As for `InferenceSession`.
        **choices: `edition`, `broadcast` and `backend`, as for `rewrite`.

    Returns:
        The outputs by name.

    Raises:
        SonnxError: The model or an input cannot be used, or the profile is violated; the subclass
            tells which.
    """
    tensors = read_feeds(feeds)
    options = onnxruntime.SessionOptions()
    # The error itself says everything once; ONNX Runtime would log it again.
    options.log_severity_level = _FATAL
    with silenced("sonnx_ort"):
        try:
            session = InferenceSession(
                model, options, waivers=waivers or (), verify_proofs=verify_proofs, **choices
            )
            _check_names(session, tensors)
            names = [output.name for output in session.get_outputs()]
            return dict(zip(names, session.run(names, tensors), strict=True))
        except SonnxError:
            raise
        except Exception as error:
            raise SonnxError(f"ONNX Runtime refuses: {error}") from error


def read_feeds(feeds: Sequence[str]) -> Tensors:
    """Read inputs from files.

    Args:
        feeds: One `NAME=FILE.npy` for each input.

    Raises:
        SonnxError: One has another form, is given twice, or its file holds no array.
    """
    tensors: Tensors = {}
    for feed in feeds:
        name, equals, file = feed.rpartition("=")
        if not (name and equals and file):
            raise SonnxError(f"--input {feed}: write NAME=FILE.npy")
        if name in tensors:
            raise SonnxError(f"--input {feed}: '{name}' is given twice")
        tensors[name] = _read_array(Path(file))
    return tensors


def save_outputs(outputs: Mapping[str, npt.NDArray[Any]], folder: Path) -> list[Path]:
    """Write each output to a file of its own.

    Args:
        outputs: The outputs by name.
        folder: Where to write; made if it is not there.

    Returns:
        The files, in the order of the outputs; characters that no file name has are replaced.

    Raises:
        SonnxError: A file cannot be written, or two outputs would get the same.
    """
    paths = [folder / f"{re.sub(r'[^A-Za-z0-9._-]', '_', name)}.npy" for name in outputs]
    if len(set(paths)) < len(paths):
        raise SonnxError(f"two outputs would be written to one file in '{folder}'")
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for path, tensor in zip(paths, outputs.values(), strict=True):
            np.save(path, tensor, allow_pickle=False)
    except OSError as error:
        raise SonnxError(f"'{folder}' cannot be written: {error}") from error
    return paths


def _read_array(path: Path) -> npt.NDArray[Any]:
    try:
        loaded = np.load(path, allow_pickle=False)
    except FileNotFoundError as error:
        raise SonnxError(f"there is no file '{path}'") from error
    except (OSError, ValueError, EOFError) as error:
        raise SonnxError(f"'{path}' holds no array in numpy's .npy format: {error}") from error
    if not isinstance(loaded, np.ndarray):
        raise SonnxError(f"'{path}' holds several arrays; give a .npy file with one")
    return loaded


def _check_names(session: InferenceSession, tensors: Tensors) -> None:
    known = [graph_input.name for graph_input in session.get_inputs()]
    unknown = [name for name in tensors if name not in known]
    missing = [name for name in known if name not in tensors]
    if unknown or missing:
        said = [f"there is no input '{name}'" for name in unknown]
        said += [f"the input '{name}' is missing" for name in missing]
        raise SonnxError(f"{'; '.join(said)}; the model's inputs are {', '.join(known)}")
