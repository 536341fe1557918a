"""`sonnx-ort run`, `reduce`, `contract` and `suite`: what runs models, and compares no two runs."""

import inspect
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from sonnx_ort.cli import completion
from sonnx_ort.cli.options import (
    OPTIONS,
    PATH,
    TEXT,
    TEXTS,
    Option,
    command,
    examples,
    flag,
    numbers_by_name,
    option,
    read_values,
    subcommand,
    values_below,
)
from sonnx_ort.cli.output import ExitStatus, say, say_next
from sonnx_ort.errors import SonnxError, did_you_mean, printable
from sonnx_ort.loading.saving import (
    check_place,
    external_locations,
    files_of,
    folder_of_data,
    is_stream,
    refuse_model,
    refuse_source,
    write_text,
    writing,
)
from sonnx_ort.loading.source import read
from sonnx_ort.options import PROFILE
from sonnx_ort.profile.options import Edition
from sonnx_ort.reporting.next_steps import GivenOptions, after_reduce, command_line, file_word
from sonnx_ort.runs.input_shapes import Sizes
from sonnx_ort.runs.isolated_run import Level
from sonnx_ort.runs.limits import Limits
from sonnx_ort.runs.reduce.shrinking import MOST_TRIES
from sonnx_ort.runs.value_files import write_values

if TYPE_CHECKING:
    from sonnx_ort.runs.reduce.reduction import Reduced

app = subcommand()


@command(
    app,
    *("model", "inputs", "sizes", "input_shapes", "seed", "edition", "broadcast", "operators"),
    *("backend", "conform", "waivers", "contract", "cache", "time_limit", "memory_limit"),
    *("quiet",),
    settings=True,
    rewrites=True,
    own={
        "output_dir": option(
            PATH,
            "Write each output to NAME.npy in this folder, or to NAME.npz if it is a sequence "
            "or map.",
            metavar="FOLDER",
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
    time_limit: float,
    memory_limit: int | None,
    quiet: bool,
    given: GivenOptions,
    **choices: Any,
) -> None:
    """Run a model once with the profile enforced, and show its outputs.

    Inputs that are not given are random.
    """
    from sonnx_ort.reporting.difference_report import describe_value, described_inputs
    from sonnx_ort.runs.enforced_run import run_enforced

    chosen = Sizes(sizes, input_shapes)
    limits = Limits(time_limit, memory_limit)
    values = read_values(inputs)
    completed, outputs = run_enforced(model, values, seed, chosen, choices, limits)
    lines = [*described_inputs(completed)] if completed.random else []
    for name, value in outputs.items():
        lines += describe_value(name, value)
    if output_dir is not None:
        proto = read(model).proto
        external = (folder_of_data(model, proto) / each for each in external_locations(proto))
        used = [model, *external, *inputs.values()]
        used += files_of(choices["waivers"], choices["contract"])
        lines += [f"written: {path}" for path in write_values(outputs, output_dir, used)]
    if not quiet:
        say("\n".join(lines))
        say_next(command_line("audit", file_word(model), given=given))


@command(
    app,
    *("model", "inputs", "data", "sizes", "input_shapes", "seed", "edition", "broadcast"),
    *("contract", "time_limit", "memory_limit", "force", "quiet"),
    operators=PROFILE,
    settings=True,
    own={
        "output": Option(
            Annotated[
                Path, typer.Option("--output", "-o", metavar="FILE", help="The file to write.")
            ],
            inspect.Parameter.empty,
            writes="model",
        ),
        "violates": option(
            TEXT,
            "It violates a rule, in every run or with the inputs.",
            metavar="RULE",
            completes=completion.rule,
        ),
        "refused": flag("`rewrite` refuses it for one of the same rules.", "--refused"),
        "dies": flag("A run ends the process with the same signal or status.", "--dies"),
        "differs": flag("Optimizers change bits of its outputs.", "--differs"),
        "outside": flag(
            "`audit` finds results of the same operators outside the admitted error.", "--outside"
        ),
        "check": option(
            TEXT,
            "A command ends with status 0; the path of a model replaces {}, or is added at its "
            "end.",
            metavar="COMMAND",
        ),
        "level": option(
            Level,
            "How far ONNX Runtime optimizes, for --dies, --differs and --outside.",
            default=Level.ALL,
        ),
        "anonymous": flag("Replace names and texts, and remove metadata.", "--anonymous"),
        "tries": option(
            int,
            "How many smaller models are tried at most.",
            metavar="N",
            default=MOST_TRIES,
            least=1,
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
    given: GivenOptions,
    **choices: Any,
) -> None:
    """Find a small model that still shows one thing, such as a crash or other results.

    Removes what is not needed for it. Its inputs are written to a folder beside it, if it has
    any.

    Exit status 0: the model is written; 2: unusable input, or the model does not show it.
    """
    from sonnx_ort.cli.comparing import only_sample
    from sonnx_ort.runs.reduce.reduction import IN_A_RUN
    from sonnx_ort.runs.reduce.reduction import reduce as reduce_model

    check_place(output)
    if is_stream(output):
        raise SonnxError(
            f"no folder of inputs can be written beside '{output}'; name a file to write"
        )
    folder = output.with_suffix(".inputs")
    refuse_source(output, model, read(model).proto, force=force)
    if folder.exists() and not (folder.is_dir() and not any(folder.iterdir())):
        raise SonnxError(f"the folder of its inputs, '{folder}', is not empty; name another file")
    feeds = only_sample(model, data) | read_values(inputs)
    reduced = reduce_model(model, feeds, **choices)
    written = write_values(reduced.inputs, folder) if reduced.inputs else []
    with writing(output) as file:
        file.write(reduced.model.SerializeToString())
    if not quiet:
        lines = _reduced_in_words(reduced, output, folder, anonymous=choices["anonymous"])
        say("\n".join(map(printable, lines)), output)
        files = dict(zip(reduced.inputs, written, strict=True))
        in_run = any(each.endswith(IN_A_RUN) for each in reduced.shows)
        say_next(after_reduce(output, files, given, choices["level"], in_run=in_run))


def _reduced_in_words(
    reduced: "Reduced", output: Path, folder: Path, *, anonymous: bool
) -> Iterator[str]:
    yield f"{output}: written, with {reduced.nodes} of {reduced.before} nodes"
    if reduced.inputs:
        yield f"{folder}: its inputs {', '.join(reduced.inputs)}"
    yield f"it shows: {', '.join(reduced.shows)}"
    yield f"smaller models tried: {reduced.tried}"
    if anonymous and not reduced.anonymous:
        yield "its names and texts are kept, because it does not show it without them"


@command(
    app,
    *("model", "time_limit", "memory_limit", "quiet"),
    own={
        "output": option(
            PATH,
            "The TOML file to write; '-' is standard output. [default: -]",
            "--output",
            "-o",
            metavar="FILE",
            writes="contract",
        ),
        "data": option(
            PATH,
            "Samples: NAME.npy or input_0.pb for each input, here or in a folder for each.",
            metavar="FOLDER",
            reads=values_below,
        ),
        "contract": OPTIONS["contract"],
        "margin": option(
            float,
            "Widens the range at each end, by a share of the seen range or of the largest "
            "magnitude.",
            metavar="SHARE",
            default=0.25,
        ),
        "axes": option(
            TEXTS,
            "An axis with a range for each index.",
            "--axis",
            metavar="NAME=N",
            read=numbers_by_name("--axis"),
        ),
        "checkpoints": flag(
            "Find the few values inside the model whose checked range keeps all others finite.",
            "--checkpoints",
        ),
    },
    epilog=examples(
        "sonnx-ort contract model.onnx -o envelope.toml",
        "sonnx-ort contract model.onnx --data samples -o envelope.toml",
        "sonnx-ort contract model.onnx --contract envelope.toml --checkpoints -o complete.toml",
    ),
)
def contract(
    model: Path,
    output: Path | None,
    quiet: bool,
    contract: Any,
    axes: Mapping[str, int],
    given: GivenOptions,
    **choices: Any,
) -> None:
    """Propose what the inputs of a model may be, for a person to judge.

    With samples the ranges are those that were seen, and a margin. Without, floats are to be
    finite.
    """
    from sonnx_ort.samples import propose_contract

    if output is not None:
        check_place(output)
        refuse_model(output, model, read(model).proto)
    proposed = propose_contract(model, contract=contract, axes=axes, **choices)
    if output is not None:
        write_text(output, proposed.toml)
    if output is None:
        say(proposed.toml)
    if quiet:
        return
    lines = [] if output is None else [f"{output}: written"]
    if proposed.samples:
        lines.append(f"samples run: {proposed.samples}")
    else:
        verb = "adds" if contract else "says"
        lines.append(
            f"without samples it only {verb} that floats are finite; --data FOLDER gives samples"
        )
    lines.append(
        "proved free of NaN and infinity for every input within it: "
        f"{proposed.finite} of {proposed.floats} float values"
    )
    if proposed.checkpoints:
        checked = sum(proposed.checkpoints.values())
        lines.append(
            f"values checked inside: {len(proposed.checkpoints)}, with {checked} elements a run"
        )
    lines += [f"'{name}': {remark}" for name, remark in proposed.remarks.items()]
    lines += [f"may be NaN or infinite: '{name}'" for name in proposed.open[:_MOST_SHOWN]]
    if len(proposed.open) > _MOST_SHOWN:
        lines.append(f"and {len(proposed.open) - _MOST_SHOWN} more")
    say("\n".join(lines), output)
    if output is not None and not is_stream(output):
        found = ("--contract", str(output))
        say_next(command_line("check", file_word(model), given=given, contract=found))


_MOST_SHOWN = 5
"""How many values are named that may not be finite."""


@command(
    app,
    *("edition", "seed"),
    own={
        "output": option(
            PATH,
            "Write the vectors, into a new folder, or into an archive NAME.zip.",
            "--output",
            "-o",
            metavar="FOLDER",
        ),
        "operators": option(
            TEXT,
            "The operators, separated by commas, and Graph for rules on graphs.  [default: all]",
            metavar="NAMES",
            completes=completion.OPERATORS,
        ),
        "folder": option(
            PATH,
            "Run an engine on the vectors of a folder or an archive.",
            "--run",
            metavar="FOLDER",
        ),
        "engine": option(
            str,
            "onnxruntime, onnxruntime:PROVIDER, onnx.reference, sonnx_ort, sonnx_ort:BACKEND or "
            "module:Class.",
            metavar="ENGINE",
            default="onnxruntime",
        ),
        "every": flag("List every case that is not right as well.", "--verbose", "-v"),
        "time_limit": option(
            float | None,
            "How long a run of a case may take; one that takes longer counts as dead.  "
            "[default: 30]",
            metavar="SECONDS",
        ),
        "memory_limit": OPTIONS["memory_limit"],
    },
    epilog=examples(
        "sonnx-ort suite -o vectors",
        "sonnx-ort suite -o vectors --operators Div,Sub --seed 7",
        "sonnx-ort suite -o vectors.zip",
        "sonnx-ort suite --run vectors --engine onnxruntime",
        "sonnx-ort suite --run vectors --engine my_engine:Engine --verbose",
    ),
)
def suite(
    output: Path | None,
    operators: str | None,
    seed: int,
    edition: Edition,
    folder: Path | None,
    engine: str,
    every: bool,
    time_limit: float | None,
    memory_limit: int | None,
) -> None:
    """Write the conformance vectors of the profile, or run an engine on them.

    For every operator, type, rule and special value: a model of one node, inputs, and what is
    right: exact results, an admitted interval, or that it must be refused. `manifest.json` says it
    of each; the folder `computed` is as ONNX's own runner takes it.

    Exit status 0: all are as they should be; 1: a case is not; 2: unusable input.
    """
    from sonnx_ort.reporting.vectors_report import suite_report
    from sonnx_ort.vectors.suite import SECONDS, Outcome
    from sonnx_ort.vectors.suite import run as run_vectors

    if (output is None) is (folder is None):
        raise SonnxError("give either -o FOLDER or --run FOLDER")
    names = None if operators is None else [name.strip() for name in operators.split(",")]
    limits = Limits(SECONDS if time_limit is None else time_limit, memory_limit)
    if output is not None:
        say(_written(output, names, seed, edition))
        say_next(command_line("suite", "--run", str(output)))
    if folder is not None:
        judged = list(run_vectors(folder, engine, names or (), limits))
        say(suite_report(judged, every=every))
        if any(each.outcome is not Outcome.CONFORMS for each in judged):
            raise typer.Exit(ExitStatus.VIOLATED)


def _written(output: Path, operators: Iterable[str] | None, seed: int, edition: Edition) -> str:
    """Write the cases, and tell how many they are and which are left out."""
    from sonnx_ort.vectors.cases import WITH_CASES, cases
    from sonnx_ort.vectors.suite import write

    chosen = WITH_CASES if operators is None else frozenset(operators)
    for name in sorted(chosen - WITH_CASES):
        near = did_you_mean(name, WITH_CASES)
        raise SonnxError(f"the profile has no rules for an operator '{name}'{near}")
    written = write(cases(chosen, seed, edition), output, seed)
    told = f"{written.cases} cases in '{output}'"
    if written.left_out:
        listed = ", ".join(f"{name} {count}" for name, count in sorted(written.left_out.items()))
        told += (
            f"\n{sum(written.left_out.values())} cases are not written, because their results "
            f"need python-flint: {listed}. To write them too: pip install python-flint"
        )
    return told
