"""`sonnx-ort reduce`: the smallest model that shows something."""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from sonnx_ort.cli.comparing import only_sample
from sonnx_ort.cli.options import (
    OUTPUT,
    TEXT,
    command,
    examples,
    flag,
    option,
    read_values,
    subcommand,
)
from sonnx_ort.cli.output import say
from sonnx_ort.comparing.isolated_run import Level
from sonnx_ort.comparing.reduction import Reduced
from sonnx_ort.comparing.reduction import reduce as reduce_model
from sonnx_ort.comparing.shrinking import MOST_TRIES
from sonnx_ort.errors import SonnxError, printable
from sonnx_ort.files import check_place, refuse_inputs, refuse_source, writing
from sonnx_ort.loading.source import read
from sonnx_ort.options import PROFILE
from sonnx_ort.value_files import write_values

app = subcommand()


@command(
    app,
    *("model", "inputs", "data", "sizes", "input_shapes", "seed", "edition", "broadcast"),
    *("contract", "force", "quiet"),
    operators=PROFILE,
    settings=True,
    own={
        "output": OUTPUT,
        "violates": option(
            TEXT, "It violates a rule, in every run or with the inputs.", metavar="RULE"
        ),
        "refused": flag("`rewrite` refuses it for one of the same rules.", "--refused"),
        "dies": flag("A run ends the process in the same way.", "--dies"),
        "differs": flag("Optimizers change bits of its outputs.", "--differs"),
        "outside": flag(
            "`audit` finds results of the same operators outside the admitted error.", "--outside"
        ),
        "check": option(
            TEXT,
            "A command ends with status 0; it gets the path of a model at its end, or in the place "
            "of {}.",
            metavar="COMMAND",
        ),
        "level": option(
            Level,
            "How far ONNX Runtime optimizes, for --dies, --differs and --outside.",
            default=Level.ALL,
        ),
        "anonymous": flag("Replace names, and leave out texts and metadata.", "--anonymous"),
        "tries": option(
            int, "How many smaller models are tried at most.", default=MOST_TRIES, least=1
        ),
    },
    epilog=examples(
        "sonnx-ort reduce model.onnx -o small.onnx --differs",
        "sonnx-ort reduce model.onnx -o small.onnx --dies --input x=x.npy",
        "sonnx-ort reduce model.onnx -o small.onnx --violates Div.float.R1",
        'sonnx-ort reduce model.onnx -o small.onnx --check "python fails.py {}" --anonymous',
    ),
)
def reduce(
    model: Path,
    output: Path,
    inputs: Mapping[str, Path],
    data: Path | None,
    force: bool,
    quiet: bool,
    **choices: Any,
) -> None:
    """Find a small model that still shows one thing, such as a crash or other results.

    Leaves out what is not needed for it. Its inputs are written to a folder beside it, if it has
    any.

    Exit status 0: the model is written; 2: unusable input, or the model does not show it.
    """
    folder = output.with_suffix(".inputs")
    check_place(output)
    refuse_source(output, model, read(model).proto, force=force)
    contracts = [choices["contract"]] if isinstance(choices["contract"], Path) else []
    refuse_inputs(output, [*inputs.values(), *(data.rglob("*") if data else ()), *contracts])
    if folder.exists() and not (folder.is_dir() and not any(folder.iterdir())):
        raise SonnxError(f"'{folder}', the place of its inputs, is not empty; name another file")
    given = only_sample(model, data) | read_values(inputs)
    reduced = reduce_model(model, given, **choices)
    if reduced.inputs:
        write_values(reduced.inputs, folder)
    with writing(output) as file:
        file.write(reduced.model.SerializeToString())
    if not quiet:
        lines = _lines(reduced, output, folder, anonymous=choices["anonymous"])
        say("\n".join(map(printable, lines)), output)


def _lines(reduced: Reduced, output: Path, folder: Path, *, anonymous: bool) -> Iterator[str]:
    yield f"{output}: written, with {reduced.nodes} of {reduced.before} nodes"
    if reduced.inputs:
        yield f"{folder}: its inputs {', '.join(reduced.inputs)}"
    yield f"it shows: {', '.join(reduced.shows)}"
    yield f"smaller models tried: {reduced.tried}"
    if anonymous and not reduced.anonymous:
        yield "its names are kept, because it does not show it without them"
