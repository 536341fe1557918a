"""`sonnx-ort diff`, `audit`, `reduce` and `suite`: values of runs, held against others."""

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Annotated, Any

import typer

from sonnx_ort.cli.options import (
    OUTPUT,
    PATH,
    TEXT,
    TEXTS,
    command,
    examples,
    flag,
    numbers_by_name,
    option,
    read_values,
    subcommand,
)
from sonnx_ort.cli.output import STANDARD, ExitStatus, say, write_report
from sonnx_ort.comparing.audit import CPU, Audit
from sonnx_ort.comparing.audit import audit as audit_model
from sonnx_ort.comparing.difference import compare_samples, survey
from sonnx_ort.comparing.input_shapes import Sizes
from sonnx_ort.comparing.isolated_run import Level
from sonnx_ort.comparing.measures import Measure, Tolerance
from sonnx_ort.comparing.reduction import Reduced
from sonnx_ort.comparing.reduction import reduce as reduce_model
from sonnx_ort.comparing.shrinking import MOST_TRIES
from sonnx_ort.errors import SonnxError, printable
from sonnx_ort.files import check_place, refuse_inputs, refuse_source, writing
from sonnx_ort.loading.source import read
from sonnx_ort.obligations.contracts import ContractSource
from sonnx_ort.options import PROFILE
from sonnx_ort.profile.options import Edition
from sonnx_ort.reporting.audit_report import AuditFormat
from sonnx_ort.value_files import read_samples, write_values

app = subcommand()


def _samples(model: str | Path, data: Path) -> dict[str, dict[str, Any]]:
    """The samples in a folder for a model."""
    return read_samples(data, [value.name for value in read(model).proto.graph.input])


@command(
    app,
    *("inputs", "data", "sizes", "input_shapes", "seed", "contract", "quiet"),
    own={
        "samples": option(
            int | None, "How many samples are made up, with seeds from --seed on.", least=1
        ),
        "measure": option(
            Measure,
            "What differs: 'bits' of elements, or numbers by units in the last place ('ulp'), "
            "'absolute' or 'relative' to A.",
            default=Measure.BITS,
        ),
        "tolerance": option(
            float, "The largest difference that is none, in the measure.", default=0, least=0
        ),
        "every": flag("List every value of A, node by node.", "--all"),
    },
    epilog=examples(
        "sonnx-ort diff model.onnx enforced.onnx",
        "sonnx-ort diff model.onnx enforced.onnx --seed 7 --all",
        "sonnx-ort diff model.onnx enforced.onnx --input x=x.npy --input y=y.npy",
        "sonnx-ort diff model.onnx enforced.onnx --size n=320",
        "sonnx-ort diff model.onnx exported.onnx --data samples --measure ulp --tolerance 4",
        "sonnx-ort diff model.onnx exported.onnx --samples 1000 --measure relative",
    ),
)
def diff(
    first: Annotated[str, typer.Argument(metavar="A", help="A model, such as the original.")],
    second: Annotated[str, typer.Argument(metavar="B", help="Another model with the same inputs.")],
    inputs: Mapping[str, Path],
    data: Path | None,
    samples: int | None,
    measure: Measure,
    tolerance: float,
    sizes: Mapping[str, int],
    input_shapes: Mapping[str, tuple[int, ...]],
    seed: int,
    contract: ContractSource,
    every: bool,
    quiet: bool,
) -> None:
    """Run two models, and show where their values first differ.

    Compares, bit by bit or by a measure, all values that have the same name in both. Optimizations
    are off. Of many samples a table shows how far each value differs.

    Exit status 0: nothing differs; 1: a value differs or a run ends early; 2: unusable input.
    """
    from sonnx_ort.reporting.difference_report import difference_report

    values = read_values(inputs)
    given = {f"{each}": (values, each) for each in range(seed, seed + (samples or 1))}
    if data is not None:
        if samples is not None:
            raise SonnxError(f"'{data}' has the samples; leave out --data or --samples")
        found = _samples(first, data)
        given = {name: ({**sample, **values}, seed) for name, sample in found.items()}
    chosen, tolerated = Sizes(sizes, input_shapes), Tolerance(measure, tolerance)
    comparisons = compare_samples(
        first, second, given.values(), chosen, tolerated, contract=contract
    )
    surveyed = survey(zip(given, comparisons, strict=True))
    if not quiet:
        say(difference_report(surveyed, (first, second), every=every))
    if surveyed.unequal:
        raise typer.Exit(ExitStatus.VIOLATED)


@command(
    app,
    *("model", "inputs", "sizes", "input_shapes", "edition", "broadcast", "seed"),
    *("contract", "output", "record", "quiet"),
    operators=PROFILE,
    settings=True,
    own={
        "values": option(
            PATH,
            "Audit the values that another implementation computed, not a run: NAME.npy for each "
            "value, with '_' for characters other than letters, digits, '.', '_', '-'.",
            metavar="FOLDER",
        ),
        "save_values": option(
            PATH, "Write each audited value to NAME.npy in this folder.", metavar="FOLDER"
        ),
        "level": option(Level, "How far ONNX Runtime optimizes.", default=Level.NONE),
        "providers": option(
            str,
            "Execution providers, separated by commas.",
            metavar="NAMES",
            default=CPU[0],
            read=lambda names: [name.strip() for name in names.split(",")],
        ),
        "samples": option(
            int, "How many elements of each result are audited at most.", default=100, least=1
        ),
        "exhaustive": flag("Audit all elements, and all steps of loops.", "--exhaustive"),
        "enclose_outputs": flag(
            "Also follow the exact values over the reals to the outputs, for at most ten million "
            "operations.",
            "--enclose",
        ),
        "errors": option(
            TEXTS,
            "Also bound the error of every float value, as the numerical-accuracy documents do, if "
            "this input is off by at most E, and those that are not named by nothing.",
            "--error",
            metavar="NAME=E",
            read=lambda given: (
                numbers_by_name("--error", given, "NAME=E, such as x=0.001", float)
                if given
                else None
            ),
        ),
        "report_format": option(
            AuditFormat, "The format of the report.", "--format", default=AuditFormat.TEXT
        ),
        "every": flag("Show every node.", "--verbose", "-v"),
    },
    epilog=examples(
        "sonnx-ort audit model.onnx --input x=x.npy",
        "sonnx-ort audit model.onnx --input-shape x=1,3,48,320",
        "sonnx-ort audit model.onnx --level all --exhaustive",
        "sonnx-ort audit model.onnx --error x=0.001",
        "sonnx-ort audit model.onnx --values values/",
        "sonnx-ort audit model.onnx --enclose --format html -o audit.html",
    ),
)
def audit(
    model: Path,
    inputs: Mapping[str, Path],
    report_format: AuditFormat,
    output: str,
    record: Path | None,
    every: bool,
    quiet: bool,
    **choices: Any,
) -> None:
    """Run a model once, and hold every result to the exact meaning of its operator.

    Each node is compared with the exact result for the very operands that it was given. Large
    results are sampled.

    Exit status 0: all results are exact, admitted or not known; 1: a result is outside the admitted
    error; 2: unusable input.
    """
    from sonnx_ort.evidence.making import check_place_of_record

    if output != STANDARD:
        check_place(Path(output))
        refuse_inputs(Path(output), [model, *inputs.values()])
    if record is not None:
        check_place_of_record(record, read(model).proto, model)
    made = audit_model(model, read_values(inputs), **choices)
    if record is not None:
        _record(made, model, record, choices)
    write_report(
        output,
        lambda coloured: _text(made, model, report_format, coloured=coloured, every=every),
        quiet=quiet,
    )
    if not made.ok:
        raise typer.Exit(ExitStatus.VIOLATED)


def _record(made: Audit, model: Path, record: Path, choices: Mapping[str, Any]) -> None:
    from sonnx_ort.api import check
    from sonnx_ort.evidence.making import record_check
    from sonnx_ort.reporting.audit_report import audit_document

    demanded = {name: choices[name] for name in ("edition", "broadcast", "operators", "contract")}
    record_check(model, check(model, **demanded), record, audits=[audit_document(made)])


def _text(
    made: Audit, model: Path, report_format: AuditFormat, *, coloured: bool, every: bool
) -> str:
    from sonnx_ort.reporting.audit_page import audit_page
    from sonnx_ort.reporting.audit_report import audit_json, audit_junit, audit_text

    match report_format:
        case AuditFormat.TEXT:
            return audit_text(made, coloured=coloured, every=every)
        case AuditFormat.JSON:
            return audit_json(made)
        case AuditFormat.JUNIT:
            return audit_junit(made)
        case AuditFormat.HTML:
            return audit_page(made, model)


@command(
    app,
    *("model", "inputs", "data", "sizes", "input_shapes", "seed", "edition", "broadcast"),
    *("force", "quiet"),
    operators=PROFILE,
    settings=True,
    own={
        "output": OUTPUT,
        "violates": option(
            TEXT, "It violates a rule, in every run or with the inputs.", metavar="RULE"
        ),
        "refused": flag("`rewrite` refuses it for one of the same rules.", "--refused"),
        "dies": flag("A run ends the process in the same way.", "--dies"),
        "differs": flag("Optimizers change bits of its outputs.", "--differs"),
        "check": option(
            TEXT,
            "A command ends with status 0; it gets the path of a model at its end, or in the place "
            "of {}.",
            metavar="COMMAND",
        ),
        "level": option(
            Level, "How far ONNX Runtime optimizes, for --dies and --differs.", default=Level.ALL
        ),
        "anonymous": flag("Replace names, and leave out texts and metadata.", "--anonymous"),
        "tries": option(
            int, "How many smaller models are tried at most.", default=MOST_TRIES, least=1
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
    **choices: Any,
) -> None:
    """Find a small model that still shows one thing, such as a crash or other results.

    Leaves out what is not needed for it. Its inputs are written to a folder beside it, if it has
    any.

    Exit status 0: the model is written; 2: unusable input, or the model does not show it.
    """
    folder = output.with_suffix(".inputs")
    check_place(output)
    refuse_source(output, model, read(model).proto, force=force)
    refuse_inputs(output, [*inputs.values(), *(data.rglob("*") if data else ())])
    if folder.exists() and not (folder.is_dir() and not any(folder.iterdir())):
        raise SonnxError(f"'{folder}', the place of its inputs, is not empty; name another file")
    given = _only_sample(model, data) | read_values(inputs)
    reduced = reduce_model(model, given, **choices)
    if reduced.inputs:
        write_values(reduced.inputs, folder)
    with writing(output) as file:
        file.write(reduced.model.SerializeToString())
    if not quiet:
        lines = _lines(reduced, output, folder, anonymous=choices["anonymous"])
        say("\n".join(map(printable, lines)), output)


def _only_sample(model: Path, data: Path | None) -> dict[str, Any]:
    samples = {"": {}} if data is None else _samples(model, data)
    if len(samples) > 1:
        names = ", ".join(samples)
        raise SonnxError(f"'{data}' has {len(samples)} samples; name the folder of one: {names}")
    (sample,) = samples.values()
    return sample


def _lines(reduced: Reduced, output: Path, folder: Path, *, anonymous: bool) -> Iterator[str]:
    yield f"{output}: written, with {reduced.nodes} of {reduced.before} nodes"
    if reduced.inputs:
        yield f"{folder}: its inputs {', '.join(reduced.inputs)}"
    yield f"it shows: {', '.join(reduced.shows)}"
    yield f"smaller models tried: {reduced.tried}"
    if anonymous and not reduced.anonymous:
        yield "its names are kept, because it does not show it without them"


@command(
    app,
    *("edition", "seed"),
    own={
        "output": option(
            PATH, "Write the vectors, into a new folder.", "--output", "-o", metavar="FOLDER"
        ),
        "operators": option(
            TEXT, "The operators, separated by commas.  [default: all]", metavar="NAMES"
        ),
        "folder": option(PATH, "Run an engine on the vectors.", "--run", metavar="FOLDER"),
        "engine": option(
            str,
            "onnxruntime, onnx.reference, sonnx_ort, sonnx_ort:BACKEND or module:Class.",
            metavar="ENGINE",
            default="onnxruntime",
        ),
        "every": flag("List every case that is not right as well.", "--verbose", "-v"),
    },
    epilog=examples(
        "sonnx-ort suite -o vectors",
        "sonnx-ort suite -o vectors --operators Div,Sub --seed 7",
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
) -> None:
    """Write the conformance vectors of the profile, or run an engine on them.

    For every operator, type, rule and special value: a model of one node, inputs, and what is
    right: exact results, an admitted interval, or that it must be refused. `manifest.json` says it
    of each; the folder `computed` is as ONNX's own runner takes it.

    Exit status 0: all are as they should be; 1: a case is not; 2: unusable input.
    """
    from sonnx_ort.reporting.difference_report import suite_report
    from sonnx_ort.suite.vectors import Outcome, run

    if (output is None) is (folder is None):
        raise SonnxError("give either -o FOLDER or --run FOLDER")
    if output is not None:
        names = None if operators is None else operators.split(",")
        say(f"{_write(output, names, seed, edition)} cases in '{output}'")
    if folder is not None:
        judged = list(run(folder, engine))
        say(suite_report(judged, every=every))
        if any(each.outcome is not Outcome.CONFORMS for each in judged):
            raise typer.Exit(ExitStatus.VIOLATED)


def _write(output: Path, operators: Iterable[str] | None, seed: int, edition: Edition) -> int:
    from sonnx_ort.errors import did_you_mean
    from sonnx_ort.profile.catalog import STANDARD_OPERATORS
    from sonnx_ort.suite.cases import cases
    from sonnx_ort.suite.vectors import write

    chosen = STANDARD_OPERATORS if operators is None else frozenset(operators)
    for name in sorted(chosen - STANDARD_OPERATORS):
        near = did_you_mean(name, STANDARD_OPERATORS)
        raise SonnxError(f"the profile has no rules for an operator '{name}'{near}")
    return write(cases(chosen, seed, edition), output, seed)
