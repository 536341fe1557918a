"""The command `sonnx-ort`: its subcommands, each of which is imported when it is asked for.

Importing the analysis takes most of a second, which `--help` and `--version` do not need. So the
help lists short texts that stand here, and a test compares them with those of the subcommands.
"""

import gc
import os
import sys
import traceback
from collections.abc import Mapping
from contextlib import suppress
from importlib import import_module
from pathlib import Path
from typing import Annotated, Any, NoReturn

import typer
from typer.core import TyperCommand, TyperGroup

_FILES: Mapping[str, str] = {
    **dict.fromkeys(("explain", "operators", "self-check"), "explaining"),
    **dict.fromkeys(("conform", "rewrite", "verify", "certify"), "enforcing"),
    **dict.fromkeys(("diff", "repeat", "audit"), "comparing"),
    **dict.fromkeys(("run", "reduce", "contract", "suite"), "running"),
}
"""The files of commands that share one; each other command has a file of its name."""

COMMANDS: Mapping[str, str] = {
    "check": "Report where a model violates the profile, without running it.",
    "explain": "Explain a rule, or what binds an operator.",
    "operators": "List all operators of ONNX by what SONNX has for them.",
    "conform": "Fix violations of the profile; results keep their bits.",
    "rewrite": "Write a model that enforces the profile in every run.",
    "contract": "Propose what the inputs of a model may be, for a person to judge.",
    "verify": "Compare a model with its evidence record.",
    "show": "Show an evidence record or a certificate as a page that prints.",
    "run": "Run a model once with the profile enforced, and show its outputs.",
    "diff": "Run two models, and show where their values first differ.",
    "repeat": "Run a model with many settings, and show whether the bits are the same.",
    "reduce": "Find a small model that still shows one thing, such as a crash or other results.",
    "certify": "Write a certificate of all proofs, which a small program checks again.",
    "audit": "Run a model once, and hold every result to the exact meaning of its operator.",
    "suite": "Write the conformance vectors of the profile, or run an engine on them.",
    "demo": "Show on bundled models what goes wrong without the profile.",
    "self-check": "Check whether this installation works as the tests showed elsewhere.",
}
"""The subcommands in the order in which the help lists them, and their short help."""

TRACEBACK = "SONNX_ORT_TRACEBACK"
"""The variable of the environment that shows where an unforeseen error was raised."""

CONTEXT = {"help_option_names": ["-h", "--help"]}


class _Deferred(TyperCommand):
    """A subcommand of which only the name and the short help are known until it is invoked."""

    def make_context(self, info_name: str | None, args: list[str], *given: Any, **more: Any) -> Any:
        """Import the subcommand, and let it take its place."""
        try:
            command = load(str(self.name))
        except ImportError as error:
            _end(f"a package is missing or damaged: {error}; install sonnx_ort again")
        except (TypeError, ValueError) as error:
            # The profile refuses at import what cannot be enforced as it is defined.
            _end(f"an operator or a rule of this installation is defined wrongly: {error}")
        try:
            return command.make_context(info_name, args, *given, **more)
        except typer.BadParameter as error:
            # typer puts the kind of a Python exception in front.
            error.message = error.message.removeprefix("Value error, ")
            raise


def load(name: str) -> Any:
    """Import a subcommand, as typer's command object."""
    from sonnx_ort.loading.pauses import collector_paused

    # What is imported stays, so looking through it for garbage again and again finds none.
    with collector_paused():
        module = import_module(f"sonnx_ort.cli.{_FILES.get(name, name)}")
        gc.freeze()
    command = typer.main.get_group(module.app).commands[name]
    command.context_settings.update(CONTEXT)
    return command


class _Commands(TyperGroup):
    """The subcommands. What nobody foresaw ends them as unusable, never as violated."""

    def __init__(self, **attributes: Any) -> None:
        super().__init__(**attributes)
        self.commands = {name: _Deferred(name, help=text) for name, text in COMMANDS.items()}

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        """Write each command with its whole short help, which typer would cut."""
        del ctx
        with formatter.section("Commands"):
            formatter.write_dl(list(COMMANDS.items()))

    def invoke(self, ctx: Any) -> Any:
        """Run a subcommand, with lines that the terminal has room for."""
        from sonnx_ort.reporting.terminal import lines_for_standard_output

        try:
            with lines_for_standard_output():
                return super().invoke(ctx)
        except OSError as error:
            _end(f"a file or standard output cannot be used: {error}")
        except MemoryError:
            _end("the memory does not suffice")


def _end(reason: str) -> NoReturn:
    """Say why on standard error, and exit with status 2."""
    with suppress(OSError):  # standard error may be closed as well
        typer.echo(f"sonnx-ort: {reason}", err=True)
    # Python would fail again when it flushes standard output at its end.
    with suppress(OSError, ValueError, AttributeError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    raise typer.Exit(2) from None


app = typer.Typer(
    name="sonnx-ort",
    cls=_Commands,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    context_settings=CONTEXT,
)


def _show_version(wanted: bool) -> None:
    if wanted:
        from sonnx_ort import SonnxError, __version__
        from sonnx_ort.backends import Backend, installed_backend, require_installed
        from sonnx_ort.cli.settings import nearest

        typer.echo(f"sonnx-ort {__version__}")
        if path := nearest(Path()):
            typer.echo(f"settings: {path}")
        typer.echo(f"backend: {installed_backend()}")
        for backend in Backend:
            try:
                require_installed(backend)
            except SonnxError as error:
                typer.echo(error)
        raise typer.Exit


@app.callback()
def options(
    version: Annotated[
        bool,
        typer.Option("--version", callback=_show_version, is_eager=True, help="Show the version."),
    ] = False,
) -> None:
    """Check ONNX models against SONNX, the safety-related profile of ONNX, and enforce it.

    Exit status 0: what the command asks is so, for check that the profile is kept; 1: it is not; 2:
    unusable input or arguments. `--help` of each command says what it asks.
    """
    del version


def _is_foreseen(error: Exception) -> bool:
    """Whether the message of an error says what its user can do, outside a subcommand as well."""
    from sonnx_ort.errors import SonnxError

    return isinstance(error, SonnxError)


def main() -> None:
    """Run the command; what it does not foresee is no verdict on a model, so the status is 2."""
    try:
        app(prog_name="sonnx-ort")
    except Exception as error:  # noqa: BLE001 - no error of ours is a violation
        if os.environ.get(TRACEBACK):
            traceback.print_exc()
        if _is_foreseen(error):
            typer.echo(f"sonnx-ort: {error}", err=True)
            sys.exit(2)
        fault = " ".join(f"{type(error).__name__}: {error}".split())
        typer.echo(
            f"sonnx-ort: internal error, {fault}; this is a fault of sonnx_ort: please report it, "
            f"with what {TRACEBACK}=1 in the environment shows",
            err=True,
        )
        sys.exit(2)
