"""The public functions: `check`, `rewrite` and `rewrite_file`."""

import datetime as dt
import os
from collections.abc import Iterable
from pathlib import Path
from typing import overload

import onnx
import onnx_ir as ir

from sonnx_ort.errors import SonnxError
from sonnx_ort.evidence.cyclonedx import cyclonedx
from sonnx_ort.evidence.making import (
    check_place_of_record,
    record_check,
    record_of_rewriting,
)
from sonnx_ort.files import Transfer, check_place, write_model
from sonnx_ort.loading.source import ModelSource, collector_paused, read
from sonnx_ort.obligations.report import Report
from sonnx_ort.obligations.waivers import read_waivers
from sonnx_ort.obligations.waiving import waive
from sonnx_ort.options import DEFAULT, Backend, Choices, Waivers, choose, choose_demands
from sonnx_ort.pipeline import (
    apply,
    conformed_if_asked_for,
    enforce,
    examine,
    load,
    plan,
    preview,
    require_serializable,
)


def check(  # noqa: PLR0913 - one for each choice
    model: ModelSource,
    *,
    edition: str = "typed",
    broadcast: str = "reject",
    operators: str | Iterable[str] = DEFAULT,
    backend: str = "python",
    waivers: Waivers = (),
    record: str | os.PathLike[str] | None = None,
) -> Report:
    """Find, for every rule at every node, whether it holds in every run, and why.

    Runs nothing but small nodes of integers that depend on constants alone, and loads no weights.
    `rewrite` rejects a model exactly if this report has violations. It tells of all operators of
    the profile, of each obligation whether `rewrite` enforces it, and of each violation whether
    `conform` can mend it (`Obligation.mendable`). The report of a model that is enforced already is
    that of the model it was made from.

    Args:
        model: A path, the bytes of a file, an `onnx.ModelProto` or an `onnx_ir.Model`; it is not
            modified.
        edition: "typed" or "preliminary".
        broadcast: "reject" or "explicit".
        operators: The operators that are to be enforced, as for `rewrite`.
        backend: What is to enforce them, as for `rewrite`. A rule against kernels of older versions
            of ONNX Runtime is proved for "python" if none of these is installed, and not for
            "native", whose models any version runs.
        waivers: What violations are tolerated for: a TOML file, or waivers. `rewrite` rejects what
            is waived unless it is given them too.
        record: A file to write: a record of the model and of all that was found, in CycloneDX 1.6,
            which `verify` reads. It takes a model that is given as a path.

    Raises:
        InvalidModel: It is no readable, valid ONNX model.
        SonnxError: An option is unknown, the model is enforced under the other edition, a waiver is
            unusable or for no violation, or the record cannot be written.
    """
    if record is not None and not isinstance(model, str | os.PathLike):
        raise SonnxError("a record is of files; give the path of the model")
    given = read_waivers(waivers)
    choices = Choices(
        choose_demands(edition, broadcast, operators), choose(Backend, "backend", backend)
    )
    with collector_paused():
        report = preview(examine(load(model, choices), complete=True))
    (waived,) = waive([report], given, dt.date.today())
    if record is not None and isinstance(model, str | os.PathLike):
        record_check(Path(model), waived, Path(record), choices.backend)
    return waived


# Its order matters: protocol buffers have an untyped base, so they pass for anything.
@overload
def rewrite(
    model: str | os.PathLike[str] | bytes | onnx.ModelProto,
    *,
    edition: str = ...,
    broadcast: str = ...,
    operators: str | Iterable[str] = ...,
    backend: str = ...,
    make_explicit: bool = ...,
    conform: bool = ...,
    waivers: Waivers = ...,
) -> onnx.ModelProto: ...
@overload
def rewrite(
    model: ir.Model,
    *,
    edition: str = ...,
    broadcast: str = ...,
    operators: str | Iterable[str] = ...,
    backend: str = ...,
    make_explicit: bool = ...,
    conform: bool = ...,
    waivers: Waivers = ...,
) -> ir.Model: ...
def rewrite(  # noqa: PLR0913 - one for each choice
    model: ModelSource,
    *,
    edition: str = "typed",
    broadcast: str = "reject",
    operators: str | Iterable[str] = DEFAULT,
    backend: str = "python",
    make_explicit: bool = False,
    conform: bool = False,
    waivers: Waivers = (),
) -> onnx.ModelProto | ir.Model:
    """Rewrite a model so that each run enforces the profile: at every Div and Sub, or more.

    Covers the main graph, the subgraphs of If, Loop and Scan at any depth, and model-local
    functions, which are inlined where such a node occurs in them. Names of inputs and outputs,
    other nodes and metadata are kept. Rewriting a rewritten model changes nothing.

    Args:
        model: A path, the bytes of a file, an `onnx.ModelProto` or an `onnx_ir.Model`; it is not
            modified.
        edition: "typed" or "preliminary".
        broadcast: "reject": operands of different shapes break the profile. "explicit": a
            Broadcast in front makes the shapes equal; what has no common shape breaks the profile.
        operators: The operators that are enforced: "default" (Div, Sub and Broadcast),
            "elementwise", "profile" (all, and the rules on graphs), or names, in a text with commas
            between or any iterable; one behind a hyphen is left out. `check` reports on all. With
            "Graph.finite" among them, no output may be NaN or infinite; with "Graph.finite_values"
            no value that a node computes.
        backend: "python": custom operators, to be run with `sonnx_ort.register`. "native": guards
            of standard operators in front of the nodes, which every ONNX Runtime runs. A model
            that the native backend made is kept, whichever backend is given here.
        make_explicit: Also write down the types, shapes and defaults of attributes that the file
            leaves out (`GR2`, `GR4`).
        conform: Make the safe changes of `sonnx_ort.conform` first, which mend violations of the
            enforced operators' rules and leave every result as it is.
        waivers: The violations that are not enforced, with reasons: a TOML file, or waivers, each
            for exactly one violation. Where shapes differ a Broadcast is inserted in front of the
            node, and all its other rules are enforced. The model's metadata names the waivers.

    Returns:
        The enforced model: an `onnx_ir.Model` for one, an `onnx.ModelProto` for anything else.
        External data of a path is loaded into it, as `onnx.load` does; that of a model object
        stays external.

    Raises:
        ModelRejected: The model breaks the profile in every run; its report lists where.
        InvalidModel: It is no readable, valid ONNX model, or pretends to be enforced.
        SonnxError: An option is unknown, or the model is enforced under the other edition, or
            natively for fewer operators, or a waiver has expired or cannot have effect.
    """
    choices = Choices.of(
        edition,
        broadcast,
        operators,
        backend,
        make_explicit=make_explicit,
        waivers=waivers,
        conform=conform,
    )
    with collector_paused():
        enforced = enforce(model, choices)
        return enforced.model if isinstance(model, ir.Model) else enforced.to_complete_proto()


def rewrite_file(  # noqa: PLR0913 - one for each choice
    source: str | os.PathLike[str],
    target: str | os.PathLike[str],
    *,
    edition: str = "typed",
    broadcast: str = "reject",
    operators: str | Iterable[str] = DEFAULT,
    backend: str = "python",
    make_explicit: bool = False,
    conform: bool = False,
    external_data: str = "copy",
    waivers: Waivers = (),
    record: str | os.PathLike[str] | None = None,
) -> None:
    """Rewrite a model from file to file.

    External data is never loaded: if the target lies in the source's folder, both refer to it;
    otherwise it is copied or linked beside the target. The target appears whole or not at all; on
    any error nothing is overwritten.

    Args:
        source: The file of the model.
        target: The file to write; an existing one is replaced.
        edition: As for `rewrite`.
        broadcast: As for `rewrite`.
        operators: As for `rewrite`.
        backend: As for `rewrite`.
        make_explicit: As for `rewrite`.
        conform: As for `rewrite`.
        external_data: What becomes of external data where the target lies in another folder:
            "copy", "link" (a hard link, which needs the same file system), or "reference" (it
            stays, which is possible only within the source's folder).
        waivers: As for `rewrite`.
        record: A file to write too: a record of both models and of all that was found and done, in
            CycloneDX 1.6, which `verify` reads; an existing one is replaced.

    Raises:
        SonnxError: As for `rewrite`; also if the target or the record cannot be written, or another
            file is in the place of its external data.
    """
    source, target = Path(source), Path(target)
    check_place(target)
    transfer = choose(Transfer, "external_data", external_data)
    choices = Choices.of(
        edition,
        broadcast,
        operators,
        backend,
        make_explicit=make_explicit,
        waivers=waivers,
        conform=conform,
    )
    with collector_paused():
        model = read(source)
        # Only a record needs to know of operators that are not to be enforced.
        examined = examine(load(model, choices), complete=record is not None)
        conformed = conformed_if_asked_for(examined)
        proto = apply(plan(conformed)).to_proto()
        content = require_serializable(proto)
        recorded: tuple[Path, str] | None = None
        if record is not None:
            check_place_of_record(Path(record), model.proto, source, target)
            report = examined.examination.report
            made = record_of_rewriting(
                source,
                target,
                model,
                report,
                content=content,
                choices=choices,
                conforming=conformed.changes,
            )
            recorded = Path(record), cyclonedx(made)
    write_model(proto, content, source, target, transfer, recorded)
