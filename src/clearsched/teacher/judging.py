"""Whether a network strays from a plain heuristic where students and searched policies are asked the same.

No step of a training is refused: a network is judged once it is trained, its file tells what came of it, and the choice
among training seeds takes one that is safe (`choosing`). It runs outside the compiled loop, so that the whole safety
check would take minutes: it is asked the first episodes, which are short and hold the giants, and some of the others.
"""

from __future__ import annotations

from clearsched.problems.policy import heuristic
from clearsched.problems.problem import Instance
from clearsched.search.probing import sample
from clearsched.search.safety import Verdict, verdict_of
from clearsched.search.trials import table_of
from clearsched.teacher.policy import TeacherPolicy


def judge(policy: TeacherPolicy, instance: Instance) -> Verdict:
    """The policy next to the problem's baseline, on the validation episodes and on a part of the stress."""
    stressed = instance.stressed(instance.split("train"))
    episodes = [*instance.split("validation"), *sample(stressed)]
    baseline = heuristic(instance.problem, instance.problem.baseline)
    own, theirs = (table_of(instance, instance.objective, each.run(instance, episodes)) for each in (policy, baseline))
    return verdict_of(own, theirs)
