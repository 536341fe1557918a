"""`sonnx-ort rewrite`: rewrites a model file so that the model enforces the profile."""

import warnings
from pathlib import Path
from typing import Annotated

import typer

from sonnx_ort.cli.options import (
    BackendOption,
    BroadcastOption,
    ConformOption,
    ContractOption,
    EditionOption,
    ForceOption,
    ModelArgument,
    OperatorsOption,
    QuietOption,
    RecordOption,
    WaiversOption,
    errors_as_sentences,
    examples,
    say,
    subcommand,
)
from sonnx_ort.cli.settings import CommandWithSettings, ShowSettingsOption
from sonnx_ort.files import Transfer
from sonnx_ort.options import DEFAULT
from sonnx_ort.profile.contract import NO_CONTRACT
from sonnx_ort.profile.options import Broadcasting, Edition

app = subcommand()


@app.command(
    cls=CommandWithSettings,
    epilog=examples(
        "sonnx-ort rewrite model.onnx -o enforced.onnx",
        "sonnx-ort rewrite model.onnx -o enforced.onnx --broadcast explicit",
        "sonnx-ort rewrite model.onnx -o enforced.onnx --record record.json",
        "sonnx-ort rewrite model.onnx -o enforced.onnx --waivers waivers.toml",
        "sonnx-ort rewrite model.onnx -o enforced.onnx --backend native --operators all",
        "sonnx-ort rewrite model.onnx -o enforced.onnx --backend native --certificate c.json",
    ),
)
def rewrite(
    model: ModelArgument,
    output: Annotated[Path, typer.Option("--output", "-o", help="The file to write.")],
    edition: EditionOption = Edition.TYPED,
    broadcast: BroadcastOption = Broadcasting.REJECT,
    operators: OperatorsOption = DEFAULT,
    backend: BackendOption = None,
    make_explicit: Annotated[
        bool,
        typer.Option(
            "--make-explicit",
            help="Also write types, shapes and default attributes that the file omits.",
        ),
    ] = False,
    conform: ConformOption = False,
    external_data: Annotated[
        Transfer,
        typer.Option(help="What to do with external data if the output is in another folder."),
    ] = Transfer.COPY,
    waivers: WaiversOption = None,
    contract: ContractOption = None,
    record: RecordOption = None,
    certificate: Annotated[
        Path | None,
        typer.Option(
            "--certificate",
            metavar="FILE",
            help="Also write a certificate of both models; needs --backend native.",
        ),
    ] = None,
    force: ForceOption = False,
    quiet: QuietOption = False,
    _show: ShowSettingsOption = False,
) -> None:
    """Write a model that enforces the profile in every run.

    By default this covers every Div and Sub; --operators profile covers the whole profile.
    """
    from sonnx_ort.cli.batch import working_on
    from sonnx_ort.file_api import rewrite_file

    with (
        errors_as_sentences(model, conformed=conform),
        working_on(str(model), quiet=quiet),
        warnings.catch_warnings(record=True) as caught,
    ):
        warnings.simplefilter("always")
        certified = rewrite_file(
            model,
            output,
            edition=edition,
            broadcast=broadcast,
            operators=operators,
            backend=backend,
            make_explicit=make_explicit,
            conform=conform,
            external_data=external_data,
            waivers=waivers or (),
            contract=contract or NO_CONTRACT,
            record=record,
            certificate=certificate,
            force=force,
        )
    if not quiet:
        written = (output, record, certificate)
        but = "" if waivers is None else f", except for the violations that '{waivers}' waives"
        say(f"{output}: written; it enforces {_demanded(operators)} in every run{but}", *written)
        if record is not None:
            compared = f"`sonnx-ort verify {output} {record}` compares it"
            say(f"{record}: written; {compared}", *written)
        if certified is not None:
            proved, guarded = (len(certified.content[kind]) for kind in ("obligations", "guarded"))
            unknown = len(certified.unknown)
            left = f", {unknown:,} left to unknown guards" if unknown else ""
            say(
                f"{certificate}: written; {proved:,} obligations by proof, {guarded:,} by guards"
                f"{left}",
                *written,
            )
    for warning in caught:
        say(f"sonnx-ort: {warning.message}", err=True)


def _demanded(operators: str) -> str:
    """What a model enforces, in words."""
    from sonnx_ort.options import choose_operators, name_operators
    from sonnx_ort.profile.broadcast import BROADCAST
    from sonnx_ort.profile.catalog import WHOLE_PROFILE
    from sonnx_ort.reporting.verdict import OPERATORS_NAMED, listed

    chosen = choose_operators(operators)
    if chosen >= WHOLE_PROFILE:
        return "the profile"
    names = sorted(chosen - {BROADCAST.name})
    if not 0 < len(names) <= OPERATORS_NAMED:
        return f"the rules of the operators {name_operators(chosen)}"
    return f"the rules of {listed(names, 'and')}"
