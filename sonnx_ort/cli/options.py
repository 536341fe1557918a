"""The options of the commands, which are declared once."""

import functools
import inspect
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from itertools import combinations
from pathlib import Path
from types import MappingProxyType
from typing import Annotated, Any, TypeVar, cast

import typer

from sonnx_ort.backends import Backend
from sonnx_ort.cli import completion
from sonnx_ort.cli.groups import GroupedCommand
from sonnx_ort.cli.output import STANDARD, errors_as_sentences, say
from sonnx_ort.cli.settings import CommandWithSettings, Given
from sonnx_ort.errors import SonnxError
from sonnx_ort.errors.remedies import short
from sonnx_ort.loading.saving import Transfer, refuse_inputs, same_file
from sonnx_ort.options import PROFILE
from sonnx_ort.profile.contract import NO_CONTRACT
from sonnx_ort.profile.options import Broadcasting, Edition
from sonnx_ort.reporting.next_steps import GivenOptions
from sonnx_ort.runs.limits import SECONDS
from sonnx_ort.runs.value_files import read_value

Read = TypeVar("Read")


def subcommand() -> typer.Typer:
    """An application for one subcommand, whose help is plain text."""
    return typer.Typer(add_completion=False, rich_markup_mode=None)


def examples(*lines: str) -> str:
    """The help text with examples below the options of a command."""
    return "\n".join(["\b", "Examples:", *(f"  {line}" for line in lines)])


def by_name(
    option: str, form: str, read: Callable[[str], Read], given: Sequence[str] | None
) -> dict[str, Read]:
    """What is given as `NAME=TEXT`, by name; `form` says that in words.

    Raises:
        SonnxError: One has another form or is repeated.
    """
    found: dict[str, Read] = {}
    for each in given or ():
        name, _, text = each.rpartition("=")
        try:
            made = read(text)
        except ValueError:
            name = ""
        if not name:
            raise SonnxError(f"{option} {each}: the form is {form}")
        if name in found:
            raise SonnxError(f"{option} {each}: '{name}' is given twice")
        found[name] = made
    return found


def whole_number(text: str) -> int:
    """A whole number in decimal digits, without what Python adds to them.

    Raises:
        ValueError: It is none, or longer than any number of 64 bits.
    """
    if not _WHOLE.fullmatch(text):
        raise ValueError(f"{text} is no whole number")
    return int(text)


_WHOLE = re.compile(r"[+-]?[0-9]{1,40}")


def numbers_by_name(option: str) -> Callable[[Sequence[str] | None], dict[str, int]]:
    """What reads sizes or axes by name, given as `NAME=N`."""
    return functools.partial(by_name, option, "NAME=N", whole_number)


def shapes_by_name(option: str) -> Callable[[Sequence[str] | None], dict[str, tuple[int, ...]]]:
    """What reads shapes of inputs, given as `NAME=N,N`."""
    return functools.partial(by_name, option, "NAME=N,N, such as x=1,3,48,320", _sizes)


def _sizes(numbers: str) -> tuple[int, ...]:
    return tuple(map(whole_number, numbers.split(","))) if numbers else ()


def _file(name: str) -> Path:
    if not name:
        raise ValueError("a file has a name")
    return Path(name)


def read_values(files: Mapping[str, Path]) -> dict[str, Any]:
    """Read inputs from files.

    Raises:
        SonnxError: A file has no value.
    """
    return {name: read_value(path) for name, path in files.items()}


@dataclass(frozen=True, slots=True)
class Option:
    """An option, or the argument, of a command.

    Attributes:
        kind: Its type, and what typer is told of it.
        default: Its value if it is not given.
        read: Makes of its value what functions take; raises `SonnxError` if that is not possible.
        reads: The files that the command reads because of its value, as it is given, but for
            models, of which some may be replaced by force.
        writes: What is in the file that it names, in words; empty if it names none to write.
    """

    kind: Any
    default: Any = None
    read: Callable[[Any], Any] = lambda value: value
    reads: Callable[[Any], Iterable[Path]] = lambda _: ()
    writes: str = ""


def option(
    kind: Any,
    text: str,
    *names: str,
    default: Any = None,
    metavar: str | None = None,
    least: int | None = None,
    completes: Callable[[str], list[str]] | None = None,
    **further: Any,
) -> Option:
    """An option of a type with a help text; its name is that of the parameter if none is given.

    `completes` proposes values to a shell. `further` has the attributes of an `Option` that are
    functions or words.
    """
    declared = typer.Option(*names, help=text, metavar=metavar, min=least, autocompletion=completes)
    return Option(cast(Any, Annotated)[kind, declared], default, **further)


def files_by_name(given: Sequence[str] | None) -> list[Path]:
    """The files among what is given as `NAME=FILE`."""
    texts = (each.rpartition("=")[2] for each in given or ())
    return [Path(text) for text in texts if text]


def only_file(path: Path | None) -> tuple[Path, ...]:
    """The file that a path names, if it is given."""
    return () if path is None else (path,)


def values_below(folder: Path | None) -> Iterable[Path]:
    """All files of values in a folder, if it is given."""
    there = () if folder is None else folder.rglob("*")
    return (path for path in there if path.suffix in {".npy", ".npz", ".pb"})


def flag(text: str, *names: str) -> Option:
    """An option that is given or not."""
    return option(bool, text, *names, default=False)


PATH, TEXT, TEXTS = Path | None, str | None, list[str] | None
"""The types of options that may be omitted, and of those that may be repeated."""

OUTPUT = Option(
    Annotated[
        Path,
        typer.Option(
            "--output", "-o", metavar="FILE", help="The file to write; '-' is standard output."
        ),
    ],
    inspect.Parameter.empty,
    writes="model",
)
"""A file that has to be written."""

OPTIONS: Mapping[str, Option] = {
    "model": Option(
        Annotated[Path, typer.Argument(metavar="MODEL", help="The file of the ONNX model.")],
        inspect.Parameter.empty,
    ),
    "inputs": option(
        TEXTS,
        "An input, such as x=x.npy; repeat for each. The others are random.",
        "--input",
        metavar="NAME=FILE",
        read=functools.partial(by_name, "--input", "NAME=FILE.npy", _file),
        reads=files_by_name,
    ),
    "sizes": option(
        TEXTS,
        "The size of an open dimension of random inputs, by its name; repeat for each.",
        "--size",
        metavar="NAME=N",
        read=numbers_by_name("--size"),
    ),
    "input_shapes": option(
        TEXTS,
        "The shape of a random input, such as x=1,3,48,320; repeat for each.",
        "--input-shape",
        metavar="NAME=N,N",
        read=shapes_by_name("--input-shape"),
    ),
    "seed": option(int, "The seed of random numbers.", metavar="N", default=0, least=0),
    "data": option(
        PATH,
        "Inputs: NAME.npy, or input_0.pb and so on, in it or in a folder for each sample.",
        metavar="FOLDER",
        reads=values_below,
    ),
    "time_limit": option(
        float,
        "How long a run of the model may take, with the start of its session.",
        metavar="SECONDS",
        default=SECONDS,
    ),
    "memory_limit": option(
        int | None,
        "How much memory a run of the model may take, on Linux.  [default: three quarters of the "
        "machine's]",
        metavar="MB",
        least=1,
    ),
    "edition": option(Edition, "The edition of the profile to apply.", default=Edition.TYPED),
    "broadcast": option(
        Broadcasting,
        "Operands of different shapes: 'reject' them, or 'explicit': the rewritten model "
        "broadcasts as the profile's operator Broadcast does.",
        default=Broadcasting.REJECT,
    ),
    "operators": option(
        str,
        "The operators to enforce: 'default' (Div, Sub, Broadcast), 'elementwise', 'profile' "
        "(all operators, and the rules on graphs), or names separated by commas. -NAME excludes "
        "one.",
        metavar="NAMES",
        default=PROFILE,
        completes=completion.OPERATORS,
    ),
    "backend": option(
        Backend | None,
        "What enforces the rules: custom operators in Python, standard operators, or a library. "
        "[default: python if onnxruntime-extensions is installed, else compiled, else native]",
    ),
    "conform": flag("First make the safe changes that `conform` makes.", "--conform"),
    "select": option(
        TEXT,
        "The rules to look at, separated by commas: ids or their beginnings, such as Div.int.",
        metavar="RULES",
        completes=completion.RULES,
    ),
    "ignore": option(
        TEXT, "The rules not to look at.", metavar="RULES", completes=completion.RULES
    ),
    "waivers": option(
        PATH,
        "A TOML file of waivers: accepted violations, with reasons; they are not enforced.",
        metavar="FILE",
        read=lambda path: path or (),
        reads=only_file,
    ),
    "contract": option(
        PATH,
        "A TOML file of what inputs and other values may be. Random inputs keep it, and proofs "
        "rest on it.",
        "--contract",
        metavar="FILE",
        read=lambda path: path or NO_CONTRACT,
        reads=only_file,
    ),
    "output": option(
        str,
        "The file for the report; '-' is standard output.",
        *("--output", "-o"),
        metavar="FILE",
        default=STANDARD,
        writes="report",
    ),
    "record": option(
        PATH,
        "Also write an evidence record in CycloneDX 1.6, which `verify` compares.",
        metavar="FILE",
        writes="record",
    ),
    "external_data": option(
        Transfer,
        "What to do with external data if the output is in another folder.",
        default=Transfer.COPY,
    ),
    "cache": option(
        PATH,
        "Keep results in this folder, and take them from it where a model and the options are the "
        "same. Whoever can write it can forge them.",
        metavar="FOLDER",
    ),
    "force": flag("Write the file even if it replaces the model.", "--force"),
    "quiet": flag("Write nothing to standard output.", "--quiet", "-q"),
}
"""The options of several commands, by the names of parameters."""


_CONTEXT = "context"
"""The parameter with the context of a command, which has its settings."""

_GIVEN = "given"
"""The parameter with the options of the command line, for a function that says what is next."""


def _words(context: typer.Context) -> GivenOptions:
    """The options that the command line gives, as words."""
    found: dict[str, tuple[str, ...]] = {}
    for each in context.command.params:
        source = context.get_parameter_source(each.name)
        if source is None or source.name != "COMMANDLINE" or each.param_type_name == "argument":
            continue
        name, value = max(each.opts, key=len), context.params[each.name]
        match value:
            case bool():
                found[each.name] = (name,)
            case list() | tuple():
                found[each.name] = tuple(word for one in value for word in (name, str(one)))
            case float():
                found[each.name] = (name, short(value))
            case _:
                found[each.name] = (name, str(value))
    return found


def _keep_files(options: Mapping[str, Option], given: Mapping[str, Any]) -> None:
    """Check that no file to write is one that the command reads, or another one to write.

    A command keeps its models itself, because it may replace one by force.

    Raises:
        SonnxError: There is such a file.
    """
    targets = {
        option.writes: Path(given[name])
        for name, option in options.items()
        if option.writes and given.get(name) not in (None, STANDARD)
    }
    if not targets:
        return
    found = given[_CONTEXT].obj
    read = [*found.settings.files] if isinstance(found, Given) else []
    for name, option in options.items():
        read += option.reads(given.get(name))
    for target in targets.values():
        refuse_inputs(target, read)
    for (one, path), (other, same) in combinations(targets.items(), 2):
        if same_file(path, same):
            raise SonnxError(
                f"'{same}' is also the file of the {one}; give the {other} another file"
            )


_MODELS = ("model", "first", "second")
"""The parameters that name a model; `check` has many, and says it in its report."""


def _say_premises(model: str | Path | None) -> None:
    """Say on standard error what a model was conformed for; the command says if it is unusable."""
    from sonnx_ort.analysis.premises import premises_of
    from sonnx_ort.loading.source import read

    premises: list[str] = []
    if model is not None:
        with suppress(SonnxError):
            premises += premises_of(read(model).proto).lines()
    for each in premises:
        say(f"sonnx-ort: {model} was conformed for: {each}", err=True)


def _enforced_before(context: typer.Context, model: Path) -> str | None:
    """The operators of a model that is enforced, if neither a command nor settings name any."""
    from sonnx_ort.loading.source import read
    from sonnx_ort.options import name_operators
    from sonnx_ort.pipeline import claimed_enforcement

    given = context.obj
    if "operators" not in given.open or "operators" in given.of(str(model)):
        return None
    with suppress(SonnxError):  # the command itself says what is wrong with the model
        claim = claimed_enforcement(read(model).proto)
        return None if claim is None else name_operators(claim.demands.operators)
    return None


def command(
    app: typer.Typer,
    *shared: str,
    epilog: str,
    own: Mapping[str, Option] = MappingProxyType({}),
    settings: bool = False,
    rewrites: bool = False,
    **defaults: Any,
) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Make a subcommand of a function, which gets all options as keywords.

    Args:
        app: The application of the subcommand.
        *shared: The names of its options in `OPTIONS`.
        epilog: What its help ends with.
        own: Its other options, by the names of parameters. Parameters with types for typer are
            such options, too.
        settings: Whether a file with settings gives what the command line omits.
        rewrites: Whether the command enforces a model: the command to type next is printed if it is
            rejected, and one that is enforced keeps its operators unless others are named.
        **defaults: More names in `OPTIONS`, with defaults of this command.
    """
    common = {name: OPTIONS[name] for name in shared}
    common |= {name: replace(OPTIONS[name], default=value) for name, value in defaults.items()}
    model = {"model": common.pop("model")} if "model" in common else {}

    def decorate(function: Callable[..., None]) -> Callable[..., None]:
        typed = {
            name: Option(parameter.annotation, parameter.default)
            for name, parameter in inspect.signature(function).parameters.items()
            if hasattr(parameter.annotation, "__metadata__") or name == _CONTEXT
        }
        options = {**model, **typed, **own, **common}
        if settings:
            shown = "Show the value of each option and where it comes from, and exit."
            options["show_settings"] = flag(shown, "--show-settings")

        takes_words = _GIVEN in inspect.signature(function).parameters

        @functools.wraps(function)
        def run(**given: Any) -> None:
            given.pop("show_settings", None)
            rewritten = given["model"] if rewrites else None
            words = _words(given[_CONTEXT])
            conformed = rewrites and given["conform"]
            with errors_as_sentences(rewritten, conformed=conformed, given=words):
                _keep_files(options, given)
                if rewrites and (enforced := _enforced_before(given[_CONTEXT], given["model"])):
                    given["operators"] = enforced
                for each in _MODELS:
                    _say_premises(given.get(each))
                passed = {n: options[n].read(each) for n, each in given.items() if n in options}
                function(**passed, **({_GIVEN: words} if takes_words else {}))

        run.__signature__ = inspect.Signature(  # type: ignore[attr-defined]
            [
                inspect.Parameter(
                    name, inspect.Parameter.KEYWORD_ONLY, annotation=o.kind, default=o.default
                )
                for name, o in {
                    _CONTEXT: Option(typer.Context, inspect.Parameter.empty),
                    **options,
                }.items()
            ]
        )
        cls = CommandWithSettings if settings else GroupedCommand
        app.command(cls=cls, epilog=epilog)(run)
        return function

    return decorate
