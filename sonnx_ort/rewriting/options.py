"""What a caller of `rewrite` chooses, and how a model is or was enforced."""

import enum
from collections.abc import Iterable
from dataclasses import dataclass

from sonnx_ort.analysis.waivers import Waiver, WaiverSource, read_waivers
from sonnx_ort.loading.choice import choose, choose_demands
from sonnx_ort.profile.options import Demands

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
    backend: Backend
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
