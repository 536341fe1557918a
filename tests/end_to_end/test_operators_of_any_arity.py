"""Operators of one and of any number of operands are enforced, and what cannot be is refused.

Made up for the test, in a copy of the package: none of them belongs to the profile.
"""

import pytest

from support.package_copy import PackageCopy

RULES = '''
"""An operator that a test made up."""
from sonnx_ort.profile.element_type import Family
from sonnx_ort.profile.rule import Violation, at_run_time
from sonnx_ort.profile.operator import Operator
from sonnx_ort.profile.options import Edition
from sonnx_ort.profile.requirements.shapes import SameShape
from sonnx_ort.profile.requirements.attributes import SameNumericType
from sonnx_ort.profile.rule import Illustration, Rule, Subject
from sonnx_ort.profile.source import Source

class Finite:
    """No element is infinite."""
    subject = Subject.ELEMENTS
    example = Illustration("X [1]", "X [inf]", "keep infinities out")
    def judge(self, operands): return at_run_time("known in a run")
    def violation(self, arrays):
        infinite = any(abs(array).max(initial=0) > 1e30 for array in arrays)
        return Violation("an infinity") if infinite else None
    def hint(self, operands): return "keep infinities out"

SOURCE, CODE = Source("Test", "section", None), {first_code}
SHAPE = Rule("{name}.R1", CODE + 1, "One shape.", SOURCE, SameShape())
TYPE = Rule("{name}.R2", CODE + 2, "One type.", SOURCE, SameNumericType({result_type!r}), {typed})
FINITE = Rule("{name}.C1", CODE + 3, "Finite.", SOURCE, Finite())
BOTH = dict.fromkeys((Family.FLOAT, Family.INTEGER), {rules})
OPERATOR = Operator("{name}", {operands}, {versions}, dict.fromkeys(Edition, BOTH), {fields})
'''
MADE_UP = {
    "Softplus": {
        "first_code": 9000,
        "operands": ("X",),
        "versions": (1, 22),
        "rules": "(TYPE,)",
        "typed": None,
        "result_type": None,
        "fields": "result='Y'",
        "arithmetic": "np.log1p(np.exp(operands[0]))",
    },
    "Sum": {
        "first_code": 9010,
        "operands": (),
        "versions": (1, 6, 8, 13),
        "rules": "(TYPE, SHAPE)",
        "typed": None,
        "result_type": None,
        "fields": "repeated_operand='data_', result='sum', broadcasting_since=8",
        "arithmetic": "sum(operands)",
    },
}


def made_up(copy: PackageCopy, **changes: str) -> None:
    """Put the operators into the copy, one line each in the catalog and in the arithmetic."""
    for name, own in MADE_UP.items():
        file = name.lower()
        fields = own | changes | {"name": name, "file": file}
        copy.path(f"sonnx_ort/profile/{file}.py").write_text(RULES.format(**fields))
        entry = '        "Sub": by_ufunc(np.subtract),\n'
        computed = f'        "{name}": lambda *operands, edition: {own["arithmetic"]},\n'
        copy.replace("custom_ops/arithmetic.py", entry, computed + entry)
        line = "from sonnx_ort.profile.broadcast import BROADCAST\n"
        new = f"from sonnx_ort.profile.{file} import OPERATOR as {name.upper()}\n"
        copy.replace("sonnx_ort/profile/catalog.py", line, new + line)
    entries = "".join(f"    {name.upper()},\n" for name in MADE_UP)
    copy.replace("sonnx_ort/profile/catalog.py", "    SUB,\n", f"    SUB,\n{entries}")


@pytest.fixture(scope="module")
def package(tmp_path_factory: pytest.TempPathFactory) -> PackageCopy:
    copy = PackageCopy.in_folder(tmp_path_factory.mktemp("package"))
    made_up(copy)
    return copy


HEAD = """
    import itertools
    import numpy as np
    import sonnx_ort
    from support.graphs import parse

    SHAPES = [(2, 3), (3,), ()]

    def model(inputs, node, output, shape="[]", opset=17):
        declared = ", ".join(f"{kind}{shape} {name}" for name, kind in inputs.items())
        return parse(f"({declared}) => ({output}[] z) {{ [n] z = {node} }}", opset=opset)

    def outcome(session, feeds):
        try:
            (result,) = session.run(None, feeds)
            return result
        except sonnx_ort.ContractViolation as violation:
            return violation
    """

ENFORCED = """
    KINDS = {"float": np.float32, "int64": np.int64, "double": np.float64}
    CASES = {
        "Softplus": (["float"], "Softplus(a)", "float", 1, lambda a: np.log1p(np.exp(a))),
        "Sum 1": (["float"], "Sum(a)", "float", 1, lambda a: a),
        "Sum 2": (["double"] * 2, "Sum(a, b)", "double", 2, lambda a, b: a + b),
        "Sum 4": (["float"] * 4, "Sum(a, b, c, d)", "float", 4, lambda *a: sum(a)),
    }

    def feed(kind, shape):
        return (np.arange(np.prod(shape, dtype=int)) + 1).reshape(shape).astype(KINDS[kind])

    BACKENDS = ("python", "native", "compiled")

    checked_operands = 0
    for name, (kinds, node, output, count, expected) in CASES.items():
        made = model(dict(zip("abcd", kinds)), node, output)
        for backend, broadcast in itertools.product(BACKENDS, ("reject", "explicit")):
            session = sonnx_ort.InferenceSession(
                made, backend=backend, broadcast=broadcast, operators="all,-Graph"
            )
            for shapes in itertools.product(SHAPES, repeat=count):
                if count == 4 and len(set(shapes)) > 2:
                    continue
                arrays = [feed(kind, shape) for kind, shape in zip(kinds, shapes)]
                feeds = dict(zip("abcd", arrays))
                found = outcome(session, feeds)
                told = f"{name} {backend} {broadcast} {shapes}: {found!r}"
                checked_operands += 1
                if isinstance(found, sonnx_ort.ContractViolation):
                    assert len(set(shapes)) > 1, told
                    assert found.rule == f"{name.split()[0]}.R1", told
                    assert found.shapes == shapes, told
                    assert broadcast == "reject", told
                else:
                    assert len(set(shapes)) == 1 or broadcast == "explicit", told
                    np.testing.assert_allclose(found, expected(*arrays), 1e-6, err_msg=told)
    print(checked_operands)
    """


def test_operators_of_one_and_any_number_of_operands_are_enforced(package: PackageCopy) -> None:
    child = package.run(HEAD, ENFORCED)
    assert child.exit_status == 0, child
    assert int(child.stdout) == 6 * (3 + 3 + 9 + (3 + 3 * 14))


def test_rewriting_again_changes_nothing(package: PackageCopy) -> None:
    child = package.run(
        HEAD,
        """
        added = model({"a": "float", "b": "float"}, "Sum(a, b)", "float")
        once = sonnx_ort.rewrite(added, operators="all,-Graph")
        print(sonnx_ort.rewrite(once, operators="all,-Graph") == once)
        """,
    )
    assert child.stdout == "True\n", child


class TestWhatCannotBeChecked:
    """A rule that a backend cannot check is an error when a model is rewritten, never silence."""

    REFUSED = """
        made = model({"a": "float"}, "Softplus(a)", "float")
        for backend in ("python", "native", "compiled"):
            try:
                session = sonnx_ort.InferenceSession(made, backend=backend, operators="all,-Graph")
                print(outcome(session, {"a": np.array([1, np.inf], np.float32)}))
            except sonnx_ort.SonnxError as error:
                print(type(error).__name__, error)
        """

    def test_rule_without_a_guard(self, tmp_path) -> None:
        copy = PackageCopy.in_folder(tmp_path)
        made_up(copy, rules="(TYPE, SHAPE, FINITE)")
        child = copy.run(HEAD, self.REFUSED)
        no_guard = (
            "SonnxError Softplus 'n': the native backend has no guard for Softplus.C1 (Finite.); "
            "use the python backend"
        )
        assert child.stdout.splitlines() == [
            "Softplus 'n' breaks Softplus.C1: an infinity; shapes X (2,). The rule: Finite.",
            no_guard,
            no_guard,
        ], child
