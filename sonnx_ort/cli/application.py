"""The command `sonnx-ort`, composed of its subcommands."""

from typing import Annotated

import typer

from sonnx_ort.cli import check, conform, demo, diff, explain, rewrite, run, verify

app = typer.Typer(
    name="sonnx-ort",
    help="Makes ONNX models keep to the SONNX profile, and runs them in ONNX Runtime.\n\n"
    "Exit status 0: the profile is kept; 1: it is violated; 2: unusable input or arguments.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
)


def _show_version(wanted: bool) -> None:
    if wanted:
        from sonnx_ort import __version__

        typer.echo(f"sonnx-ort {__version__}")
        raise typer.Exit


@app.callback()
def options(
    version: Annotated[
        bool,
        typer.Option("--version", callback=_show_version, is_eager=True, help="Show the version."),
    ] = False,
) -> None:
    """Handle the options before a command."""
    del version


# The order in which the help lists the commands.
for command in (check, explain, conform, rewrite, verify, run, diff, demo):
    app.add_typer(command.app)


def main() -> None:
    """Run the command."""
    app()
