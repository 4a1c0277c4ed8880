package org.clearsched.spark;

import java.util.ArrayList;
import java.util.List;
import org.apache.spark.scheduler.TaskSetManager;

/** A stage of a job: what Spark and the profile say of it, and what a plan does with it. */
final class StageState {
    static final int UNSEEN = -1;

    final JobState job;
    /** Its place in the job. */
    int index;
    /** Spark's number of it; a stage that only the profile knows has none yet. */
    int id = UNSEEN;
    int numTasks;
    List<StageState> parents = new ArrayList<>();
    boolean complete;
    /** Its tasks while they run; null before and after. */
    TaskSetManager manager;
    /** Mean duration by the profile; NaN: it has none. */
    double profileMs = Double.NaN;
    /** Sum and number of the durations of tasks that have finished. */
    double finishedMs;
    int finished;

    // Derived of the above, see JobState.derive.
    double taskMs;
    int levelsBelow;
    double pathMs;

    // Of the plan that is being made.
    int unstarted;
    int running;
    int promised;
    boolean selected;
    /** Until then it does not get what it did not take: it waits for an executor near its data. */
    long declinedUntilMs;

    StageState(JobState job, int index, int numTasks) {
        this.job = job;
        this.index = index;
        this.numTasks = numTasks;
    }

    /** Looks at Spark's counts. */
    void look() {
        promised = 0;
        selected = false;
        running = manager == null ? 0 : manager.runningTasks();
        unstarted = complete ? 0 : numTasks;
        if (manager != null) {
            unstarted = manager.isSchedulable() ? waiting(manager) : 0;
        }
    }

    /** Tasks without a running copy that have not succeeded, and copies that Spark wants to speculate with. */
    private static int waiting(TaskSetManager manager) {
        int count = manager.speculatableTasks().size();
        int[] copies = manager.copiesRunning();
        boolean[] successful = manager.successful();
        for (int i = 0; i < copies.length; i++) {
            if (copies[i] == 0 && !successful[i]) {
                count += 1;
            }
        }
        return count;
    }

    /** Tasks that no slot is meant for yet. */
    int demand() {
        return unstarted - promised;
    }

    /** Whether its tasks can be given slots by rules: a barrier stage needs all of its slots at once. */
    boolean isOpen(long nowMs) {
        return manager != null && !manager.isBarrier() && demand() > 0 && declinedUntilMs <= nowMs;
    }

    @Override
    public String toString() {
        return "stage " + id + " of " + job.key;
    }
}
