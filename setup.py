"""What pyproject.toml cannot say of the wheel: its bill of materials, and its compiled kernels.

Without a compiler the wheel has no kernels. With the variable SONNX_ORT_WITHOUT_KERNELS it has none
either, and serves every platform. scripts/wheels.py compiles for other platforms than this one.
"""

import hashlib
import os
import shutil
import sysconfig
from pathlib import Path

from setuptools import Extension, setup
from setuptools.command.bdist_wheel import bdist_wheel
from setuptools.command.build_ext import build_ext
from setuptools.command.egg_info import egg_info

SOURCES = Path("custom_ops/compiled")

SUFFIX = {"win": ".dll", "mac": ".dylib"}.get(sysconfig.get_platform()[:3], ".so")
"""That of a library; it is no module of Python, so that one serves every version of it."""

GNU = [
    *("-std=c++17", "-O3", "-g0", "-fvisibility=hidden", "-Wall", "-Wextra"),
    # Results are those of IEEE 754: no product is joined with a sum.
    *("-ffp-contract=off", "-fno-math-errno", "-fno-trapping-math"),
]

# On Windows the kernels hold all that they need of the library of C++: no other file is needed.
COMPILING = {"msvc": ["/std:c++17", "/O2", "/fp:precise", "/MT"]}
LINKING = {"mingw32": ["-static"]}
"""The options of some kinds of compilers; `GNU` are those of the others."""


class BuildKernels(build_ext):
    """Compiles the kernels, which need nothing of Python."""

    def get_ext_filename(self, fullname: str) -> str:
        """The file of the library."""
        return str(Path(*fullname.split("."))) + SUFFIX

    def get_export_symbols(self, ext: Extension) -> list[str]:  # noqa: ARG002
        """Nothing: the sources say what they export."""
        return []

    def get_libraries(self, ext: Extension) -> list[str]:  # noqa: ARG002
        """Nothing: no library of Python."""
        return []

    def build_extension(self, ext: Extension) -> None:
        """Compile the library, and write its digest beside it: it is compared before loading."""
        print("Compiling the kernels; where that fails, the backend 'compiled' cannot run.")
        kind = self.compiler.compiler_type
        ext.extra_compile_args = COMPILING.get(kind, GNU)
        ext.extra_link_args = LINKING.get(kind, [])
        super().build_extension(ext)
        library = Path(self.get_ext_fullpath(ext.name))
        digest = hashlib.sha256(library.read_bytes()).hexdigest()
        library.with_suffix(".sha256").write_text(f"{digest}\n", "ascii")

    def copy_extensions_to_source(self) -> None:
        """Copy the library and its digest to where an editable installation finds them."""
        super().copy_extensions_to_source()
        for ext in self.extensions:
            built = Path(self.build_lib, self.get_ext_filename(ext.name)).with_suffix(".sha256")
            # A library that was there before keeps the digest that it was built with.
            if built.is_file():
                shutil.copy(built, SOURCES)


class Wheel(bdist_wheel):
    """A wheel for every Python of a platform, because the kernels need none."""

    def get_tag(self) -> tuple[str, str, str]:
        """Name the platform alone."""
        return "py3", "none", super().get_tag()[2]


class MetadataWithBill(egg_info):
    """Writes the metadata, all of which the wheel takes."""

    def run(self) -> None:
        """Write it, and copy the bill of materials beside it (PEP 770)."""
        super().run()
        folder = Path(self.egg_info, "sboms")
        folder.mkdir(exist_ok=True)
        shutil.copy("sonnx_ort.cdx.json", folder)


kernels = Extension(
    "sonnx_ort.custom_ops.compiled.sonnx_ort_kernels",
    [str(SOURCES / "kernels.cc")],
    depends=[str(path) for pattern in ("*.h", "*.inc") for path in SOURCES.glob(pattern)],
    language="c++",
    optional=True,
)

setup(
    cmdclass={"bdist_wheel": Wheel, "build_ext": BuildKernels, "egg_info": MetadataWithBill},
    # Who only checks models needs no kernels.
    ext_modules=[] if os.environ.get("SONNX_ORT_WITHOUT_KERNELS") else [kernels],
)
