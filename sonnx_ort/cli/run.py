"""`sonnx-ort run`: runs a model on inputs from files, enforced."""

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any

import onnxruntime
import typer

from sonnx_ort.cli.options import (
    BackendOption,
    BroadcastOption,
    ConformOption,
    EditionOption,
    ModelArgument,
    OperatorsOption,
    QuietOption,
    WaiversOption,
    errors_as_sentences,
    examples,
    say,
    subcommand,
)
from sonnx_ort.cli.settings import CommandWithSettings, ShowSettingsOption
from sonnx_ort.errors import SonnxError
from sonnx_ort.files import external_locations, refuse_inputs
from sonnx_ort.loading.source import read
from sonnx_ort.options import DEFAULT, Backend
from sonnx_ort.profile.options import Broadcasting, Edition
from sonnx_ort.runtime.feeds import as_declared, what_is_wrong
from sonnx_ort.runtime.ort_values import run_on_values
from sonnx_ort.runtime.session import InferenceSession
from sonnx_ort.runtime.session_options import FATAL
from sonnx_ort.value_files import Value, file_names, place_of, read_value, write_value

Values = dict[str, Value]


def run_once(
    model: Path,
    feeds: Sequence[str],
    *,
    verify_proofs: bool = False,
    **choices: Any,
) -> Values:
    """Run a model once on inputs from files.

    Args:
        model: The model's file.
        feeds: One `NAME=FILE.npy` for each input; `.npz` for a sequence or a map.
        verify_proofs: As for `InferenceSession`.
        **choices: As for `InferenceSession`.

    Returns:
        The outputs by name.

    Raises:
        SonnxError: The model or an input cannot be used, or the profile is violated; the subclass
            says which.
    """
    tensors = read_feeds(feeds)
    options = onnxruntime.SessionOptions()
    # The error has the full message; ONNX Runtime would log it again.
    options.log_severity_level = FATAL
    try:
        session = InferenceSession(model, options, verify_proofs=verify_proofs, **choices)
        tensors = as_declared(session.graph_inputs, tensors)
        _require_feeds(session, tensors)
        names = [output.name for output in session.get_outputs()]
        return run_on_values(session, names, tensors)
    except SonnxError:
        raise
    except Exception as error:
        raise SonnxError(f"ONNX Runtime refuses: {' '.join(str(error).split())}") from error


def read_feeds(feeds: Sequence[str]) -> dict[str, Any]:
    """Read inputs from files, given as `NAME=FILE.npy`.

    Raises:
        SonnxError: One has another form or is repeated, or its file has no value.
    """
    return {name: read_value(path) for name, path in feed_files(feeds).items()}


def feed_files(feeds: Sequence[str]) -> dict[str, Path]:
    """The files of inputs by name, given as `NAME=FILE.npy`.

    Raises:
        SonnxError: One has another form or is repeated.
    """
    files: dict[str, Path] = {}
    for feed in feeds:
        name, equals, file = feed.rpartition("=")
        if not (name and equals and file):
            raise SonnxError(f"--input {feed}: the form is NAME=FILE.npy")
        if name in files:
            raise SonnxError(f"--input {feed}: '{name}' is given twice")
        files[name] = Path(file)
    return files


def save_outputs(
    outputs: Mapping[str, Value], folder: Path, inputs: Iterable[Path] = ()
) -> list[Path]:
    """Write each output to a separate file in a folder, which is created if needed.

    Returns:
        The files, in the order of the outputs, without those of absent ones.

    Raises:
        SonnxError: A file cannot be written or is one of the inputs, or two outputs would have the
            same file name.
    """
    names = file_names(outputs)
    present = {name: value for name, value in outputs.items() if value is not None}
    paths = {name: place_of(value, folder, names[name]) for name, value in present.items()}
    for path in paths.values():
        refuse_inputs(path, inputs)
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise SonnxError(f"'{folder}' cannot be written: {error.strerror or error}") from error
    for name, path in paths.items():
        write_value(present[name], path)
    return list(paths.values())


app = subcommand()


@app.command(
    cls=CommandWithSettings,
    epilog=examples(
        "sonnx-ort run model.onnx --input x=x.npy --input y=y.npy",
        "sonnx-ort run model.onnx --input x=x.npy --output-dir outputs --quiet",
        "sonnx-ort run model.onnx --input x=x.npy --backend native --verify-proofs",
    ),
)
def run(
    model: ModelArgument,
    feeds: Annotated[
        list[str] | None,
        typer.Option(
            "--input", metavar="NAME=FILE.npy", help="An input; repeat the option for each."
        ),
    ] = None,
    output_dir: Annotated[
        Path | None,
        typer.Option(
            help="Write each output to NAME.npy in this folder; sequences and maps to NAME.npz."
        ),
    ] = None,
    edition: EditionOption = Edition.TYPED,
    broadcast: BroadcastOption = Broadcasting.REJECT,
    operators: OperatorsOption = DEFAULT,
    backend: BackendOption = Backend.PYTHON,
    conform: ConformOption = False,
    waivers: WaiversOption = None,
    verify_proofs: Annotated[
        bool,
        typer.Option(
            "--verify-proofs",
            help="With another backend: also run the python backend, and fail if the verdicts "
            "differ.",
        ),
    ] = False,
    quiet: QuietOption = False,
    _show: ShowSettingsOption = False,
) -> None:
    """Run a model once with the profile enforced, and show its outputs."""
    from sonnx_ort.cli.run import run_once, save_outputs
    from sonnx_ort.reporting.values import describe_value

    with errors_as_sentences(model, conformed=conform):
        outputs = run_once(
            model,
            feeds or [],
            verify_proofs=verify_proofs,
            edition=edition,
            broadcast=broadcast,
            operators=operators,
            backend=backend,
            conform=conform,
            waivers=waivers or (),
        )
        lines = [line for name in outputs for line in describe_value(name, outputs[name])]
        if output_dir is not None:
            inputs = _files_read(model, feeds or [], waivers)
            lines += [f"written: {path}" for path in save_outputs(outputs, output_dir, inputs)]
    if not quiet:
        say("\n".join(lines))


def _require_feeds(session: InferenceSession, tensors: Mapping[str, object]) -> None:
    if wrong := what_is_wrong(session.graph_inputs, tensors):
        raise SonnxError(*wrong.splitlines())


def _files_read(model: Path, feeds: Sequence[str], waivers: Path | None) -> list[Path]:
    external = (model.parent / location for location in external_locations(read(model).proto))
    return [model, *external, *feed_files(feeds).values(), *([waivers] if waivers else [])]
