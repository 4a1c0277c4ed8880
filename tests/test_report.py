"""The interactive page: what it holds, read back; names that mean harm; equal bytes; one episode under every policy."""

from __future__ import annotations

import json
import re
from html import unescape
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from clearsched import report
from clearsched.decisions.experts import load_expert
from clearsched.errors import ClearschedError
from clearsched.evaluation.policies import load_policies
from clearsched.files import write_json
from clearsched.problems import find_problem
from clearsched.problems.deferrable_jobs.instance import timeline as waits_and_runs
from clearsched.reading.flipping import Searched
from clearsched.report import explorer
from clearsched.report.episode import record
from clearsched.report.markup import data_block, from_rst
from clearsched.report.packing import columns, pack, unpack
from clearsched.report.page import LARGEST, bundle, or_say
from clearsched.report.rules import numbered
from clearsched.report.settings import ReportParams
from report_toys import HOSTILE, PARAMS, results_of

DAG_JOBS = find_problem("dag_jobs")


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A scenario of DAG jobs, as far as the page asks, its page beside it."""
    return results_of(tmp_path_factory.mktemp("page"), "dag_jobs")


def page_of(results: Path) -> str:
    return (results.parent / "report" / "index.html").read_text("utf-8")


def block(page: str, identifier: str) -> str:
    found = re.search(rf'<script type="[^"]*" id="{re.escape(identifier)}">(.*?)</script>', page, re.DOTALL)
    assert found, identifier
    return found[1]


# What is in it ------------------------------------------------------------------------------------------------------


def test_the_page_needs_nothing_else(results: Path) -> None:
    page = page_of(results)
    assert len(page.encode()) < LARGEST
    for attribute in ("src", "href"):
        for value in re.findall(rf'\s{attribute}="([^"]*)"', page):
            assert value.startswith(("#", "data:")), value
    assert "@import" not in page and "url(" not in page and not re.search(r"\bimport ", bundle())


def test_every_part_is_there_with_its_numbers(results: Path) -> None:
    page = page_of(results)
    for part in ("comparison", "figures", "rules", "decisions"):
        assert f'id="{results.name}-{part}"' in page
    assert page.count("<tr data-kind=") == 3
    assert "5.00" in page and "difference that these episodes do not show" not in page
    assert "rule 1" in page and "job_age_s &lt; 5" in page
    assert "a sentence of the evaluation" in page
    assert "jct_cdf" not in page or "data:image" in page


def test_the_data_are_read_back(results: Path) -> None:
    index = json.loads(block(page_of(results), f"{results.name}-explorer-data"))
    assert [policy["name"] for policy in index["policies"]] == ["fair", "capped_srpt", "hand"]
    assert index["clauses"]["hand"][1] == [["job_age_s", True, 5.0]]
    schedule = unpack(block(page_of(results), f"{results.name}-schedule-hand"))
    count = len(schedule["time"])
    assert count == len(schedule["start"]) - 1 > 5
    assert schedule["start"][-1] == len(schedule["candidate"]) == len(schedule["scores"]["hand"])
    for feature in index["features"]:
        expected = count if feature["shared"] else len(schedule["candidate"])
        assert len(schedule["features"][feature["name"]]) == expected, feature
    for i in range(count):
        own = schedule["scores"]["hand"][schedule["start"][i] : schedule["start"][i + 1]]
        answer = schedule["answers"]["hand"][i]
        assert own[answer] == max(value for value in own if value is not None)
        fires = schedule["fires"]["hand"][schedule["start"][i] + answer]
        assert own[answer] == {0: 3, 1: 2, 2: 1}[fires]


def test_an_account_is_that_of_explain(results: Path) -> None:
    schedule = unpack(block(page_of(results), f"{results.name}-schedule-fair"))
    accounts = schedule["accounts"]["hand"]
    assert len(accounts) == PARAMS["report"]["explained"]
    assert all(
        re.match(r"The student answers stage \d+ \(job \d+\): it meets rule \d", told) for told in accounts.values()
    )
    assert any("The smallest change that flips it" in told for told in accounts.values())


def test_every_schedule_has_accounts(results: Path) -> None:
    for policy in ("fair", "capped_srpt", "hand"):
        schedule = unpack(block(page_of(results), f"{results.name}-schedule-{policy}"))
        assert len(schedule["accounts"]["hand"]) == PARAMS["report"]["explained"] < len(schedule["time"]), policy


def test_few_are_made_where_flips_are_found_by_trial(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Searched, "is_straight", False)
    monkeypatch.setattr(explorer, "BY_TRIAL", 2)
    page = page_of(results_of(tmp_path, "dag_jobs"))
    made = {
        policy: len(unpack(block(page, f"small-schedule-{policy}"))["accounts"]["hand"])
        for policy in ("fair", "capped_srpt", "hand")
    }
    assert made == {"fair": 2, "capped_srpt": 0, "hand": 2}, "none along those that neither score nor teach"


def test_by_default_every_shown_decision_is_accounted_for() -> None:
    assert ReportParams().explained >= ReportParams().decisions


def test_the_same_results_give_the_same_bytes(results: Path, tmp_path: Path) -> None:
    again = results_of(tmp_path, "dag_jobs")
    assert page_of(again) == page_of(results)
    assert (again / "report/collected.json").read_bytes() == (results / "report/collected.json").read_bytes()


def test_the_other_problem_has_everything_too(tmp_path: Path) -> None:
    results = results_of(tmp_path, "deferrable_jobs")
    index = json.loads(block(page_of(results), f"{results.name}-explorer-data"))
    assert index["level"] is None and index["rank"]["none"] == "start nothing now"
    schedule = unpack(block(page_of(results), f"{results.name}-schedule-hand"))
    assert schedule["timeline"]["row"] == "job" and any(schedule["timeline"]["waits"])
    assert -1 in schedule["candidate"], "none of these is a row"
    assert 'id="small-rules"' in page_of(results) and "job_slack" in page_of(results)


# Names that mean harm -----------------------------------------------------------------------------------------------


def test_hostile_names_stay_text(tmp_path: Path) -> None:
    results = results_of(tmp_path, "dag_jobs", student=HOSTILE)
    page = page_of(results)
    assert HOSTILE not in page and "<img src=x" not in page
    index = json.loads(block(page, f"{results.name}-explorer-data"))
    assert index["policies"][-1]["name"] == HOSTILE
    identifiers = [
        unescape(found) for found in re.findall(r'<script type="application/gzip-base64" id="([^"]*)"', page)
    ]
    assert f"{results.name}-schedule-{HOSTILE}" in identifiers


def test_json_ends_no_element() -> None:
    told = data_block('a"b', {"name": "</script><!--"})
    assert told.count("</script>") == 1 and "<!--" not in told and 'id="a&quot;b"' in told
    assert json.loads(told[told.index(">") + 1 : told.rindex("<")]) == {"name": "</script><!--"}


def test_captions_are_text_with_a_few_marks() -> None:
    assert from_rst("a ``b<c`` **d**\ne\n\n*f* 2*3*4") == (
        "<p>a <code>b&lt;c</code> <strong>d</strong> e</p><p><em>f</em> 2*3*4</p>"
    )


# Its parts ----------------------------------------------------------------------------------------------------------


def test_packed_data_come_back() -> None:
    value = {"a": columns(np.array([1 / 3, np.nan, np.inf, 2.0])), "b": columns(np.array([3, -1]))}
    assert unpack(pack(value)) == {"a": [0.33333, None, None, 2], "b": [3, -1]}
    assert pack(value) == pack(value)
    with pytest.raises(ClearschedError, match="collect them again"):
        unpack(pack(value)[:-8])


def test_numbered_lines_are_told_apart() -> None:
    assert numbered(["  1. if a", "        and b  ->  c", "  2. otherwise"]) == ["if a and b  ->  c", "otherwise"]
    assert numbered(["  1. a", "tree 2", "  2. b"]) == []
    assert numbered(["  2. a"]) == []


def test_a_part_that_fails_is_a_line(capsys: pytest.CaptureFixture[str]) -> None:
    def fail() -> str:
        raise ValueError("<b>")

    assert or_say("Figures", fail) == '<p class="note">Could not be told: &lt;b&gt; (ValueError)</p>'
    assert "Figures" in capsys.readouterr().err


def test_schedules_that_do_not_fit_are_left_out(results: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from clearsched.report import page

    whole = len(page_of(results).encode())
    monkeypatch.setattr(page, "LARGEST", whole - 1)
    report.build([results], results.parent / "fewer.html")
    fewer = (results.parent / "fewer.html").read_text("utf-8")
    assert len(fewer.encode()) < whole
    assert 'id="small-schedule-hand"' in fewer and fewer.count("application/gzip-base64") == 2


def test_missing_files_are_a_line(results: Path, tmp_path: Path) -> None:
    with pytest.raises(ClearschedError, match=r"collected\.json: no such file: run"):
        report.build([tmp_path], tmp_path / "index.html")
    write_json(tmp_path / "report/collected.json", {"problem": "dag_jobs"})
    with pytest.raises(ClearschedError, match="not of this version"):
        report.build([tmp_path], tmp_path / "index.html")
    assert not (tmp_path / "index.html").exists()


# One episode under every policy -------------------------------------------------------------------------------------


def test_side_by_side_each_schedules_as_alone(results: Path) -> None:
    instance = DAG_JOBS.open(results / "traces/trace.parquet", results / "traces/workloads.parquet")
    names = ["fair", "capped_srpt", "rule_list"]
    policies = load_policies(
        DAG_JOBS, _Settings(names), {"best": "fair"}, Path("none"), [results / "students/rule_list.json"]
    )
    episode = instance.split("test")[0]
    schedules, longest = record(instance, episode, policies, load_expert(DAG_JOBS, "fair"), 10_000)
    assert longest == max(len(each.rank.chosen) for each in schedules)
    for policy, schedule in zip(policies, schedules, strict=True):
        alone = policy.run(instance, [episode])[0]
        assert dict(schedule.outcome.measures) == dict(alone.measures)
        assert len(schedule.rank.chosen) <= alone.num_decisions
    of_fair = schedules[0]
    np.testing.assert_array_equal(of_fair.answers["fair"], of_fair.rank.chosen - of_fair.rank.starts[:-1])


def test_spans_hold_all_the_work(results: Path) -> None:
    instance: Any = DAG_JOBS.open(results / "traces/trace.parquet", results / "traces/workloads.parquet")
    episode = instance.split("test")[0]
    outcome = load_policies(DAG_JOBS, _Settings(["fair"]), {"best": "fair"}, Path("none"), [])[0].run(
        instance, [episode], record=True
    )[0]
    found = instance.timeline(outcome, episode)
    assert float((found.end_s - found.start_s).sum()) == pytest.approx(outcome.tasks[:, 1].sum() / 1000)
    assert found.place.max() < found.rows == episode.num_executors and not found.waits.any()
    last = [found.end_s[found.group == job].max() for job in range(len(found.completion_s))]
    assert last == pytest.approx(found.completion_s.tolist())


def test_a_wait_and_a_run_by_hand() -> None:
    class Of:
        arrival, duration = np.array([0, 1]), np.array([2, 3])
        num_jobs, slot_s = 2, 300

    class Outcome:
        episode, completion = Of, np.array([2, 7])

    found = waits_and_runs(Outcome)  # type: ignore[arg-type]
    assert found.group.tolist() == [1, 0, 1] and found.waits.tolist() == [True, False, False]
    assert found.start_s.tolist() == [300, 0, 1200] and found.end_s.tolist() == [1200, 600, 2100]


class _Settings:
    """As `EvaluationParams`, as far as policies are loaded by it."""

    mode = "argmax"

    def __init__(self, policies: list[str]) -> None:
        self.policies = policies
