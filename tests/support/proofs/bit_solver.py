"""Bitwuzla, for claims about bit-vectors and floats without quantifiers."""

import bitwuzla
import z3

from support.proofs.rounding import script
from support.proofs.theorem import NotProved


def counterexample(claim: z3.BoolRef, seconds: int = 600) -> dict[str, int] | None:
    """Find values for which a claim is false.

    Returns:
        The bits of each constant; None if the claim is true of all values.

    Raises:
        NotProved: That took too long.
    """
    options = bitwuzla.Options()
    options.set(bitwuzla.Option.PRODUCE_MODELS, True)
    options.set(bitwuzla.Option.TIME_LIMIT_PER, seconds * 1000)
    parser = bitwuzla.Parser(bitwuzla.TermManager(), options)
    parser.parse(script(claim), True, False)
    solver = parser.bitwuzla()
    match solver.check_sat():
        case bitwuzla.Result.UNSAT:
            return None
        case bitwuzla.Result.SAT:
            constants = parser.get_declared_funs()
            return {str(one): _bits(solver.get_value(one)) for one in constants}
    raise NotProved(f"not within {seconds} seconds")


def _bits(value: bitwuzla.Term) -> int:
    if value.sort().is_fp():
        return int(value.value(2, False), 2)
    return int(value.value(2), 2)
