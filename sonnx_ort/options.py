"""The choices of a caller, and the enforcement of a model."""

import functools
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Final, Literal, TypedDict

from sonnx_ort.analysis.contracts import ContractSource, read_contract
from sonnx_ort.analysis.waivers import Waiver, WaiverSource, read_waivers
from sonnx_ort.backends import Backend, BackendChoice, choose_backend
from sonnx_ort.errors import SonnxError, did_you_mean
from sonnx_ort.errors.arguments import choose
from sonnx_ort.errors.remedies import Advice, Option
from sonnx_ort.profile.catalog import (
    DEFAULT_OPERATORS,
    ELEMENTWISE_OPERATORS,
    OPERATORS,
    WHOLE_PROFILE,
)
from sonnx_ort.profile.contract import NO_CONTRACT
from sonnx_ort.profile.demands import Demands
from sonnx_ort.profile.graph import FINITE_OUTPUTS, FINITE_VALUES, GRAPH
from sonnx_ort.profile.layout import BROADCAST
from sonnx_ort.profile.options import BroadcastChoice, Broadcasting, Edition, EditionChoice

DEFAULT: Final = "default"
"""The name of the operators that are enforced by default."""

ELEMENTWISE: Final = "elementwise"
"""The name of the element-wise operators of the profile and Broadcast."""

PROFILE: Final = "profile"
"""The name of the whole profile: all operators, and the rules on graphs."""

ALL = "all"
"""Another name of the whole profile."""

OperatorsChoice = Literal["default", "elementwise", "profile"] | str | Iterable[str]
"""Operators as a caller gives them: a group, or names."""


def choose_demands(
    edition: str,
    broadcast: str,
    operators: str | Iterable[str],
    contract: ContractSource = NO_CONTRACT,
) -> Demands:
    """Convert parameters to the demands on a model.

    Raises:
        SonnxError: A value is not one of the choices, or the file of the contract cannot be used.
    """
    return Demands(
        choose(Edition, "edition", edition),
        choose(Broadcasting, "broadcast", broadcast),
        choose_operators(operators),
        read_contract(contract),
    )


def choose_operators(operators: str | Iterable[str]) -> frozenset[str]:
    """Find the operators to enforce.

    Args:
        operators: Names, or one string of names separated by commas: operators of the profile,
            "Graph" for the rules on graphs, "default", "elementwise", or "profile" for all of
            these. "Graph.finite" and "Graph.finite_values" are in none of these groups. Broadcast,
            for which ONNX Runtime has no kernel, is always included. A hyphen leaves a name out:
            "profile,-Graph" selects all operators without the rules on graphs. Upper and lower case
            make no difference.

    Raises:
        SonnxError: A name is not in the profile; the message lists all names.
    """
    names = operators.split(",") if isinstance(operators, str) else operators
    if not isinstance(names, Iterable):
        raise SonnxError(
            Advice(
                Option("operators"),
                f"{operators!r} is not a list of names; choose '{DEFAULT}', '{ELEMENTWISE}' or "
                f"'{PROFILE}'",
            )
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
    exact = _BY_LOWER_CASE.get(name.lower(), name)
    if exact in _GROUPS:
        return _GROUPS[exact]
    if exact in OPERATORS or exact == GRAPH:
        return frozenset({exact})
    known = sorted([GRAPH, FINITE_OUTPUTS, FINITE_VALUES, *OPERATORS])
    meant = did_you_mean(name, (DEFAULT, ELEMENTWISE, PROFILE, *known))
    raise SonnxError(
        f"operators: the profile has no operator '{name}'{meant}; choose '{DEFAULT}', "
        f"'{ELEMENTWISE}', '{PROFILE}', or names from {', '.join(known)}"
    )


_GROUPS = {
    DEFAULT: DEFAULT_OPERATORS,
    ELEMENTWISE: ELEMENTWISE_OPERATORS,
    PROFILE: WHOLE_PROFILE,
    ALL: WHOLE_PROFILE,
    FINITE_OUTPUTS: frozenset({FINITE_OUTPUTS}),
    FINITE_VALUES: frozenset({FINITE_OUTPUTS, FINITE_VALUES}),
}
"""Names that stand for operators and rules on graphs."""

NAMES = (*_GROUPS, GRAPH, *sorted(OPERATORS))
"""The names that `choose_operators` takes."""

_BY_LOWER_CASE = {name.lower(): name for name in NAMES}


@functools.cache
def name_operators(operators: frozenset[str]) -> str:
    """A short text that `choose_operators` reads as these operators: a group, if it is one."""
    groups = {name: choose_operators(name) for name in (DEFAULT, ELEMENTWISE, PROFILE)}
    for name, group in groups.items():
        if group == operators:
            return name
    texts = [",".join(sorted(operators - {BROADCAST.name})) or BROADCAST.name]
    texts += (
        ",".join([name, *sorted(operators - group), *_without(group - operators)])
        for name, group in groups.items()
    )
    return min(texts, key=len)


def _without(operators: frozenset[str]) -> list[str]:
    return [f"-{name}" for name in sorted(operators)]


Waivers = WaiverSource
"""Waivers, or a TOML file with waivers."""


@dataclass(frozen=True, slots=True)
class Enforcement:
    """How a model is enforced.

    Attributes:
        demands: The demands on the model.
        opset: The opset of the original model.
        ir_version: The version of the format of the original model.
        backend: What enforces it.
        certified: Whether each run checks what is proved without a certificate.
        runtime: The release of onnxruntime on whose kernels it relies (`kernels_since`); None for
            any.
        rests_on_numbers: Whether something is proved by floats that a kernel computes, so that
            only some optimizers may act.
        guards_by_kernel: Whether the compiled backend guards by one operator of its own; earlier
            versions did so by nodes of standard operators.
    """

    demands: Demands
    opset: int
    ir_version: int
    backend: Backend
    certified: bool = False
    runtime: str | None = None
    rests_on_numbers: bool = False
    guards_by_kernel: bool = False


class RewriteOptions(TypedDict, total=False):
    """The options of `rewrite` and `rewrite_file`, by name.

    Attributes:
        edition: "typed", the default, or "preliminary".
        broadcast: "reject", the default: operands of different shapes violate the profile.
            "explicit": a Broadcast node in front makes the shapes equal; operands without a common
            shape violate the profile.
        operators: The operators that are enforced: "default" (Div, Sub and Broadcast),
            "elementwise", "profile" (all operators, and the rules on graphs), or names, in a string
            separated by commas or in any iterable; a hyphen leaves a name out. Without it, or with
            None, these are Div, Sub and Broadcast, and a warning names other operators of the model
            that have rules. `check` reports on all operators. "Graph.finite" demands that no output
            is NaN or infinite, "Graph.finite_values" the same of every value that a node computes.
        backend: "python": custom operators, which need `sonnx_ort.register`. "native": guards of
            standard operators in front of the nodes, which ONNX Runtime runs from 1.23 on.
            "compiled": custom operators in a library that any language registers, and guards where
            it has none. All give the same bits, but for the sign and the payload of a NaN. A model
            that one of the last two rewrote stays as it is, whichever backend is given here. None,
            the default: "python" where onnxruntime-extensions is installed, or else "compiled"
            where its kernels are, or else "native".
        make_explicit: Whether to write also the types, shapes and default attributes that the file
            omits (`GR2`, `GR4`); not by default.
        conform: Whether to make the safe changes of `sonnx_ort.conform` first, which fix violations
            of the enforced rules without changing any result; not by default.
        waivers: The accepted violations, which are not enforced: a TOML file, or waivers. If shapes
            differ at such a node, a Broadcast is inserted in front of it, and all its other rules
            are enforced. The model's metadata lists the waivers.
        contract: What inputs, and values inside of the model, may be: a TOML file, or a `Contract`.
            Each run checks it where the value enters, and what follows from it is proved. The
            model's metadata has the contract.
    """

    edition: EditionChoice
    broadcast: BroadcastChoice
    operators: OperatorsChoice | None
    backend: BackendChoice
    make_explicit: bool
    conform: bool
    waivers: Waivers
    contract: ContractSource


@dataclass(frozen=True, slots=True)
class Choices:
    """How a model is to be rewritten.

    Attributes:
        demands: The demands on the model.
        backend: The backend that enforces the rules in a run.
        make_explicit: Whether to add types, shapes and default attributes that the file omits.
        waivers: The waived violations, which are not enforced.
        conform: Whether to change the model first so that it violates less.
        certified: Whether only what is certified counts as proved.
        by_default: Whether the backend is that of the installation, because none was chosen.
        operators_by_default: Whether the operators are Div, Sub and Broadcast because none were
            chosen.
        guards_by_kernel: Whether the compiled backend may guard by an operator of its own.
    """

    demands: Demands
    backend: Backend
    make_explicit: bool = False
    waivers: tuple[Waiver, ...] = ()
    conform: bool = False
    certified: bool = False
    by_default: bool = False
    operators_by_default: bool = False
    guards_by_kernel: bool = True

    @classmethod
    def of(  # noqa: PLR0913 - one for each choice
        cls,
        edition: str = "typed",
        broadcast: str = "reject",
        operators: str | Iterable[str] | None = None,
        backend: str | None = None,
        *,
        make_explicit: bool = False,
        waivers: Waivers = (),
        conform: bool = False,
        certified: bool = False,
        contract: ContractSource = NO_CONTRACT,
    ) -> "Choices":
        """Convert the parameters of the API.

        Raises:
            SonnxError: A value is not one of the choices, or the file cannot be used.
        """
        chosen = DEFAULT if operators is None else operators
        return cls(
            choose_demands(edition, broadcast, chosen, contract),
            choose_backend(backend),
            make_explicit,
            read_waivers(waivers),
            conform,
            certified,
            by_default=backend is None,
            operators_by_default=operators is None,
        )

    def with_certificate(self) -> "Choices":
        """The same choices, for a model with a certificate.

        Raises:
            SonnxError: The model would be changed by more than native guards.
        """
        changed = self.make_explicit or self.conform
        explicit = self.demands.broadcasting is not Broadcasting.REJECT
        if self.backend is not Backend.NATIVE or changed or explicit:
            raise SonnxError(
                "a certificate needs backend 'native' and broadcast 'reject', without "
                "make_explicit and conform; conform the model first, write it, and rewrite that "
                "file"
            )
        return replace(self, certified=True)
