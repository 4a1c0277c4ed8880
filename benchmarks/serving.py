"""How many decisions `clearsched serve` answers a second over loopback, and how long the slowest take.

    python benchmarks/serving.py [STUDENT] [--seconds S] [--connections C ...] [--candidates N] [--json]

The service runs on one core, the load tool wrk (https://github.com/wg/wrk; `apt-get install wrk`) on the others.
All requests are the same: candidates whose features are drawn once. Beside the rate that wrk saw stands that of a CPU
second of the service, which tells what an idle core would do: on a shared machine others take a part of the core.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
import urllib.request
from pathlib import Path
from typing import Any

import numpy as np

STUDENT = Path(__file__).parents[1] / "src/clearsched/shipped/default/stay_and_move.json"

LOAD = """
wrk.method = "POST"
wrk.headers["Content-Type"] = "application/json"
local file = io.open(os.getenv("BODY"), "rb")
wrk.body = file:read("*a")
file:close()
function done(summary, latency, requests)
  local errors = summary.errors
  local lost = errors.connect + errors.read + errors.write + errors.timeout
  io.write(string.format(
    '{"requests": %d, "us": %d, "refused": %d, "lost": %d, "p50": %d, "p99": %d, "most": %d}\\n',
    summary.requests, summary.duration, errors.status, lost,
    latency:percentile(50), latency:percentile(99), latency.max))
end
"""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("student", type=Path, nargs="?", default=STUDENT)
    parser.add_argument("--seconds", type=int, default=10, help="of each measurement (%(default)s)")
    parser.add_argument("--connections", type=int, nargs="+", default=[1, 4, 8], help="at a time (%(default)s)")
    parser.add_argument("--candidates", type=int, default=16, help="of a decision (%(default)s)")
    parser.add_argument("--json", action="store_true", help="print an object a line")
    options = parser.parse_args()
    if not shutil.which("wrk"):
        sys.exit("serving.py: needs wrk on the path: apt-get install wrk")
    with tempfile.TemporaryDirectory() as folder:
        measure(options, Path(folder))


def measure(options: argparse.Namespace, folder: Path) -> None:
    """Start the service, ask it with and without words, print what came of it."""
    process, url = start(options.student)
    try:
        body, script = folder / "body.json", folder / "load.lua"
        body.write_text(json.dumps(request(url, options.candidates), separators=(",", ":")))
        script.write_text(LOAD)
        if not options.json:
            print(f"{options.student.name}, {options.candidates} candidates, {body.stat().st_size} bytes a request")
            print(
                f"{'':<16}{'connections':>12}{'a second':>10}{'a CPU s':>10}{'p50 ms':>8}{'p99 ms':>8}  refused, lost"
            )
        for explain, counts in (("false", options.connections), ("true", options.connections)):
            for connections in counts:
                told(options, explain, connections, load(url, explain, connections, options.seconds, body, script))
    finally:
        process.terminate()
        process.wait()


def start(student: Path) -> tuple[subprocess.Popen[str], str]:
    """The service on the first core that this process may use, and where it answers."""
    code = "import sys; sys.argv[0] = 'clearsched'; from clearsched.cli import main; main()"
    command = [sys.executable, "-c", code, "serve", str(student), "--port", "0"]
    process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
    cores = sorted(os.sched_getaffinity(0))
    os.sched_setaffinity(process.pid, cores[:1])
    os.sched_setaffinity(0, cores[1:] or cores)
    assert process.stderr is not None
    for line in process.stderr:
        if found := re.search(r"answers at (http://\S+)", line):
            return process, found.group(1)
        print(line, end="", file=sys.stderr)
    sys.exit("serving.py: the service did not start")


def request(url: str, candidates: int) -> dict[str, Any]:
    """A decision: each feature that the rules need, drawn from 0 to 10."""
    with urllib.request.urlopen(f"{url}/rules") as answer:
        rules = json.load(answer)
    needed = [feature["name"] for feature in rules["features"] if feature["needed"]]
    drawn = np.random.default_rng(1).random((candidates, len(needed))) * 10
    rows = [dict(zip(needed, np.round(row, 4).tolist(), strict=True)) for row in drawn]
    return {"candidates": [{"id": f"candidate {place}", "features": row} for place, row in enumerate(rows)]}


def load(url: str, explain: str, connections: int, seconds: int, body: Path, script: Path) -> dict[str, float]:
    """What wrk saw, after a second that does not count, and the CPU seconds that the service took."""
    command = ["wrk", "--threads", "1", "--connections", str(connections), "--script", str(script)]
    target = f"{url}/decide?explain={explain}"
    environment = os.environ | {"BODY": str(body)}
    subprocess.run([*command, "--duration", "1s", target], env=environment, capture_output=True, check=True)
    before, begin = cpu_s(url), time.perf_counter()
    answer = subprocess.run(
        [*command, "--duration", f"{seconds}s", target], env=environment, capture_output=True, text=True, check=True
    )
    found: dict[str, float] = json.loads(answer.stdout.splitlines()[-1])
    return found | {"cpu_s": cpu_s(url) - before, "wall_s": time.perf_counter() - begin}


def cpu_s(url: str) -> float:
    """CPU seconds of the service so far."""
    with urllib.request.urlopen(f"{url}/metrics") as answer:
        text = answer.read().decode()
    found = re.search(r"^process_cpu_seconds_total (\S+)", text, re.MULTILINE)
    assert found, "no process_cpu_seconds_total in /metrics"
    return float(found.group(1))


def told(options: argparse.Namespace, explain: str, connections: int, found: dict[str, float]) -> None:
    rate, each = found["requests"] / (found["us"] / 1e6), found["requests"] / found["cpu_s"]
    if options.json:
        print(json.dumps({"explain": explain, "connections": connections, "rate": rate, "per_cpu_s": each} | found))
        return
    what = "without words" if explain == "false" else "with words"
    print(
        f"{what:<16}{connections:>12}{rate:>10,.0f}{each:>10,.0f}{found['p50'] / 1000:>8.2f}{found['p99'] / 1000:>8.2f}"
        f"  {found['refused']:.0f}, {found['lost']:.0f}",
        flush=True,
    )


if __name__ == "__main__":
    main()
