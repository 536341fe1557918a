"""`rewrite_file`: from file to file, all of it or nothing."""

import os
from collections.abc import Iterable
from pathlib import Path

from sonnx_ort.errors import SonnxError
from sonnx_ort.loading.choice import DEFAULT, choose
from sonnx_ort.loading.process import collector_paused
from sonnx_ort.loading.source import read
from sonnx_ort.recording.cyclonedx import cyclonedx
from sonnx_ort.rewriting.external_transfer import (
    Transfer,
    missing_external_data,
    transfer_file,
)
from sonnx_ort.rewriting.options import Choices, Waivers
from sonnx_ort.rewriting.recorded import check_place_of_record, record_of_rewriting
from sonnx_ort.rewriting.rewrite import enforce, require_serializable
from sonnx_ort.rewriting.whole_file import check_place, replacing, write_text


def rewrite_file(  # noqa: PLR0913 - one for each choice
    source: str | os.PathLike[str],
    target: str | os.PathLike[str],
    *,
    edition: str = "typed",
    broadcast: str = "reject",
    operators: str | Iterable[str] = DEFAULT,
    backend: str = "python",
    make_explicit: bool = False,
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
        edition, broadcast, operators, backend, make_explicit=make_explicit, waivers=waivers
    )
    with collector_paused():
        model = read(source)
        proto = enforce(model, choices).to_proto()
        content = require_serializable(proto)
        recorded: tuple[Path, str] | None = None
        if record is not None:
            check_place_of_record(Path(record), model.proto, source, target)
            told = cyclonedx(record_of_rewriting(source, target, model, content, choices))
            recorded = Path(record), told
    try:
        missing = missing_external_data(proto, source.parent, target.parent)
        if missing and transfer is Transfer.REFERENCE:
            raise SonnxError(
                f"'{target}' cannot refer to the external data in '{source.parent}', which lies "
                "outside its folder; copy or link it, or write the model into that folder"
            )
        with replacing(target) as temporary:
            temporary.write_bytes(content)
            for origin, copy in missing:
                transfer_file(origin, copy, transfer)
            if recorded is not None:
                # Before the model has its place: there is no model without its record.
                write_text(*recorded)
    except OSError as error:
        name = f" ({error.filename})" if error.filename else ""
        raise SonnxError(
            f"'{target}' cannot be written: {error.strerror or error}{name}"
        ) from error
