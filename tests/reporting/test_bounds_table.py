"""The table of bounds names each change that rounds, with its bound."""

from sonnx_ort.conforming.bounds import OF_FUNCTIONS
from sonnx_ort.conforming.decomposing import TEMPLATES
from sonnx_ort.conforming.rounds import CHANGES, TELLING_SIZES
from sonnx_ort.reporting.bounds_table import bounds_table

ROWS = bounds_table().splitlines()[2:]


def test_each_bound_has_a_row() -> None:
    templates = {
        f"| writes {name} | {', '.join(sorted(each.near - each.exact))} | {each.bound} |"
        for name, each in TEMPLATES.items()
        if each.bound is not None
    }
    assert templates <= set(ROWS)
    functions = {row for row in ROWS if " as ONNX defines it | " in row}
    assert len(functions) == len(OF_FUNCTIONS)
    changes = [each for each in (*CHANGES, *TELLING_SIZES) if each.bound is not None]
    for change in changes:
        assert [row for row in ROWS if row.startswith(f"| {change.title} (")]
    chains = {row for row in ROWS if row.startswith("| any other change of a chain of nodes |")}
    assert len(ROWS) == len(templates) + len(functions) + len(changes) + len(chains)


def test_a_row_says_what_is_done_for_which_types_and_how_far_results_may_be() -> None:
    assert (
        "| writes Softsign | double, float, float16 | within 4 units in the last place of each "
        "result, for every input |"
    ) in ROWS
    assert (
        "| convert the exponent, and compute in the type of the base (GR3, Pow) | all | within "
        "64 units in the last place of each result, for every input; of a negative base, exponents "
        "have to be numbers of its type |"
    ) in ROWS
    assert (
        "| any other change of a chain of nodes | bfloat16, float16 | within 1 unit in the last "
        "place of each operand, for every input; it moves where 16-bit floats are rounded |"
    ) in ROWS
