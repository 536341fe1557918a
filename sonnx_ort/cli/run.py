"""`sonnx-ort run`: runs a model on inputs from files, enforced."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, TypeVar

import onnxruntime
import typer

from sonnx_ort.cli.options import (
    BackendOption,
    BroadcastOption,
    ConformOption,
    ContractOption,
    EditionOption,
    InputShapesOption,
    ModelArgument,
    OperatorsOption,
    QuietOption,
    SeedOption,
    SizesOption,
    WaiversOption,
    errors_as_sentences,
    examples,
    say,
    subcommand,
)
from sonnx_ort.cli.settings import CommandWithSettings, ShowSettingsOption
from sonnx_ort.comparing.inputs import UNSAID, Inputs, Sizes, complete
from sonnx_ort.comparing.isolated_run import IsolatedRuns
from sonnx_ort.envelope import drawn_within, sizes_within
from sonnx_ort.errors import SonnxError
from sonnx_ort.files import external_locations, refuse_inputs
from sonnx_ort.loading.source import read
from sonnx_ort.options import DEFAULT
from sonnx_ort.profile.contract import NO_CONTRACT
from sonnx_ort.profile.options import Broadcasting, Edition
from sonnx_ort.runtime.feeds import as_declared, run_on_values
from sonnx_ort.runtime.session import InferenceSession
from sonnx_ort.runtime.session_options import FATAL
from sonnx_ort.value_files import Value, file_names, place_of, read_value, write_value

Values = dict[str, Value]

Number = TypeVar("Number")


@dataclass(frozen=True, slots=True)
class Ran:
    """A run.

    Attributes:
        inputs: Its inputs.
        outputs: Its outputs by name.
    """

    inputs: Inputs
    outputs: Values


def run_once(
    model: Path,
    feeds: Sequence[str],
    *,
    seed: int = 0,
    sizes: Sizes = UNSAID,
    verify_proofs: bool = False,
    **choices: Any,
) -> Ran:
    """Run a model once, on inputs from files and random ones.

    Args:
        model: The model's file.
        feeds: `NAME=FILE.npy` for inputs; `.npz` for a sequence or a map. The others are random.
        seed: The seed of the random inputs.
        sizes: Their sizes, where the model leaves them open.
        verify_proofs: As for `InferenceSession`.
        **choices: As for `InferenceSession`.

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
        declared = [(each.name, each.shape) for each in session.graph_inputs]
        sizes = sizes_within(session.contract, declared, tensors, sizes)
        with IsolatedRuns() as runs:
            inputs = complete(read(model), tensors, runs, seed=seed, sizes=sizes)
        inputs = drawn_within(inputs, session.contract)
        names = [output.name for output in session.get_outputs()]
        return Ran(inputs, run_on_values(session, names, inputs.arrays))
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


def read_assumed(given: Sequence[str]) -> dict[str, Any]:
    """Values of inputs, given as `NAME=NUMBER`, or as inputs in files are.

    Raises:
        SonnxError: One has another form or is repeated, or its file has no value.
    """
    found: dict[str, Any] = {}
    files: list[str] = []
    names = [each.partition("=")[0] for each in given]
    for each in given:
        name, _, text = each.partition("=")
        if names.count(name) > 1:
            raise SonnxError(f"--assume {each}: '{name}' is given twice")
        try:
            number = float(text) if set(text) & set(".naife") else int(text)
        except ValueError:
            if not text.endswith((".npy", ".npz")):
                form = "the form is NAME=NUMBER or NAME=FILE.npy"
                raise SonnxError(f"--assume {each}: {form}") from None
            files.append(each)
            continue
        found[name] = number
    return found | read_feeds(files)


def read_sizes(sizes: Sequence[str], shapes: Sequence[str]) -> Sizes:
    """Sizes by name, given as `NAME=N`, and shapes of inputs, given as `NAME=N,N`.

    Raises:
        SonnxError: One has another form or is repeated.
    """
    named = _integers("--size", sizes, "NAME=N")
    given = _integers("--input-shape", shapes, "NAME=N,N, such as x=1,3,48,320")
    for name, numbers in named.items():
        if len(numbers) > 1:
            said = ",".join(map(str, numbers))
            raise SonnxError(f"--size {name}={said}: the form is NAME=N")
    return Sizes({name: numbers[0] for name, numbers in named.items()}, given)


def read_errors(given: Sequence[str]) -> dict[str, float]:
    """The largest errors of inputs by name, given as `NAME=E`.

    Raises:
        SonnxError: One has another form or is repeated.
    """
    return _numbers("--error", given, "NAME=E, such as x=0.001", float)


def _integers(option: str, given: Sequence[str], form: str) -> dict[str, tuple[int, ...]]:
    return _numbers(option, given, form, lambda numbers: tuple(map(int, numbers.split(","))))


def _numbers(
    option: str, given: Sequence[str], form: str, read: Callable[[str], Number]
) -> dict[str, Number]:
    found: dict[str, Number] = {}
    for each in given:
        name, _, numbers = each.rpartition("=")
        try:
            made = read(numbers)
        except ValueError:
            name = ""
        if not name:
            raise SonnxError(f"{option} {each}: the form is {form}")
        if name in found:
            raise SonnxError(f"{option} {each}: '{name}' is given twice")
        found[name] = made
    return found


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
        "sonnx-ort run model.onnx --size n=320 --seed 7",
        "sonnx-ort run model.onnx --input x=x.npy --output-dir outputs --quiet",
        "sonnx-ort run model.onnx --input x=x.npy --backend native --verify-proofs",
    ),
)
def run(
    model: ModelArgument,
    feeds: Annotated[
        list[str] | None,
        typer.Option(
            "--input",
            metavar="NAME=FILE.npy",
            help="An input; repeat the option for each. The others are random.",
        ),
    ] = None,
    sizes: SizesOption = None,
    input_shapes: InputShapesOption = None,
    seed: SeedOption = 0,
    output_dir: Annotated[
        Path | None,
        typer.Option(
            help="Write each output to NAME.npy in this folder; sequences and maps to NAME.npz."
        ),
    ] = None,
    edition: EditionOption = Edition.TYPED,
    broadcast: BroadcastOption = Broadcasting.REJECT,
    operators: OperatorsOption = DEFAULT,
    backend: BackendOption = None,
    conform: ConformOption = False,
    waivers: WaiversOption = None,
    contract: ContractOption = None,
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
    """Run a model once with the profile enforced, and show its outputs.

    Inputs that are not given are random.
    """
    from sonnx_ort.cli.run import run_once, save_outputs
    from sonnx_ort.reporting.difference_report import describe_value, described_inputs

    with errors_as_sentences(model, conformed=conform):
        ran = run_once(
            model,
            feeds or [],
            seed=seed,
            sizes=read_sizes(sizes or [], input_shapes or []),
            verify_proofs=verify_proofs,
            edition=edition,
            broadcast=broadcast,
            operators=operators,
            backend=backend,
            conform=conform,
            waivers=waivers or (),
            contract=contract or NO_CONTRACT,
        )
        lines = [*described_inputs(ran.inputs)] if ran.inputs.random else []
        for name, value in ran.outputs.items():
            lines += describe_value(name, value)
        if output_dir is not None:
            inputs = _files_read(model, feeds or [], waivers, contract)
            lines += [f"written: {path}" for path in save_outputs(ran.outputs, output_dir, inputs)]
    if not quiet:
        say("\n".join(lines))


def _files_read(model: Path, feeds: Sequence[str], *options: Path | None) -> list[Path]:
    external = (model.parent / location for location in external_locations(read(model).proto))
    return [model, *external, *feed_files(feeds).values(), *filter(None, options)]
