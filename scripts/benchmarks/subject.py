"""What is compared: the ways to run a model. All of them run the same one on the same inputs."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from importlib.util import find_spec
from pkgutil import resolve_name

from benchmarks.turns import Run
from benchmarks.workload import Feeds, Setting

ONNXRUNTIME = "onnxruntime"
NATIVE = "native"
SESSION = "session"
PYTHON = "python"
PLAIN = "plain"
REFERENCE = "reference"
JIT = "jit"
CHECKIFY = "checkify"


@dataclass(frozen=True, slots=True)
class Subject:
    """One way to run a model.

    Attributes:
        title: What the tables call it.
        start: The module and the function that make ready what is timed. They are imported only
            where they are timed: one needs a package that may be missing, another registers
            operators.
        baseline: The name of the subject that its time is compared with.
        exact: Whether its results have to be those of ONNX Runtime's own operator.
        single: Whether it runs models of one node only.
        backend: The backend that it needs; empty for none.
        package: The package that it needs beyond those of the environment; empty for none.
    """

    title: str
    start: str
    baseline: str = ONNXRUNTIME
    exact: bool = True
    single: bool = False
    backend: str = ""
    package: str = ""

    def runs(self, setting: Setting) -> bool:
        """Whether it can run a model of this kind."""
        return setting.nodes == 1 or not self.single

    def ready(self, setting: Setting, feeds: Feeds) -> Run:
        """Make ready what is timed: a call that computes the outputs."""
        start: Callable[..., Run] = resolve_name(self.start)
        return start(setting, feeds, **({"backend": self.backend} if self.backend else {}))


SUBJECTS: Mapping[str, Subject] = {
    ONNXRUNTIME: Subject("ONNX Runtime", "benchmarks.sessions:start_original"),
    NATIVE: Subject("native", "benchmarks.sessions:start_rewritten", backend=NATIVE),
    SESSION: Subject("InferenceSession", "benchmarks.sessions:start_own", backend=NATIVE),
    PYTHON: Subject("python", "benchmarks.sessions:start_rewritten", backend=PYTHON),
    PLAIN: Subject("plain @onnx_op", "benchmarks.sessions:start_plain_kernel", exact=False),
    REFERENCE: Subject("onnx.reference", "benchmarks.sessions:start_reference"),
    JIT: Subject(
        "jit", "benchmarks.jax_division:start_jit", baseline=JIT, single=True, package="jax"
    ),
    CHECKIFY: Subject(
        "checkify / jit",
        "benchmarks.jax_division:start_checkify",
        baseline=JIT,
        single=True,
        package="jax",
    ),
}
"""The subjects by name. A new one is one more entry."""

BASELINES = frozenset(subject.baseline for subject in SUBJECTS.values())
"""The names of the subjects that others are compared with."""


def choose_subjects(
    backends: Iterable[str], find: Callable[[str], object | None] = find_spec
) -> tuple[list[str], list[str]]:
    """Choose what is compared.

    Args:
        backends: The backends that are measured.
        find: Gives None for a package that is not installed.

    Returns:
        The names of the subjects, and sentences on those left out for want of a package.
    """
    wanted = {"", *backends}
    chosen = [name for name, subject in SUBJECTS.items() if subject.backend in wanted]
    packages = {SUBJECTS[name].package for name in chosen} - {""}
    missing = sorted(package for package in packages if find(package) is None)
    notices = [
        f"The package {package} is not installed, so "
        f"{' and '.join(s.title for s in SUBJECTS.values() if s.package == package)} are left out; "
        "to measure them: pip install '.[benchmark]'"
        for package in missing
    ]
    return [name for name in chosen if SUBJECTS[name].package not in missing], notices
