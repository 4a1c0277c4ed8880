"""The workflow as a whole, on a tiny configuration: it runs, does nothing twice, and reruns only what it must.

The tests marked `workflow` share one run of it (about a minute) in a folder of its own.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

import pytest
import yaml
from numba.core.caching import _CacheLocator

import snakemake_runs
from clearsched.figures.kinds import figures_of
from clearsched.imports import PACKAGE
from clearsched.params import STAGES, defaults
from clearsched.params.reference import default_yaml
from clearsched.problems import DEFAULT, PROBLEMS, find_problem
from clearsched.students.kinds import STUDENTS
from clearsched.workflow import caption, code_of_rule
from clearsched.workflow.dvc import dvc_yaml
from one_machine_slurm import slurm

REPOSITORY = Path(__file__).parents[1]
TINY = REPOSITORY / "tests/config/tiny.yaml"
BYTE_IDENTICAL = (
    "traces/trace.parquet",
    "traces/workloads.parquet",
    "heuristics/tuned.json",
    *(f"search/{family}{end}" for family in defaults().search.families for end in (".json", ".txt", "_curve.parquet")),
    "teacher/teacher.safetensors",
    "decisions/decisions.parquet",
    "students/rule_list.json",
    "students/rule_list.txt",
    "students/boosted_trees.json",
    "students/boosted_trees.txt",
    "students/boosted_trees_visits/round=1/decisions.parquet",
    "students_cards/rule_list.md",
    "students_cards/boosted_trees.md",
    "evaluation/comparison.txt",
    "evaluation/metrics.json",
)


def snakemake(folder: Path, *arguments: str, config: Path | None = TINY) -> subprocess.CompletedProcess[str]:
    """Run the repository's workflow in `folder`, on the tiny configuration unless told."""
    return snakemake_runs.snakemake(folder, *arguments, *(("--configfile", str(config)) if config else ()))


def workplace(folder: Path) -> Path:
    """A folder with the repository's params.yaml to run the workflow in."""
    (folder / "params.yaml").write_bytes((REPOSITORY / "params.yaml").read_bytes())
    return folder


def planned(folder: Path, *arguments: str) -> dict[str, int]:
    """The rules that a run would execute, and how often; empty if there is nothing to do."""
    answer = snakemake(folder, "--dry-run", "--cores", "2", *arguments)
    assert answer.returncode == 0, answer.stdout + answer.stderr
    text = answer.stdout + answer.stderr
    if "Nothing to be done" in text:
        return {}
    table = text.split("Job stats:")[1].split("total")[0]
    return {rule: int(count) for rule, count in re.findall(r"^(\w+) +(\d+)$", table, re.MULTILINE)}


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder in which the workflow has run, on two cores: `CLEARSCHED_TEST_FINISHED`, where it is to stay."""
    kept = os.environ.get("CLEARSCHED_TEST_FINISHED")
    folder = workplace(Path(kept) if kept else tmp_path_factory.mktemp("finished"))
    answer = snakemake(folder, "--cores", "2")
    assert answer.returncode == 0, answer.stdout + answer.stderr
    return folder


OF_EVALUATION = {f"figures_draw_{name}" for name in ("jct_by_policy", "jct_cdf", "gantt", "students_kinds")}
FIGURES = {*OF_EVALUATION, "figures_draw_learning_curve", "figures_draw_rules"}
OF_TRACE = {f"figures_draw_{name}" for name in ("dag_gallery", "job_sizes", "arrivals")}
FITS = {f"students_fit_{name}" for name in defaults().students.names}
SEARCHES = {f"search_run_{name}" for name in defaults().search.families}
PAGE = {"report_collect", "report_build"}
CARDS = {f"students_card_{name}" for name in defaults().students.names}
FROM_STUDENTS = {*FITS, "evaluation_run", *CARDS, *FIGURES, *PAGE} - {"figures_draw_learning_curve"}
FROM_TEACHER = {"teacher_train", "teacher_choose", "decisions_log", *FROM_STUDENTS, "figures_draw_learning_curve"}
EVERYTHING = {"traces_build", "traces_workloads", "heuristics_tune", *SEARCHES, *FROM_TEACHER, *OF_TRACE}
ASKED_FOR = ("edge_cases", "students_pareto", "paper")
BY_DEFAULT = [stage for stage in STAGES if stage not in ASKED_FOR]
OF_PROFILES = {"figures_draw_dag_gallery", "figures_draw_job_sizes"}


def test_a_fresh_folder_needs_everything(tmp_path: Path) -> None:
    rules = planned(workplace(tmp_path))
    assert set(rules) == {"all", *EVERYTHING, *(f"params_{stage}" for stage in BY_DEFAULT)}


@pytest.mark.parametrize("problem", [name for name in PROBLEMS if name != DEFAULT])
def test_the_shipped_params_serve_another_problem(tmp_path: Path, problem: str) -> None:
    """Named on the command line or by an overlay; its results have a folder of their own."""
    named = planned(workplace(tmp_path), "--config", f"problem={problem}")
    objective = find_problem(problem).measures[0].name
    drawn = {
        f"figures_draw_{name}"
        for name, figure in figures_of(find_problem(problem)).items()
        if not figure.sources and figure.objective in ("", objective)
    }
    assert drawn <= set(named)
    assert not {rule for rule in named if rule.startswith("figures_draw_")} - drawn
    assert named == planned(tmp_path, "--config", overlays(tmp_path, **{problem: f"problem: {problem}"}))
    answer = snakemake(tmp_path, "--summary", "--config", f"problem={problem}", config=None)
    places = {line.split("\t")[0].split("/")[1] for line in answer.stdout.splitlines()[1:]}
    assert places == {problem, "report"}, "the page lies beside the scenarios"


@pytest.mark.parametrize("names", [["boosted_trees"], list(STUDENTS)])
def test_each_student_that_is_listed_has_a_rule(tmp_path: Path, names: list[str]) -> None:
    rules = planned(workplace(tmp_path), "--config", f"students={{names: [{', '.join(names)}]}}")
    made = {rule for rule in rules if rule.startswith("students_")}
    assert made == {f"students_{verb}_{name}" for verb in ("fit", "card") for name in names}


def test_the_cards_can_be_asked_for_together(tmp_path: Path) -> None:
    """Of a control too; an evaluation is made for them, and no figure."""
    rules = planned(workplace(tmp_path), "students_cards", "--config", "students={control: true}")
    assert rules.keys() >= {*CARDS, "students_card_rules_from_nothing", "evaluation_run", "students_cards"}
    assert not {rule for rule in rules if rule.startswith(("figures", "report"))}


def test_a_published_checkpoint_is_an_input_of_the_one_teacher(tmp_path: Path) -> None:
    (tmp_path / "data/published").mkdir(parents=True)
    (tmp_path / "data/published/model.pt").write_bytes(b"weights")
    chosen = "teacher={source: published, published: {path: data/published/model.pt}}"
    assert planned(workplace(tmp_path), "--config", chosen)["teacher_train"] == 1
    answer = snakemake(tmp_path, "--filegraph", "--config", chosen)
    readers = [label for label in answer.stdout.split("label=<") if ">data/published/model.pt<" in label]
    assert len(readers) == 1 and ">teacher_train<" in readers[0]


def test_the_figures_can_be_asked_for_together(tmp_path: Path) -> None:
    rules = planned(workplace(tmp_path), "figures", "--forcerun", "figures", "--quiet", "host")
    assert rules.keys() >= FIGURES | OF_TRACE


def test_edge_cases_are_run_only_when_they_are_asked_for(tmp_path: Path) -> None:
    """A rule a case, and one that compares them; not the evaluation nor any figure."""
    rules = planned(workplace(tmp_path), "edge_cases")
    runs = {f"edge_cases_run_{name}" for name in defaults().edge_cases.names}
    made = {"traces_build", "traces_workloads", "heuristics_tune", *SEARCHES, "teacher_train", "teacher_choose"}
    made |= {"decisions_log", *FITS, *runs, "edge_cases_compare", "edge_cases"}
    params = {f"params_{stage}" for stage in BY_DEFAULT if stage not in ("evaluation", "figures", "report")}
    assert set(rules) == made | params | {"params_edge_cases"}
    few = planned(tmp_path, "edge_cases", "--config", "edge_cases={names: [normal, stragglers]}")
    assert {rule for rule in few if rule.startswith("edge_cases_run")} == {
        "edge_cases_run_normal",
        "edge_cases_run_stragglers",
    }


def test_each_scenario_has_the_edge_cases_that_it_can_have(tmp_path: Path) -> None:
    listed = overlays(tmp_path, a="seed: 2", b="workload: {arrivals: batch}")
    rules = planned(workplace(tmp_path), "edge_cases", "--config", listed)
    counts = {name: rules[f"edge_cases_run_{name}"] for name in defaults().edge_cases.names}
    batch_has_none = ("overload", "executors_lost")
    assert counts == {name: 1 if name in batch_has_none else 2 for name in defaults().edge_cases.names}
    assert rules["edge_cases_compare"] == 2


def test_the_code_of_an_edge_case_is_that_of_its_jobs(tmp_path: Path) -> None:
    synthetic = PACKAGE / "problems/dag_jobs/traces/synthetic.py"
    assert synthetic in code_of_rule("edge_cases_run_unseen_jobs", defaults())
    assert synthetic not in code_of_rule("edge_cases_run_stragglers", defaults())
    assert PACKAGE / "edge_cases/figure.py" in code_of_rule("edge_cases_compare", defaults())


@pytest.mark.parametrize("problem", PROBLEMS)
def test_every_figure_has_a_caption_beside_it(problem: str) -> None:
    for figure in figures_of(find_problem(problem)).values():
        assert caption(figure).is_file(), f"{figure.name}: no {caption(figure)}"


def overlays(folder: Path, **texts: str) -> str:
    """Files of scenarios, and the setting that lists them."""
    for name, text in texts.items():
        (folder / f"{name}.yaml").write_text(text)
    return f"scenarios=[{', '.join(str(folder / f'{name}.yaml') for name in texts)}]"


def test_several_scenarios_are_planned_in_one_run(tmp_path: Path) -> None:
    """The rules of one scenario as often as there are scenarios, and one comparison of them."""
    listed = overlays(tmp_path, few="workload: {executors: 3}", many="scenario: lots\nworkload: {executors: 5}")
    rules = planned(workplace(tmp_path), "--config", listed)
    each = {*EVERYTHING, *(f"params_{stage}" for stage in BY_DEFAULT)}
    assert rules == dict.fromkeys(each, 2) | {"teacher_train": 4, "all": 1, "figures_compare": 1, "report_build": 1}
    answer = snakemake(tmp_path, "--summary", "--config", listed)
    made = {line.split("\t")[0] for line in answer.stdout.splitlines()[1:]}
    for file in ("few/evaluation/metrics.json", "lots/traces/trace.parquet", "figures/data_sets.svg"):
        assert f"results/{file}" in made
    assert not any(path.startswith("results/tiny/") for path in made)


def test_each_scenario_searches_its_own_families(tmp_path: Path) -> None:
    """Its policies are the ones that its teacher may clone and its evaluation compares."""
    listed = overlays(tmp_path, a="search: {families: [reserve]}", b="search: {families: [reserve, stay_and_move]}")
    rules = planned(workplace(tmp_path), "--config", listed)
    assert {rule: count for rule, count in rules.items() if rule.startswith("search_run_")} == {
        "search_run_reserve": 2,
        "search_run_stay_and_move": 1,
    }
    answer = snakemake(tmp_path, "--summary", "--config", listed)
    made = {line.split("\t")[0] for line in answer.stdout.splitlines()[1:]}
    assert {path for path in made if path.endswith("_curve.parquet") and "/search/" in path} == {
        *(f"results/{name}/search/reserve_curve.parquet" for name in "ab"),
        "results/b/search/stay_and_move_curve.parquet",
    }


def test_a_figure_of_one_source_is_planned_for_that_source_alone(tmp_path: Path) -> None:
    listed = overlays(tmp_path, a="seed: 2", like="traces: {source: alibaba-like}")
    rules = planned(workplace(tmp_path), "--config", listed)
    assert (rules["figures_draw_published_quantiles"], rules["figures_draw_job_sizes"]) == (1, 2)


def test_the_comparison_is_drawn_by_the_objective_of_each_scenario(tmp_path: Path) -> None:
    listed = overlays(tmp_path, a="seed: 2", b="workload: {objective: makespan_s}", c="workload: {objective: slowdown}")
    rules = planned(workplace(tmp_path), "--config", listed)
    drawn = {rule: count for rule, count in rules.items() if rule.endswith("_by_policy")}
    names = ("jct_by_policy", "makespan_by_policy", "slowdown_by_policy")
    assert drawn == {f"figures_draw_{name}": 1 for name in names}


def test_another_source_has_a_folder_of_its_own(tmp_path: Path) -> None:
    """Unless the user named the scenario: what is named is taken as it is."""
    workplace(tmp_path)
    paths = {}
    for name, given in {"default": "seed=1", "swapped": "traces={source: synthetic}"}.items():
        answer = snakemake(tmp_path, "--summary", "--config", given, config=None)
        assert answer.returncode == 0, answer.stderr
        paths[name] = {line.split("\t")[0].split("/")[1] for line in answer.stdout.splitlines()[1:]}
    assert paths == {"default": {"default", "report"}, "swapped": {"synthetic", "report"}}
    target = "results/default/traces/trace.parquet"
    answer = snakemake(tmp_path, target, "-n", "--config", "traces={source: synthetic}", config=None)
    assert answer.returncode == 2
    assert "write 'scenario: synthetic' into params.yaml" in complaint(answer)


@pytest.mark.parametrize(
    ("texts", "part"),
    [
        ({"a": "scenario: x", "b": "scenario: x"}, "a second scenario with the name x"),
        ({"a": "workloads: {}", "b": ""}, "a.yaml: workloads: unknown key"),
        ({"a": "students: {names: [rule_list]}", "b": ""}, "students.names must be the same"),
        ({"a": "students: {pareto: {sizes: [2]}}", "b": ""}, "students.pareto.sizes must be the same"),
        ({"a": "students: {switch: {of: [figs, rule_list]}}", "b": ""}, "students.switch.of must be the same"),
    ],
)
def test_scenarios_that_do_not_fit_are_one_line(tmp_path: Path, texts: dict[str, str], part: str) -> None:
    answer = snakemake(workplace(tmp_path), "-n", "--config", overlays(tmp_path, **texts))
    assert answer.returncode == 2
    assert part in complaint(answer)


@pytest.mark.workflow
def test_a_second_run_has_nothing_to_do(finished: Path) -> None:
    assert planned(finished) == {}


@pytest.mark.workflow
@pytest.mark.parametrize(
    ("change", "rerun"),
    [
        ("report={explained: 3}", PAGE),
        ("figures={dpi: 61}", FIGURES | OF_TRACE | {"report_build"}),
        ("evaluation={bootstrap: 201}", {"evaluation_run", *CARDS, *OF_EVALUATION, *PAGE}),
        ("students={boosted_trees: {trees: 6}}", FROM_STUDENTS),
        ("decisions={episodes: 3}", {"decisions_log", *FROM_STUDENTS}),
        ("teacher={improve: {iterations: 1}}", FROM_TEACHER),
        ("search={population: 5}", {*SEARCHES, *FROM_TEACHER}),
        ("heuristics={weighted_fair: {alpha_step: 1.0}}", {"heuristics_tune", *SEARCHES, *FROM_TEACHER}),
        ("workload={load: 0.5}", EVERYTHING - {"traces_build", *OF_PROFILES}),
        ("seed=8", EVERYTHING - {"traces_build", *OF_PROFILES}),
        ("traces={source: tpch-decima}", EVERYTHING),
    ],
)
def test_a_changed_param_reruns_only_what_depends_on_it(finished: Path, change: str, rerun: set[str]) -> None:
    section = change.split("=")[0]
    params = {f"params_{stage}" for stage in BY_DEFAULT if section in STAGES[stage]}
    assert set(planned(finished, "--config", change)) == {"all", *rerun, *params}


@pytest.fixture(scope="module")
def reproduced(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the repository in which `dvc repro` has run the same configuration, on one core."""
    folder = tmp_path_factory.mktemp("reproduced")
    for name in (
        "Snakefile",
        "dvc.yaml",
        ".dvcignore",
        ".dvc/config",
        "data/tpch-spark.parquet",
        "data/published/README.md",
    ):
        (folder / name).parent.mkdir(exist_ok=True)
        shutil.copy2(REPOSITORY / name, folder / name)
    for name in ("src", "workflow"):
        shutil.copytree(REPOSITORY / name, folder / name)
    take_over_compiled(folder)
    (folder / "profiles").symlink_to("workflow/profiles")
    tiny = merged(yaml.safe_load(default_yaml()), yaml.safe_load(TINY.read_text("utf-8")))
    (folder / "params.yaml").write_text(yaml.safe_dump(tiny, sort_keys=False))
    subprocess.run(["git", "init", "--quiet", str(folder)], check=True)
    answer = on_one_core(folder, "dvc", "repro")
    assert answer.returncode == 0, answer.stdout + answer.stderr
    return folder


def take_over_compiled(folder: Path) -> None:
    """Let a copy of the sources find the code that is compiled already: numba's folders are named after the place."""
    for cache in (folder / "src/clearsched/compiled/__pycache__").glob("numba-*/"):
        for source in {path.parent for path in (REPOSITORY / "src").rglob("*.py")}:
            here = cache / _CacheLocator.get_suitable_cache_subpath(str(source / "x.py"))
            if here.is_dir():
                there = folder / source.relative_to(REPOSITORY) / "x.py"
                here.rename(cache / _CacheLocator.get_suitable_cache_subpath(str(there)))


def merged(base: dict, over: dict) -> dict:
    """`base` with the values of `over`, section by section."""
    both = dict(base)
    for key, value in over.items():
        both[key] = merged(base[key], value) if isinstance(value, dict) else value
    return both


def on_one_core(folder: Path, *command: str) -> subprocess.CompletedProcess[str]:
    """Run a command of the environment in a copy of the repository, with the copy's own package, on one core."""
    pin = ["taskset", "--cpu-list", str(min(os.sched_getaffinity(0)))] if shutil.which("taskset") else []
    environment = {
        **{name: value for name, value in os.environ.items() if name != "NUMBA_CACHE_DIR"},  # that of this process
        "PYTHONPATH": str(folder / "src"),
        "PATH": os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]]),
        "DVC_NO_ANALYTICS": "1",
    }
    return subprocess.run([*pin, *command], capture_output=True, text=True, timeout=900, cwd=folder, env=environment)


def dry_run(folder: Path) -> str:
    """What Snakemake would do; some versions say it on stdout, some on stderr."""
    answer = on_one_core(folder, "snakemake", "-n", "--cores", "1")
    return answer.stdout + answer.stderr


@pytest.mark.workflow
def test_dvc_and_snakemake_one_core_and_two_give_the_same_bytes(finished: Path, reproduced: Path) -> None:
    for name in BYTE_IDENTICAL:
        two, one = finished / "results/tiny" / name, reproduced / "results/tiny" / name
        assert one.read_bytes() == two.read_bytes(), name


@pytest.mark.workflow
def test_after_dvc_repro_neither_tool_has_anything_to_do(reproduced: Path) -> None:
    again = on_one_core(reproduced, "dvc", "repro")
    assert again.returncode == 0, again.stderr
    assert "Running stage" not in again.stdout
    assert "up to date" in again.stdout
    assert "Nothing to be done" in dry_run(reproduced)


@pytest.mark.workflow
def test_dvc_shows_metrics_and_plots(reproduced: Path) -> None:
    metrics = on_one_core(reproduced, "dvc", "metrics", "show", "--json")
    assert metrics.returncode == 0, metrics.stderr
    shown = json.loads(metrics.stdout)[""]["data"]["results/tiny/evaluation/metrics.json"]["data"]
    assert shown == json.loads((reproduced / "results/tiny/evaluation/metrics.json").read_text())
    plots = on_one_core(reproduced, "dvc", "plots", "show")
    assert plots.returncode == 0, plots.stderr
    page = (reproduced / "dvc_plots/index.html").read_text("utf-8")
    for figure in ("jct_by_policy", "jct_cdf", "learning_curve"):
        assert figure in page


@pytest.mark.workflow
def test_sync_sets_snakemake_right_after_a_checkout(reproduced: Path) -> None:
    """What `make sync` does: DVC brings results back that Snakemake's metadata does not know of."""
    shutil.rmtree(reproduced / ".snakemake")
    shutil.rmtree(reproduced / "results")
    assert on_one_core(reproduced, "dvc", "checkout").returncode == 0
    assert "traces_build" in dry_run(reproduced)
    for line in sync_commands():
        assert on_one_core(reproduced, *line).returncode == 0, line
    assert "Nothing to be done" in dry_run(reproduced)
    assert on_one_core(reproduced, "dvc", "status", "--quiet").returncode == 0


def sync_commands() -> list[list[str]]:
    """The commands of the Makefile's target `sync`, without what they print."""
    recipe = (REPOSITORY / "Makefile").read_text("utf-8").split("\nsync:")[1].split("\n\n")[0].splitlines()[1:]
    lines = [line.strip().lstrip("@").split(" || ")[0].split() for line in recipe]
    return [line for line in lines if line[0] in ("dvc", "snakemake")]


@pytest.mark.workflow
def test_an_interrupted_run_keeps_what_was_finished(tmp_path: Path) -> None:
    """A rule that fails leaves no output behind, and the next run starts there."""
    folder = workplace(tmp_path)
    answer = snakemake(folder, "--cores", "2", "heuristics_tune")
    assert answer.returncode == 0, answer.stdout + answer.stderr
    tuned = folder / "results/tiny/heuristics/tuned.json"
    (folder / "results/tiny/traces/workloads.parquet").write_bytes(b"PAR1")
    os.utime(folder / "results/tiny/traces/workloads.parquet", (0, 0))
    before = tuned.stat().st_mtime_ns
    failed = snakemake(folder, "--cores", "2", "teacher_choose", "--rerun-triggers", "mtime")
    assert failed.returncode != 0
    assert "workloads.parquet" in failed.stdout + failed.stderr
    assert not (folder / "results/tiny/teacher/teacher.safetensors").exists()
    assert tuned.stat().st_mtime_ns == before


@pytest.mark.engine
@pytest.mark.workflow
def test_a_slurm_cluster_gives_the_same_bytes(finished: Path, tmp_path: Path) -> None:
    """Nine Slurm jobs, the rules of a group together; all files but the times that rules took."""
    pytest.importorskip("snakemake_executor_plugin_slurm", reason="extra slurm: snakemake-executor-plugin-slurm")
    profile = ("--workflow-profile", str(REPOSITORY / "workflow/profiles/slurm"))
    with slurm():
        answer = snakemake(workplace(tmp_path), *profile)
    assert answer.returncode == 0, answer.stdout + answer.stderr
    assert (answer.stdout + answer.stderr).count("has been submitted with SLURM jobid") == 9
    made, same = (
        {path.relative_to(folder): path for path in sorted((folder / "results").rglob("*")) if path.is_file()}
        for folder in (tmp_path, finished)
    )
    assert {path for path in same if path.parts[1] != "report.html"} <= set(made) | {Path("results/report.html")}
    for path, file in made.items():
        if not {"benchmarks", "logs"} & set(path.parts):
            assert file.read_bytes() == same[path].read_bytes(), path


def test_every_rule_tells_what_a_cluster_asks_for() -> None:
    """Memory, time and a group, unless it runs where Snakemake does."""
    for file in sorted((REPOSITORY / "workflow/rules").glob("*.smk")):
        for rule in re.split(r"^ *rule\b", file.read_text("utf-8"), flags=re.MULTILINE)[1:]:
            name = rule.split(":")[0].strip() or rule.split('f"')[1].split('"')[0]
            if "localrule: True" not in rule:
                for directive in ("group:", "threads:", "mem_mb=", "runtime="):
                    assert directive in rule, f"{file.name}: {name}: no {directive}"


@pytest.mark.parametrize("profile", ["slurm", "kubernetes"])
def test_a_profile_of_a_cluster_reruns_what_the_default_one_does(profile: str) -> None:
    """It is read in the place of the default one; a job may take what the largest rule asks for."""
    own, default = (
        yaml.safe_load((REPOSITORY / f"workflow/profiles/{name}/config.yaml").read_text("utf-8"))
        for name in (profile, "default")
    )
    assert default.items() <= own.items()
    asked = [
        int(number)
        for file in (REPOSITORY / "workflow/rules").glob("*.smk")
        for rule in re.split(r"^ *rule\b", file.read_text("utf-8"), flags=re.MULTILINE)
        if "localrule: True" not in rule
        for number in re.findall(r"mem_mb=(\d+)", rule)
    ]
    assert own["resources"] == [f"mem_mb={max(asked)}"]


@pytest.mark.workflow
def test_the_report_holds_the_results(finished: Path) -> None:
    answer = snakemake(finished, "--report", "results/report.html")
    assert answer.returncode == 0, answer.stdout + answer.stderr
    report = (finished / "results/report.html").read_text("utf-8")
    for name in ("jct_by_policy.svg", "gantt.svg", "rule_list.txt", "rule_list.md", "comparison.txt", "index.html"):
        assert name in report


def complaint(answer: subprocess.CompletedProcess[str]) -> str:
    """The one line that says what is wrong, besides what Snakemake says of its profile and config files."""
    said = [
        line for line in answer.stderr.splitlines() if not re.match("Using workflow |Using profile |Config file", line)
    ]
    assert len(said) == 1, answer.stderr
    return said[0]


@pytest.mark.parametrize(
    ("arguments", "part"),
    [
        (("--config", "trace={source: tpch-spark}"), "trace: unknown key; the nearest known key is traces"),
        (("--config", f"scenarios=[{'long' * 1000}.yaml]"), "longlong ... "),  # a line that can be read
        (("--config", "workload={load: 7}"), "workload.load: 7 is not allowed: expected a number > 0, < 2"),
        (("--config", "seed=one"), 'seed: "one" is not allowed'),
        (("--config", "problem=dag_job"), "problem: unknown problem 'dag_job'"),
        (("--config", "traces={path: nowhere.parquet}"), "traces.path: nowhere.parquet: no such file or folder"),
        (
            ("--config", "teacher={source: published, published: {path: nowhere.pt}}"),
            "teacher.published.path: nowhere.pt: no such file",
        ),
    ],
)
def test_bad_params_end_in_one_line_before_anything_runs(arguments: tuple[str, ...], part: str, tmp_path: Path) -> None:
    answer = snakemake(workplace(tmp_path), "--cores", "1", *arguments)
    assert answer.returncode == 2
    assert part in complaint(answer)
    assert not (tmp_path / "results").exists()


@pytest.mark.parametrize("text", ["seed: 1\nseed: 2\n", "seed: [\n", "sede: 1\n"])
def test_a_broken_params_file_ends_in_one_line(text: str, tmp_path: Path) -> None:
    (tmp_path / "params.yaml").write_text(text)
    answer = snakemake(tmp_path, "--cores", "1", config=None)
    assert answer.returncode == 2
    assert complaint(answer).startswith("clearsched: params.yaml: ")


def test_lint_has_one_thing_to_say() -> None:
    """Snakemake wants a conda environment or container for each rule; ours is the pinned environment of `make`."""
    command = [sys.executable, "-m", "snakemake", "--lint"]
    answer = subprocess.run(command, capture_output=True, text=True, cwd=REPOSITORY, timeout=900)
    lints = set(re.findall(r"^    \* (.*?):?$", answer.stdout + answer.stderr, re.MULTILINE))
    assert lints == {"Specify a conda environment or container for each rule."}


# dvc.yaml against the workflow


@dataclass(frozen=True)
class Rule:
    """What a rule reads and writes in the default scenario, paths from the repository's folder."""

    name: str
    inputs: frozenset[str]
    outputs: frozenset[str]


@pytest.fixture(scope="module")
def rules(tmp_path_factory: pytest.TempPathFactory) -> list[Rule]:
    """All rules of a default run but the one that writes the params, as Snakemake's own file graph has them."""
    folder = workplace(tmp_path_factory.mktemp("rules"))
    answer = snakemake(folder, "--filegraph", config=None)
    assert answer.returncode == 0, answer.stderr
    found = []
    for label in re.findall(r"label=<(<table.*?</table>)>", answer.stdout, re.DOTALL):
        name = re.search(r'<b><font point-size="18">(\w+)</font></b>', label)
        assert name is not None
        before, _, after = label.partition("output &rarr;")
        inputs, outputs = (
            frozenset(
                from_repository(path.replace("{training_seed}", "0"), folder)
                for path in re.findall(r'face="monospace">(.*?)</font>', part)
            )
            for part in (before, after)
        )
        if name[1] not in ("all", *(f"params_{stage}" for stage in BY_DEFAULT)):
            (listed,) = (path for path in inputs if path.startswith("results/.code/"))
            code = {f"src/clearsched/{line.split()[1]}" for line in (folder / listed).read_text().splitlines()}
            read = {path for path in inputs - {listed} if "/params/" not in path}
            found.append(Rule(name[1], frozenset(read | code), outputs))
    assert {rule.name for rule in found} == EVERYTHING
    return found


def from_repository(path: str, folder: Path) -> str:
    """`path`, relative to the run's folder, as seen from the repository; a result is the same in both."""
    whole = Path(os.path.normpath(folder / path))
    return whole.relative_to(REPOSITORY if whole.is_relative_to(REPOSITORY) else folder).as_posix()


def dvc_stages() -> dict[str, dict]:
    """The stages as DVC has them for the default params: one for each student."""
    text = (REPOSITORY / "dvc.yaml").read_text("utf-8").replace("${scenario}", "default")
    found = {}
    for name, stage in yaml.safe_load(text)["stages"].items():
        if "foreach" not in stage:
            found[name] = stage
            continue
        lists = {"${students.names}": defaults().students.names, "${search.families}": defaults().search.families}
        for item in lists[stage["foreach"]]:
            found[f"{name}@{item}"] = yaml.safe_load(yaml.safe_dump(stage["do"]).replace("${item}", item))
    return found


def is_in(path: str, folders: Iterable[str]) -> bool:
    """Whether a file is one of these, or below one of them."""
    return any(path == folder or path.startswith(f"{folder}/") for folder in folders)


def owned(stage: dict, rules: list[Rule]) -> list[Rule]:
    """The rules whose outputs a stage has."""
    return [rule for rule in rules if any(is_in(path, stage["outs"]) for path in rule.outputs)]


def test_dvc_yaml_is_what_the_registries_give() -> None:
    assert (REPOSITORY / "dvc.yaml").read_text("utf-8") == dvc_yaml(DEFAULT), "run `make params`"


@pytest.mark.parametrize("problem", PROBLEMS)
def test_every_problem_has_its_dvc_yaml(problem: str) -> None:
    found = yaml.safe_load(dvc_yaml(problem))
    assert list(found["stages"]) == [
        *("traces", "heuristics", "search", "teacher", "decisions", "students", "evaluation", "students_cards"),
        *("figures", "report"),
    ]
    drawn = {Path(next(iter(plot))).stem for plot in found["plots"]}
    assert drawn <= set(figures_of(find_problem(problem)))
    assert len(drawn) >= 2


def test_dvc_owns_every_output_once(rules: list[Rule]) -> None:
    kept = [path for stage in dvc_stages().values() for path in stage["outs"]]
    for output in (path for rule in rules for path in rule.outputs):
        assert sum(is_in(output, [path]) for path in kept) == 1, output
    assert all(any(is_in(output, [path]) for rule in rules for output in rule.outputs) for path in kept)


@pytest.mark.parametrize("name", dvc_stages())
def test_a_dvc_stage_asks_for_what_it_owns_and_nothing_else(name: str, rules: list[Rule]) -> None:
    stage = dvc_stages()[name]
    command, *arguments = stage["cmd"].split()
    targets = [argument for argument in arguments if argument.startswith("results/") or argument == "figures"]
    assert command == "snakemake"
    assert arguments == [*targets, "--cores", "all"], "options swallow targets that follow them"
    # Every rule of the stage runs when Snakemake is asked for the targets: it is asked for, or read by one that is.
    needed = {path for rule in rules for path in rule.outputs if path.endswith(".svg")} & {
        path for rule in owned(stage, rules) for path in rule.outputs if targets == ["figures"]
    }
    needed |= {target for target in targets if target != "figures"}
    assert all(is_in(path, stage["outs"]) for path in needed)
    for _ in rules:
        needed |= {path for rule in owned(stage, rules) if rule.outputs & needed for path in rule.inputs}
    assert all(rule.outputs & needed for rule in owned(stage, rules))


@pytest.mark.parametrize("name", dvc_stages())
def test_a_dvc_stage_depends_on_what_its_rules_read(name: str, rules: list[Rule]) -> None:
    stage = dvc_stages()[name]
    read = {path for rule in owned(stage, rules) for path in rule.inputs if not is_in(path, stage["outs"])}
    assert {path for path in read if not is_in(path, stage["deps"])} == set()
    read |= {"data/published/model.pt"} if name == "teacher" else set()  # where one that is published may lie
    needless = {
        dep for dep in stage["deps"] if not dep.startswith("workflow/") and not any(is_in(path, [dep]) for path in read)
    }
    assert needless == set()
    families = {f"workflow/rules/{rule.name.split('_')[0]}.smk" for rule in owned(stage, rules)}
    assert families == {dep for dep in stage["deps"] if dep.startswith("workflow/")}


@pytest.mark.parametrize("name", dvc_stages())
def test_a_dvc_stage_depends_on_the_params_of_its_rules(name: str, rules: list[Rule]) -> None:
    stage = dvc_stages()[name]
    stages = {
        "workloads" if rule.name == "traces_workloads" else rule.name.split("_")[0] for rule in owned(stage, rules)
    }
    assert set(stage["params"]) == {section for each in stages for section in STAGES[each]}


def test_rules_list_the_code_that_they_run(rules: list[Rule]) -> None:
    """Neither Snakemake nor DVC sees an imported module unless it is listed."""
    for rule in rules:
        listed = {path for path in rule.inputs if path.startswith("src/")}
        code = {
            f"src/clearsched/{path.relative_to(PACKAGE).as_posix()}" for path in code_of_rule(rule.name, defaults())
        }
        assert listed == code, rule.name
        assert len(listed) > 10, rule.name


def test_a_rule_lists_what_is_named_by_a_string() -> None:
    """A registry's entry is no import."""
    params = defaults()
    for rule, file in {
        "traces_build": "problems/dag_jobs/traces/tpch_spark.py",
        "heuristics_tune": "problems/dag_jobs/heuristics.py",
        "teacher_train": "problems/dag_jobs/network/network.py",
        "evaluation_run": "problems/dag_jobs/simulator/loop.py",
        "students_fit_boosted_trees": "students/boosted_trees.py",
        "students_card_rule_list": "reading/weaknesses.py",
        "figures_draw_gantt": "problems/dag_jobs/figures/gantt.py",
        "figures_draw_job_sizes": "problems/dag_jobs/traces/measures.py",
    }.items():
        assert PACKAGE / file in code_of_rule(rule, params), rule


def test_a_figure_of_the_trace_is_not_drawn_again_for_a_change_of_the_teacher() -> None:
    found = code_of_rule("figures_draw_dag_gallery", defaults())
    assert not [path for path in found if path.name in ("training.py", "fitting.py", "comparison.py")]
