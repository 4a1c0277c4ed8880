"""A student as Slurm's job_submit.lua: its rank of a stage as it is submitted becomes the stage's priority."""

from __future__ import annotations

from dataclasses import replace

from clearsched.engines.slurm.features import check_at_submission, used_features
from clearsched.engines.slurm.jobs import MARK
from clearsched.engines.slurm.priorities import LOWEST
from clearsched.errors import ClearschedError
from clearsched.export.functions import functions_of, helpers_of
from clearsched.export.lua import FLOAT32, LEAST, LOG, POWER, dialect_of, function_of
from clearsched.export.source import Source
from clearsched.scorers import words
from clearsched.scorers.ties import APART

TELLS = """The static form of the rules, for Slurm's plugin job_submit/lua: /etc/slurm/job_submit.lua, and
JobSubmitPlugins=lua in slurm.conf. A stage that `clearsched engine slurm submit --static` submits tells its features in
its comment; its score becomes its priority, which nothing changes afterwards. Limits need the state of the cluster:
`clearsched engine slurm obey` sets them. Other jobs are left as they are."""

PRIORITY = """-- A score as a priority: the value of the rule, {apart:g} apart, in the high bits, ties in 23 bits
-- below. A higher score never gets a lower one; scores that differ by less than some millionths may get the same.
local function priority_of(score, place)
    local value = math.floor(score / {apart:g} + 0.5)
    local rest = score - value * {apart:g}
    local steps = math.floor(2 ^ 22 * math.log(1 + math.abs(rest) * 1000) / math.log(1 + {apart:g} * 1000))
    local low = 2 ^ 22 + math.min(steps, 2 ^ 22 - 1) * (rest < 0 and -1 or 1)
    local high = math.min(math.max(place * 16 + value, -128), 127) + 128
    return {lowest} + high * 2 ^ 23 + low
end"""

SUBMIT = """local function known_of(comment)
    local known = {{}}
    for name, value in string.gmatch(comment, "([%w_]+)=(%S+)") do
        known[name] = tonumber(value)
    end
    return known
end

function slurm_job_submit(job, partitions, uid)
    local comment = job.comment
    if not comment or string.sub(comment, 1, {length}) ~= "{mark} " then
        return slurm.SUCCESS
    end
    local c, known = {{}}, known_of(comment)
    for _, name in ipairs(features) do
        local value = known[name]
        if not value or not is_finite(value) then
            return slurm.SUCCESS -- submitted without them: somebody else ranks it
        end
        c[name] = float32(value)
    end
    local score, rule = score_of_{rank}(c)
    if is_finite(score) then
        local place = 0
        {patch}
        job.priority = priority_of(score, place)
        slurm.log_info("clearsched: %s: %s, priority %.0f", tostring(job.name), rule, job.priority)
    end
    return slurm.SUCCESS
end

function slurm_job_modify(job, record, partitions, uid)
    return slurm.SUCCESS
end

return slurm.SUCCESS"""


def write(source: Source) -> bytes:
    """The script.

    Raises:
        ClearschedError: a student of another problem, or one that Slurm cannot obey when a job is submitted.
    """
    policy = source.policy
    if policy.problem.name != "dag_jobs":
        raise ClearschedError(f"{source.path}: a student of {policy.problem.name}: Slurm schedules dag_jobs")
    check_at_submission(policy)
    names = used_features(policy, level=False)
    whole = source.program
    program = replace(
        whole, features=tuple(each for each in whole.features if each.name in names), level=None, bounds=()
    )
    dialect = dialect_of(program, source.units)
    listed = ", ".join(f'"{name}"' for name in names)
    head = [*source.header(), "", *TELLS.splitlines(), "", "Features", "", *words.glossary(program.features)]
    patch = "local _\n        place, _ = place_of(c, score)" if program.orders else ""
    blocks = [
        "\n".join(dialect.told(head, "")),
        f"-- What the rules ask of a stage.\nlocal features = {{{listed}}}",
        FLOAT32,
        *helpers_of(program, LEAST, POWER, LOG),
        *(function_of(dialect, function) for function in functions_of(program)),
        PRIORITY.format(apart=APART, lowest=LOWEST),
        SUBMIT.format(length=len(MARK) + 1, mark=MARK, rank=program.names[0], patch=patch),
    ]
    return ("\n".join(line.rstrip() for line in "\n\n".join(blocks).splitlines()) + "\n").encode()
