"""Reads waivers from a TOML file; `docs/report.md` documents its form."""

import datetime as dt
import os
import tomllib
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from sonnx_ort.analysis.waiver import Waiver
from sonnx_ort.errors import SonnxError
from sonnx_ort.profile.catalog import RULES

_REQUIRED = ("rule", "node", "reason", "who", "until")
_OPTIONAL = ("path", "model")
_MAY_BE_EMPTY = ("node",)


WaiverSource = str | os.PathLike[str] | Iterable[Waiver]
"""Waivers as a caller may give them: a TOML file, or waivers."""


def given_waivers(waivers: WaiverSource) -> tuple[Waiver, ...]:
    """Read waivers, if they are in a file.

    Args:
        waivers: The file, or the waivers.

    Raises:
        SonnxError: As for `read_waivers`.
    """
    return read_waivers(waivers) if isinstance(waivers, str | os.PathLike) else tuple(waivers)


def read_waivers(path: str | os.PathLike[str]) -> tuple[Waiver, ...]:
    """Read waivers from a file.

    Args:
        path: A TOML file with a table `[[waiver]]` for each.

    Raises:
        SonnxError: It cannot be read, or an entry is not as it has to be; the message names both.
    """
    path = Path(path)
    document = _parse(path)
    entries = document.pop("waiver", [])
    if document:
        raise SonnxError(f"'{path}': '{next(iter(document))}' is unknown; write [[waiver]] tables")
    if not isinstance(entries, list):
        raise SonnxError(f"'{path}': 'waiver' is no list of tables; write [[waiver]]")
    return tuple(
        _waiver(entry, f"'{path}', entry {number}") for number, entry in enumerate(entries, start=1)
    )


def _parse(path: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(path.read_bytes().decode())
    except FileNotFoundError as error:
        raise SonnxError(f"there is no file '{path}'") from error
    except OSError as error:
        raise SonnxError(f"'{path}' cannot be read: {error.strerror or error}") from error
    except ValueError as error:
        raise SonnxError(f"'{path}' is no TOML: {error}") from error


def _waiver(entry: object, origin: str) -> Waiver:
    if not isinstance(entry, Mapping):
        raise SonnxError(f"{origin}: it is no table; write [[waiver]]")
    for name in _REQUIRED:
        if name not in entry:
            raise SonnxError(f"{origin}: '{name}' is missing; a waiver has {', '.join(_REQUIRED)}")
    for name in entry:
        if name not in (*_REQUIRED, *_OPTIONAL):
            known = ", ".join((*_REQUIRED, *_OPTIONAL))
            raise SonnxError(f"{origin}: '{name}' is unknown; a waiver has {known}")
    rule = _text(entry, "rule", origin)
    if rule not in RULES:
        raise SonnxError(
            f"{origin}: there is no rule '{rule}'; `sonnx-ort explain` lists all rules"
        )
    return Waiver(
        rule=rule,
        node=_text(entry, "node", origin),
        reason=_text(entry, "reason", origin),
        who=_text(entry, "who", origin),
        until=_day(entry["until"], origin),
        path=_path(entry["path"], origin) if "path" in entry else None,
        model=_text(entry, "model", origin) if "model" in entry else None,
        origin=origin,
    )


def _text(entry: Mapping[str, object], name: str, origin: str) -> str:
    value = entry[name]
    if not isinstance(value, str):
        raise SonnxError(f"{origin}: '{name}' is no text")
    if not value.strip() and name not in _MAY_BE_EMPTY:
        raise SonnxError(f"{origin}: '{name}' is empty")
    return value


def _day(value: object, origin: str) -> dt.date:
    # A point in time is a date to Python, and no day.
    if not isinstance(value, dt.date) or isinstance(value, dt.datetime):
        raise SonnxError(f"{origin}: 'until' is no date; write until = 2027-01-31, without quotes")
    return value


def _path(value: object, origin: str) -> tuple[str, ...]:
    if not isinstance(value, list) or not all(isinstance(node, str) for node in value):
        raise SonnxError(f"{origin}: 'path' is no list of texts")
    return tuple(value)
