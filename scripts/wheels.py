"""Build the wheels of the release with zig: `python3 scripts/wheels.py [PLATFORM ...]`.

Writes to dist/ the source distribution, and what is made from it: a wheel for each platform, or for
those that are named; that for `any` has no kernels. The library in a wheel has to export what ONNX
Runtime calls and nothing else, and to need nothing but the system. Makes the environment
`.venv-wheels` first if there is none.
"""

import argparse
import importlib.util
import json
import re
import shlex
import shutil
import subprocess
import sys
import tarfile
import tempfile
import zipfile
from collections.abc import Collection
from pathlib import Path

from environment import ROOT, Environment, captured, exit_status

_BUILD = "import sys; from setuptools import build_meta as b; getattr(b, sys.argv[1])(sys.argv[2])"


def unpack(source: Path, folder: Path) -> Path:
    """Unpack a source distribution into a folder; give where its sources are."""
    with tarfile.open(source) as archive:
        # Python knows the filter from 3.11.4 on; what was just built needs none.
        archive.extraction_filter = getattr(tarfile, "data_filter", lambda member, _: member)
        archive.extractall(folder / "unpacked")  # noqa: S202 (our own archive)
    (unpacked,) = (folder / "unpacked").iterdir()
    return unpacked


def build_source_distribution(python: Path, root: Path, folder: Path) -> Path:
    """Build the source distribution.

    Args:
        python: A Python that has setuptools.
        root: The sources.
        folder: Where it is written, and what building leaves.

    Raises:
        CalledProcessError: The sources make no distribution.
    """
    _build("build_sdist", python, root, folder)
    (source,) = folder.glob("*.tar.gz")
    return source


def build_wheel(python: Path, root: Path, folder: Path, **variables: str) -> Path:
    """Build the wheel of the sources as they are, with these variables of the environment.

    Other arguments and errors are as of `build_source_distribution`.
    """
    _build("build_wheel", python, root, folder, **variables)
    (wheel,) = folder.glob("*.whl")
    return wheel


def _build(kind: str, python: Path, root: Path, folder: Path, **variables: str) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    # setuptools puts all that it finds in an old build folder into the wheel, deleted files too.
    configuration = folder / "setuptools.cfg"
    configuration.write_text(
        f"[build]\nbuild_base = {folder / 'build'}\n[egg_info]\negg_base = {folder}\n",
        encoding="utf-8",
    )
    command: list[str | Path] = [python, "-I", "-c", _BUILD, kind, folder]
    captured(command, root, check=True, DIST_EXTRA_CONFIG=str(configuration), **variables)


TARGETS = {
    "manylinux_2_28_x86_64": "x86_64-linux-gnu.2.28",
    "manylinux_2_28_aarch64": "aarch64-linux-gnu.2.28",
    "win-amd64": "x86_64-windows-gnu",
}
"""What zig calls each platform.

For macOS it compiles too, but exports the memory management of its library of C++, in place of the
program's. The wheels of a release for that and for all other systems are built there.
"""

ANY = "any"
"""The platform of the wheel without kernels."""

EXPORTED = ("RegisterCustomOps", "sonnx_ort_table")
"""What the library of the kernels exports; no symbol is of Python, so any version loads it."""

_OF_THE_SYSTEM = re.compile(
    r"lib(c|m|dl|pthread)\.so\.\d|ld-linux-[-\w]+\.so\.\d"
    r"|(kernel32|ntdll|api-ms-win-crt-[-\w]+)\.dll",
    re.IGNORECASE,
)
"""The libraries that are part of the systems."""


def main() -> int:
    """Build the wheels, and print the size of each; give the exit status."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("platforms", nargs="*", help=f"of {', '.join((*TARGETS, ANY))}")
    parser.add_argument("--into", type=Path, default=ROOT / "dist", help="the folder for them")
    options = parser.parse_args()
    unknown = set(options.platforms) - {*TARGETS, ANY}
    if unknown:
        parser.error(
            f"no wheels are built for {', '.join(sorted(unknown))}, but for "
            f"{', '.join((*TARGETS, ANY))}"
        )
    environment = Environment(versions="wheels")
    if importlib.util.find_spec("ziglang") is None:
        environment.prepare()
        return environment.call(["python", *sys.argv])
    options.into.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as name:
        folder, python = Path(name), Path(sys.executable)
        try:
            source = build_source_distribution(python, ROOT, folder)
            shutil.copy(source, options.into)
            sources = unpack(source, folder)
            for platform in options.platforms or (*TARGETS, ANY):
                wheel = build(python, sources, platform, folder / platform)
                found = faults(wheel, platform)
                if found:
                    print(f"{wheel.name}: {'; '.join(found)}", file=sys.stderr)
                    return 1
                shutil.copy(wheel, options.into)
                print(f"{wheel.name}: {wheel.stat().st_size / 1e6:.2f} MB", flush=True)
        except subprocess.CalledProcessError as error:
            print(error.output or "", error, sep="\n", file=sys.stderr)
            return 1
    return 0


def build(python: Path, sources: Path, platform: str, folder: Path) -> Path:
    """Build the wheel for a platform.

    Args:
        python: A Python that has zig and setuptools.
        sources: The unpacked source distribution.
        platform: One of `TARGETS`, or `ANY`.
        folder: An empty one, or none yet.

    Raises:
        CalledProcessError: The sources make no wheel.
    """
    if platform == ANY:
        return build_wheel(python, sources, folder, SONNX_ORT_WITHOUT_KERNELS="1")
    compiler = shlex.join([str(python), "-m", "ziglang", "c++", "-target", TARGETS[platform]])
    # zig compiles its library of C++ for these; -s leaves its debugging information out.
    linking = "-O3 -s"
    if "linux" in platform:
        # zig would export the memory management here too.
        folder.mkdir(parents=True)
        script = folder / "exported"
        script.write_text(f"{{ global: {'; '.join(EXPORTED)}; local: *; }};\n", "utf-8")
        linking += f" -Wl,--version-script={script}"
    return build_wheel(
        python,
        sources,
        folder,
        _PYTHON_HOST_PLATFORM=platform,
        CXX=compiler,
        LDCXXSHARED=f"{compiler} -shared",
        CXXFLAGS="-DNDEBUG",
        LDFLAGS=linking,
    )


def faults(wheel: Path, platform: str) -> list[str]:
    """What keeps a wheel from running wherever its name says, in sentences without an end."""
    with zipfile.ZipFile(wheel) as archive:
        names = [name for name in archive.namelist() if Path(name).stem == "sonnx_ort_kernels"]
        libraries = [archive.read(name) for name in names if Path(name).suffix != ".sha256"]
    if len(libraries) != (platform != ANY):
        return [f"it has {len(libraries)} libraries of kernels"]
    found = []
    for library in libraries:
        found += faults_of_interface(*interface(library))
    if platform.startswith("manylinux"):
        command = (sys.executable, "-m", "auditwheel", "show", "--json", str(wheel))
        policy = json.loads(captured(command, check=True).stdout)["overall_tag"]
        if not serves(policy, platform):
            found.append(f"auditwheel finds it to be {policy}")
    return found


def serves(policy: str, platform: str) -> bool:
    """Whether a wheel of a policy of auditwheel runs wherever its platform is."""
    needs, has = (re.fullmatch(r"manylinux_2_(\d+)_(\w+)", name) for name in (policy, platform))
    return bool(needs and has and needs[2] == has[2] and int(needs[1]) <= int(has[1]))


def interface(library: bytes) -> tuple[list[str], list[str]]:
    """The functions that a library exports, and the libraries that it needs."""
    # Imported late: the tests do without it.
    import lief  # noqa: PLC0415

    parsed = lief.parse(list(library))
    exported = {function.name for function in parsed.exported_functions}
    return sorted(exported), [getattr(need, "name", need) for need in parsed.libraries]


def faults_of_interface(exported: Collection[str], needed: Collection[str]) -> list[str]:
    """What is wrong with the interface of a library, in sentences without an end."""
    others = sorted(name for name in needed if not _OF_THE_SYSTEM.fullmatch(name))
    return [
        *(f"its library does not export {name}" for name in EXPORTED if name not in exported),
        *(f"its library exports {name}" for name in exported if name not in EXPORTED),
        *(f"its library needs {name}, which is no part of the system" for name in others),
    ]


if __name__ == "__main__":
    sys.exit(exit_status(main))
