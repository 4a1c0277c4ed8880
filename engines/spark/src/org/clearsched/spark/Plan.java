package org.clearsched.spark;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.apache.spark.scheduler.TaskSetManager;

/** What is to be launched on the slots of an offer: which stage, on slots of which kind, how many. */
final class Plan {
    /** Idle slots that were the same job's last, or nobody's: a round decides on them. */
    static final class Group {
        /** Null: nobody's. */
        final JobState source;
        /** Those left, by executor. */
        final Map<String, Integer> slots = new HashMap<>();
        int left;

        Group(JobState source) {
            this.source = source;
        }

        void add(String executor) {
            slots.merge(executor, 1, Integer::sum);
            left += 1;
        }
    }

    /** Slots of a group that a stage may take; Spark picks which, by locality. */
    static final class Share {
        final StageState stage;
        final Group group;
        /** Whether its slots were its last and go on in it without a question. */
        final boolean goesOn;
        int left;

        Share(StageState stage, Group group, boolean goesOn) {
            this.stage = stage;
            this.group = group;
            this.goesOn = goesOn;
        }

        /** A task was launched on one of them. */
        void take(String executor) {
            left -= 1;
            group.slots.merge(executor, -1, Integer::sum);
        }
    }

    final List<Share> shares = new ArrayList<>();
    /** Whether a stage waits for slots that this plan had none of. */
    boolean leavesDemand;

    Share add(StageState stage, Group group, boolean goesOn) {
        Share share = new Share(stage, group, goesOn);
        shares.add(share);
        return share;
    }

    /** Promises slots to a stage: they are no longer idle. */
    void give(Share share, int count) {
        share.left += count;
        share.stage.promised += count;
        share.stage.job.promised += count;
        if (share.group.source != null) {
            share.group.source.idle -= count;
        }
    }

    /** The slot that a stage may take on an executor; null: none. */
    Share share(TaskSetManager manager, String executor) {
        for (Share share : shares) {
            if (share.left > 0 && share.stage.manager == manager && share.group.slots.getOrDefault(executor, 0) > 0) {
                return share;
            }
        }
        return null;
    }

    /** The stages in the order in which they were chosen. */
    List<TaskSetManager> order() {
        List<TaskSetManager> found = new ArrayList<>();
        for (Share share : shares) {
            if (share.stage.manager != null && !found.contains(share.stage.manager)) {
                found.add(share.stage.manager);
            }
        }
        return found;
    }
}
