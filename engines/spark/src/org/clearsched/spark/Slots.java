package org.clearsched.spark;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/**
 * The slots of all executors: how many there are, and of which job an idle one was last.
 *
 * <p>An executor of the simulator is a slot here: an executor with four cores counts as four.
 */
final class Slots {
    /**
     * What an idle slot ran last.
     *
     * @param stage null: it was left idle, so that it does not go on in a stage of itself
     */
    record Origin(JobState job, StageState stage) {
        static final Origin NOBODY = new Origin(null, null);

        /** The job whose executors are decided on; null once it has left. */
        JobState source() {
            return job != null && job.inSystem ? job : null;
        }
    }

    private static final class Executor {
        int running;
        final List<Origin> idle = new ArrayList<>();
    }

    private final Map<String, Executor> executors = new HashMap<>();

    /** Spark offers an executor with so many slots free: what it says counts. */
    List<Origin> offered(String id, int free) {
        Executor executor = executors.computeIfAbsent(id, key -> new Executor());
        while (executor.idle.size() > free) {
            executor.idle.remove(0);
        }
        while (executor.idle.size() < free) {
            executor.idle.add(0, Origin.NOBODY);
        }
        return executor.idle;
    }

    /** Spark offers all executors that there are. */
    void keepOnly(Map<String, Integer> offered) {
        executors.entrySet().removeIf(e -> e.getValue().running == 0 && !offered.containsKey(e.getKey()));
    }

    /** A task starts on a slot, if there is one, that was of a stage, else of a job, else of nobody. */
    void started(String id, StageState stage, JobState source) {
        Executor executor = executors.computeIfAbsent(id, key -> new Executor());
        executor.running += 1;
        List<Origin> idle = executor.idle;
        int found = -1;
        int best = 0;
        for (int i = 0; i < idle.size(); i++) {
            Origin origin = idle.get(i);
            int fit = stage != null && origin.stage == stage ? 3 : origin.source() == source ? 2 : 1;
            if (fit > best) {
                best = fit;
                found = i;
            }
        }
        if (found >= 0) {
            idle.remove(found);
        }
    }

    void ended(String id, StageState stage) {
        Executor executor = executors.get(id);
        if (executor != null && executor.running > 0) {
            executor.running -= 1;
            executor.idle.add(stage == null ? Origin.NOBODY : new Origin(stage.job, stage));
        }
    }

    /** What is idle after a plan stays with its job, and is asked about when it is offered again. */
    void park(String id) {
        Executor executor = executors.get(id);
        if (executor != null) {
            executor.idle.replaceAll(o -> o.stage == null ? o : new Origin(o.job, null));
        }
    }

    void lost(String id) {
        executors.remove(id);
    }

    int total() {
        int total = 0;
        for (Executor executor : executors.values()) {
            total += executor.running + executor.idle.size();
        }
        return total;
    }

    int running() {
        int running = 0;
        for (Executor executor : executors.values()) {
            running += executor.running;
        }
        return running;
    }

    /** Idle slots by executor, for a pool that is not told what is offered. */
    Map<String, List<Origin>> idle() {
        Map<String, List<Origin>> found = new HashMap<>();
        executors.forEach((id, executor) -> {
            if (!executor.idle.isEmpty()) {
                found.put(id, executor.idle);
            }
        });
        return found;
    }

    /** Counts the idle slots of each job; those that are of none are not counted. */
    int countIdle() {
        int idle = 0;
        for (Executor executor : executors.values()) {
            for (Origin origin : executor.idle) {
                JobState source = origin.source();
                if (source != null) {
                    source.idle += 1;
                    idle += 1;
                }
            }
        }
        return idle;
    }
}
