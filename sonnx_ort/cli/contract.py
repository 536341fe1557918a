"""`sonnx-ort contract`: proposes what the inputs of a model, and values inside of it, may be."""

from pathlib import Path
from typing import Annotated

import typer

from sonnx_ort.cli.options import (
    ContractOption,
    ModelArgument,
    QuietOption,
    examples,
    integers_by_name,
    subcommand,
)
from sonnx_ort.cli.output import errors_as_sentences, say

app = subcommand()


@app.command(
    epilog=examples(
        "sonnx-ort contract model.onnx -o envelope.toml",
        "sonnx-ort contract model.onnx --data samples -o envelope.toml",
        "sonnx-ort contract model.onnx --contract envelope.toml --checkpoints -o complete.toml",
    )
)
def contract(
    model: ModelArgument,
    output: Annotated[
        Path | None,
        typer.Option(
            "--output", "-o", metavar="FILE", help="The TOML file to write; shown if left out."
        ),
    ] = None,
    data: Annotated[
        Path | None,
        typer.Option(
            metavar="FOLDER",
            help="Samples: NAME.npy or input_0.pb for each input, here or in a folder for each.",
        ),
    ] = None,
    given: ContractOption = None,
    margin: Annotated[
        float,
        typer.Option(metavar="SHARE", help="How much of a seen range is added at each end."),
    ] = 0.25,
    axis: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME=N", help="An axis each index of which gets a range of its own."),
    ] = None,
    checkpoints: Annotated[
        bool,
        typer.Option(
            "--checkpoints",
            help="Find the few values inside of the model whose checked range keeps all others "
            "finite.",
        ),
    ] = False,
    quiet: QuietOption = False,
) -> None:
    """Propose what the inputs of a model may be, for a person to judge.

    With samples the ranges are those that were seen, and a margin. Without, floats are to be
    finite.
    """
    from sonnx_ort.envelope import propose_contract
    from sonnx_ort.files import check_place, refuse_inputs, write_text
    from sonnx_ort.profile.contract import NO_CONTRACT

    with errors_as_sentences():
        if output is not None:
            check_place(output)
            refuse_inputs(output, [model, *([given] if given else [])])
        proposed = propose_contract(
            model,
            data=data,
            contract=given or NO_CONTRACT,
            margin=margin,
            axes=integers_by_name("--axis", axis),
            checkpoints=checkpoints,
        )
        if output is not None:
            write_text(output, proposed.toml)
    if output is None:
        say(proposed.toml)
    if quiet:
        return
    lines = [] if output is None else [f"{output}: written"]
    lines += [
        f"samples run: {proposed.samples}",
        f"values finite for every input within it: {proposed.finite} of {proposed.floats} floats",
    ]
    if proposed.checkpoints:
        checked = sum(proposed.checkpoints.values())
        lines.append(
            f"values checked inside: {len(proposed.checkpoints)}, with {checked} elements a run"
        )
    lines += [f"not kept finite: '{name}'" for name in proposed.open[:_MOST_SHOWN]]
    if len(proposed.open) > _MOST_SHOWN:
        lines.append(f"and {len(proposed.open) - _MOST_SHOWN} more")
    say("\n".join(lines))


_MOST_SHOWN = 5
"""How many values are named that may not be finite."""
