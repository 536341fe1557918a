"""What pyproject.toml cannot say of the wheel: its bill of materials, and its compiled kernels."""

import hashlib
import os
import shutil
import sys
from pathlib import Path

from setuptools import Extension, setup
from setuptools.command.bdist_wheel import bdist_wheel
from setuptools.command.build_ext import build_ext
from setuptools.command.egg_info import egg_info

SUFFIX = {"win32": ".dll", "darwin": ".dylib"}.get(sys.platform, ".so")
"""That of a library; it is no module of Python, so that one serves every version of it."""

DIGEST = ".sha256"
"""That of the file with the digest of a library."""

OPTIONS = (
    ["/std:c++17", "/O2", "/fp:precise"]
    if sys.platform == "win32"
    else [
        *("-std=c++17", "-O3", "-g0", "-fvisibility=hidden", "-Wall", "-Wextra"),
        # Results are those of IEEE 754: no product is joined with a sum.
        *("-ffp-contract=off", "-fno-math-errno", "-fno-trapping-math"),
    ]
)
"""How the kernels are compiled."""


class BuildKernels(build_ext):
    """Compiles the kernels, with a warning instead of an error where there is no compiler."""

    def get_ext_filename(self, fullname: str) -> str:
        """The file of the library."""
        return str(Path(*fullname.split("."))) + SUFFIX

    def build_extension(self, ext: Extension) -> None:
        """Compile the library, and write its digest beside it: it is compared before loading."""
        super().build_extension(ext)
        library = Path(self.get_ext_fullpath(ext.name))
        digest = hashlib.sha256(library.read_bytes()).hexdigest()
        library.with_suffix(DIGEST).write_text(f"{digest}\n", "ascii")

    def copy_extensions_to_source(self) -> None:
        """Copy the library and its digest to where an editable installation finds them."""
        super().copy_extensions_to_source()
        package = self.get_finalized_command("build_py")
        for ext in self.extensions:
            folder = package.get_package_dir(ext.name.rpartition(".")[0])
            built = Path(self.build_lib, self.get_ext_filename(ext.name)).with_suffix(DIGEST)
            if built.is_file():
                shutil.copy(built, Path(folder, built.name))

    def get_export_symbols(self, ext: Extension) -> list[str]:
        """What ONNX Runtime calls."""
        return list(ext.export_symbols)


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


SOURCES = Path("custom_ops/compiled")

setup(
    cmdclass={"bdist_wheel": Wheel, "build_ext": BuildKernels, "egg_info": MetadataWithBill},
    # Who only checks models needs no kernels.
    ext_modules=[]
    if os.environ.get("SONNX_ORT_WITHOUT_KERNELS")
    else [
        Extension(
            "sonnx_ort.custom_ops.compiled.sonnx_ort_kernels",
            [str(SOURCES / "kernels.cc")],
            depends=[str(path) for pattern in ("*.h", "*.inc") for path in SOURCES.glob(pattern)],
            extra_compile_args=OPTIONS,
            export_symbols=["RegisterCustomOps", "sonnx_ort_table"],
            language="c++",
            optional=True,
        )
    ],
)
