"""The kernels of other systems: they compile, export two functions, and give the same bits."""

import importlib.util
import re
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

from support.child import run_program
from support.compiled import ARITHMETIC, KERNELS, RUNS, compile_cpp

needs_gcc = pytest.mark.skipif(shutil.which("g++") is None, reason="needs g++")


def compiler_for(target: str) -> list[str]:
    """The command that compiles for a target of zig, or with a compiler by its name."""
    if "gnu-g++" not in target and "w64" not in target:
        if importlib.util.find_spec("ziglang") is not None:
            return [sys.executable, "-m", "ziglang", "c++", "-target", target]
        if shutil.which("zig") is not None:
            return ["zig", "c++", "-target", target]
        pytest.skip("needs zig, or the package ziglang")
    if shutil.which(target) is None:
        pytest.skip(f"needs {target}")
    return [target]


@pytest.mark.thorough
@pytest.mark.parametrize(
    "target",
    [
        "x86_64-linux-gnu.2.28",
        "aarch64-linux-gnu.2.28",
        "x86_64-linux-musl",
        "aarch64-linux-musl",
        "x86_64-windows-gnu",
        "aarch64-windows-gnu",
        "x86_64-macos",
        "aarch64-macos",
    ],
)
def test_kernels_compile_without_a_warning(target: str, tmp_path: Path) -> None:
    compile_cpp(compiler_for(target), KERNELS, tmp_path / "kernels.o", "-O3", "-c")


@pytest.mark.thorough
@pytest.mark.parametrize("compiler", ["x86_64-w64-mingw32-g++", "x86_64-windows-gnu"])
def test_dll_exports_two_functions_and_needs_the_system_alone(
    compiler: str, tmp_path: Path
) -> None:
    library = tmp_path / "kernels.dll"
    # Libraries of zig have its runtime in them, and export nothing with `-static`.
    static = [] if compiler.startswith("x86_64-windows") else ["-static"]
    compile_cpp(compiler_for(compiler), KERNELS, library, "-O1", "-shared", *static)
    if shutil.which("objdump") is None:
        pytest.skip("needs objdump")
    command = ["objdump", "-p", str(library)]
    shown = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    exports = shown.partition("[Ordinal/Name Pointer] Table")[2].partition("\n\n")[0]
    assert re.findall(r"\w+$", exports, re.MULTILINE) == ["RegisterCustomOps", "sonnx_ort_table"]
    needed = re.findall(r"DLL Name: (\S+)", shown)
    assert needed
    assert [
        name for name in needed if not re.match(r"(?i)kernel32|msvcrt|api-ms-win-crt", name)
    ] == []


MSVC = """
#include <algorithm>
#include <array>
#include <atomic>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <map>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>
#undef __GNUC__
#undef __clang__
#undef __x86_64__
#define _WIN32
#define _MSC_VER 1940
#define __forceinline inline
#define __declspec(what)
#define __stdcall
#pragma GCC poison __attribute__ __int128 __builtin_cpu_supports
#pragma GCC poison __builtin_fabs __builtin_fabsf __builtin_sqrt __builtin_sqrtf
"""
"""What is said of the compiler to the kernels, behind the headers of the standard library."""


@needs_gcc
def test_other_compilers_are_given_no_extension_of_gcc(tmp_path: Path) -> None:
    source = tmp_path / "msvc.cc"
    source.write_text(f'{MSVC}#include "{KERNELS}"\n', encoding="utf-8")
    # `/W4 /WX` of the other compiler is what cannot be tried here.
    compile_cpp(["g++"], source, tmp_path / "none", "-fsyntax-only")


ARM = "aarch64-linux-gnu.2.28"

NOT_VECTORIZED = re.compile(
    r"""
    Mul,\ (unsigned\ )?long,.*           # there is no instruction for it
    | Check,\ .*<1,\ 0>                  # of the one divisor, or the one shift, that is repeated
    | Abs,\ unsigned\ char,.*<0,\ 1>     # fills memory with the one element
    """,
    re.VERBOSE,
)
"""Loops without Advanced SIMD on aarch64."""


@pytest.mark.thorough
def test_loops_are_vectorized_on_arm(tmp_path: Path) -> None:
    """Advanced SIMD is in every aarch64, so that no second copy of the loops is chosen."""
    listing = tmp_path / "kernels.s"
    command = [*compiler_for(ARM), "-std=c++17", "-O3", "-fPIC", *ARITHMETIC, "-S"]
    subprocess.run([*command, str(KERNELS), "-o", str(listing)], check=True, capture_output=True)
    loops = dict(loops_of(demangled(listing.read_text("utf-8"))))
    assert len(loops) > 500
    scalar = [name for name, code in loops.items() if not re.search(r"\b(v\d+\.\d|q\d+)", code)]
    assert [name for name in scalar if not NOT_VECTORIZED.search(name)] == []


def demangled(listing: str) -> str:
    """An assembly listing with the names of C++."""
    command = ["c++filt", "--no-strip-underscore"]
    return subprocess.run(command, input=listing, check=True, capture_output=True, text=True).stdout


def loops_of(listing: str) -> Sequence[tuple[str, str]]:
    """The loops of a listing by name, without the namespace that is everywhere."""
    plain = listing.replace("(anonymous namespace)::", "")
    return re.findall(
        r"^\S+ \S*?(Elements<.*>)\(void const\*.*:.*\n((?s:.*?))\.cfi_endproc", plain, re.MULTILINE
    )


@pytest.fixture(scope="module")
def bits_here(tmp_path_factory: pytest.TempPathFactory) -> str:
    """What the kernels give on this processor."""
    program = tmp_path_factory.mktemp("here") / "runs"
    compile_cpp(["g++"], RUNS, program, "-O3")
    return bits([program])


def bits(command: Sequence[str | Path]) -> str:
    """The digests of all kernels; vectors have ends of every length."""
    lengths = map(str, (*range(68), 100_003))
    done = run_program([*command, "1", "0", *lengths], timeout=1800)
    assert (done.exit_status, done.stderr) == (0, ""), done
    return done.stdout


@needs_gcc
@pytest.mark.thorough
@pytest.mark.skipif(shutil.which("qemu-aarch64") is None, reason="needs qemu-aarch64 (qemu-user)")
@pytest.mark.parametrize("compiler", ["aarch64-linux-gnu-g++", "aarch64-linux-musl"])
def test_arm_gives_the_same_bits(compiler: str, bits_here: str, tmp_path: Path) -> None:
    program = tmp_path / "runs"
    compile_cpp(compiler_for(compiler), RUNS, program, "-O3", "-static")
    assert bits(["qemu-aarch64", program]) == bits_here
