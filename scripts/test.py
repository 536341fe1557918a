"""Check everything: `python3 scripts/test.py`.

Makes the environment `.venv` first if there is none (with `--fresh`: in any case), and then runs
ruff, mypy and pytest in it, with two cases of each test or a tenth of them. Where Node.js and npm
are, ONNX Runtime for Node.js is installed in tests/node first: some tests run models there, and
where Chromium is too, some open the HTML report. With `--static` only ruff and mypy run, with
`--thorough` all cases and the long tests too. With `--models` it tries models of packages from the
registry instead, and with `--lowest` the tests of soundness and of the compiled kernels on the
oldest supported packages, in an environment `.venv-lowest`. With `--newest` those run that rest on
other packages' behaviour, on the newest there are, in an environment `.venv-newest`; with `--fresh`
those of today, and with `--if-newer` none if all that the package runs with is in the lock file.
With `--python 3.13` all this runs with another Python, in an environment of its own; with 3.14, for
which onnxruntime-extensions has no build, the tests of the other backends. With `--junit-xml FILE`
the results of the tests are written to a file, from which scripts/pages.py makes a page. Other
arguments go to pytest, which then runs all cases.
"""

import argparse
import os
import sys
from pathlib import Path

from checks import announcement, choose_checks, run_checks, runs_with_newer
from environment import PYTHONS, THIS_PYTHON, Environment, exit_status


def main() -> int:
    """Prepare the environment and run the checks in it; give 1 if one of them fails."""
    parser = argparse.ArgumentParser(
        usage="%(prog)s [options] [argument of pytest ...]", description=__doc__, allow_abbrev=False
    )
    for name, what in (
        ("fresh", "make the environment anew"),
        ("static", "run ruff and mypy only, no tests"),
        ("thorough", "run all cases of each test, and the long tests"),
        ("models", "download packages with models and try these; skipped without a network"),
        ("if-newer", "with --newest: only if a package that sonnx_ort runs with is not locked"),
    ):
        parser.add_argument(f"--{name}", action="store_true", help=what)
    versions = parser.add_mutually_exclusive_group()
    for name, what in (
        ("lowest", "run the tests of soundness and kernels on the oldest packages"),
        ("newest", "run what rests on other packages on the newest ones"),
    ):
        versions.add_argument(
            f"--{name}", dest="versions", action="store_const", const=name, help=what
        )
    parser.add_argument(
        "--python",
        choices=PYTHONS,
        default=THIS_PYTHON,
        help="the version of Python; of this one by default",
    )
    parser.add_argument(
        "--junit-xml", type=Path, metavar="FILE", help="write the results of the tests to a file"
    )
    options, pytest_arguments = parser.parse_known_args()
    what = options.versions or ("thorough" if options.thorough else "quick")
    for other in ("static", "models"):
        what = other if getattr(options, other) else what
    what = "some tests" if pytest_arguments else what
    if options.junit_xml is not None:
        pytest_arguments.append(f"--junit-xml={options.junit_xml.absolute()}")
    environment = Environment(versions=options.versions or "locked", python=options.python)
    checks = choose_checks(
        environment,
        pytest_arguments,
        models=options.models,
        static=options.static,
        thorough=options.thorough,
    )
    print(announcement(checks, what), flush=True)
    environment.prepare(fresh=options.fresh)
    if options.if_newer and not runs_with_newer(environment):
        print("sonnx_ort runs with the packages of the lock file here: nothing is new.")
        return 0
    # Otherwise each process of a test compiles all that it imports anew.
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
    return 0 if run_checks(checks) else 1


if __name__ == "__main__":
    sys.exit(exit_status(main))
