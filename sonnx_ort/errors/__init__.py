"""The errors of this package, and texts as people may see them: see `terms.text`."""

from __future__ import annotations

import json
import os
import re
import traceback
from collections.abc import Iterable
from difflib import get_close_matches
from html import escape
from pathlib import Path
from typing import Any

from sonnx_ort.errors.remedies import Advice, joined
from sonnx_ort.terms.text import printable as printable  # others import it here

_ESCAPE = re.compile(r"\\(x[0-9a-f]{2}|u[0-9a-f]{4}|U[0-9a-f]{8})")
_LIKE_AN_ESCAPE = re.compile(rf"\\(?={_ESCAPE.pattern[2:]})")


def printable_lines(text: str) -> str:
    """A text of lines, each printable."""
    return "\n".join(map(printable, text.split("\n")))


def escaped(name: str) -> str:
    """A printable name from which `restored` gives the name."""
    return printable(_LIKE_AN_ESCAPE.sub(r"\\x5c", name))


def restored(name: str) -> str:
    """The name of which `escaped` made another one."""
    return _ESCAPE.sub(lambda found: chr(int(found[1][1:], 16)), name)


def to_json(document: object, **layout: Any) -> str:
    """A document in JSON: the exact texts, with JSON's own escapes for what does not print."""
    text = json.dumps(document, ensure_ascii=False, **layout)
    return "\n".join(
        line if line.isprintable() else "".join(map(_in_json, line)) for line in text.split("\n")
    )


def _in_json(character: str) -> str:
    return character if character.isprintable() else json.dumps(character)[1:-1]


def to_html(text: str) -> str:
    """A text in HTML: printable, and without markup."""
    return escape(printable(text))


def printable_advice(text: str) -> str:
    """A printable text, which is advice if the text is."""
    return text.with_texts(printable) if isinstance(text, Advice) else printable(text)


_PACKAGE = f"{Path(__file__).parents[1]}{os.sep}"


class SonnxError(Exception):
    """Base of all errors of this package.

    Its message consists of lines in which what does not print is escaped, as in names of models.
    """

    def __init__(self, *lines: str) -> None:
        super().__init__(*map(printable_advice, lines))

    def __str__(self) -> str:
        """The message."""
        return "\n".join(self.args)

    @property
    def advice(self) -> Advice:
        """The message, which knows the options that it names."""
        return joined("\n", self.args)

    def _repr_html_(self) -> str:
        """Show the message in a notebook."""
        return f"<strong>{type(self).__name__}</strong><pre>{escape(str(self))}</pre>"

    def _render_traceback_(self) -> list[str]:
        """Give IPython the line that failed and the message, without the frames of this package."""
        frames = traceback.extract_tb(self.__traceback__)
        within = (at for at, frame in enumerate(frames) if frame.filename.startswith(_PACKAGE))
        entered = next(within, len(frames))
        caller = traceback.format_list(frames[max(entered - 1, 0) : entered])
        return [
            *(line.rstrip() for line in caller),
            f"{type(self).__name__}: {self._in_notebook()}",
        ]

    def _in_notebook(self) -> str:
        return str(self)


class InvalidArgument(SonnxError, TypeError):  # noqa: N818 - named as `InvalidModel` is
    """An argument of a public function is unknown, missing or of another type than documented."""


class InvalidModel(SonnxError):  # noqa: N818 - a public name of the interface
    """The input is not a readable, valid ONNX model, or declares something false."""


class BackendUnavailable(SonnxError):  # noqa: N818 - reads as what happened
    """This installation cannot run the models of a backend."""


class ContractViolation(SonnxError):  # noqa: N818 - a public name of the interface
    """A rule of the profile was violated in a run.

    Attributes:
        rule: The id of the first violated rule, for example "Div.int.C1".
        operator: The operator, for example "Div".
        node: The name of the node in the original model.
        shapes: The shapes of the operands in this run, in their order; None if no kernel of this
            package reported them.
        index: The index of the first element that violates the rule; None if shapes violate it, or
            if ONNX Runtime itself rejects what does.
        values: The elements of the operands at that index, without those of which only the shape
            matters, such as the data of a Slice; None as for `index`.
        written: Where the node was written, as the model says, such as "written at net.py:7 in
            Scale.forward"; empty if it does not say that. The message has it as a line of its own.
    """

    def __init__(  # noqa: PLR0913 - one parameter for each public field
        self,
        message: str,
        *,
        rule: str,
        operator: str,
        node: str,
        shapes: tuple[tuple[int, ...], ...] | None = None,
        index: tuple[int, ...] | None = None,
        values: tuple[int | float, ...] | None = None,
        written: str = "",
    ) -> None:
        super().__init__(message)
        self.rule = rule
        self.operator = operator
        self.node = node
        self.shapes = shapes
        self.index = index
        self.values = values
        self.written = ""
        self.tell_place(written)

    def tell_place(self, written: str) -> None:
        """Say where the node was written, unless that is said."""
        if written and not self.written:
            self.written = printable(written)
            self.args = (*self.args, f"    {self.written}")

    def __reduce__(self) -> tuple[Any, ...]:
        """Keep the fields when the error is pickled."""
        return _restore_violation, (self.args[0], dict(self.__dict__))


def _restore_violation(message: str, fields: dict[str, Any]) -> ContractViolation:
    return ContractViolation(message, **fields)


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """A question with the known name that is most similar to an unknown one; empty if none is.

    Upper and lower case make no difference.
    """
    by_lower_case = {each.lower(): each for each in known}
    alike = get_close_matches(name.lower(), by_lower_case, n=1)
    return f" (did you mean '{by_lower_case[alike[0]]}'?)" if alike else ""
