"""Floats are rounded to float16 and bfloat16 as the compiler rounds, and back exactly."""

import shutil
import subprocess

import pytest

from support.compiled import SOURCES

STEP = 997
"""Of the floats behind the first 65,536 every 997th is tried."""

PROGRAM = f"""
#include "{SOURCES / "arithmetic.h"}"
#include <cmath>
#include <cstdio>

uint16_t nearest_bfloat16(uint32_t bits) {{
  const uint32_t below = bits >> 16, rest = bits & 0xffffu;
  return static_cast<uint16_t>(below + (rest > 0x8000u || (rest == 0x8000u && below % 2 == 1)));
}}

int main() {{
  unsigned long to_float16 = 0, to_bfloat16 = 0, from_float16 = 0;
  for (uint64_t each = 0; each >> 32 == 0; each += each < 0x10000u ? 1 : {STEP}) {{
    const auto bits = static_cast<uint32_t>(each);
    const float x = from_bits(bits);
    Float16 half;
    Bfloat16 brain;
    narrow(x, half);
    narrow(x, brain);
    const _Float16 expected = static_cast<_Float16>(x);
    _Float16 found;
    std::memcpy(&found, &half, sizeof found);
    const bool is_nan = std::isnan(x);
    to_float16 += is_nan ? !std::isnan(static_cast<float>(found))
                         : std::memcmp(&found, &expected, sizeof found) != 0;
    to_bfloat16 += is_nan ? !std::isnan(widened(brain)) : brain.bits != nearest_bfloat16(bits);
    if (bits < 0x10000u) {{
      half.bits = static_cast<uint16_t>(bits);
      std::memcpy(&found, &half, sizeof found);
      const float back = static_cast<float>(found), own = widened(half);
      from_float16 += std::isnan(back) ? !std::isnan(own) : to_bits(back) != to_bits(own);
    }}
  }}
  std::printf("%lu %lu %lu\\n", to_float16, to_bfloat16, from_float16);
}}
"""


@pytest.mark.thorough
@pytest.mark.skipif(shutil.which("g++") is None, reason="needs g++")
def test_floats_are_rounded_to_the_nearest_even(tmp_path):
    source, program = tmp_path / "all.cc", tmp_path / "all"
    source.write_text(PROGRAM, encoding="utf-8")
    command = [str(shutil.which("g++")), "-std=c++17", "-O3", "-Wno-unused-function"]
    subprocess.run([*command, str(source), "-o", str(program)], check=True)
    done = subprocess.run([str(program)], check=True, capture_output=True, text=True)
    assert done.stdout == "0 0 0\n"
