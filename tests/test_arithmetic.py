"""The same bytes on every processor: what is set, when a process begins anew, and that it is enough.

Another processor is imitated by the same library running other code (`ATEN_CPU_CAPABILITY`, `OPENBLAS_CORETYPE` and
others); what comes of it differs, so a test of sameness can fail.
"""

from __future__ import annotations

import json
import os
import platform
import subprocess
import sys
from pathlib import Path

import pytest

from clearsched import arithmetic
from clearsched.errors import ClearschedError

ROOT = Path(__file__).parents[1]
PORTABLE = {arithmetic.SWITCH: "portable"}
amd64 = pytest.mark.skipif(platform.machine() not in arithmetic.AMD64, reason="the processor is no x86-64")
linux = pytest.mark.skipif(sys.platform != "linux", reason="only there a process is replaced")


def test_what_the_user_set_stays() -> None:
    assert arithmetic.variables(PORTABLE, "x86_64") == dict(arithmetic.PORTABLE)
    own = PORTABLE | {name: "own" for name in arithmetic.PORTABLE if name != arithmetic.LIBM}
    assert set(arithmetic.variables(own, "x86_64")) == {arithmetic.LIBM}
    assert arithmetic.variables({arithmetic.LIBM: "glibc.cpu.hwcaps=-AVX2"} | own, "x86_64") == {}
    joined = arithmetic.variables(PORTABLE | {arithmetic.LIBM: "glibc.malloc.check=1"}, "AMD64")[arithmetic.LIBM]
    assert joined.split(":") == ["glibc.malloc.check=1", arithmetic.PORTABLE[arithmetic.LIBM]]
    assert "NPY_DISABLE_CPU_FEATURES" not in arithmetic.variables(
        PORTABLE | {"NPY_ENABLE_CPU_FEATURES": "X86_V3"}, "x86_64"
    )


def test_it_is_off_unless_asked_for_and_another_word_is_refused() -> None:
    assert arithmetic.variables({arithmetic.SWITCH: "native"}, "x86_64") == {}
    assert arithmetic.variables({arithmetic.SWITCH: ""}, "x86_64") == arithmetic.variables({}, "x86_64") == {}
    assert arithmetic.variables(PORTABLE, "aarch64") == {}
    with pytest.raises(ClearschedError, match=r"CLEARSCHED_ARITHMETIC: portable or native expected, not 'fast'"):
        arithmetic.variables({arithmetic.SWITCH: "fast"})


def test_once_settled_there_is_nothing_to_add() -> None:
    settled = arithmetic.variables(PORTABLE, "x86_64")
    assert arithmetic.variables(PORTABLE | settled, "x86_64") == {}, "or a process would begin anew for ever"


def python(code: str, *arguments: str, **variables: str) -> subprocess.CompletedProcess[str]:
    """Run Python code in an environment without any of the variables but those given."""
    kept = {name: value for name, value in os.environ.items() if name not in (*arithmetic.PORTABLE, arithmetic.SWITCH)}
    environment = kept | {"PYTHONPATH": str(ROOT / "src"), "OMP_NUM_THREADS": "1"} | variables
    command = [sys.executable, "-c", code, *arguments]
    return subprocess.run(command, capture_output=True, text=True, timeout=300, env=environment)


@amd64
@linux
def test_the_command_line_begins_anew_once_with_its_arguments() -> None:
    code = (
        "import os, sys, json; from clearsched import arithmetic\n"
        "print(json.dumps([os.getpid(), sys.argv[1:], arithmetic.variables(os.environ)]), flush=True)\n"
        "arithmetic.settle(); print('settled')"
    )
    answer = python(code, "a b", "--set=x", **PORTABLE)
    first, second, last = answer.stdout.splitlines()
    before, after = json.loads(first), json.loads(second)
    assert before[:2] == after[:2] and before[1] == ["a b", "--set=x"], "one process, the same arguments"
    assert before[2] and not after[2] and last == "settled"
    assert len(python(code).stdout.splitlines()) == 2, "native: nothing begins anew"


def test_a_program_that_uses_the_package_is_left_as_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    """Numpy is loaded in this process: nothing is set, and above all it is not replaced."""
    monkeypatch.setenv(arithmetic.SWITCH, "portable")
    for name in arithmetic.PORTABLE:
        monkeypatch.delenv(name, raising=False)
    before = dict(os.environ)
    arithmetic.settle()
    assert dict(os.environ) == before


SUMS = """
import hashlib, math, sys
import numpy as np
import torch

torch.set_num_threads(1)
draw = np.random.default_rng(1)
x, y = draw.uniform(1e-3, 50.0, 4000), draw.uniform(-3.0, 3.0, 4000)

def tell(name, values):
    print(name, hashlib.sha256(np.ascontiguousarray(values).tobytes()).hexdigest())

def network(rounds=6):
    from clearsched.teacher.optimisers import adam
    net = torch.nn.Sequential(torch.nn.Linear(20, 32), torch.nn.ReLU(), torch.nn.Linear(32, 1))
    inputs = torch.from_numpy(x.reshape(-1, 20).astype(np.float32))
    with torch.no_grad():
        for weights in net.parameters():
            weights.copy_(torch.from_numpy(y[: weights.numel()].astype(np.float32)).view(weights.shape) / 5)
    optimiser = adam(net, 1e-2)
    for _ in range(rounds):
        optimiser.zero_grad()
        (-net(inputs).view(20, 10).log_softmax(1)[:, 3].mean()).backward()
        torch.nn.utils.clip_grad_norm_(net.parameters(), 1.0)
        optimiser.step()
    return torch.cat([weights.detach().ravel() for weights in net.parameters()]).numpy()

tell("numpy", np.concatenate([np.exp(y), np.log(x), np.log1p(x), x**0.2]))
tell("libm", [f(v) for v in x for f in (math.exp, math.log, math.log1p)] + [a**b for a, b in zip(x, y)])
tell("blas", x.reshape(-1, 20).T @ y.reshape(-1, 20))
tell("network", network())
"""

OTHERS = {
    "numpy": {"NPY_DISABLE_CPU_FEATURES": "X86_V3 X86_V4 AVX512_ICL AVX512_SPR"},
    "libm": {arithmetic.LIBM: "glibc.cpu.hwcaps=-FMA,-FMA4"},
    "blas": {"OPENBLAS_CORETYPE": "Prescott"},
    "network": {"ATEN_CPU_CAPABILITY": "default", "MKL_CBWR": "COMPATIBLE"},
}


def digests(**variables: str) -> dict[str, str]:
    """By part the digest of what it computes."""
    answer = python(SUMS, **variables)
    assert answer.returncode == 0, answer.stderr
    return dict(line.split() for line in answer.stdout.splitlines())


@amd64
@linux
@pytest.mark.slow
def test_other_instructions_give_other_bytes_and_the_settings_the_same() -> None:
    """Without the settings each part follows its library; with them the libraries have nothing to choose.

    The C library is asked to leave out more than the settings say, as on a processor that has less.
    """
    native, less = digests(), {name: value for part in OTHERS.values() for name, value in part.items()}
    if not {"avx2", "fma"} <= flags():
        pytest.skip("this processor has no FMA to leave out")
    other = digests(**less, **PORTABLE)
    assert {name for name in native if native[name] != other[name]} == set(OTHERS)
    settings = PORTABLE | arithmetic.variables(PORTABLE)
    settled = digests(**settings)
    fewer = f"{arithmetic.PORTABLE[arithmetic.LIBM]},-AVX2,-AVX512F,-AVX512VL,-AVX"
    assert digests(**(settings | {arithmetic.LIBM: fewer})) == settled == other


def flags() -> set[str]:
    """What the processor can."""
    text = Path("/proc/cpuinfo").read_text("utf-8")
    return set(next((line for line in text.splitlines() if line.startswith("flags")), "").split())
