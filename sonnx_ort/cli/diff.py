"""`sonnx-ort diff`: finds where two models first differ in a run."""

from typing import Annotated

import typer

from sonnx_ort.cli.options import (
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

app = subcommand()


@app.command(
    epilog=examples(
        "sonnx-ort diff model.onnx enforced.onnx",
        "sonnx-ort diff model.onnx enforced.onnx --seed 7 --all",
        "sonnx-ort diff model.onnx enforced.onnx --input x=x.npy --input y=y.npy",
        "sonnx-ort diff model.onnx enforced.onnx --size n=320",
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
    sizes: SizesOption = None,
    input_shapes: InputShapesOption = None,
    seed: SeedOption = 0,
    every: Annotated[
        bool, typer.Option("--all", help="List every value of A, node by node.")
    ] = False,
    quiet: QuietOption = False,
) -> None:
    """Run two models, and show where their values first differ.

    Compares, bit by bit, all values that have the same name in both. Optimizations are off.

    Exit status 0: nothing differs; 1: a value differs or a run ends early; 2: unusable input.
    """
    from sonnx_ort.cli.run import read_feeds, read_sizes
    from sonnx_ort.comparing.difference import compare
    from sonnx_ort.reporting.difference_report import difference_report

    with errors_as_sentences():
        given = read_feeds(feeds or [])
        chosen = read_sizes(sizes or [], input_shapes or [])
        comparison = compare(first, second, given, seed=seed, sizes=chosen)
    if not quiet:
        say(difference_report(comparison, (first, second), every=every))
    if not comparison.equal:
        raise typer.Exit(ExitStatus.VIOLATED)
