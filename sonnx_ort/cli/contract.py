"""`sonnx-ort contract`: proposes what the inputs of a model, and values inside of it, may be."""

from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Any

from sonnx_ort.cli.options import (
    OPTIONS,
    PATH,
    TEXTS,
    command,
    examples,
    flag,
    integers_by_name,
    option,
    subcommand,
)
from sonnx_ort.cli.output import say

app = subcommand()


@command(
    app,
    *("model", "quiet"),
    own={
        "output": option(
            PATH, "The TOML file to write; shown if left out.", "--output", "-o", metavar="FILE"
        ),
        "data": option(
            PATH,
            "Samples: NAME.npy or input_0.pb for each input, here or in a folder for each.",
            metavar="FOLDER",
        ),
        "contract": OPTIONS["contract"],
        "margin": option(
            float, "How much of a seen range is added at each end.", metavar="SHARE", default=0.25
        ),
        "axes": option(
            TEXTS,
            "An axis each index of which gets a range of its own.",
            "--axis",
            metavar="NAME=N",
            read=partial(integers_by_name, "--axis"),
        ),
        "checkpoints": flag(
            "Find the few values inside of the model whose checked range keeps all others finite.",
            "--checkpoints",
        ),
    },
    epilog=examples(
        "sonnx-ort contract model.onnx -o envelope.toml",
        "sonnx-ort contract model.onnx --data samples -o envelope.toml",
        "sonnx-ort contract model.onnx --contract envelope.toml --checkpoints -o complete.toml",
    ),
)
def contract(
    model: Path,
    output: Path | None,
    quiet: bool,
    contract: Any,
    axes: Mapping[str, int],
    **choices: Any,
) -> None:
    """Propose what the inputs of a model may be, for a person to judge.

    With samples the ranges are those that were seen, and a margin. Without, floats are to be
    finite.
    """
    from sonnx_ort.envelope import propose_contract
    from sonnx_ort.files import check_place, refuse_inputs, write_text

    if output is not None:
        check_place(output)
        refuse_inputs(output, [model, *([contract] if isinstance(contract, Path) else [])])
    proposed = propose_contract(model, contract=contract, axes=axes, **choices)
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
