"""What a caller of `rewrite` chooses."""

from dataclasses import dataclass

from sonnx_ort.loading.choice import choose
from sonnx_ort.profile.broadcasting import Broadcasting
from sonnx_ort.profile.edition import Edition
from sonnx_ort.rewriting.backend import Backend


@dataclass(frozen=True, slots=True)
class Choices:
    """How a model is to be rewritten.

    Attributes:
        edition: The edition that it is held to.
        broadcasting: What becomes of operands of different shapes.
        backend: What enforces the rules in a run.
        make_explicit: Whether to write down the types, shapes and defaults that the file leaves
            out.
    """

    edition: Edition
    broadcasting: Broadcasting
    backend: Backend
    make_explicit: bool = False

    @classmethod
    def of(
        cls, edition: str, broadcast: str, backend: str, *, make_explicit: bool = False
    ) -> "Choices":
        """Find the choices of these names.

        Args:
            edition: "typed" or "preliminary".
            broadcast: "reject" or "explicit".
            backend: "python" or "native".
            make_explicit: As the attribute.

        Raises:
            SonnxError: There is no choice of such a name.
        """
        return cls(
            choose(Edition, "edition", edition),
            choose(Broadcasting, "broadcast", broadcast),
            choose(Backend, "backend", backend),
            make_explicit,
        )
