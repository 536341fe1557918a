"""`sonnx-ort demo`: all bundled models, rewritten and run."""

import sys

import typer
from rich.console import Console

from sonnx_ort.cli.exit_status import ExitStatus
from sonnx_ort.cli.options import BackendOption, examples
from sonnx_ort.rewriting.options import Backend

app = typer.Typer()


@app.command(epilog=examples("sonnx-ort demo", "sonnx-ort demo --backend native"))
def demo(backend: BackendOption = Backend.PYTHON) -> None:
    """Rewrite and run all bundled models, and show what happens beside what should."""
    from sonnx_ort.demonstration import demonstrate
    from sonnx_ort.reporting.demonstration_table import demonstration_table

    rows = list(demonstrate(backend))
    console = Console(width=None if sys.stdout.isatty() else 140)
    console.print(demonstration_table(rows))
    failed = sum(not row.kept for row in rows)
    typer.echo(f"{len(rows)} cases, {len(rows) - failed} as expected, {failed} not")
    if failed:
        raise typer.Exit(ExitStatus.VIOLATED)
