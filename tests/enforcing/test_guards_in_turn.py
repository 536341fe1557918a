"""A guard that could not look at what breaks an earlier rule is not asked then.

The guard is that of CONTRIBUTING.md.
"""

import pytest

from support.package_copy import PackageCopy
from support.walk_through import followed

RULE = """
from sonnx_ort.profile.requirements.ordered import Ordered
from sonnx_ort.profile.rule import Rule

_C9 = Rule("Add.C9", 9501, "A is not above B.", working_group("Add"), Ordered())
ADD ="""

RUN = """
import numpy as np
import sonnx_ort
from support.graphs import parse

model = parse("({operands}) => (float[] c) {{ [sum] c = Add(a, b) }}")
for backend in ("python", "native"):
    session = sonnx_ort.InferenceSession(model, operators="Add", backend=backend)
    feeds = {{"a": np.array({a}, np.float32), "b": np.array({b}, np.float32)}}
    try:
        print(session.run(None, feeds)[0].tolist())
    except Exception as error:
        print(type(error).__name__, getattr(error, "rule", error))
"""


@pytest.fixture(scope="module")
def copy(tmp_path_factory: pytest.TempPathFactory) -> PackageCopy:
    made = followed(tmp_path_factory.mktemp("ordered"))
    made.replace("sonnx_ort/profile/arithmetic.py", "\nADD =", RULE)
    one_more = "Family.INTEGER, further={Family.FLOAT: (_C9,)})"
    made.replace("sonnx_ort/profile/arithmetic.py", "Family.INTEGER)", one_more)
    return made


@pytest.mark.parametrize(
    ("operands", "feeds", "told"),
    [
        ("float[n] a, float[m] b", ([1, 2], [3, 4]), "[4.0, 6.0]"),
        ("float[n] a, float[m] b", ([1, 9], [3, 4]), "ContractViolation Add.C9"),
        # Greater would refuse these shapes, in words of ONNX Runtime and without a rule.
        ("float[n] a, float[m] b", ([1, 2, 3], [3, 4]), "ContractViolation Add.float.R1"),
        ("float[n] a, float[m] b", ([9, 9, 9], [3]), "ContractViolation Add.float.R1"),
        ("float[n,2] a, float[2,m] b", ([[1, 2]], [[3], [4]]), "ContractViolation Add.float.R1"),
        ("float[] a, float[] b", (1, 2), "3.0"),
        ("float[] a, float[] b", (2, 1), "ContractViolation Add.C9"),
    ],
)
def test_first_rule_that_is_broken_is_told(
    copy: PackageCopy, operands: str, feeds: tuple[object, object], told: str
) -> None:
    child = copy.run(RUN.format(operands=operands, a=feeds[0], b=feeds[1]))
    assert child.stdout.splitlines() == [told, told], child
