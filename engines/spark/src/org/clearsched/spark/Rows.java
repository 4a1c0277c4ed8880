package org.clearsched.spark;

import static org.clearsched.rules.Quantities.*;

import java.util.ArrayList;
import java.util.List;
import org.clearsched.rules.Feature;
import org.clearsched.rules.Quantities;

/**
 * The candidates of a decision and their features, by the definitions of the simulator: by job in order of arrival,
 * then by their place in the job.
 */
final class Rows {
    /** Added to a job's work left where shares are computed: a job about to end still counts. */
    private static final double WORK_OFFSET_MS = 5000.0;
    private static final double ROOT_OFFSET_MS = 1000.0;

    final List<StageState> stages = new ArrayList<>();
    final float[][] features;
    final int[] least;

    private final double[] quantities = new double[Quantities.NAMES.size()];

    /** What a decision is about. */
    record Moment(
            List<JobState> jobs,
            JobState source,
            int toDecide,
            int executors,
            int idle,
            double nowMs,
            double movingMs) {
    }

    Rows(Moment moment, Feature[] asked, long clockMs) {
        for (JobState job : moment.jobs) {
            job.candidates = 0;
            for (StageState stage : job.stages) {
                if (!stage.selected && stage.isOpen(clockMs)) {
                    stages.add(stage);
                    job.candidates += 1;
                }
            }
        }
        features = new float[stages.size()][asked.length];
        least = new int[stages.size()];
        if (stages.isEmpty()) {
            return;
        }
        describeAll(moment);
        JobState described = null;
        for (int i = 0; i < features.length; i++) {
            StageState stage = stages.get(i);
            if (stage.job != described) {
                described = stage.job;
                describe(described, moment);
            }
            describe(stage);
            least[i] = (int) quantities[HELD] + 1;
            for (int k = 0; k < asked.length; k++) {
                features[i][k] = (float) asked[k].formula().of(quantities);
            }
        }
    }

    /** Sums over the jobs in the system. */
    private void describeAll(Moment moment) {
        quantities[SMALLEST_WEIGHT] = Double.POSITIVE_INFINITY;
        for (JobState job : moment.jobs) {
            double weight = job.workLeftMs + WORK_OFFSET_MS;
            double root = Math.pow(job.workLeftMs + ROOT_OFFSET_MS, 0.2);
            quantities[SUM_WEIGHT] += weight;
            quantities[SUM_SQRT_WEIGHT] += Math.sqrt(weight);
            quantities[SUM_POWER_20] += root;
            quantities[SUM_POWER_40] += root * root;
            quantities[SUM_POWER_60] += root * root * root;
            quantities[SUM_POWER_80] += root * root * root * root;
            if (job.candidates > 0) {
                quantities[SMALLEST_WEIGHT] = Math.min(quantities[SMALLEST_WEIGHT], weight);
            }
        }
        quantities[JOBS] = moment.jobs.size();
        quantities[EXECUTORS] = moment.executors;
        quantities[TIME_MS] = moment.nowMs;
        quantities[MOVING_DELAY_MS] = moment.movingMs;
        quantities[TO_DECIDE] = moment.toDecide;
        quantities[PARKED_IN_ALL] = moment.idle - (moment.source == null ? 0 : moment.toDecide);
    }

    private void describe(JobState job, Moment moment) {
        boolean isSource = job == moment.source;
        int decidedOn = isSource ? moment.toDecide : 0;
        quantities[IS_SOURCE] = isSource ? 1 : 0;
        quantities[HELD] = job.held(decidedOn);
        quantities[PARKED] = job.idle - decidedOn;
        quantities[WORK_LEFT_MS] = job.workLeftMs;
        quantities[WORK_MS] = job.workMs;
        quantities[TASKS_LEFT] = job.unstarted;
        quantities[STAGES_LEFT] = job.stagesLeft;
        quantities[ARRIVAL_MS] = job.arrivalMs;
        quantities[CRITICAL_PATH_LEFT_MS] = job.criticalPathLeftMs;
        quantities[WEIGHT] = job.workLeftMs + WORK_OFFSET_MS;
        quantities[SQRT_WEIGHT] = Math.sqrt(job.workLeftMs + WORK_OFFSET_MS);
        quantities[ROOT] = Math.pow(job.workLeftMs + ROOT_OFFSET_MS, 0.2);
        int smaller = 0;
        for (JobState other : moment.jobs) {
            smaller += other.candidates > 0 && other.workLeftMs < job.workLeftMs ? 1 : 0;
        }
        quantities[SMALLER_JOBS] = smaller;
    }

    private void describe(StageState stage) {
        quantities[WAITING_PARENTS] = 0;
        quantities[UNSTARTED] = stage.unstarted;
        quantities[RUNNING] = stage.running;
        quantities[MOVING] = 0;
        quantities[PROMISED] = stage.promised;
        quantities[TASK_MS] = stage.taskMs;
        quantities[LEVELS_BELOW] = stage.levelsBelow;
        quantities[CRITICAL_PATH_MS] = stage.pathMs;
        int earlier = 0;
        for (StageState other : stages) {
            if (other.job == stage.job && other != stage) {
                boolean deeper = other.levelsBelow > stage.levelsBelow;
                boolean before = other.levelsBelow == stage.levelsBelow && other.index < stage.index;
                earlier += deeper || before ? 1 : 0;
            }
        }
        quantities[EARLIER_CANDIDATES] = earlier;
    }
}
