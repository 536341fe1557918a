"""The choices of a caller, and the enforcement of a model."""

import enum
from collections.abc import Iterable
from dataclasses import dataclass
from typing import TypeVar

from sonnx_ort.errors import SonnxError
from sonnx_ort.obligations.waivers import Waiver, WaiverSource, read_waivers
from sonnx_ort.profile.broadcast import BROADCAST
from sonnx_ort.profile.catalog import DEFAULT_OPERATORS, ELEMENTWISE_OPERATORS, OPERATORS
from sonnx_ort.profile.finite import FINITE_OUTPUTS, FINITE_VALUES
from sonnx_ort.profile.graph import GRAPH
from sonnx_ort.profile.options import Broadcasting, Demands, Edition

Choice = TypeVar("Choice", bound=enum.StrEnum)

DEFAULT = "default"
"""The name of the operators that are enforced by default."""

ELEMENTWISE = "elementwise"
"""The name of the element-wise operators of the profile and Broadcast."""

PROFILE = "profile"
"""The name of the whole profile: all operators, and the rules on graphs."""

ALL = "all"
"""Another name of the whole profile."""


def choose(kind: type[Choice], name: str, value: str) -> Choice:
    """Convert the value of a parameter to a choice.

    Raises:
        SonnxError: There is no such choice; the message lists the choices.
    """
    try:
        return kind(value)
    except ValueError:
        known = " or ".join(f"'{choice}'" for choice in kind)
        raise SonnxError(f"{name}={value!r} is unknown; choose {known}") from None


def choose_demands(edition: str, broadcast: str, operators: str | Iterable[str]) -> Demands:
    """Convert parameters to the demands on a model.

    Raises:
        SonnxError: A value is not one of the choices.
    """
    return Demands(
        choose(Edition, "edition", edition),
        choose(Broadcasting, "broadcast", broadcast),
        choose_operators(operators),
    )


def choose_operators(operators: str | Iterable[str]) -> frozenset[str]:
    """Find the operators to enforce.

    Args:
        operators: Names, or one text of names with commas: operators of the profile, "Graph" for
            the rules on graphs, "default", "elementwise", or "profile" for all of these; and
            "Graph.finite" or "Graph.finite_values", which are part of none. Broadcast,
            for which ONNX Runtime has no kernel, is always included. A name behind a hyphen is
            left out: "profile,-Graph" are all operators without the rules on graphs.

    Raises:
        SonnxError: A name is not in the profile; the message lists its operators.
    """
    names = operators.split(",") if isinstance(operators, str) else operators
    if not isinstance(names, Iterable):
        raise SonnxError(
            f"operators={operators!r} are no names; choose '{DEFAULT}', '{ELEMENTWISE}' or "
            f"'{PROFILE}'"
        )
    chosen, left_out = {BROADCAST.name}, set[str]()
    for name in (str(name).strip() for name in names):
        if name.startswith("-"):
            left_out |= _named(name.removeprefix("-"))
        else:
            chosen |= _named(name)
    return frozenset(chosen - (left_out - {BROADCAST.name}))


def _named(name: str) -> frozenset[str]:
    """The operators, or the rules on graphs, that have a name."""
    groups = {
        DEFAULT: DEFAULT_OPERATORS,
        ELEMENTWISE: ELEMENTWISE_OPERATORS,
        **dict.fromkeys((PROFILE, ALL), frozenset({GRAPH, *OPERATORS})),
        FINITE_OUTPUTS: frozenset({FINITE_OUTPUTS}),
        FINITE_VALUES: frozenset({FINITE_OUTPUTS, FINITE_VALUES}),
    }
    if name in groups:
        return groups[name]
    if name in OPERATORS or name == GRAPH:
        return frozenset({name})
    known = sorted([GRAPH, FINITE_OUTPUTS, FINITE_VALUES, *OPERATORS])
    raise SonnxError(
        f"operators: the profile does not speak of '{name}'; choose '{DEFAULT}', '{ELEMENTWISE}', "
        f"'{PROFILE}', or some of {', '.join(known)}"
    )


Waivers = WaiverSource
"""Waivers, or a TOML file with waivers."""


class Backend(enum.StrEnum):
    """The backends that enforce the rules in a run."""

    PYTHON = "python"
    """Custom operators defined in Python: the reference."""

    NATIVE = "native"
    """Standard operators only, which every ONNX Runtime runs without a plugin."""


@dataclass(frozen=True, slots=True)
class Enforcement:
    """How a model is enforced.

    Attributes:
        demands: The demands on the model.
        opset: The opset of the original model.
    """

    demands: Demands
    opset: int


@dataclass(frozen=True, slots=True)
class Choices:
    """How a model is to be rewritten.

    Attributes:
        demands: The demands on the model.
        backend: The backend that enforces the rules in a run.
        make_explicit: Whether to add types, shapes and default attributes that the file omits.
        waivers: The waived violations, which are not enforced.
        conform: Whether to change the model first so that it violates less.
    """

    demands: Demands
    backend: Backend = Backend.PYTHON
    make_explicit: bool = False
    waivers: tuple[Waiver, ...] = ()
    conform: bool = False

    @classmethod
    def of(  # noqa: PLR0913 - one for each choice
        cls,
        edition: str,
        broadcast: str,
        operators: str | Iterable[str],
        backend: str,
        *,
        make_explicit: bool,
        waivers: Waivers = (),
        conform: bool = False,
    ) -> "Choices":
        """Convert the parameters of the API.

        Raises:
            SonnxError: A value is not one of the choices, or the file cannot be used.
        """
        return cls(
            choose_demands(edition, broadcast, operators),
            choose(Backend, "backend", backend),
            make_explicit,
            read_waivers(waivers),
            conform,
        )
