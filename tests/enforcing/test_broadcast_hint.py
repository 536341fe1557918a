"""What a rejected broadcast's message advises: the Broadcast that "explicit" would insert."""

import pytest

import sonnx_ort
from support.backends import on_each_backend
from support.broadcasting import legacy_model
from support.graphs import binary_model

pytestmark = on_each_backend

INSERTS = 'rewrite with broadcast="explicit", which inserts a Broadcast of '
NOTHING_FITS = "the shapes cannot be broadcast to each other; correct the model"


def hint(made, **choices):
    with pytest.raises(sonnx_ort.ModelRejected) as caught:
        sonnx_ort.rewrite(made, **choices)
    hints = {o.hint for o in caught.value.report.violations}
    assert len(hints) == 1
    return hints.pop()


@pytest.mark.parametrize("edition", ["typed", "preliminary"])
@pytest.mark.parametrize(
    ("a_shape", "b_shape", "advice"),
    [
        ((2, 3), (), INSERTS + "B from () to (2, 3)"),
        ((3,), (2, 3), INSERTS + "A from (3,) to (2, 3)"),
        ((2, 1), (1, 3), INSERTS + "A from (2, 1) to (2, 3) and B from (1, 3) to (2, 3)"),
        (("n", 3), (3,), INSERTS + "B from (3,) to (n, 3)"),
        ((3,), (2,), NOTHING_FITS),
        ((2, 3), (2, 4), NOTHING_FITS),
        ((0,), (1,), NOTHING_FITS),
        ((0, 3), (3,), NOTHING_FITS),
    ],
    ids=str,
)
def test_shapes_before_and_after(edition, a_shape, b_shape, advice):
    made = binary_model("Div", "float", a_shape, b_shape)
    assert hint(made, edition=edition).endswith(advice)


@pytest.mark.parametrize(
    ("b_shape", "attributes", "advice"),
    [
        ((4, 5), {}, INSERTS + "B from (4, 5) to (2, 3, 4, 5)"),
        ((3, 4), {"axis": 1}, INSERTS + "B from (3, 4) to (2, 3, 4, 5)"),
        ((2,), {"axis": 0}, INSERTS + "B from (2,) to (2, 3, 4, 5)"),
    ],
    ids=str,
)
def test_legacy_broadcasting_is_advised_by_its_own_alignment(b_shape, attributes, advice):
    made = legacy_model("Div", (2, 3, 4, 5), b_shape, 6, broadcast=1, **attributes)
    assert hint(made) == advice


@pytest.mark.parametrize("choice", ["reject", "explicit"])
@pytest.mark.parametrize(
    ("a_shape", "b_shape", "attributes"),
    [((2, 3, 4, 5), (5,), {"axis": 4}), ((3,), (2, 3), {}), ((1,), (3,), {})],
    ids=str,
)
def test_explicit_is_not_advised_where_it_would_be_rejected_too(
    choice, a_shape, b_shape, attributes
):
    made = legacy_model("Div", a_shape, b_shape, 6, broadcast=1, **attributes)
    assert "explicit" not in hint(made, broadcast=choice)
