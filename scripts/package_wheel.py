"""Builds the wheel of this repository with the setuptools that is installed."""

import os
import subprocess
from pathlib import Path


class WheelNotBuilt(Exception):  # noqa: N818 - reads as what happened
    """The wheel could not be built; the message is what the build wrote."""


def build_wheel(python: Path, root: Path, folder: Path) -> Path:
    """Build the wheel without touching the sources or what an earlier build left among them.

    Args:
        python: A Python with pip and setuptools.
        root: The repository.
        folder: Where the wheel and what the build needs are put; created, or empty.

    Returns:
        The wheel.

    Raises:
        WheelNotBuilt: The build failed.
    """
    folder.mkdir(parents=True, exist_ok=True)
    # setuptools puts all that it finds in an old build folder into the wheel, deleted files too.
    configuration = folder / "setuptools.cfg"
    configuration.write_text(
        f"[build]\nbuild_base = {folder / 'build'}\n[egg_info]\negg_base = {folder}\n",
        encoding="utf-8",
    )
    done = subprocess.run(
        [
            *(python, "-m", "pip", "wheel", "--quiet", "--disable-pip-version-check"),
            *("--no-deps", "--no-build-isolation", "--wheel-dir", folder, root),
        ],
        env=os.environ | {"DIST_EXTRA_CONFIG": str(configuration)},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    wheels = list(folder.glob("*.whl"))
    if done.returncode != 0 or len(wheels) != 1:
        raise WheelNotBuilt(done.stdout)
    return wheels[0]
