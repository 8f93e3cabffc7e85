"""The cpu engine has the same bits on every processor: trained for several instruction sets, weights are identical.

What cannot run here is compiled, and its instructions are looked at: each product is fused with a sum where the source
says so and nowhere else, and nothing is called that could differ.
"""

import json
import os
import platform
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import llvmlite.binding as llvm
import pytest
from llvmlite import ir

from dcdi.simd import _set_fpcr
from tests.project import ROOT

RECORDED: dict[str, Any] = json.loads((ROOT / "tests" / "dcdi_bits.json").read_text(encoding="utf-8"))
# Name and features as LLVM has them; what the processor must have.
INSTRUCTION_SETS = {
    "this processor": (None, None, None),
    "SSE4.2: 128 bits, fma by a call": ("x86-64-v2", "", "sse4_2"),
    "AVX: 256 bits, integers 128": ("sandybridge", "+fma", "fma"),
    "AVX2: 256 bits": ("haswell", "", "avx2"),
    "AVX-512: 512 bits": ("skylake-avx512", "", "avx512dq"),
}
FUSED = re.compile(r"\s(v?fn?m(?:add|sub|la|ls|ad|sb)\w*)\s")
APPROXIMATE = re.compile(r"\s(v?rcp\w*|v?rsqrt\w*|frecp\w*|frsqrt\w*|urecpe|ursqrte)\s")
CALL = re.compile(r"\s(?:callq?|jmp|bl|b)\s+(\w+)")
FLAGS = re.compile(
    r"= (?:fadd|fsub|fmul|fdiv|frem|fneg|fcmp|call|tail call) (?:fast|reassoc|nnan|ninf|nsz|arcp|contract|afn)\b"
)
# Python's own, numba's, and copying.
HARMLESS = re.compile(r"Py|numba_|_ZN|mem(?:set|cpy|move|cmp)$|L|__stack_chk_fail$")


def run(*command: str, **environment: str) -> str:
    done = subprocess.run(
        [sys.executable, *command], env=os.environ | environment, cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def features() -> set[str]:
    information = Path("/proc/cpuinfo")
    if platform.machine() != "x86_64" or not information.exists():
        return set()
    return set(re.search(r"^flags\s*:(.*)$", information.read_text(), re.MULTILINE)[1].split())  # type: ignore[index]


@pytest.mark.slow
@pytest.mark.parametrize("name", INSTRUCTION_SETS)
def test_same_bits(name: str) -> None:
    """2,000 iterations in each of the ten modes, and a whole fit of each density."""
    cpu, more, needed = INSTRUCTION_SETS[name]
    if needed is not None and needed not in features():
        pytest.skip(f"this processor has no {needed}, which {name} needs; its instructions are tested below")
    if needed == "avx2" and "avx512dq" not in features():
        pytest.skip("this processor's own instruction set is AVX2")
    environment = {} if cpu is None else {"NUMBA_CPU_NAME": cpu, "NUMBA_CPU_FEATURES": more or ""}
    assert json.loads(run("-m", "tests.dcdi_bits", **environment)) == RECORDED


@pytest.fixture(scope="module")
def code(tmp_path_factory: pytest.TempPathFactory) -> str:
    """The training iterations as numba hands them to LLVM, before any optimisation."""
    program = (
        "import warnings; from numba.core.errors import NumbaWarning; warnings.simplefilter('ignore', NumbaWarning)\n"
        "from dcdi import steps; from tests.dcdi_cases import Size, a_member, a_model, an_engine\n"
        "an_engine(a_model('dsf', 'imperfect', 'unknown', Size()), Size()).run([a_member()], 1)\n"
        "(overload,) = steps.iterate.overloads.values(); print(overload.library.get_llvm_str())"
    )
    return run("-c", program, NUMBA_OPT="0", NUMBA_CACHE_DIR=str(tmp_path_factory.mktemp("cache")))


def assembly(module: Any, machine: Any) -> str:
    return str(machine.emit_assembly(module))


@pytest.mark.slow
def test_no_flags(code: str) -> None:
    """Nothing in the code allows LLVM to reorder or to fuse."""
    assert len(re.findall(r"= fmul ", code)) > 50
    assert not FLAGS.search(code)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("triple", "cpu"), [("x86_64-unknown-linux-gnu", "skylake-avx512"), ("aarch64-unknown-linux-gnu", "generic")]
)
def test_instructions(code: str, triple: str, cpu: str) -> None:
    """Fused instructions come from ``fma`` alone: where it is an unknown function, there are none."""
    llvm.initialize_all_targets()
    llvm.initialize_all_asmprinters()
    machine = llvm.Target.from_triple(triple).create_target_machine(cpu=cpu, opt=3, reloc="pic", codemodel="small")
    code = re.sub('target datalayout = ".*"', f'target datalayout = "{machine.target_data}"', code)
    code = re.sub('target triple = ".*"', f'target triple = "{triple}"', code)
    if triple.startswith("aarch64"):  # whose own register of control is tested below
        code = re.sub(r"\n.*@llvm\.x86\.sse\..*", "", code)
    module = llvm.parse_assembly(code)
    options = llvm.create_pipeline_tuning_options(speed_level=3)
    options.loop_vectorization = options.slp_vectorization = True
    builder = llvm.create_pass_builder(machine, options)
    builder.getModulePassManager().run(module, builder)
    optimised = str(module)
    named = len(re.findall(r"call .*@llvm\.fma\.", optimised))
    assert named > 100
    instructions = assembly(module, machine)
    assert len(FUSED.findall(instructions)) >= named  # wide ones are broken down
    assert not APPROXIMATE.findall(instructions)
    called = {name for name in CALL.findall(instructions) if not HARMLESS.match(name)}
    assert not called & {"fma", "fmaf", "exp", "expf", "log", "logf", "pow", "powf", "sqrt", "sqrtf"}
    unnamed = llvm.parse_assembly(optimised.replace("@llvm.fma.", "@unknown_fma."))
    assert not FUSED.findall(assembly(unnamed, machine))


def test_control_register_of_arm() -> None:
    """Arithmetic is set to IEEE 754 there, too."""
    module = ir.Module()
    number = ir.IntType(64)
    function = ir.Function(module, ir.FunctionType(number, [number]), "set_arithmetic")
    builder = ir.IRBuilder(function.append_basic_block())
    builder.ret(_set_fpcr(builder, function.args[0]))
    llvm.initialize_all_targets()
    llvm.initialize_all_asmprinters()
    machine = llvm.Target.from_triple("aarch64-unknown-linux-gnu").create_target_machine()
    words = assembly(llvm.parse_assembly(str(module)), machine).split()
    assert words.index("mrs") < words.index("msr")
    assert words.count("FPCR") + words.count("FPCR,") == 2
