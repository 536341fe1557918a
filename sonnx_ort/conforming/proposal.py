"""Which further options would fix what is left: tried together, and then each left out.

The options are those that the reasons name. One change may need another, so that new reasons name
new options: these are tried as well. Of all that are given together, each is left out that fixes
nothing, those that say most of the use of the model first.
"""

from collections.abc import Callable, Container, Iterable, Sequence
from dataclasses import dataclass

from sonnx_ort.analysis.obligation import Obligation
from sonnx_ort.conforming.fixpoint import NO_CHANGE
from sonnx_ort.conforming.rounds import ROUNDING, Place, place_of
from sonnx_ort.errors.remedies import Advice, Remedy, listed

Remaining = tuple[tuple[Obligation, Advice], ...]
"""What is violated still, each with the reason."""

Attempt = Callable[[Sequence[Remedy]], Remaining | None]
"""What is left with further options; None if the model cannot be conformed with them."""

_ORDER = ("assume", "assume_shapes", "unroll", "both_branches", "name_outputs", "rounding")
"""The options that are tried, those first that are left out if others suffice."""

_STATEMENTS = frozenset({"assume", "assume_shapes"})
"""The options that state something of the use."""

_BOTH_BRANCHES = Remedy("both_branches")

_MOST_TRIALS = 4
"""How often reasons may name options that were not tried."""

_ALONE = 6
"""Up to how many options each is left out alone."""


@dataclass(frozen=True, slots=True)
class Proposal:
    """Options that fix what is left, as far as options do.

    Attributes:
        remedies: The options, besides those that were given.
        remaining: What is violated still with them.
        rounding: How far outputs deviate with them, in words; empty if that is not known, or
            nothing rounds.
        open_size: What open sizes are taken as, but for 1 on a first axis; None if all are said.
        instead: The options, with values that a person has to choose, in place of which both
            branches are computed.
    """

    remedies: tuple[Remedy, ...]
    remaining: Remaining
    rounding: str = ""
    open_size: int | None = None
    instead: tuple[Remedy, ...] = ()

    @property
    def statements(self) -> tuple[str, ...]:
        """What the options state or do, each as a clause without a subject."""
        return tuple(_statement(each, self.rounding) for each in self.remedies)


def propose(
    left: Remaining,
    attempt: Attempt,
    further: Iterable[Sequence[Remedy]] = (),
    *,
    certain: Container[str] = (),
) -> Proposal | None:
    """Find options that fix what is left; None if none fixes anything.

    Args:
        left: What is violated without further options.
        attempt: Conforms the model with further options; None also if there were enough trials.
        further: Alternatives to try beside and in place of options that reasons name, as long as
            something is left.
        certain: The inputs that a contract fixes, so that what is stated of them is left out last.
    """
    attempt = _without_new_faults(left, attempt)
    chosen, best = _together(left, attempt, ())
    for alternative in further:
        if not best:
            break
        replaced = {(each.option, each.name) for each in alternative}
        others = [each for each in chosen if (each.option, each.name) not in replaced]
        more, found = _together(left, attempt, (*others, *alternative))
        if len(found) < len(best):
            chosen, best = more, found
    if not chosen or len(best) >= len(left):
        return None
    # Of the steps to write, the largest number was named last.
    last = {(each.option, each.name): each for each in chosen}
    ordered = sorted(last.values(), key=lambda each: (each.name in certain, _order_of(each)))
    chosen, best = _without_needless(tuple(ordered), best, left, attempt)
    instead = to_choose(left) if _BOTH_BRANCHES in chosen else ()
    return Proposal(tuple(sorted(chosen, key=_order_of)), best, instead=instead)


def to_choose(left: Remaining) -> tuple[Remedy, ...]:
    """The options that reasons name, each once, whose values a person has to choose."""
    named = (each for _, reason in left for each in reason.remedies)
    return tuple(dict.fromkeys(each for each in named if each.value is None))


def shapes_to_choose(left: Remaining) -> tuple[Remedy, ...]:
    """The options, each once, for inputs of which reasons name a shape that fixes nothing.

    Args:
        left: What is left after the shapes were tried.
    """
    named = (each for _, reason in left for each in reason.remedies)
    names = dict.fromkeys(
        each.name for each in named if each.option == "assume_shapes" and each.value
    )
    return tuple(Remedy("assume_shapes", None, name) for name in names)


def _without_new_faults(left: Remaining, attempt: Attempt) -> Attempt:
    """None too where what is stated of the use breaks a rule that nothing else fixes.

    A size that nobody said may be one that the model cannot have: a Reshape to 48 rows is violated
    in every run if there is one row.
    """
    known = {place_of(obligation) for obligation, _ in left}

    def tried(options: Sequence[Remedy]) -> Remaining | None:
        found = attempt(options)
        if found is None or not any(each.option in _STATEMENTS for each in options):
            return found
        broken = (place_of(o) not in known and not reason.remedies for o, reason in found)
        return None if any(broken) else found

    return tried


def _together(
    left: Remaining, attempt: Attempt, chosen: tuple[Remedy, ...]
) -> tuple[tuple[Remedy, ...], Remaining]:
    """All options that reasons name, and then those that the new reasons name."""
    best = left
    if chosen:
        best = _left_after(attempt, chosen, left)
    for _ in range(_MOST_TRIALS):
        fresh = _fresh(_named(best), chosen)
        if not fresh:
            break
        found = attempt((*chosen, *fresh))
        if found is None:
            # What is said of the use may contradict itself; the others may help alone.
            fresh = tuple(each for each in fresh if not each.name)
            found = attempt((*chosen, *fresh)) if fresh else None
        if found is None or len(found) > len(best):
            break
        chosen, best = (*chosen, *fresh), found
        if not best:
            break
    return chosen, best


def _left_after(attempt: Attempt, chosen: tuple[Remedy, ...], left: Remaining) -> Remaining:
    found = attempt(chosen)
    return left if found is None else found


def _named(left: Remaining) -> list[Remedy]:
    """The options with values that reasons name and that can be tried, in their order."""
    named = (each for _, reason in left for each in reason.remedies)
    return [each for each in named if each.option in _ORDER and each.value is not None]


def _fresh(named: Iterable[Remedy], chosen: tuple[Remedy, ...]) -> tuple[Remedy, ...]:
    """Options that are not chosen; of one for the same input, or with the same name, the first.

    Of the steps to write the largest number counts.
    """
    taken = {(each.option, each.name): each for each in chosen}
    found: dict[tuple[str, str], Remedy] = {}
    for each in named:
        key = each.option, each.name
        before = found.get(key) or taken.get(key)
        if before is None or (each.option == "unroll" and _steps(each) > _steps(before)):
            found[key] = each
    return tuple(sorted(found.values(), key=_order_of))


def _steps(remedy: Remedy) -> int:
    return remedy.value if isinstance(remedy.value, int) else 0


def _order_of(remedy: Remedy) -> int:
    return _ORDER.index(remedy.option)


def _without_needless(
    chosen: tuple[Remedy, ...], best: Remaining, left: Remaining, attempt: Attempt
) -> tuple[tuple[Remedy, ...], Remaining]:
    """The options without those that fix nothing beside the others."""
    groups: list[tuple[Remedy, ...]] = [(each,) for each in chosen]
    if len(chosen) > _ALONE:
        names = dict.fromkeys(each.option for each in chosen)
        groups = [tuple(each for each in chosen if each.option == name) for name in names]
    for group in groups:
        fewer = tuple(each for each in chosen if each not in group)
        found = attempt(fewer) if fewer else left
        if found is not None and len(found) <= len(best):
            chosen, best = fewer, found
    return chosen, best


def _statement(remedy: Remedy, rounding: str) -> str:
    match remedy.option:
        case "assume_shapes":
            shape = f"of shape {remedy.value}" if remedy.value else "a scalar"
            return f"states that {remedy.name} is {shape} in every run"
        case "assume":
            return f"states that {remedy.name} is {remedy.value} in every run"
        case "unroll":
            return f"writes loops of up to {remedy.value} steps as all their steps"
        case "both_branches":
            return "computes both branches where the input decides"
        case "name_outputs":
            return "adds outputs to the model"
        case _:
            return rounding or "rounds"


def with_proposal(left: Remaining, proposal: Proposal | None) -> Remaining:
    """The reasons, where what the proposed options fix says so if it names no option itself."""
    if proposal is None:
        return left
    still: set[Place] = {place_of(obligation) for obligation, _ in proposal.remaining}
    fixing = Advice(listed(proposal.remedies), " fix" + "es" * (len(proposal.remedies) == 1), " it")
    return tuple(
        (o, fixing if reason.startswith(NO_CHANGE) and place_of(o) not in still else reason)
        for o, reason in left
    )


def rounds(proposal: Proposal) -> bool:
    """Whether results may be rounded otherwise with the options."""
    return ROUNDING in proposal.remedies
