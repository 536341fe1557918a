"""`sonnx-ort show`: an evidence record or a certificate as a page."""

import datetime as dt
import hashlib
from pathlib import Path
from typing import Annotated, Any

import typer

from sonnx_ort.cli.options import OUTPUT, TEXT, command, examples, option, subcommand
from sonnx_ort.cli.output import say
from sonnx_ort.errors import SonnxError
from sonnx_ort.loading.saving import check_place, refuse_inputs, write_text

app = subcommand()


def _date(given: str | None) -> str:
    """A date as it was given.

    Raises:
        SonnxError: It is none.
    """
    try:
        return "" if given is None else dt.date.fromisoformat(given).isoformat()
    except ValueError as error:
        raise SonnxError(f"--date {given}: the form is YYYY-MM-DD, such as 2026-11-29") from error


@command(
    app,
    "quiet",
    own={
        "output": OUTPUT,
        "author": option(TEXT, "Who ran the analysis, for the page.", metavar="NAME"),
        "date": option(
            TEXT, "The date of the analysis, for the page.", metavar="YYYY-MM-DD", read=_date
        ),
    },
    epilog=examples(
        "sonnx-ort show record.json -o record.html",
        "sonnx-ort show certificate.json -o certificate.html",
        "sonnx-ort show record.json -o record.html --author 'the safety team' --date 2026-11-29",
    ),
)
def show(
    file: Annotated[
        Path, typer.Argument(metavar="FILE", help="The file of a record or of a certificate.")
    ],
    output: Path,
    author: str | None,
    date: str,
    quiet: bool,
) -> None:
    """Show an evidence record or a certificate as a page that prints.

    The page has what the file says, and no script. It does not verify the file: see `verify`, and
    `certify --check`. Without --author and --date, equal files give equal pages.

    Exit status 0: the page is written; 2: unusable input.
    """
    check_place(output)
    refuse_inputs(output, [file])
    write_text(output, _page(file, {"Run by": author or "", "Date": date}))
    if not quiet:
        say(f"{output}: written", output)


def _page(file: Path, run: dict[str, str]) -> str:
    """The page of a record or of a certificate, by what the file has."""
    from sonnx_ort.checker import Malformed, read_certificate
    from sonnx_ort.evidence.verification import record_in
    from sonnx_ort.loading.text_files import content_of, json_in
    from sonnx_ort.reporting.record_page import certificate_page, record_page

    content = content_of(file)
    document: Any = json_in(content, file)
    sha256 = hashlib.sha256(content).hexdigest()
    if isinstance(document, dict) and "obligations" in document:
        try:
            certificate = read_certificate(content)
        except Malformed as error:
            raise SonnxError(f"'{file}' is no certificate: {error}") from error
        return certificate_page(certificate, file.name, sha256, run)
    return record_page(record_in(document, file), sha256, run)
