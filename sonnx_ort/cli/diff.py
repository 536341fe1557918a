"""`sonnx-ort diff`: finds where two models first differ in a run, or how far in many."""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Annotated, Any

import typer

from sonnx_ort.cli.options import (
    DataOption,
    ExitStatus,
    InputShapesOption,
    QuietOption,
    SeedOption,
    SizesOption,
    errors_as_sentences,
    examples,
    say,
    subcommand,
)
from sonnx_ort.cli.run import read_feeds, read_sizes
from sonnx_ort.comparing.difference import compare_samples, survey
from sonnx_ort.comparing.measures import Measure, Tolerance
from sonnx_ort.errors import SonnxError
from sonnx_ort.loading.source import read
from sonnx_ort.value_files import read_samples

app = subcommand()


@app.command(
    epilog=examples(
        "sonnx-ort diff model.onnx enforced.onnx",
        "sonnx-ort diff model.onnx enforced.onnx --seed 7 --all",
        "sonnx-ort diff model.onnx enforced.onnx --input x=x.npy --input y=y.npy",
        "sonnx-ort diff model.onnx enforced.onnx --size n=320",
        "sonnx-ort diff model.onnx exported.onnx --data samples --measure ulp --tolerance 4",
        "sonnx-ort diff model.onnx exported.onnx --samples 1000 --measure relative",
    )
)
def diff(
    first: Annotated[str, typer.Argument(metavar="A", help="A model, such as the original.")],
    second: Annotated[str, typer.Argument(metavar="B", help="Another model with the same inputs.")],
    feeds: Annotated[
        list[str] | None,
        typer.Option(
            "--input", metavar="NAME=FILE.npy", help="An input; the other inputs are random."
        ),
    ] = None,
    data: DataOption = None,
    samples: Annotated[
        int | None,
        typer.Option(min=1, help="How many samples are made up, with seeds from --seed on."),
    ] = None,
    measure: Annotated[
        Measure,
        typer.Option(
            help="What differs: 'bits' of elements, or numbers by units in the last place ('ulp'), "
            "'absolute' or 'relative' to A."
        ),
    ] = Measure.BITS,
    tolerance: Annotated[
        float, typer.Option(min=0, help="The largest difference that is none, in the measure.")
    ] = 0,
    sizes: SizesOption = None,
    input_shapes: InputShapesOption = None,
    seed: SeedOption = 0,
    every: Annotated[
        bool, typer.Option("--all", help="List every value of A, node by node.")
    ] = False,
    quiet: QuietOption = False,
) -> None:
    """Run two models, and show where their values first differ.

    Compares, bit by bit or by a measure, all values that have the same name in both. Optimizations
    are off. Of many samples a table shows how far each value differs.

    Exit status 0: nothing differs; 1: a value differs or a run ends early; 2: unusable input.
    """
    from sonnx_ort.reporting.difference_report import difference_report

    with errors_as_sentences():
        chosen = read_sizes(sizes or [], input_shapes or [])
        given = dict(_samples(first, read_feeds(feeds or []), data, samples, seed))
        comparisons = compare_samples(
            first, second, given.values(), chosen, Tolerance(measure, tolerance)
        )
        found = survey(zip(given, comparisons, strict=True))
    if not quiet:
        say(difference_report(found, (first, second), every=every))
    if found.unequal:
        raise typer.Exit(ExitStatus.VIOLATED)


def _samples(
    model: str, given: Mapping[str, Any], data: Path | None, samples: int | None, seed: int
) -> Iterator[tuple[str, tuple[Mapping[str, Any], int]]]:
    """The inputs and the seed of each sample, by its name."""
    if data is None:
        yield from ((f"{each}", (given, each)) for each in range(seed, seed + (samples or 1)))
        return
    if samples is not None:
        raise SonnxError(f"'{data}' has the samples; leave out --data or --samples")
    inputs = [value.name for value in read(model).proto.graph.input]
    for name, sample in read_samples(data, inputs).items():
        yield name, ({**sample, **given}, seed)
