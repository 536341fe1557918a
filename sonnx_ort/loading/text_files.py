"""Reads files that others wrote: what cannot be used is said in a sentence."""

import json
import math
import os
import stat
import tomllib
from collections import Counter
from collections.abc import Iterable
from functools import partial
from pathlib import Path
from typing import Any

from sonnx_ort.errors import SonnxError

DEEPEST = 200
"""The levels that a document may have; those of this package have far fewer."""


def content_of(path: Path, most: int = -1, wanted: str = "a file") -> bytes:
    """Read a file or a pipe.

    Args:
        path: The file.
        most: The number of bytes to read at most; all if negative.
        wanted: What to give, for the error.

    Raises:
        SonnxError: There is none, it is a folder or a device, or it cannot be read.
    """
    try:
        mode = path.stat().st_mode
        if stat.S_ISCHR(mode) or stat.S_ISBLK(mode):
            raise SonnxError(f"'{path}' is a device; give {wanted}")
        if stat.S_ISDIR(mode):
            raise SonnxError(f"'{path}' is a folder; give {wanted}")
        with path.open("rb") as file:
            return file.read(most)
    except FileNotFoundError as error:
        raise SonnxError(f"there is no file '{path}'") from error
    except OSError as error:
        raise SonnxError(f"'{path}' cannot be read: {error.strerror or error}") from error
    except ValueError as error:
        raise SonnxError(f"{os.fspath(path)!r} is no path: {error}") from error


def json_of(path: Path) -> Any:
    """Read a document of JSON; UTF-8, with or without a byte order mark.

    Raises:
        SonnxError: It cannot be read, is no JSON, is too deep, or has a key twice in an object.
    """
    return json_in(content_of(path), path)


def json_in(content: bytes, path: Path) -> Any:
    """The document of JSON that a file has: see `json_of`.

    Args:
        content: What was read from the file.
        path: The file, for errors.
    """
    return parsed_json(_decoded(content, path, "JSON"), f"'{path}'")


def parsed_json(text: str, origin: str) -> Any:
    """Parse JSON.

    Args:
        text: The text.
        origin: Where it is from, for the error.

    Raises:
        SonnxError: It is no JSON, is too deep, or has a key twice in an object.
    """
    try:
        return _shallow(json.loads(text, object_pairs_hook=_require_unique))
    except RecursionError:
        raise SonnxError(f"{origin} is nested more than {DEEPEST} levels deep") from None
    except ValueError as error:
        raise SonnxError(f"{origin} is not JSON: {error}") from error


def toml_of(path: Path) -> dict[str, Any]:
    """Read a document of TOML; UTF-8, with or without a byte order mark.

    Raises:
        SonnxError: It cannot be read, is no TOML, or is too deep.
    """
    text = _decoded(content_of(path), path, "TOML")
    too_deep = SonnxError(f"'{path}' is nested more than {DEEPEST} levels deep")
    if any(line.count(".") > _LONGEST_KEY for line in text.splitlines()):
        raise too_deep
    try:
        parsed = tomllib.loads(text, parse_float=partial(_number, origin=f"'{path}'"))
        document: dict[str, Any] = _shallow(parsed)
    except RecursionError:
        raise too_deep from None
    except ValueError as error:
        raise SonnxError(f"'{path}' is not TOML: {error}") from error
    return document


def _number(text: str, origin: str) -> float:
    """A number of TOML, which is not taken for infinite where it has digits.

    Raises:
        SonnxError: Double has no number of this size.
    """
    number = float(text)
    if math.isinf(number) and not text.lstrip("+-").startswith("inf"):
        raise SonnxError(
            f"{origin}: {text} is beyond all numbers of double, 1.8e308; write inf or -inf for "
            "infinity"
        )
    return number


_LONGEST_KEY = 10_000
"""The dots in a line of TOML: for a key of very many parts its parser takes quadratic time."""


def _decoded(content: bytes, path: Path, kind: str) -> str:
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise SonnxError(f"'{path}' is not {kind}: it is not in UTF-8 ({error})") from error


def _require_unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        twice = Counter(key for key, _ in pairs).most_common(1)[0][0]
        raise ValueError(f"an object has the key {twice!r} twice")
    return found


def _shallow(document: Any) -> Any:
    """The document, if it is not too deep for what reads it next."""
    level = list(_parts([document]))
    for _ in range(DEEPEST):
        level = [part for whole in level for part in _parts(whole)]
        if not level:
            return document
    raise RecursionError


def _parts(whole: Any) -> Iterable[Any]:
    """The parts of a list or an object that have parts themselves."""
    inside = whole.values() if isinstance(whole, dict) else whole
    return [part for part in inside if isinstance(part, dict | list)]
