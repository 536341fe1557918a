"""Pin the packages that pyproject.toml allows: `python3 scripts/lock.py`.

Writes requirements.lock, with the newest, and requirements.lowest.lock, with the oldest versions of
those that pyproject.toml names; requirements.runtime.lock has those of the first that run
sonnx_ort, and nothing for developers. All serve every supported Python and platform. Needs `uv`.
"""

import shutil
import subprocess
import sys

from environment import ROOT, Environment

HEADER = """\
# Every package of the environment {}, with the hashes of all its builds.
# Made from pyproject.toml by scripts/lock.py; not to be edited.
"""

NEWEST = """\
onnxruntime-extensions==0.15.0 ; sys_platform == 'win32'
onnxruntime-extensions>=0.15.2 ; sys_platform != 'win32'
"""
"""Of onnxruntime-extensions, releases after 0.15.0 have no builds for Windows."""

COMMAND = """\
uv pip compile pyproject.toml --universal --python-version 3.11 --fork-strategy fewest
--generate-hashes --no-build --no-config --no-header --no-annotate --quiet"""

DEVELOPERS = ["--group", "dev", "--extra", "oracle"]
"""What the tests need, whichever versions they run on."""

ALL = ["--upgrade", *DEVELOPERS, "--group", "proofs", "--group", "mutation"]
"""What the tests and the campaigns need, in its newest versions."""


def main() -> int:
    """Write the lock files; give the exit status."""
    if shutil.which("uv") is None:
        print("uv is not installed: https://docs.astral.sh/uv", file=sys.stderr)
        return 2
    for versions, options, constraints in (
        ("locked", [*ALL, "--constraints", "-"], NEWEST),
        ("runtime", ["--group", "build", "--constraints", Environment().lock.name], ""),
        ("lowest", [*DEVELOPERS, "--resolution", "lowest-direct"], ""),
    ):
        done = subprocess.run(
            [*COMMAND.split(), *options],
            cwd=ROOT,
            input=constraints,
            stdout=subprocess.PIPE,
            text=True,
            check=False,
        )
        if done.returncode != 0:
            return 2
        environment = Environment(versions=versions)
        pinned = HEADER.format(environment.folder.name) + done.stdout
        environment.lock.write_text(pinned, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
