"""`sonnx-ort reduce`: finds a small model that still shows one thing."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Annotated, Any

import typer

from sonnx_ort.cli.options import (
    BroadcastOption,
    DataOption,
    EditionOption,
    ForceOption,
    InputShapesOption,
    ModelArgument,
    OperatorsOption,
    QuietOption,
    SeedOption,
    SizesOption,
    errors_as_sentences,
    examples,
    say,
    subcommand,
)
from sonnx_ort.cli.run import feed_files, read_feeds, read_sizes, save_outputs
from sonnx_ort.cli.settings import CommandWithSettings, ShowSettingsOption
from sonnx_ort.comparing.isolated_run import Level
from sonnx_ort.comparing.reduction import Reduced
from sonnx_ort.comparing.reduction import reduce as reduce_model
from sonnx_ort.comparing.shrinking import MOST_TRIES
from sonnx_ort.errors import SonnxError, printable
from sonnx_ort.files import check_place, refuse_inputs, refuse_source, writing
from sonnx_ort.loading.source import read
from sonnx_ort.options import PROFILE
from sonnx_ort.profile.options import Broadcasting, Edition
from sonnx_ort.value_files import read_samples

app = subcommand()


@app.command(
    cls=CommandWithSettings,
    epilog=examples(
        "sonnx-ort reduce model.onnx -o small.onnx --differs",
        "sonnx-ort reduce model.onnx -o small.onnx --dies --input x=x.npy",
        "sonnx-ort reduce model.onnx -o small.onnx --violates Div.float.R1",
        'sonnx-ort reduce model.onnx -o small.onnx --check "python fails.py {}" --anonymous',
    ),
)
def reduce(
    model: ModelArgument,
    output: Annotated[
        Path,
        typer.Option("--output", "-o", metavar="FILE", help="The file for the smaller model."),
    ],
    violates: Annotated[
        str | None,
        typer.Option(metavar="RULE", help="It violates a rule, in every run or with the inputs."),
    ] = None,
    refused: Annotated[
        bool, typer.Option("--refused", help="`rewrite` refuses it for one of the same rules.")
    ] = False,
    dies: Annotated[
        bool, typer.Option("--dies", help="A run ends the process in the same way.")
    ] = False,
    differs: Annotated[
        bool, typer.Option("--differs", help="Optimizers change bits of its outputs.")
    ] = False,
    check: Annotated[
        str | None,
        typer.Option(
            metavar="COMMAND",
            help="A command ends with status 0; it gets the path of a model at its end, or in the "
            "place of {}.",
        ),
    ] = None,
    feeds: Annotated[
        list[str] | None,
        typer.Option("--input", metavar="NAME=FILE.npy", help="An input; the others are random."),
    ] = None,
    data: DataOption = None,
    sizes: SizesOption = None,
    input_shapes: InputShapesOption = None,
    seed: SeedOption = 0,
    level: Annotated[
        Level, typer.Option(help="How far ONNX Runtime optimizes, for --dies and --differs.")
    ] = Level.ALL,
    edition: EditionOption = Edition.TYPED,
    broadcast: BroadcastOption = Broadcasting.REJECT,
    operators: OperatorsOption = PROFILE,
    anonymous: Annotated[
        bool,
        typer.Option("--anonymous", help="Replace names, and leave out texts and metadata."),
    ] = False,
    tries: Annotated[
        int, typer.Option(min=1, help="How many smaller models are tried at most.")
    ] = MOST_TRIES,
    force: ForceOption = False,
    quiet: QuietOption = False,
    _show: ShowSettingsOption = False,
) -> None:
    """Find a small model that still shows one thing, such as a crash or other results.

    Leaves out what is not needed for it. Its inputs are written to a folder beside it, if it has
    any.

    Exit status 0: the model is written; 2: unusable input, or the model does not show it.
    """
    with errors_as_sentences():
        _check_places(model, output, feeds or [], data, force=force)
        chosen = read_sizes(sizes or [], input_shapes or [])
        reduced = reduce_model(
            model,
            _given(model, feeds or [], data),
            violates=violates,
            refused=refused,
            dies=dies,
            differs=differs,
            check=check,
            level=level,
            edition=edition,
            broadcast=broadcast,
            operators=operators,
            seed=seed,
            sizes=chosen.named,
            input_shapes=chosen.shapes,
            anonymous=anonymous,
            tries=tries,
        )
        if reduced.inputs:
            save_outputs(reduced.inputs, _place_of_inputs(output))
        with writing(output) as file:
            file.write(reduced.model.SerializeToString())
    if not quiet:
        lines = _lines(reduced, output, anonymous=anonymous)
        say("\n".join(map(printable, lines)), output)


def _check_places(
    model: Path, output: Path, feeds: Sequence[str], data: Path | None, *, force: bool
) -> None:
    check_place(output)
    refuse_source(output, model, read(model).proto, force=force)
    refuse_inputs(output, [*feed_files(feeds).values(), *(data.rglob("*") if data else ())])
    place = _place_of_inputs(output)
    if place.exists() and not (place.is_dir() and not any(place.iterdir())):
        raise SonnxError(f"'{place}', the place of its inputs, is not empty; name another file")


def _place_of_inputs(output: Path) -> Path:
    return output.with_suffix(".inputs")


def _given(model: Path, feeds: Sequence[str], data: Path | None) -> dict[str, Any]:
    given = read_feeds(feeds)
    if data is None:
        return given
    samples = read_samples(data, [value.name for value in read(model).proto.graph.input])
    if len(samples) > 1:
        names = ", ".join(samples)
        raise SonnxError(f"'{data}' has {len(samples)} samples; name the folder of one: {names}")
    (sample,) = samples.values()
    return sample | given


def _lines(reduced: Reduced, output: Path, *, anonymous: bool) -> Iterator[str]:
    yield f"{output}: written, with {reduced.nodes} of {reduced.before} nodes"
    if reduced.inputs:
        yield f"{_place_of_inputs(output)}: its inputs {', '.join(reduced.inputs)}"
    yield f"it shows: {', '.join(reduced.shows)}"
    yield f"smaller models tried: {reduced.tried}"
    if anonymous and not reduced.anonymous:
        yield "its names are kept, because it does not show it without them"
