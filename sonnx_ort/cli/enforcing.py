"""`sonnx-ort rewrite`, `conform`, `certify` and `verify`: models in the profile, and proofs."""

import re
import warnings
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, cast

import typer

from sonnx_ort.backends import Backend
from sonnx_ort.cli.options import (
    OUTPUT,
    PATH,
    TEXTS,
    command,
    examples,
    files_by_name,
    flag,
    option,
    read_values,
    shapes_by_name,
    subcommand,
)
from sonnx_ort.cli.output import ExitStatus, say, say_next
from sonnx_ort.conforming.change import MOST_STEPS
from sonnx_ort.errors import SonnxError
from sonnx_ort.loading.saving import Transfer, check_place, is_stream, refuse_model, write_text
from sonnx_ort.loading.source import read
from sonnx_ort.options import PROFILE, RewriteOptions
from sonnx_ort.reporting.next_steps import (
    GivenOptions,
    after_certificate,
    after_conform,
    after_rewrite,
    after_verify,
    command_line,
    conform_again,
    file_word,
)

if TYPE_CHECKING:
    from sonnx_ort.analysis.certificates import Certificate
    from sonnx_ort.conforming.proposal import Remaining

app = subcommand()


@command(
    app,
    *("model", "edition", "broadcast", "operators", "backend", "conform", "external_data"),
    *("waivers", "contract", "record", "cache", "force", "quiet"),
    settings=True,
    rewrites=True,
    own={
        "output": OUTPUT,
        "make_explicit": flag(
            "Also write types, shapes and default attributes that the file omits.",
            "--make-explicit",
        ),
        "certificate": option(
            PATH,
            "Also write a certificate of both models; needs --backend native.",
            metavar="FILE",
            writes="certificate",
        ),
    },
    epilog=examples(
        "sonnx-ort rewrite model.onnx -o enforced.onnx",
        "sonnx-ort rewrite model.onnx -o enforced.onnx --broadcast explicit",
        "sonnx-ort rewrite model.onnx -o enforced.onnx --record record.json",
        "sonnx-ort rewrite model.onnx -o enforced.onnx --waivers waivers.toml",
        "sonnx-ort rewrite model.onnx -o enforced.onnx --backend native --operators Div,Sub",
        "sonnx-ort rewrite model.onnx -o enforced.onnx --backend native --certificate c.json",
    ),
)
def rewrite(
    context: typer.Context,
    model: Path,
    output: Path,
    record: Path | None,
    certificate: Path | None,
    quiet: bool,
    given: GivenOptions,
    **choices: Any,
) -> None:
    """Write a model that enforces the profile in every run.

    This covers the whole profile, unless --operators names fewer operators.
    """
    from sonnx_ort.api.files import write_rewritten
    from sonnx_ort.api.rewriting import warn_unless_runnable
    from sonnx_ort.api.unenforced import warn_of_unenforced
    from sonnx_ort.cli.progress import working_on
    from sonnx_ort.cli.settings import contract_file

    transfer, cache = choices.pop("external_data"), choices.pop("cache")
    force = choices.pop("force")
    with working_on(str(model), quiet=quiet), warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        enforced, certified = write_rewritten(
            model,
            output,
            transfer,
            record,
            certificate,
            cache,
            cast(RewriteOptions, choices),
            force=force,
            settings=context.obj.settings.name,
            contract_file=contract_file(choices["contract"]) if record else None,
        )
        warn_unless_runnable(enforced)
        warn_of_unenforced(enforced)
    if not quiet:
        written = (output, record, certificate)
        waivers = choices["waivers"]
        but = f", except for the violations that '{waivers}' waives" if waivers else ""
        demanded = _demanded(choices["operators"])
        say(f"{output}: written; it enforces {demanded} in every run{but}", *written)
        needs, value = _needs(output)
        if needs:
            say(f"  {needs}", *written)
        if value:
            say(f"    {value}", *written, whole=True)
        if record is not None:
            say(f"{record}: written", *written)
        if certified is not None:
            proved, guarded = (len(certified.content[kind]) for kind in ("obligations", "guarded"))
            unknown = len(certified.unknown)
            open_ones = f", {unknown:,} left to unknown guards" if unknown else ""
            by = f"{proved:,} checks by proof, {guarded:,} by guards{open_ones}"
            say(f"{certificate}: written; {by}", *written)
    for warning in caught:
        say(f"sonnx-ort: {warning.message}", err=True)
    if not quiet and not is_stream(output):
        kept_record, kept_certificate = _readable(record), _readable(certificate)
        following = after_rewrite(model, output, kept_record, kept_certificate, given)
        say_next(following, record, certificate)


def _readable(written: Path | None) -> Path | None:
    """A file that was written; None if it went to a device or a pipe, which is not read again."""
    return None if written is None or is_stream(written) else written


def _needs(written: Path) -> tuple[str, str]:
    """What a session of a written model needs, and the value of its option.

    Both are empty if the model is as it was, or went to a device or a pipe, where it cannot be read
    again.
    """
    from sonnx_ort.enforcing.metadata import optimizers_to_switch_off
    from sonnx_ort.ort.optimizers import DISABLED_OPTIMIZERS
    from sonnx_ort.pipeline import claimed_enforcement

    if is_stream(written):
        return "", ""
    model = read(written).proto
    found = claimed_enforcement(model)
    if found is None:
        return "", ""
    if found.backend is Backend.PYTHON:
        added = "a plain session needs `sonnx_ort.register(options)`, which adds custom operators"
        return added, ""
    library = "the library `sonnx_ort.kernels_library()`, and "
    needed = f"{library if found.backend is Backend.COMPILED else ''}this value of the option"
    value = ";".join(optimizers_to_switch_off(model, found))
    return f"a plain session needs {needed} {DISABLED_OPTIMIZERS}", value


def _demanded(operators: str) -> str:
    """What a model enforces, in words."""
    from sonnx_ort.options import choose_operators, name_operators
    from sonnx_ort.profile.catalog import WHOLE_PROFILE
    from sonnx_ort.profile.layout import BROADCAST
    from sonnx_ort.reporting.verdict import OPERATORS_NAMED, listed

    chosen = choose_operators(operators)
    if chosen >= WHOLE_PROFILE:
        return "the profile"
    names = sorted(chosen - {BROADCAST.name})
    if not 0 < len(names) <= OPERATORS_NAMED:
        return f"the rules of the operators {name_operators(chosen)}"
    return f"the rules of {listed(names, 'and')}"


def _assumed(given: Sequence[str] | None) -> dict[str, Any]:
    """Values of inputs, given as `NAME=NUMBER`, or as inputs in files are."""
    found: dict[str, Any] = {}
    files: dict[str, Path] = {}
    for each in given or ():
        name, _, text = each.rpartition("=")
        if name in found or name in files:
            raise SonnxError(f"--assume {each}: '{name}' is given twice")
        if name and text.endswith((".npy", ".npz")):
            files[name] = Path(text)
        elif name and text.lower() in _BOOLEANS:
            found[name] = _BOOLEANS[text.lower()]
        elif name and _NUMBER.fullmatch(text):
            found[name] = int(text) if text.lstrip("+-").isdigit() else float(text)
        else:
            form = "the form is NAME=NUMBER or NAME=FILE.npy, and NAME=true of a boolean"
            raise SonnxError(f"--assume {each}: {form}")
    return found | read_values(files)


_BOOLEANS = {"true": True, "false": False}

_NUMBER = re.compile(
    r"[+-]?(([0-9]{1,400}\.?[0-9]{0,400}|\.[0-9]{1,400})(e[+-]?[0-9]{1,5})?|inf|nan)",
    re.IGNORECASE,
)
"""Numbers in decimal digits, without what Python adds to them."""


@command(
    app,
    *("model", "inputs", "data", "sizes", "input_shapes", "seed", "select", "ignore", "edition"),
    *("broadcast", "contract", "external_data", "time_limit", "memory_limit", "force", "quiet"),
    operators=PROFILE,
    settings=True,
    own={
        "output": option(
            PATH,
            "The file to write; '-' is standard output.",
            *("--output", "-o"),
            metavar="FILE",
            writes="model",
        ),
        "diff": flag("List every change; write no file.", "--diff"),
        "rounding": flag(
            "Also make changes after which results may be rounded differently. Runs of both "
            "models measure how far each output deviates.",
            "--rounding",
        ),
        "no_measure": flag(
            "With --rounding, run no model: the changed one does not state its deviation.",
            "--no-measure",
        ),
        "name_outputs": flag(
            "Make outputs that a node does not have, or that nothing reads, outputs of the graph.",
            "--name-outputs",
        ),
        "unroll": option(
            int,
            "Write a Loop or Scan of at most N steps as all its steps.",
            metavar="N",
            default=MOST_STEPS,
            least=0,
        ),
        "both_branches": flag(
            "Compute both branches of an If whose condition depends on the input. All rules in "
            "both must be proved: the branch that is not taken would break them too.",
            "--both-branches",
        ),
        "assume": option(
            TEXTS,
            "The value of an input in every run: a number, true or false, or NAME=FILE.npy; it "
            "becomes a constant.",
            metavar="NAME=NUMBER",
            read=_assumed,
            reads=files_by_name,
        ),
        "assume_shapes": option(
            TEXTS,
            "The shape of an input in every run; NAME= of a scalar.",
            "--assume-shape",
            metavar="NAME=N,N",
            read=shapes_by_name("--assume-shape"),
        ),
        "verify": flag(
            "Run both models, on --input and random inputs. Do not make changes that change a "
            "bit, nor with --rounding those whose results are not near.",
            "--verify",
        ),
        "strict": flag("Write no file if a violation remains.", "--strict"),
        "no_forecast": flag(
            "Do not try which further options fix what is left, which takes a multiple of the "
            "time.",
            "--no-forecast",
        ),
    },
    epilog=examples(
        "sonnx-ort conform model.onnx -o conforming.onnx",
        "sonnx-ort conform model.onnx --diff --select Slice",
        "sonnx-ort conform model.onnx -o conforming.onnx --verify --input x=x.npy",
        "sonnx-ort conform model.onnx -o conforming.onnx --rounding --assume rate=16000",
    ),
)
def conform(
    model: Path,
    inputs: Mapping[str, Path],
    data: Path | None,
    output: Path | None,
    diff: bool,
    no_measure: bool,
    strict: bool,
    no_forecast: bool,
    force: bool,
    external_data: Transfer,
    quiet: bool,
    given: GivenOptions,
    **choices: Any,
) -> None:
    """Fix violations of the profile; results keep their bits.

    The changed model gives the same bits in every run of ONNX Runtime without optimizations.
    Changes after which results may be rounded differently are made only with --rounding. It shows
    the bound of each, and how far outputs deviate in runs: on random inputs, on --input and --data,
    and at the corners of a --contract.

    If violations remain, it tries which further options would fix them, and ends with the command
    that gives these.

    Exit status 0: no violation remains; 1: some remain; 2: unusable input.
    """
    from sonnx_ort.cli.comparing import samples_of
    from sonnx_ort.cli.progress import working_on
    from sonnx_ort.conforming.conformity import conform as conform_model
    from sonnx_ort.conforming.conformity import conform_file
    from sonnx_ort.reporting.conformity_report import conformity_report
    from sonnx_ort.reporting.proposal_report import proposed_or_chosen
    from sonnx_ort.reporting.terminal import fitted

    with working_on(str(model), quiet=quiet):
        if (output is None) is not diff:
            raise SonnxError("give either -o FILE or --diff")
        choices |= {"inputs": read_values(inputs), "measure": not no_measure}
        choices["propose"] = not (no_forecast or quiet)
        if data is not None:
            choices["samples"] = tuple(samples_of(model, data).values())
        if output is None:
            conformed = conform_model(model, **choices)
        else:
            choices |= {"external_data": external_data, "force": force, "strict": strict}
            conformed = conform_file(model, output, **choices)
    if not quiet:
        say(conformity_report(conformed, every=diff), output)
        if output is not None:
            written = not (strict and conformed.remaining)
            done = "written" if written else "not written"
            say(fitted(f"{output}: {done}{_but(conformed.remaining)}"), output)
        ending = proposed_or_chosen(conformed, tried=choices["propose"])
        if ending:
            say(f"\n{ending}", output)
        if conformed.proposal is not None:
            say_next(conform_again(model, given, conformed.proposal.remedies), output)
        elif not conformed.remaining and not is_stream(output or Path()):
            changed = bool(conformed.changes)
            say_next(after_conform(model, output, given, changed=changed))
    if conformed.remaining:
        raise typer.Exit(ExitStatus.VIOLATED)


def _but(remaining: "Remaining") -> str:
    """What a written model still violates, as the end of a sentence."""
    rules = sorted({obligation.rule.id for obligation, _ in remaining})
    if not rules:
        return ""
    left = (
        "1 violation is left" if len(remaining) == 1 else f"{len(remaining):,} violations are left"
    )
    return f"; {left}: {', '.join(rules)}"


@command(
    app,
    *("model", "operators", "edition", "contract", "quiet"),
    settings=True,
    own={
        "output": option(
            PATH,
            "The file to write; '-' is standard output.",
            *("--output", "-o"),
            metavar="FILE",
            writes="certificate",
        ),
        "check": option(PATH, "Check this certificate; write no file.", metavar="FILE"),
        "enforced": option(PATH, "The enforced model of the certificate.", metavar="FILE"),
        "verbose": flag("Show each proved check without a certificate.", "--verbose", "-v"),
    },
    epilog=examples(
        "sonnx-ort certify model.onnx -o certificate.json",
        "sonnx-ort certify model.onnx --check certificate.json",
        "sonnx-ort certify model.onnx --check certificate.json --enforced enforced.onnx",
    ),
)
def certify(
    model: Path,
    output: Path | None,
    check: Path | None,
    enforced: Path | None,
    verbose: bool,
    quiet: bool,
    given: GivenOptions,
    **choices: Any,
) -> None:
    """Write a certificate of all proofs, which a small program checks again.

    The program is sonnx_ort/checker, with the folders facts, guards, profile and terms beside it.
    It needs onnx, and nothing else of this package. Rules that the file alone decides, such as that
    it gives all types, are in no certificate.

    Exit status 0: everything proved of nodes and values is certified, or the certificate is
    accepted; 1: something is not certified, or the certificate is rejected; 2: unusable input.
    """
    from sonnx_ort.api.files import certify as certify_model
    from sonnx_ort.cli.progress import working_on

    if (output is None) is (check is None):
        raise SonnxError("give either -o FILE or --check FILE")
    if enforced is not None and check is None:
        raise SonnxError(
            "--enforced needs --check; `sonnx-ort rewrite --certificate` writes a certificate of "
            "an enforced model"
        )
    if check is not None:
        with working_on(str(model), quiet=quiet):
            accepted = _accepted(model, check, enforced)
        if not quiet:
            say(f"{check}: accepted: {accepted}")
            say_next(after_certificate(model, given) if enforced is None else "")
    if output is None:
        return
    check_place(output)
    refuse_model(output, model, read(model).proto)
    with working_on(str(model), quiet=quiet):
        made = certify_model(model, **choices)
    write_text(output, made.to_json())
    for line in () if quiet else _certified(made, output, choices["operators"], every=verbose):
        say(line, output)
    if not quiet and made.obligations and not is_stream(output):
        checking = (file_word(model), "--check", file_word(output))
        say_next(command_line("certify", *checking, given=given))
    if made.uncertified:
        raise typer.Exit(ExitStatus.VIOLATED)


def _certified(made: "Certificate", written: Path, operators: str, *, every: bool) -> Iterator[str]:
    """What a certificate says, in lines; `every` adds what it does not certify."""
    from sonnx_ort.reporting.verdict import counted

    certified, missing = len(made.obligations), len(made.uncertified)
    if certified + missing:
        count = f"{certified:,} of {certified + missing:,} proved checks of nodes and values"
    else:
        count = f"nothing to certify: {_nothing_proved(operators)}"
    beyond = f", and {made.beyond:,} that `check` leaves to runs" if made.beyond else ""
    yield f"{written}: written; {count}{beyond}"
    if made.by_file:
        rules = counted(made.by_file, "proved rule")
        verb = "is" if made.by_file == 1 else "are"
        yield f"  {rules} on the graph, which the file alone decides, {verb} in no certificate"
    for each in made.uncertified if every else ():
        obligation = each.obligation
        rule = obligation.rule.id
        yield f"{obligation.place}: {rule} is not certified: {each.reason}"


def _nothing_proved(operators: str) -> str:
    from sonnx_ort.options import choose_operators, name_operators
    from sonnx_ort.profile.catalog import WHOLE_PROFILE

    chosen = choose_operators(operators)
    if chosen >= WHOLE_PROFILE:
        return "no rule of a node or value is proved"
    return (
        f"no rule of the operators {name_operators(chosen)} is proved; --operators {PROFILE} "
        "covers all"
    )


def _accepted(model: Path, certificate: Path, enforced: Path | None) -> str:
    """What the checker says of a certificate."""
    from sonnx_ort.analysis.progress import following
    from sonnx_ort.checker import Malformed, Rejected, read_certificate
    from sonnx_ort.checker import check as check_certificate

    watch = following("checking proofs at nodes")
    try:
        read = read_certificate(certificate.read_bytes())
        beside = None if enforced is None else enforced.read_bytes()
        return check_certificate(model.read_bytes(), read, beside, watch)
    except Malformed as error:
        raise SonnxError(f"'{certificate}' is no certificate: {error}") from error
    except Rejected as error:
        say(f"{certificate}: rejected: {error}", err=True)
        raise typer.Exit(ExitStatus.VIOLATED) from error
    except OSError as error:
        raise SonnxError(f"{error.filename}: {error.strerror}") from error


@command(
    app,
    *("model", "quiet"),
    own={
        "original": flag(
            "MODEL is the original of a rewritten model; the rewrite is repeated.", "--original"
        )
    },
    epilog=examples(
        "sonnx-ort verify enforced.onnx record.json",
        "sonnx-ort verify model.onnx record.json --original",
    ),
)
def verify(
    model: Path,
    record: Annotated[Path, typer.Argument(metavar="RECORD", help="The file that --record wrote.")],
    original: bool,
    quiet: bool,
) -> None:
    """Compare a model with its evidence record.

    Also analyzes the model again, and compares the result with the record. The original of a
    rewritten model differs unless --original is given, because it enforces nothing.

    Exit status 0: nothing differs; 1: something differs; 2: unusable input.
    """
    from sonnx_ort.evidence.verification import verify as verify_file

    verification = verify_file(model, record, original=original)
    for line in () if quiet else verification.lines():
        say(line)
    if not quiet and verification.kept:
        say_next(_running(model))
    if not verification.kept:
        raise typer.Exit(ExitStatus.VIOLATED)


def _running(model: Path) -> str:
    """The command that runs a model, if it is enforced; one with waivers needs their file."""
    from sonnx_ort.analysis.waiving import recorded_waivers
    from sonnx_ort.enforcing.metadata import read_enforcement

    metadata = {entry.key: entry.value for entry in read(model).proto.metadata_props}
    found = read_enforcement(metadata)
    if found is None or recorded_waivers(metadata):
        return ""
    return after_verify(model, found.demands.edition)
