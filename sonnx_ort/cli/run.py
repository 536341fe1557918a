"""`sonnx-ort run`: one run of a model that is enforced."""

from pathlib import Path
from typing import Annotated

import typer

from sonnx_ort.cli.exit_status import errors_as_sentences
from sonnx_ort.cli.options import (
    BackendOption,
    BroadcastOption,
    EditionOption,
    ModelArgument,
    OperatorsOption,
    QuietOption,
    WaiversOption,
    examples,
)
from sonnx_ort.loading.choice import DEFAULT
from sonnx_ort.profile.options import Broadcasting, Edition
from sonnx_ort.rewriting.options import Backend

app = typer.Typer()


@app.command(
    epilog=examples(
        "sonnx-ort run model.onnx --input x=x.npy --input y=y.npy",
        "sonnx-ort run model.onnx --input x=x.npy --output-dir outputs --quiet",
        "sonnx-ort run model.onnx --input x=x.npy --backend native --verify-proofs",
    )
)
def run(
    model: ModelArgument,
    feeds: Annotated[
        list[str] | None,
        typer.Option("--input", metavar="NAME=FILE.npy", help="An input; once for each."),
    ] = None,
    output_dir: Annotated[
        Path | None, typer.Option(help="Write each output to NAME.npy in this folder.")
    ] = None,
    edition: EditionOption = Edition.TYPED,
    broadcast: BroadcastOption = Broadcasting.REJECT,
    operators: OperatorsOption = DEFAULT,
    backend: BackendOption = Backend.PYTHON,
    waivers: WaiversOption = None,
    verify_proofs: Annotated[
        bool,
        typer.Option(
            "--verify-proofs",
            help="With the native backend: let the python backend do the run as well, and fail if "
            "the verdicts differ.",
        ),
    ] = False,
    quiet: QuietOption = False,
) -> None:
    """Rewrite a model if need be, run it once, and show its outputs."""
    from sonnx_ort.reporting.tensors import describe_tensor
    from sonnx_ort.running import run_once, save_outputs

    with errors_as_sentences():
        outputs = run_once(
            model,
            feeds or [],
            verify_proofs=verify_proofs,
            edition=edition,
            broadcast=broadcast,
            operators=operators,
            backend=backend,
            waivers=waivers,
        )
        told = [] if quiet else [describe_tensor(name, outputs[name]) for name in outputs]
        for line in told:
            typer.echo(line)
        for path in [] if output_dir is None else save_outputs(outputs, output_dir):
            if not quiet:
                typer.echo(f"written: {path}")
