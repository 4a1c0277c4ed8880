"""From the results of a scenario to its shipped policies: the files, and a card that says where they come from."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from clearsched import __version__
from clearsched.errors import ClearschedError
from clearsched.files import (
    digest_bytes,
    digest_file,
    digest_json,
    make_folder,
    read_json,
    write_bytes,
    write_json,
    write_text,
)
from clearsched.problems import find_problem
from clearsched.problems.declarations import rank_choice
from clearsched.problems.problem import Problem
from clearsched.schemas import COMPARISON, SEEDS, read_table
from clearsched.scorers.guard import read_guard
from clearsched.shipped import store
from clearsched.shipped.cards import markdown, thinned
from clearsched.shipped.commands import make_commands, stages_of

MOST_BYTES = 1_000_000
"""Of a file: the package stays small."""

STAGES = ("traces", "workloads", "heuristics", "search", "teacher", "evaluation")
"""What a policy and its result depend on."""

MADE = ("search", "teacher")
"""Stages whose policies are shipped; what one of them took from here is kept beside what the other made anew."""

TEACHER_FILES = ("teacher.json", "teacher.safetensors", "learning_curve.parquet")

FAMILY_FILES = ("{}.json", "{}.txt", "{}_curve.parquet")

CURVES = {
    "learning_curve.parquet": ("phase", "iteration", "episodes", "validation_objective", "reference_objective"),
    "_curve.parquet": ("restart", "evaluations", "best_difference", "validation_objective"),
}
"""Columns of a curve that the card tells; the last rows, and those between them, thinned."""

TRAINED = {"restarts": ("seed", "evaluations", "validation"), "seeds": ("training_seed", "clone", "teacher")}
"""What a policy's JSON tells of each of its training seeds: of a searched policy, of a teacher."""

RESULT = ("policy", "kind", "mode", "episodes", "unit", "mean", "ci_low", "ci_high")
DIFFERENCE = ("reference", "difference", "difference_low", "difference_high", "difference_percent")


def make(name: str, results: Path) -> Path:
    """Copy the searched policies and the teacher of a scenario's results into the package, and write their card.

    The same results give the same bytes: no date and no path stands in the card.

    Args:
        name: the scenario.
        results: its folder, results/<scenario>, complete with the evaluation.

    Returns:
        The folder that was written.

    Raises:
        ClearschedError: the results are another scenario's, incomplete, made from other data than lie beside them, or
            all of shipped policies; a file is too large.
    """
    results = Path(results)
    params = _params(name, results)
    problem = find_problem(params["traces"]["problem"])
    data = {key: _digest(results / "traces" / f"{key}.parquet") for key in ("trace", "workloads")}
    policies = _policies(results)
    files: dict[str, bytes] = {}
    described: dict[str, Any] = {}
    for policy, folder, own in policies:
        for file in own:
            files[file] = _bytes(folder / file)
        described[policy] = {"files": list(own)} | _described(folder / own[0], data, problem) | _curve(folder / own[-1])
    card = {
        "format": store.FORMAT,
        "name": name,
        "problem": problem.name,
        "version": __version__,
        "seed": params["workloads"]["seed"],
        "command": make_commands(name, problem.name, params, _kept(params)),
        "data": {"source": params["traces"]["traces"]["source"]} | data,
        "params": {stage: digest_json(values) for stage, values in params.items()},
        "features": store.features_of(problem),
        "results": _results(results / "evaluation" / "comparison.parquet", list(described)),
        "seeds": _seeds(results / "evaluation" / "seeds.parquet", list(described)),
        "policies": described,
        "files": {file: digest_bytes(content) for file, content in files.items()},
    }
    return write(name, files, card)


def write(name: str, files: dict[str, bytes], card: dict[str, Any]) -> Path:
    """Write the folder; what was shipped before and is no longer part of it goes."""
    folder = store.FOLDER / name
    make_folder(folder)
    (folder / store.CARD).unlink(missing_ok=True)  # written last: a folder without it is not there to anybody
    for file, content in files.items():
        write_bytes(folder / file, content)
    write_text(folder / "card.md", markdown(card))
    for path in folder.iterdir():
        if path.is_file() and path.name not in (*files, "card.md"):
            path.unlink()
    write_json(folder / store.CARD, card)
    return folder


def params_of(name: str, results: Path) -> dict[str, Any]:
    """The params of the stages that count, by stage.

    Raises:
        ClearschedError: the folder holds no results, those of another scenario, or of a part of the stress.
    """
    found = stages_of(results, STAGES)
    for stage in ("traces", "workloads"):
        if stage not in found:
            raise ClearschedError(f"{results}: no results of a scenario: params/{stage}.json is missing: run snakemake")
    for values in found.values():
        if values["scenario"] != name:
            raise ClearschedError(f"{results}: results of the scenario {values['scenario']!r}, not {name!r}")
    if found["workloads"].get("workload", {}).get("stress", 1.0) < 1:
        raise ClearschedError(f"{results}: workload.stress is below 1: what is shipped passes the whole safety check")
    return found


def _params(name: str, results: Path) -> dict[str, Any]:
    """`params_of`, of policies that were made here.

    Raises:
        ClearschedError: see `params_of`; or all policies were taken from elsewhere.
    """
    found = params_of(name, results)
    sources = {stage: found[stage][stage].get("source") for stage in MADE if stage in found}
    others = {stage: source for stage, source in sources.items() if source in ("shipped", "published")}
    for stage, source in others.items():
        if source == "published" or len(others) == len(sources):
            raise ClearschedError(f"{results}: {stage}.source is {source}: there is nothing new to ship")
    return found


def _policies(results: Path) -> list[tuple[str, Path, tuple[str, ...]]]:
    """(name, folder, files) of each policy; its JSON comes first, its curve last.

    Raises:
        ClearschedError: there is none.
    """
    found = []
    for path in sorted((results / "search").glob("*.json")):
        found.append((path.stem, path.parent, tuple(file.format(path.stem) for file in FAMILY_FILES)))
    if (results / "teacher" / TEACHER_FILES[0]).is_file():
        found.append((store.TEACHER, results / "teacher", TEACHER_FILES))
    if not found:
        raise ClearschedError(f"{results}: neither searched policies nor a teacher: run snakemake")
    return found


def _described(path: Path, data: dict[str, str], problem: Problem) -> dict[str, Any]:
    """What a policy's JSON says of its origin, for the card.

    Raises:
        ClearschedError: it does not say it, or it was made from other data.
    """
    content = read_json(path)
    if not isinstance(content, dict) or "provenance" not in content:
        raise ClearschedError(f"{path}: does not say what it was made from")
    for key, digest in data.items():
        if content["provenance"]["inputs"].get(key) != digest:
            raise ClearschedError(f"{path}: made from another {key} than lies beside it: run snakemake")
    told = {key: content[key] for key in ("seed", "cloned", "validation", "stress") if key in content}
    if "guard" in content:
        told["guard"] = read_guard(content["guard"], problem, f"{path}: guard").sentence(problem)
    if content.get("help_first"):
        told["idles"] = rank_choice(problem.choices).helps
    for several, keys in TRAINED.items():
        if content.get(several):
            told["training"] = [{key: one.get(key) for key in keys} for one in content[several]]
    return told


def _curve(path: Path) -> dict[str, Any]:
    """A thinned learning curve: columns and rows."""
    import pyarrow.parquet as pq

    table = pq.read_table(path)
    wanted = next(columns for ending, columns in CURVES.items() if path.name.endswith(ending))
    columns = [name for name in wanted if name in table.column_names]
    return {"curve": {"columns": columns, "rows": thinned(table.select(columns).to_pylist(), columns)}}


def _results(path: Path, policies: list[str]) -> list[dict[str, Any]]:
    """The rows of the comparison that count: the policies by the objective, and the heuristics that they met."""
    if not path.is_file():
        raise ClearschedError(f"{path}: no such file: the policies have no test result: run snakemake")
    rows = read_table(path, COMPARISON)[0].to_pylist()
    objective = rows[0]["measure"]  # its rows come first
    kept = [
        row for row in rows if row["measure"] == objective and (row["policy"] in policies or row["kind"] == "heuristic")
    ]
    missing = [policy for policy in policies if policy not in {row["policy"] for row in kept}]
    if missing:
        raise ClearschedError(f"{path}: {missing[0]} was not evaluated: add it to evaluation.policies")
    return [{"measure": objective} | {key: row[key] for key in (*RESULT, *DIFFERENCE)} for row in kept]


def _seeds(path: Path, policies: list[str]) -> list[dict[str, Any]]:
    """What each training seed of the policies reached on the test episodes; nothing if that was not evaluated."""
    if not path.is_file():
        return []
    columns = ["policy", "seed", "chosen", "mean", "difference_percent"]
    rows = read_table(path, SEEDS)[0].select(columns).to_pylist()
    return [row for row in rows if row["policy"] in policies]


def _kept(params: Mapping[str, Any]) -> list[str]:
    """The stages whose policies were taken from here, and stay what they are."""
    return [stage for stage in MADE if params.get(stage, {}).get(stage, {}).get("source") == "shipped"]


def _digest(path: Path) -> str:
    if not path.is_file():
        raise ClearschedError(f"{path}: no such file: run snakemake")
    return digest_file(path)


def _bytes(path: Path) -> bytes:
    """A file's bytes.

    Raises:
        ClearschedError: it is missing, or too large to be shipped.
    """
    try:
        content = path.read_bytes()
    except OSError:
        raise ClearschedError(f"{path}: no such file: run snakemake") from None
    if len(content) >= MOST_BYTES:
        raise ClearschedError(f"{path}: {len(content):,} bytes: a shipped file has less than {MOST_BYTES:,}")
    return content
