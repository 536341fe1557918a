"""`sonnx-ort certify`: writes and checks certificates of what is proved."""

from pathlib import Path
from typing import Annotated

import typer

from sonnx_ort.cli.options import (
    EditionOption,
    ExitStatus,
    ModelArgument,
    OperatorsOption,
    QuietOption,
    errors_as_sentences,
    examples,
    say,
    subcommand,
)
from sonnx_ort.cli.settings import CommandWithSettings, ShowSettingsOption
from sonnx_ort.errors import SonnxError
from sonnx_ort.files import check_place, refuse_inputs, write_text
from sonnx_ort.options import DEFAULT
from sonnx_ort.profile.options import Edition

app = subcommand()


@app.command(
    cls=CommandWithSettings,
    epilog=examples(
        "sonnx-ort certify model.onnx -o certificate.json",
        "sonnx-ort certify model.onnx --check certificate.json",
        "sonnx-ort certify model.onnx --check certificate.json --enforced enforced.onnx",
    ),
)
def certify(
    model: ModelArgument,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", metavar="FILE", help="The file to write.")
    ] = None,
    check: Annotated[
        Path | None,
        typer.Option("--check", metavar="FILE", help="Check this certificate; write no file."),
    ] = None,
    enforced: Annotated[
        Path | None,
        typer.Option("--enforced", metavar="FILE", help="The enforced model of the certificate."),
    ] = None,
    operators: OperatorsOption = DEFAULT,
    edition: EditionOption = Edition.TYPED,
    verbose: Annotated[
        bool,
        typer.Option("--verbose", "-v", help="Show each proved obligation without a certificate."),
    ] = False,
    quiet: QuietOption = False,
    _show: ShowSettingsOption = False,
) -> None:
    """Write a certificate of what is proved, which a small program checks again.

    The program is sonnx_ort/checker, with the folders guards, kernel, profile and terms beside it.
    It needs onnx, and nothing else of this package.

    Exit status 0: everything proved is certified, or the certificate is accepted; 1: something is
    not certified, or the certificate is rejected; 2: unusable input.
    """
    with errors_as_sentences():
        if (output is None) is (check is None):
            raise SonnxError("give either -o FILE or --check FILE")
        if enforced is not None and check is None:
            raise SonnxError(
                "--enforced needs --check; `sonnx-ort rewrite --certificate` writes a certificate "
                "of an enforced model"
            )
        if check is not None:
            _check(model, check, enforced, quiet=quiet)
        elif output is not None:
            _write(model, output, edition, operators, verbose=verbose, quiet=quiet)


def _write(
    model: Path, output: Path, edition: Edition, operators: str, *, verbose: bool, quiet: bool
) -> None:
    from sonnx_ort.file_api import certify as certify_model

    check_place(output)
    refuse_inputs(output, [model])
    made = certify_model(model, edition=edition, operators=operators)
    write_text(output, made.to_json())
    if not quiet:
        certified, missing = len(made.obligations), len(made.uncertified)
        say(
            f"{output}: written; {certified:,} of {certified + missing:,} proved obligations",
            output,
        )
        for each in made.uncertified if verbose else ():
            place = each.obligation.place
            say(f"{place}: {each.obligation.rule.id} is not certified: {each.reason}", output)
    if made.uncertified:
        raise typer.Exit(ExitStatus.VIOLATED)


def _check(model: Path, certificate: Path, enforced: Path | None, *, quiet: bool) -> None:
    from sonnx_ort.checker import Malformed, Rejected, read_certificate
    from sonnx_ort.checker import check as check_certificate

    try:
        read = read_certificate(certificate.read_bytes())
        beside = None if enforced is None else enforced.read_bytes()
        accepted = check_certificate(model.read_bytes(), read, beside)
    except Malformed as error:
        raise SonnxError(f"'{certificate}' is no certificate: {error}") from error
    except Rejected as error:
        say(f"{certificate}: rejected: {error}", err=True)
        raise typer.Exit(ExitStatus.VIOLATED) from error
    except OSError as error:
        raise SonnxError(f"{error.filename}: {error.strerror}") from error
    if not quiet:
        say(f"{certificate}: accepted: {accepted}")
