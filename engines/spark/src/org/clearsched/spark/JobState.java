package org.clearsched.spark;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;

/** A job in the eyes of the rules: one Spark job, or all those of a query. */
final class JobState {
    /** In place of a duration that nothing is known of. */
    private static final double UNKNOWN_MS = 1000.0;

    final String key;
    /** In order of arrival. */
    final int number;
    final long arrivalMs;
    String template = "";
    final List<StageState> stages = new ArrayList<>();
    final Map<Integer, StageState> byId = new HashMap<>();
    /** Spark jobs of it that run. */
    final Set<Integer> sparkJobs = new HashSet<>();
    /** Whether it is a query that has not ended, though none of its Spark jobs may run at the moment. */
    boolean open;
    boolean inSystem = true;
    /** Whether its stages beyond those that Spark has told of are known. */
    boolean foreseen;
    double finishedMs;
    int finished;

    /** The most slots that its tasks may have by the decisions so far. */
    int ceiling;
    int excess;

    // Of the plan that is being made.
    int running;
    int promised;
    int idle;
    int unstarted;
    int stagesLeft;
    int candidates;
    double workLeftMs;
    double workMs;
    double criticalPathLeftMs;

    JobState(String key, int number, long arrivalMs) {
        this.key = key;
        this.number = number;
        this.arrivalMs = arrivalMs;
    }

    StageState add(int numTasks) {
        StageState stage = new StageState(this, stages.size(), numTasks);
        stages.add(stage);
        return stage;
    }

    boolean isComplete() {
        return stages.stream().allMatch(stage -> stage.complete);
    }

    /**
     * Looks at Spark's counts, and sums them up.
     *
     * @param usualMs mean duration of the tasks of other jobs; NaN: none has finished
     */
    void look(double usualMs) {
        running = 0;
        promised = 0;
        idle = 0;
        unstarted = 0;
        stagesLeft = 0;
        workLeftMs = 0.0;
        workMs = 0.0;
        criticalPathLeftMs = 0.0;
        derive(usualMs);
        for (StageState stage : stages) {
            stage.look();
            running += stage.running;
            unstarted += stage.unstarted;
            workMs += stage.numTasks * stage.taskMs;
            stagesLeft += stage.complete ? 0 : 1;
            if (stage.unstarted > 0) {
                double own = stage.unstarted * stage.taskMs;
                double below = stage.pathMs - stage.numTasks * stage.taskMs;
                workLeftMs += own;
                criticalPathLeftMs = Math.max(criticalPathLeftMs, own + below);
            }
        }
    }

    /** Durations by the best that is known, and the paths made of them. */
    private void derive(double usualMs) {
        double own = finished > 0 ? finishedMs / finished : usualMs;
        for (StageState stage : stages) {
            double measured = stage.finished > 0 ? stage.finishedMs / stage.finished : own;
            double known = Double.isNaN(stage.profileMs) ? measured : stage.profileMs;
            stage.taskMs = Double.isNaN(known) ? UNKNOWN_MS : known;
            stage.levelsBelow = 0;
            stage.pathMs = 0.0;
        }
        // Parents stand before their children, so that from the end each is complete when it is handed upwards.
        for (int i = stages.size() - 1; i >= 0; i--) {
            StageState stage = stages.get(i);
            stage.pathMs += stage.numTasks * stage.taskMs;
            for (StageState parent : stage.parents) {
                parent.levelsBelow = Math.max(parent.levelsBelow, stage.levelsBelow + 1);
                parent.pathMs = Math.max(parent.pathMs, stage.pathMs);
            }
        }
    }

    /** Slots that it holds: its tasks, those about to start, and idle ones, less those that are being decided on. */
    int held(int decidedOn) {
        return running + promised + idle - decidedOn;
    }
}
