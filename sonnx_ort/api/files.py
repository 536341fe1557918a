"""The public functions from file to file: `certify` and `rewrite_file`."""

import os
from dataclasses import replace
from pathlib import Path
from typing import Unpack

import onnx

from sonnx_ort.analysis.certificates import Certificate
from sonnx_ort.analysis.contracts import ContractSource
from sonnx_ort.analysis.report import ContractFile
from sonnx_ort.api.rewriting import warn_unless_runnable
from sonnx_ort.api.unenforced import warn_of_unenforced
from sonnx_ort.backends import Backend
from sonnx_ort.caching.results import kept_model
from sonnx_ort.errors import SonnxError
from sonnx_ort.errors.arguments import checked_arguments, choose
from sonnx_ort.evidence.cyclonedx import cyclonedx
from sonnx_ort.evidence.making import check_place_of_record, record_of_rewriting
from sonnx_ort.loading.pauses import collector_paused
from sonnx_ort.loading.saving import (
    Transfer,
    TransferChoice,
    check_place,
    external_locations,
    files_of,
    refuse_inputs,
    refuse_source,
    same_file,
    write_model,
)
from sonnx_ort.loading.serialization import require_serializable
from sonnx_ort.loading.source import read
from sonnx_ort.options import PROFILE, Choices, OperatorsChoice, RewriteOptions, choose_demands
from sonnx_ort.pipeline import (
    Enforced,
    apply,
    certified_if_asked_for,
    conformed_if_asked_for,
    examine,
    load,
    plan,
    proofs_of,
)
from sonnx_ort.profile.contract import NO_CONTRACT
from sonnx_ort.profile.options import EditionChoice


@checked_arguments
def certify(
    model: str | os.PathLike[str],
    *,
    edition: EditionChoice = "typed",
    operators: OperatorsChoice = PROFILE,
    contract: ContractSource = NO_CONTRACT,
) -> Certificate:
    """Certify the obligations of a model that are proved.

    Args:
        model: The path of the model.
        edition: "typed" or "preliminary".
        operators: The operators whose obligations are certified, as for `rewrite`; the whole
            profile by default.
        contract: What values may be, as for `rewrite`. The certificate names it, and says what
            holds in every run whose values keep it.

    Raises:
        InvalidModel: It is no readable, valid ONNX model.
        SonnxError: An option is unknown, the model is rewritten (certify the original), or
            something in it can be read in two ways.
    """
    demands = choose_demands(edition, "reject", operators, contract)
    choices = Choices(demands, Backend.NATIVE)
    with collector_paused():
        loaded = load(os.fspath(model), choices)
        if loaded.rewritten:
            raise SonnxError("the model is already rewritten; certify the original")
        made = proofs_of(examine(loaded)).certificate(loaded.model.sha256)
        made.require_accepted(Path(model).read_bytes())
    return made


@checked_arguments
def rewrite_file(  # noqa: PLR0913 - one for each choice
    source: str | os.PathLike[str],
    target: str | os.PathLike[str],
    *,
    external_data: TransferChoice = "copy",
    record: str | os.PathLike[str] | None = None,
    certificate: str | os.PathLike[str] | None = None,
    force: bool = False,
    cache: str | os.PathLike[str] | None = None,
    **options: Unpack[RewriteOptions],
) -> Certificate | None:
    """Rewrite a model from file to file.

    External data is not loaded. If the target is in the source's folder, both refer to the same
    data; otherwise the data is copied or linked beside the target. The target is written completely
    or not at all; on an error nothing is overwritten. Warns as `rewrite` does.

    Args:
        source: The file of the model.
        target: The file to write; an existing one is replaced, but not the source.
        external_data: What to do with external data if the target is in another folder: "copy",
            "link" (a hard link, which needs the same file system), or "reference" (the data stays,
            which is possible only if the target is in the source's folder).
        record: A second file to write: an evidence record of both models, the report and the
            changes, in CycloneDX 1.6, which `verify` reads; an existing file is replaced.
        certificate: A further file to write: the certificate of both models. Each run then checks
            what is proved without a certificate. It needs the native backend, and a model that is
            rewritten as it is: `broadcast` is "reject", without `conform` and `make_explicit`.
        force: Whether the target may replace the source.
        cache: A folder of reports and rewritten models, as for `check`. With a record or a
            certificate, nothing is read from it.
        **options: See `RewriteOptions`.

    Returns:
        The certificate, if one was written.

    Raises:
        SonnxError: As for `rewrite`; also if the target or the record cannot be written or would
            replace an input file, or the external data would replace another file; or if the
            enforced model cannot be certified.
    """
    enforced, made = write_rewritten(
        Path(source),
        Path(target),
        external_data,
        None if record is None else Path(record),
        None if certificate is None else Path(certificate),
        None if cache is None else Path(cache),
        options,
        force=force,
    )
    warn_unless_runnable(enforced)
    warn_of_unenforced(enforced)
    return made


def write_rewritten(  # noqa: PLR0913, PLR0917 - one for each choice
    source: Path,
    target: Path,
    external_data: TransferChoice,
    record: Path | None,
    certificate: Path | None,
    cache: Path | None,
    options: RewriteOptions,
    *,
    force: bool,
    settings: str = "",
    contract_file: ContractFile | None = None,
) -> tuple[Enforced, Certificate | None]:
    """Rewrite a model as `rewrite_file` does, and give what was made without a warning.

    Args:
        source: As there, and so are the next ones.
        target: The file to write.
        external_data: What to do with external data.
        record: The evidence record to write.
        certificate: The certificate to write.
        cache: The folder of reports and rewritten models.
        options: How to rewrite it.
        force: Whether the target may replace the source.
        settings: The file of settings from which options were read, for the record.
        contract_file: The file of the contract, for the record.
    """
    beside = [Path(path) for path in (record, certificate) if path is not None]
    for written in (target, *beside):
        check_place(written)
    transfer = choose(Transfer, "external_data", external_data)
    choices = Choices.of(**options)
    read_too = files_of(options.get("waivers"), options.get("contract"))
    if certificate is not None:
        choices = choices.with_certificate()
        if record is not None and same_file(Path(record), Path(certificate)):
            raise SonnxError(f"'{record}' is the record; give the certificate another file")
    with collector_paused():
        model = read(source)
        refuse_source(target, source, model.proto, force=force)
        if certificate is not None:
            _require_own_names(source, model.proto)
        for written in (target, *beside):
            refuse_inputs(written, read_too)
        if cache is not None and not beside:
            enforced = kept_model(model, choices, cache)
            proto = enforced.to_proto()
            write_model(proto, require_serializable(proto), source, target, transfer)
            return enforced, None
        # Only a record needs to know of operators that are not to be enforced.
        examined = examine(load(model, choices), complete=record is not None)
        conformed = conformed_if_asked_for(examined)
        certified = certified_if_asked_for(conformed)
        enforced = apply(plan(certified))
        proto = enforced.to_proto()
        content = require_serializable(proto)
        texts: list[tuple[Path, str]] = []
        made_certificate = None
        if certificate is not None:
            if certified.proofs is None:
                raise SonnxError("the model is already rewritten; certify the original")
            models = source, target
            check_place_of_record(Path(certificate), model.proto, *models, name="certificate")
            made_certificate = certified.proofs.certificate_of_enforced(
                model.sha256, proto, content, examined.loaded.choices.demands
            )
            made_certificate.require_accepted(source.read_bytes(), content)
            texts.append((Path(certificate), made_certificate.to_json()))
        if record is not None:
            check_place_of_record(Path(record), model.proto, source, target)
            report = (certified if choices.certified else examined).examination.report
            report = replace(report, settings=settings, contract_file=contract_file)
            made = record_of_rewriting(
                source,
                target,
                model,
                report,
                content=content,
                choices=choices,
                conforming=conformed.changes,
                certificate=None if made_certificate is None else made_certificate.content,
            )
            texts.append((Path(record), cyclonedx(made)))
    write_model(proto, content, source, target, transfer, *texts)
    return enforced, made_certificate


def _require_own_names(source: Path, proto: onnx.ModelProto) -> None:
    """Check that the weights of a model have the names that its file has, which are certified.

    Raises:
        SonnxError: They are links to files of other names, as in the cache of a model hub.
    """
    if not source.is_symlink():
        return
    for place in external_locations(proto):
        if not os.path.lexists(source.parent / place):
            raise SonnxError(
                f"'{source}' and its weights are links to files of other names, such as "
                f"'{place}', and a certificate has names; copy the model with its weights, and "
                "give the copy"
            )
