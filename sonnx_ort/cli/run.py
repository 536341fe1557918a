"""`sonnx-ort run`: runs a model on inputs from files, enforced."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import onnxruntime

from sonnx_ort.cli.options import PATH, command, examples, flag, option, read_values, subcommand
from sonnx_ort.cli.output import say
from sonnx_ort.comparing.input_shapes import Sizes
from sonnx_ort.comparing.inputs import Inputs, complete
from sonnx_ort.comparing.isolated_run import IsolatedRuns
from sonnx_ort.errors import SonnxError
from sonnx_ort.files import external_locations
from sonnx_ort.loading.source import read
from sonnx_ort.runtime.feeds import as_declared, run_on_values
from sonnx_ort.runtime.session import InferenceSession
from sonnx_ort.runtime.session_options import FATAL
from sonnx_ort.value_files import Value, write_values

app = subcommand()


@command(
    app,
    *("model", "inputs", "sizes", "input_shapes", "seed", "edition", "broadcast", "operators"),
    *("backend", "conform", "waivers", "contract", "quiet"),
    settings=True,
    rewrites=True,
    own={
        "output_dir": option(
            PATH, "Write each output to NAME.npy in this folder; sequences and maps to NAME.npz."
        ),
        "verify_proofs": flag(
            "With another backend: also run the python backend, and fail if the verdicts differ.",
            "--verify-proofs",
        ),
    },
    epilog=examples(
        "sonnx-ort run model.onnx --input x=x.npy --input y=y.npy",
        "sonnx-ort run model.onnx --size n=320 --seed 7",
        "sonnx-ort run model.onnx --input x=x.npy --output-dir outputs --quiet",
        "sonnx-ort run model.onnx --input x=x.npy --backend native --verify-proofs",
    ),
)
def run(
    model: Path,
    inputs: Mapping[str, Path],
    sizes: Mapping[str, int],
    input_shapes: Mapping[str, tuple[int, ...]],
    seed: int,
    output_dir: Path | None,
    quiet: bool,
    **choices: Any,
) -> None:
    """Run a model once with the profile enforced, and show its outputs.

    Inputs that are not given are random.
    """
    from sonnx_ort.reporting.difference_report import describe_value, described_inputs

    chosen = Sizes(sizes, input_shapes)
    completed, outputs = _ran(model, read_values(inputs), seed, chosen, choices)
    lines = [*described_inputs(completed)] if completed.random else []
    for name, value in outputs.items():
        lines += describe_value(name, value)
    if output_dir is not None:
        named = [choices[name] for name in ("waivers", "contract")]
        external = external_locations(read(model).proto)
        used = [model, *(model.parent / each for each in external), *inputs.values()]
        used += [path for path in named if isinstance(path, Path)]
        lines += [f"written: {path}" for path in write_values(outputs, output_dir, used)]
    if not quiet:
        say("\n".join(lines))


def _ran(
    model: Path, given: Mapping[str, Value], seed: int, sizes: Sizes, choices: Mapping[str, Any]
) -> tuple[Inputs, dict[str, Value]]:
    """The inputs of a run, random where they are not given, and its outputs."""
    options = onnxruntime.SessionOptions()
    # The error has the full message; ONNX Runtime would log it again.
    options.log_severity_level = FATAL
    try:
        session = InferenceSession(model, options, **choices)
        tensors = as_declared(session.graph_inputs, given)
        limits = session.contract
        with IsolatedRuns() as runs:
            inputs = complete(read(model), tensors, runs, seed=seed, sizes=sizes, contract=limits)
        names = [output.name for output in session.get_outputs()]
        return inputs, run_on_values(session, names, inputs.arrays)
    except SonnxError:
        raise
    except Exception as error:
        raise SonnxError(f"ONNX Runtime refuses: {' '.join(str(error).split())}") from error
