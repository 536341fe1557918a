"""When Python operators can be registered, and how often."""

import pytest

from support.child import run_python
from support.pyops import PRELUDE

pytestmark = pytest.mark.upstream


def test_operator_registered_after_a_session_exists_ends_the_process():
    """Once the session works on, operators may be registered whenever they are needed."""
    child = run_python(
        PRELUDE,
        """
        @onnx_op(op_type="probe::First", **FLOAT)
        def first(x):
            return x

        session = session_of(model_of("First"))
        session.run(None, ONES)

        @onnx_op(op_type="probe::Second", **FLOAT)
        def second(x):
            return x

        say("registered")
        session.run(None, ONES)
        say("survived")
        """,
        # The session reads memory that is free by then; this overwrites it, so that no luck helps.
        MALLOC_PERTURB_="165",
    )
    assert child.killed_by is not None, child
    assert child.stdout == "registered\n", child


def test_library_registered_twice_on_one_object_makes_the_session_fail():
    """Once it is harmless, `register` need not remember the options that it has seen."""
    child = run_python(
        PRELUDE,
        """
        options = ort.SessionOptions()
        for _ in range(2):
            options.register_custom_ops_library(get_library_path())
        x, y = (tensor(name, "float", [None]) for name in "xy")
        identity = model([helper.make_node("Identity", ["x"], ["y"])], [x], [y])
        try:
            ort.InferenceSession(identity.SerializeToString(), options)
        except Exception as error:
            say(error)
        """,
    )
    assert "Conflicting with a registered kernel" in child.stdout, child
