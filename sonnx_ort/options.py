"""What a caller chooses, and how a model is or was enforced."""

import enum
from collections.abc import Iterable
from dataclasses import dataclass
from typing import TypeVar

from sonnx_ort.errors import SonnxError
from sonnx_ort.obligations.waivers import Waiver, WaiverSource, read_waivers
from sonnx_ort.profile.broadcast import BROADCAST
from sonnx_ort.profile.catalog import DEFAULT_OPERATORS, ELEMENTWISE_OPERATORS, OPERATORS
from sonnx_ort.profile.options import Broadcasting, Demands, Edition

Choice = TypeVar("Choice", bound=enum.StrEnum)

DEFAULT = "default"
"""The name of the operators that are enforced where nothing else is asked for."""

ELEMENTWISE = "elementwise"
"""The name of those of the profile that compute element by element, and of Broadcast."""

ALL = "all"
"""The name of all operators of the profile."""


def choose(kind: type[Choice], name: str, value: str) -> Choice:
    """Find the choice of that value.

    Args:
        kind: The choices.
        name: The name of the parameter, for the message.
        value: What the caller gave.

    Raises:
        SonnxError: There is no such choice; the message lists those that there are.
    """
    try:
        return kind(value)
    except ValueError:
        known = " or ".join(f"'{choice}'" for choice in kind)
        raise SonnxError(f"{name}={value!r} is unknown; choose {known}") from None


def choose_demands(edition: str, broadcast: str, operators: str | Iterable[str]) -> Demands:
    """Find what a model is to be held to.

    Args:
        edition: "typed" or "preliminary".
        broadcast: "reject" or "explicit".
        operators: As for `choose_operators`.

    Raises:
        SonnxError: There is no choice of such a name.
    """
    return Demands(
        choose(Edition, "edition", edition),
        choose(Broadcasting, "broadcast", broadcast),
        choose_operators(operators),
    )


def choose_operators(operators: str | Iterable[str]) -> frozenset[str]:
    """Find the operators that are to be enforced.

    Args:
        operators: Names, or one text of them with commas between: of operators of the profile,
            "default", "elementwise" or "all". A Broadcast, which ONNX Runtime has no kernel for,
            is always among them.

    Raises:
        SonnxError: The profile does not speak of one; the message lists those that it speaks of.
    """
    names = operators.split(",") if isinstance(operators, str) else operators
    if not isinstance(names, Iterable):
        raise SonnxError(
            f"operators={operators!r} are no names; choose '{DEFAULT}', '{ELEMENTWISE}' or '{ALL}'"
        )
    chosen = {BROADCAST.name}
    for name in (str(name).strip() for name in names):
        match name:
            case _ if name == DEFAULT:
                chosen |= DEFAULT_OPERATORS
            case _ if name == ELEMENTWISE:
                chosen |= ELEMENTWISE_OPERATORS
            case _ if name == ALL:
                chosen |= OPERATORS.keys()
            case _ if name in OPERATORS:
                chosen.add(name)
            case _:
                raise SonnxError(
                    f"operators: the profile does not speak of '{name}'; choose '{DEFAULT}', "
                    f"'{ELEMENTWISE}', '{ALL}', or some of {', '.join(sorted(OPERATORS))}"
                )
    return frozenset(chosen)


Waivers = WaiverSource
"""What violations are tolerated for: a TOML file, or waivers."""


class Backend(enum.StrEnum):
    """The choices for what enforces the rules in a run."""

    PYTHON = "python"
    """Custom operators defined in Python: the reference."""

    NATIVE = "native"
    """Standard operators only, which every ONNX Runtime runs without a plugin."""


@dataclass(frozen=True, slots=True)
class Enforcement:
    """How a model is enforced.

    Attributes:
        demands: What it is held to.
        opset: The version of the standard operators that the model imports without it.
    """

    demands: Demands
    opset: int


@dataclass(frozen=True, slots=True)
class Choices:
    """How a model is to be rewritten.

    Attributes:
        demands: What it is held to.
        backend: What enforces the rules in a run.
        make_explicit: Whether to write down the types, shapes and defaults that the file leaves
            out.
        waivers: What violations are tolerated for, which are not enforced then.
    """

    demands: Demands
    backend: Backend = Backend.PYTHON
    make_explicit: bool = False
    waivers: tuple[Waiver, ...] = ()

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
    ) -> "Choices":
        """Find the choices of these names.

        Args:
            edition: "typed" or "preliminary".
            broadcast: "reject" or "explicit".
            operators: As for `choose_operators`.
            backend: "python" or "native".
            make_explicit: As the attribute.
            waivers: A TOML file, or waivers.

        Raises:
            SonnxError: There is no choice of such a name, or the file cannot be used.
        """
        return cls(
            choose_demands(edition, broadcast, operators),
            choose(Backend, "backend", backend),
            make_explicit,
            read_waivers(waivers),
        )
