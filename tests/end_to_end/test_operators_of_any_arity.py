"""Operators of any number of operands are enforced, and chosen by `operators=`.

Made up for the test, in a copy of the package: none of them belongs to the profile.
"""

import numpy as np
import onnxruntime as ort
import pytest

import sonnx_ort
from sonnx_ort.reporting.text_report import text_report
from support.backends import BACKENDS
from support.graphs import parse
from support.package_copy import PackageCopy
from support.sessions import on_one_thread

RULES = '''
"""An operator that a test made up."""
from sonnx_ort.profile.element_type import Family
from sonnx_ort.profile.rule import Violation, at_run_time
from sonnx_ort.profile.operator import Operator
from sonnx_ort.profile.options import Edition
from sonnx_ort.profile.requirements.same_shape import SameShape
from sonnx_ort.profile.requirements.same_type import SameNumericType
from sonnx_ort.profile.rule import Rule, Subject

class Finite:
    """No element is infinite."""
    subject = Subject.ELEMENTS
    def judge(self, operands): return at_run_time("known in a run")
    def violation(self, arrays):
        infinite = any(abs(array).max(initial=0) > 1e30 for array in arrays)
        return Violation("an infinity") if infinite else None

CODE = {first_code}
SHAPE = Rule("{name}.R1", CODE + 1, SameShape())
TYPE = Rule("{name}.R2", CODE + 2, SameNumericType({result_type!r}), {typed})
FINITE = Rule("{name}.C1", CODE + 3, Finite())
BOTH = dict.fromkeys((Family.FLOAT, Family.INTEGER), {rules})
OPERATOR = Operator("{name}", {operands}, {versions}, dict.fromkeys(Edition, BOTH), {fields})
'''
TEXTS = """
[{name}]
description = "Made up."
["{name}.R1"]
sentence = "One shape."
keeps = "X (1,), Y (1,)"
breaks = "X (1,), Y (2,)"
to_fix = "give both one shape"
["{name}.R2"]
sentence = "One type."
keeps = "X float, Y float"
breaks = "X float, Y double"
to_fix = "convert one"
["{name}.C1"]
sentence = "Finite."
keeps = "X [1]"
breaks = "X [inf]"
to_fix = "keep infinities out"
"""
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
        texts = copy.path(f"sonnx_ort/profile/texts/{file}.toml")
        texts.write_text(TEXTS.format(name=name))
        entry = '        "Sub": by_ufunc(np.subtract),\n'
        computed = f'        "{name}": lambda *operands, edition: {own["arithmetic"]},\n'
        copy.replace("custom_ops/arithmetic.py", entry, computed + entry)
        line = "from sonnx_ort.profile.convolutions import CONV, CONV_INTEGER\n"
        new = f"from sonnx_ort.profile.{file} import OPERATOR as {name.upper()}\n"
        copy.replace("sonnx_ort/profile/operators.py", line, new + line)
    entries = "".join(f"    {name.upper()},\n" for name in MADE_UP)
    copy.replace("sonnx_ort/profile/operators.py", "    SUB,\n", f"    SUB,\n{entries}")


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

    # A library of compiled kernels knows the rules that it was made of.
    BACKENDS = ("python", "native")

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
    assert int(child.stdout) == 4 * (3 + 3 + 9 + (3 + 3 * 14))


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


MADE = """
    (float[n] x, float[m] y) => (float[] z) {
        [difference] a = Sub(x, y)
        [kept] b = Relu(a)
        [ratio] z = Div(b, x)
    }"""
CALLING = parse(
    "(float[n] x, float[m] y) => (float[] z) { [call] z = local.f(x, y) }"
    '<domain: "local", opset_import: ["": 17]> f (p, q) => (r) { r = Sub(p, q) }',
    domains={"local": 1},
)


def operators(made, **choices) -> list[str]:
    rewritten = sonnx_ort.rewrite(made, **choices)
    return [f"{n.domain}::{n.op_type}" if n.domain else n.op_type for n in rewritten.graph.node]


@pytest.mark.parametrize(
    ("chosen", "expected"),
    [
        ("default", ["sonnx::CheckedSub", "Reshape", "Relu", "sonnx::CheckedDiv", "Reshape"]),
        ("Sub", ["sonnx::CheckedSub", "Reshape", "Relu", "Div"]),
        (["Div"], ["Sub", "Relu", "sonnx::CheckedDiv", "Reshape"]),
        (("Div", "Sub"), ["sonnx::CheckedSub", "Reshape", "Relu", "sonnx::CheckedDiv", "Reshape"]),
        ("Div, default", ["sonnx::CheckedSub", "Reshape", "Relu", "sonnx::CheckedDiv", "Reshape"]),
        ("all,-Graph", ["sonnx::CheckedSub", "Reshape", "Relu", "sonnx::CheckedDiv", "Reshape"]),
        ([], ["Sub", "Relu", "Div"]),
    ],
    ids=str,
)
def test_only_chosen_operators_are_enforced(chosen, expected) -> None:
    assert operators(parse(MADE), operators=chosen) == expected


@BACKENDS
def test_others_run_as_they_are(backend: str) -> None:
    session = sonnx_ort.InferenceSession(parse(MADE), operators="Div", backend=backend)
    feeds = {"x": np.array([1, 2], np.float32), "y": np.array([1], np.float32)}
    assert session.run(None, feeds)[0].tolist() == [0, 0.5]
    held = sonnx_ort.InferenceSession(parse(MADE), operators="Sub", backend=backend)
    with pytest.raises(sonnx_ort.ContractViolation) as caught:
        held.run(None, feeds)
    assert (caught.value.rule, caught.value.node) == ("Sub.float.R1", "difference")


@BACKENDS
def test_function_without_a_chosen_operator_stays_a_call(backend: str) -> None:
    assert operators(CALLING, operators="Div", backend=backend) == ["local::f"]


class TestReport:
    @staticmethod
    def report() -> sonnx_ort.Report:
        return sonnx_ort.check(
            parse("(float[2] x, float[3] y) => (float[] z) { a = Sub(x, x) z = Div(y, x) }"),
            operators="Sub",
        )

    def test_obligations_of_others_are_told_and_marked(self) -> None:
        marked = {(o.operator, o.enforced) for o in self.report().obligations}
        assert marked == {("Sub", True), ("Div", False)}

    def test_others_reject_nothing(self) -> None:
        report = self.report()
        assert report.ok
        assert report.counts == {"proved": 3, "runtime": 0, "violated": 0}
        assert report.operands.count == 2

    def test_text_counts_what_they_would_find(self) -> None:
        lines = text_report(self.report()).splitlines()
        assert lines[-2:] == [
            "  Sub  1  bound by a draft",
            "  Div  1  bound by a draft, not looked at: 2 proved, 0 runtime, 1 violated",
        ]
        assert "1 node not looked at" in " ".join(" ".join(lines[:2]).split())

    def test_nothing_is_settled_by_what_is_not_enforced(self) -> None:
        made = parse("(float[n] x, float[m] y) => (float[] z) { a = Sub(x, y) z = Div(a, x) }")
        found = {
            chosen: next(
                o.settled
                for o in sonnx_ort.check(made, operators=chosen).obligations
                if o.rule.id == "Div.float.R1"
            )
            for chosen in ("Div", "default")
        }
        assert found == {"Div": False, "default": True}


CHOICES = "'default', 'elementwise', 'profile', or names from "


@pytest.mark.parametrize(
    ("chosen", "message"),
    [
        ("Foo", f"operators: the profile has no operator 'Foo'; choose {CHOICES}"),
        ("", f"operators: the profile has no operator ''; choose {CHOICES}"),
        (3, "operators=3 is not a list of names; choose 'default', 'elementwise' or 'profile'"),
    ],
)
def test_unknown_operator(chosen, message: str) -> None:
    for function in (sonnx_ort.check, sonnx_ort.rewrite, sonnx_ort.InferenceSession):
        with pytest.raises(sonnx_ort.SonnxError) as caught:
            function(parse(MADE), operators=chosen)
        assert str(caught.value).startswith(message)


X = np.random.default_rng(3).normal(size=(4, 500)).astype(np.float32) * 9


@BACKENDS
@pytest.mark.parametrize("declared", ["[4, 500]", "[n, m]", "[]"])
@pytest.mark.parametrize("exponent", [np.float32(3), np.float32([3]), np.float32([[[3]]])], ids=str)
def test_bits_are_those_of_the_model_as_it_was(backend: str, declared: str, exponent) -> None:
    text = f"(float{declared} x) => (float[] y) {{ [the_node] y = Pow(x, e) }}"
    made = parse(text, constants={"e": exponent})
    options = on_one_thread("none")
    (expected,) = ort.InferenceSession(made.SerializeToString(), options).run(None, {"x": X})
    choices = {"operators": "Pow", "backend": backend, "broadcast": "explicit"}
    once = sonnx_ort.rewrite(made, **choices)
    assert sonnx_ort.rewrite(once, **choices) == once
    session = sonnx_ort.InferenceSession(made, options, **choices)
    (got,) = session.run(None, {"x": X})
    np.testing.assert_array_equal(got.view(np.int32), expected.view(np.int32), strict=True)
