"""Leads `check` and `rewrite` through a folder of results.

A result is kept if its key is the same before and after it was computed. An error is no result: it
is raised anew each time, also the rejection of a model.
"""

import datetime as dt
import os
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from typing import TypeVar

import onnx

from sonnx_ort import pipeline
from sonnx_ort.analysis.report import Report
from sonnx_ort.caching.folder import Folder
from sonnx_ort.caching.keys import IN_MEMORY, environment, key_of
from sonnx_ort.caching.values import NotKept, read_back, written
from sonnx_ort.loading.external_data import external_tensors
from sonnx_ort.loading.functions import resolve_default_domain
from sonnx_ort.loading.pauses import collector_paused
from sonnx_ort.loading.source import ModelSource, ReadModel, read
from sonnx_ort.options import Choices
from sonnx_ort.pipeline import Enforced

CacheFolder = str | os.PathLike[str]
"""A folder of results, as a caller gives it."""

Result = TypeVar("Result")


def kept_report(
    model: ModelSource, choices: Choices, *, forecast: bool, cache: CacheFolder
) -> Report:
    """The report of `pipeline.check`, from the folder if it is there.

    Raises:
        SonnxError: As for `pipeline.check`, or the folder cannot be used.
    """
    source = read(model)
    return kept(
        Folder(cache),
        lambda: key_of("report", source, choices, forecast),
        lambda: pipeline.check(source, choices, forecast=forecast),
        lambda report: written(report).encode("ascii"),
        _report_in,
    )


def _report_in(content: bytes) -> Report:
    with collector_paused():
        report = read_back(content)
    if not isinstance(report, Report):
        raise TypeError(f"there is a {type(report).__name__}, and no report")
    return report


def kept_model(
    model: ModelSource | ReadModel, choices: Choices, cache: CacheFolder, location: str = ""
) -> Enforced:
    """The enforced model of `pipeline.enforce`, from the folder if it is there.

    Args:
        model: The model.
        choices: How to rewrite it.
        cache: The folder.
        location: The location of all external data, if it is a name that each process chooses anew.

    Raises:
        SonnxError: As for `pipeline.enforce`, or the folder cannot be used.
    """
    source = read(model)
    # By the same choices a model is rewritten or not, as its waivers have expired or not.
    today = dt.date.today()
    expired = tuple(waiver.expired(today) for waiver in choices.waivers)
    keyed = replace(source, proto=_relocated(source.proto, location, IN_MEMORY))
    return kept(
        Folder(cache),
        lambda: key_of("model", keyed, choices, expired, bool(location)),
        lambda: pipeline.enforce(source, choices),
        lambda enforced: _content_of(enforced, location),
        lambda content: _enforced_in(content, source, location),
    )


def _relocated(proto: onnx.ModelProto, location: str, other: str) -> onnx.ModelProto:
    """A model with another location of its external data; the model itself if there is none."""
    if not location:
        return proto
    moved = onnx.ModelProto()
    moved.CopyFrom(proto)
    for tensor in external_tensors(moved):
        for entry in tensor.external_data:
            if entry.key == "location" and entry.value == location:
                entry.value = other
    return moved


def _content_of(enforced: Enforced, location: str) -> bytes:
    """What is kept of an enforced model: a line about it, and its bytes unless it is unchanged."""
    told = written(
        (
            enforced.backend,
            enforced.demands,
            enforced.unchanged,
            enforced.rests_on_numbers,
            enforced.passed_over,
        )
    ).encode("ascii")
    model = b""
    if not enforced.unchanged:
        proto = _relocated(enforced.to_proto(), location, IN_MEMORY)
        try:
            model = proto.SerializeToString(deterministic=True)
        except Exception as error:
            raise NotKept("the model cannot be serialized") from error
    if location and location.encode() in model:
        raise NotKept("the model names the location of its weights")
    return told + b"\n" + model


def _enforced_in(content: bytes, source: ReadModel, location: str) -> Enforced:
    told, _, model = content.partition(b"\n")
    backend, demands, unchanged, rests_on_numbers, passed_over = read_back(told)
    original = resolve_default_domain(source.proto)
    proto = original
    if not unchanged:
        kept = onnx.load_model_from_string(model)
        if not kept.HasField("graph"):
            raise ValueError("there is no model")
        proto = _relocated(kept, IN_MEMORY, location) if location else kept
    return Enforced(
        None,
        backend,
        demands,
        unchanged,
        source.folder,
        original,
        rests_on_numbers,
        passed_over,
        proto,
    )


def kept(
    folder: Folder,
    key: Callable[[], str],
    compute: Callable[[], Result],
    content_of: Callable[[Result], bytes],
    result_in: Callable[[bytes], Result],
) -> Result:
    """A result from a folder; it is computed, and kept, if it is not there.

    Args:
        folder: The folder.
        key: Makes its key; raises `NotKept` if that is not known.
        compute: Computes it.
        content_of: What is kept of it; raises `NotKept` if nothing can be.
        result_in: Makes it of what was kept; raises any exception if that is something else.
    """
    try:
        name = key()
    except NotKept:
        return compute()
    content = folder.find(name)
    if content is not None:
        # What does not read back is damaged: it is computed anew and replaced.
        with suppress(Exception):
            return result_in(content)
    folder.require_writable()
    result = compute()
    with suppress(NotKept):
        content = content_of(result)
        # Sources, or external data, may have changed meanwhile.
        environment.cache_clear()
        if key() == name:
            folder.keep(name, content)
    return result
