"""What further options of `conform` would fix, as text."""

from collections.abc import Iterator
from typing import Any

from sonnx_ort.conforming.conformity import Conformed
from sonnx_ort.conforming.proposal import Proposal, Remaining, shapes_to_choose, to_choose
from sonnx_ort.errors import printable
from sonnx_ort.errors.remedies import Remedy, listed
from sonnx_ort.reporting.terminal import fitted
from sonnx_ort.reporting.verdict import counted


def proposal_report(proposal: Proposal) -> str:
    """The text of what further options would give, and of what they state, each on a line."""
    left = counted(len(proposal.remaining), "violation")
    lines = [f"{left} left with the command below, which"]
    lines += [f"  {each}" for each in proposal.statements]
    if (size := proposal.open_size) is not None:
        taken = "1" if size == 1 else f"1 on a first axis and as {size} on others"
        lines.append(
            f"Open sizes are taken as {taken}. If yours are others, give a sample by --data or a "
            "contract."
        )
    if proposal.instead:
        lines.append(
            f"{listed(proposal.instead).in_command} may do instead of "
            f"{Remedy('both_branches').in_command}, with a value that you choose."
        )
    lines += _choices(proposal.remaining, tried=True)
    return fitted("\n".join(map(printable, lines)))


def proposed_or_chosen(conformed: Conformed[Any], *, tried: bool) -> str:
    """The text of what further options would give; without any, of which a person has to complete.

    Args:
        conformed: What was changed, and what is left.
        tried: Whether the sizes that reasons name were tried.
    """
    if conformed.proposal is not None:
        return proposal_report(conformed.proposal)
    return fitted("\n".join(map(printable, _choices(conformed.remaining, tried=tried))))


def _choices(left: Remaining, *, tried: bool) -> Iterator[str]:
    """Sentences on the options whose values only the user can choose."""
    if options := to_choose(left):
        count = sum(bool(to_choose((each,))) for each in left)
        all_left = count == len(left)
        fixed = "what is left" if all_left else f"{count:,} of the {len(left):,} violations left"
        chosen = "a value" if len(options) == 1 else "values"
        yield f"{listed(options).in_command} may fix {fixed}, with {chosen} that you choose."
    if tried and (shapes := shapes_to_choose(left)):
        yield (
            "No sizes that were tried fix what is left. Give yours by "
            f"{listed(shapes).in_command}, by --data or by a contract."
        )
