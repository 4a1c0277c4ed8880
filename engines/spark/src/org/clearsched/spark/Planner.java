package org.clearsched.spark;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.clearsched.rules.Decision;
import org.clearsched.rules.Program;

/**
 * The rounds of an offer, as in docs/simulator.md §5: an executor goes on in its stage without a question; the other
 * idle ones are decided on, those of each job for themselves, jobs in order of arrival, and those of nobody last.
 */
final class Planner {
    /** Who wants to know of a decision. */
    interface Witness {
        void decided(Rows rows, Rows.Moment moment, boolean noneAllowed, Decision decision, int given);
    }

    private final Jobs jobs;
    private final Slots slots;
    private final double movingMs;
    private final boolean askEachTask;
    private final Witness witness;

    Planner(Jobs jobs, Slots slots, double movingMs, boolean askEachTask, Witness witness) {
        this.jobs = jobs;
        this.slots = slots;
        this.movingMs = movingMs;
        this.askEachTask = askEachTask;
        this.witness = witness;
    }

    /**
     * Plans.
     *
     * @param offered idle slots by executor; they are read, not changed
     */
    Plan plan(Program program, Map<String, List<Slots.Origin>> offered, long nowMs) {
        List<JobState> active = jobs.look();
        int idle = slots.countIdle();
        Plan plan = new Plan();
        Map<StageState, Plan.Share> own = new HashMap<>();
        Map<JobState, Plan.Group> groups = new HashMap<>();
        for (Map.Entry<String, List<Slots.Origin>> entry : offered.entrySet()) {
            for (Slots.Origin origin : entry.getValue()) {
                StageState stage = askEachTask ? null : origin.stage();
                if (stage != null && stage.isOpen(nowMs) && origin.source() != null) {
                    Plan.Share share =
                            own.computeIfAbsent(stage, key -> plan.add(key, new Plan.Group(key.job), true));
                    share.group.add(entry.getKey());
                    plan.give(share, 1);
                    idle -= 1;
                } else {
                    groups.computeIfAbsent(origin.source(), Plan.Group::new).add(entry.getKey());
                }
            }
        }
        List<JobState> sources = new ArrayList<>(active);
        sources.add(null);
        for (JobState source : sources) {
            Plan.Group group = groups.get(source);
            if (group != null) {
                idle = round(program, plan, group, active, idle, nowMs);
            }
        }
        plan.leavesDemand = active.stream().anyMatch(job -> job.stages.stream().anyMatch(s -> s.isOpen(nowMs)));
        return plan;
    }

    /** Asks until every slot of a group is given away, or none is the answer; the idle slots of jobs after it. */
    private int round(Program program, Plan plan, Plan.Group group, List<JobState> active, int parked, long nowMs) {
        int idle = parked;
        for (JobState job : active) {
            for (StageState stage : job.stages) {
                stage.selected = false;
            }
        }
        while (group.left > 0) {
            Rows.Moment moment =
                    new Rows.Moment(active, group.source, group.left, slots.total(), idle, nowMs, movingMs);
            Rows rows = new Rows(moment, program.features(), nowMs);
            if (rows.stages.isEmpty()) {
                break;
            }
            // Where nothing else is going to happen none is refused: nobody would ask again.
            boolean noneAllowed = slots.running() > 0 || !plan.shares.isEmpty();
            Decision decision = program.choose(rows.features, moment.executors(), rows.least, noneAllowed);
            if (decision.candidate() == Decision.NONE) {
                witness.decided(rows, moment, noneAllowed, decision, 0);
                break;
            }
            StageState stage = rows.stages.get(decision.candidate());
            int room = decision.limit() - rows.least[decision.candidate()] + 1;
            int given = Math.min(Math.min(room, stage.demand()), group.left);
            witness.decided(rows, moment, noneAllowed, decision, Math.max(given, 0));
            stage.selected = true;
            if (given <= 0) {
                continue;
            }
            stage.job.ceiling = decision.limit();
            plan.give(plan.add(stage, group, false), given);
            group.left -= given;
            idle -= group.source == null ? 0 : given;
        }
        return idle;
    }
}
