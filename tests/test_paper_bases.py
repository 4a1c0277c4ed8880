"""The scenarios, experiments and shared parts that the papers' figures are made from."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml

from clearsched.errors import ClearschedError
from clearsched.files import keep_text
from clearsched.paper.bases import BASES, SCALES, params_of, scenario_name, scenarios_of
from clearsched.paper.experiments import ABLATED, EXPERIMENTS, OBJECTIVES, PATCH
from clearsched.paper.experiments import params_of as params_of_experiment
from clearsched.paper.sharing import SHARED, takes
from clearsched.params import stage_text, stage_values, write_stage
from clearsched.params.scenarios import merge
from paper_toys import own

REPOSITORY = Path(__file__).parents[1]
SAME_LOAD = ("ablated_whole_85", "ablated_graph_85", "ablated_limits_85", "ablated_baseline_85")
"""What the scale smoke trains at."""


# The scenarios and experiments


@pytest.mark.parametrize(("base", "scenario"), [("batch", "decima-a"), ("stream", "decima-b")])
def test_the_bases_are_the_published_settings_of_the_scenarios(base: str, scenario: str) -> None:
    """But for what `none` of a learned policy means, which is ours: the papers' figures have nobody help first."""
    told = yaml.safe_load((REPOSITORY / "scenarios" / f"{scenario}.yaml").read_text("utf-8"))
    params = params_of(own("paper"), base)
    assert params.traces.source == told["traces"]["source"]
    workload = params.model_dump(mode="json")["workload"]
    published = {key: value for key, value in told["workload"].items() if key != "help_first"}
    assert {key: workload[key] for key in published} == published and not workload["help_first"]
    assert params.teacher.shipped == params.search.shipped == scenario
    improve = told["teacher"]["improve"]
    trained = params.teacher.model_dump(mode="json")
    assert {key: trained["improve"][key] for key in improve} == improve and trained["source"] == "train"


@pytest.mark.parametrize(
    ("base", "scenario"),
    [
        ("objective_jct", "objective-jct"),
        ("objective_makespan", "objective-makespan"),
        ("objective_moving", "objective-free-moving"),
    ],
)
def test_the_bases_of_objectives_are_those_of_the_scenarios(base: str, scenario: str) -> None:
    told = yaml.safe_load((REPOSITORY / "scenarios" / f"{scenario}.yaml").read_text("utf-8"))
    params = params_of(own("paper"), base).model_dump(mode="json")
    assert params["traces"]["tpch_spark"]["sizes"] == told["traces"]["tpch_spark"]["sizes"]
    assert base != "objective_makespan" or merge(params, {"teacher": told["teacher"]}) == params
    test = told["workload"].pop("episodes")["test"]
    assert {key: params["workload"][key] for key in told["workload"]} == told["workload"]
    assert params["workload"]["episodes"]["test"] == test


def test_the_industrial_base_is_the_scenario() -> None:
    """Its corrections of the rules included: by the published ones nobody who learned passes the safety check."""
    told = yaml.safe_load((REPOSITORY / "scenarios" / "alibaba-like.yaml").read_text("utf-8"))
    params = params_of(own("paper"), "industrial").model_dump(mode="json")
    assert "control" not in told["students"], "neither has a control"
    assert set(told) == {"traces", "workload", "search", "teacher", "decisions", "students"}
    assert merge(params, told) == params


@pytest.mark.parametrize("name", ["rate_other", "rate_mixed", "rate_told"])
@pytest.mark.parametrize("scale", SCALES)
def test_networks_of_all_rates_meet_the_same_streams(name: str, scale: str) -> None:
    same, other = (params_of(own(scale), base) for base in ("rate_same", name))
    assert same.workload != other.workload
    assert params_of_experiment(other, name).workload == params_of_experiment(same, "rate_same").workload


@pytest.mark.parametrize("scale", SCALES)
def test_rates_are_mixed_from_the_one_to_the_other_and_one_network_is_told(scale: str) -> None:
    same, mixed, told = (params_of(own(scale), base) for base in ("rate_same", "rate_mixed", "rate_told"))
    assert (mixed.workload.mixed_rates.least, mixed.workload.mixed_rates.most) == (1.0, 75 / 45)
    assert mixed.workload == told.workload
    assert [each.teacher.network.rate for each in (same, mixed, told)] == [False, False, True]


@pytest.mark.parametrize("scale", SCALES)
def test_an_ablation_leaves_out_one_thing(scale: str) -> None:
    whole = params_of(own(scale), ABLATED["whole"]).model_dump(mode="json")
    changed = {
        "graph": ("teacher", {"network": {"rounds": 0}}),
        "limits": ("teacher", {"network": {"levels": "most"}}),
        "baseline": ("teacher", {"improve": {"baseline": "iteration"}}),
        "stream": ("workload", {"arrivals": "batch", "mean_interarrival_s": None}),
    }
    assert set(changed) == set(ABLATED) - {"whole"}
    for what, (section, values) in changed.items():
        found = params_of(own(scale), ABLATED[what]).model_dump(mode="json")
        expected = merge(whole, {section: values, "scenario": found["scenario"]})
        if what == "stream":
            expected["workload"]["jobs"] = found["workload"]["jobs"]
        if found["teacher"]["source"] == "shipped":
            assert scale == "smoke", "nothing is trained there: what is left out can't be"
            expected |= {each: found[each] for each in ("teacher", "search")}
        assert found == expected, what


@pytest.mark.parametrize("scale", SCALES)
def test_ablated_networks_meet_the_same_streams(scale: str) -> None:
    workloads = [
        params_of_experiment(params_of(own(scale), base), f"ablated_{what}_85").workload
        for what, base in ABLATED.items()
    ]
    assert all(each == workloads[0] for each in workloads)
    assert workloads[0].load == 0.85 and workloads[0].arrivals == "poisson"


def test_networks_that_saw_the_queries_meet_those_of_the_test_alone() -> None:
    unseen, seen = (params_of(own(), base) for base in ("unseen_queries", "rate_same"))
    assert unseen.workload.split == "template" and seen.workload.split == "seed"
    assert params_of_experiment(seen, "seen").workload == params_of_experiment(unseen, "unseen").workload


def test_the_patch_is_the_worked_example_of_the_docs() -> None:
    told = yaml.safe_load((REPOSITORY / "examples" / "patches" / "patches.yaml").read_text("utf-8"))
    assert told == [PATCH]
    slow = params_of_experiment(params_of(own("paper"), "stream"), "patched_slow")
    assert slow.workload.moving_delay_s == 10.0, "as examples/patches/slow_moves.yaml"


# What bases share


@pytest.mark.parametrize("scale", SCALES)
def test_bases_take_what_others_make_alike(scale: str) -> None:
    scenarios = scenarios_of(own(scale))
    found = takes(scenarios)
    for (name, stage), other in found.items():
        mine, theirs = (dict(stage_values(scenarios[each], stage), scenario="") for each in (name, other))
        assert mine == theirs
        assert (other, stage) not in found, "it is made there, not taken in turn"
        before = SHARED[: SHARED.index(stage)]
        assert all((name, earlier) in found for earlier in before), "all before it is the same too"
    alike = {(name.removeprefix(f"{scale}-"), stage) for name, stage in found}
    kin = ("ablated_graph", "ablated_limits", "ablated_baseline", "rate_told")
    shipped = {("ablated_baseline", "search"), ("rate_told", "search")} if scale == "smoke" else set()
    assert {(name, stage) for name in kin for stage in SHARED} - shipped <= alike
    assert ("rate_other", "workloads") not in alike and ("unseen_queries", "workloads") not in alike
    assert ("batch", "traces") not in alike


def test_the_text_of_a_stage_is_what_its_command_writes(tmp_path: Path) -> None:
    values = stage_values(params_of(own(), "rate_told"), "teacher")
    write_stage(values, "teacher", tmp_path / "teacher.json")
    assert (tmp_path / "teacher.json").read_text("utf-8") == stage_text(values)
    assert not keep_text(tmp_path / "teacher.json", stage_text(values)), "as it is: what was made of it stays"
    assert keep_text(tmp_path / "teacher.json", "{}")


TAKEN_AT_SMOKE = {
    *("industrial", "objective_jct", "objective_moving", "rate_other", "rate_mixed", "unseen_queries"),
    *("ablated_baseline", "ablated_stream"),
}
"""Their trainings are like those of other bases but for the episodes."""


@pytest.mark.parametrize("scale", SCALES)
def test_a_base_takes_seed_and_scale_from_the_user(scale: str) -> None:
    found = scenarios_of(own(scale, episodes=5, profiles="somewhere"))
    assert list(found) == [scenario_name(scale, base) for base in BASES]
    for params in found.values():
        assert params.seed == 3 and params.paper.scale == scale
        assert params.workload.episodes.test == 5
        published = params.traces.source == "tpch-decima"
        industrial = params.scenario.endswith("-industrial")
        assert (params.traces.source == "alibaba-like") == industrial
        assert params.traces.path == ("somewhere" if published else None)
        assert published == (scale == "paper" and "objective" not in params.scenario and not industrial)
        base = params.scenario.removeprefix(f"{scale}-")
        taken = base in {"batch", "stream", "changing", "imitated"} or (scale == "smoke" and base in TAKEN_AT_SMOKE)
        assert params.search.source == ("shipped" if taken else "search")
        alone = params.scenario.endswith(("-changing", "-imitated")) or scale == "smoke"
        assert params.teacher.source == ("shipped" if taken and alone else "train")
        if params.teacher.source == "train":
            assert params.teacher.seeds == (1 if scale == "smoke" else 3)
        assert params.students.seeds == (1 if alone else 3)
    one = scenarios_of(own(scale, training_seeds=1))[f"{scale}-stream"]
    assert one.teacher.source == "shipped", "nothing is trained that comes with the package"


@pytest.mark.parametrize("scale", SCALES)
@pytest.mark.parametrize("name", EXPERIMENTS)
def test_every_experiment_can_be_had(name: str, scale: str) -> None:
    experiment = EXPERIMENTS[name]
    base = params_of(own(scale), experiment.base)
    params = params_of_experiment(base, name)
    assert params.workload.episodes.test <= base.workload.episodes.test
    before, after = (each.model_dump(mode="json") for each in (base, params))
    before["workload"].pop("episodes"), after["workload"].pop("episodes")
    policies = (before["evaluation"].pop("policies"), after["evaluation"].pop("policies"))
    as_it_is = {*OBJECTIVES, "batch", "stream", "imitated", "industrial", "rate_same", "unseen", "changing"}
    as_it_is.add("patched_normal")
    same_load = name in SAME_LOAD and scale == "smoke"
    assert (before == after) == (name in as_it_is or same_load)
    assert tuple(policies[1]) == (experiment.policies or tuple(policies[0]))


def test_a_cluster_of_another_size_keeps_its_load() -> None:
    base = params_of(own("paper"), "stream")
    small, large = (params_of_experiment(base, f"executors_{count}").workload for count in (10, 100))
    assert (small.executors, small.mean_interarrival_s) == (10, 125.0)
    assert (large.executors, large.mean_interarrival_s) == (100, 12.5)


def test_an_experiment_of_another_base_is_refused() -> None:
    with pytest.raises(ClearschedError, match="of the base stream"):
        params_of_experiment(params_of(own(), "batch"), "load_50")
