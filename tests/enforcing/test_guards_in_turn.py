"""A guard that could not look at what breaks an earlier rule is not asked then.

The guard is that of CONTRIBUTING.md.
"""

import pytest

from support.package_copy import PackageCopy, followed

FILE, VERSIONS = "sonnx_ort/profile/arithmetic.py", "versions=(1, 6, 7, 13, 14)"
RULE = """
from sonnx_ort.profile.requirements.ordered import Ordered
from sonnx_ort.profile.rule import Rule

_C9 = Rule("Add.C9", 9501, Ordered())


def _sum_or_product("""

TEXTS = """
["Add.C9"]
sentence = "A is not above B."
keeps = "A [1], B [2]"
breaks = "A [2], B [1]"
to_fix = "exchange the operands"
"""

RUN = """
import numpy as np
import sonnx_ort
from support.graphs import parse

def outcome(operands, feeds, backend):
    model = parse(f"({operands}) => (float[] c) {{ [sum] c = Add(a, b) }}")
    session = sonnx_ort.InferenceSession(model, operators="Add", backend=backend)
    feeds = [np.array(feed, np.float32) for feed in feeds]
    try:
        return session.run(None, {"a": feeds[0], "b": feeds[1]})[0].tolist()
    except Exception as error:
        return type(error).__name__, getattr(error, "rule", error)

for case in cases:
    print(*(outcome(*case, backend) for backend in ("python", "native")), sep=" | ")
"""

BROKEN, NOT_OF_ONE_SHAPE = ("ContractViolation", "Add.C9"), ("ContractViolation", "Add.float.R1")
OUTCOMES = {
    ("float[n] a, float[m] b", ((1, 2), (3, 4))): [4.0, 6.0],
    ("float[n] a, float[m] b", ((1, 9), (3, 4))): BROKEN,
    # Greater would refuse these shapes, in words of ONNX Runtime and without a rule.
    ("float[n] a, float[m] b", ((1, 2, 3), (3, 4))): NOT_OF_ONE_SHAPE,
    ("float[n] a, float[m] b", ((9, 9, 9), (3,))): NOT_OF_ONE_SHAPE,
    ("float[n,2] a, float[2,m] b", (((1, 2),), ((3,), (4,)))): NOT_OF_ONE_SHAPE,
    ("float[] a, float[] b", (1, 2)): 3.0,
    ("float[] a, float[] b", (2, 1)): BROKEN,
}


@pytest.fixture(scope="module")
def copy(tmp_path_factory: pytest.TempPathFactory) -> PackageCopy:
    made = followed(tmp_path_factory.mktemp("ordered"))
    made.replace(FILE, "\ndef _sum_or_product(", RULE)
    made.replace(FILE, VERSIONS, f"{VERSIONS}, rules=[_C9] if name == 'Add' else ()")
    made.path("sonnx_ort/profile/texts/ordered.toml").write_text(TEXTS, "utf-8")
    return made


@pytest.mark.thorough
def test_first_rule_that_is_broken_is_told(copy: PackageCopy) -> None:
    child = copy.run(f"cases = {list(OUTCOMES)!r}\n{RUN}")
    assert child.stdout.splitlines() == [f"{told} | {told}" for told in OUTCOMES.values()], child
