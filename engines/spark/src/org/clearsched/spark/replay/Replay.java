package org.clearsched.spark.replay;

import java.util.ArrayList;
import java.util.List;
import org.apache.spark.Dependency;
import org.apache.spark.api.java.JavaSparkContext;

/** One job of a workload as one job of Spark: a DAG of stages whose tasks sleep. */
public final class Replay {
    private Replay() {}

    /**
     * Run a job and return when its last task has ended.
     *
     * @param context the application.
     * @param job the stages in an order in which parents come first, separated by ';'. A stage is the numbers of its
     *     parents and, after ':', how long each of its tasks sleeps, in ms, all separated by ','. No stage may wait for
     *     nothing but the end: Spark runs what the last stage needs.
     */
    public static void run(JavaSparkContext context, String job) {
        List<ReplayStage> stages = new ArrayList<>();
        List<Dependency<?>> outputs = new ArrayList<>();
        for (String text : job.split(";")) {
            String[] parts = text.split(":", -1);
            List<Dependency<?>> parents = new ArrayList<>();
            for (long parent : numbers(parts[0])) {
                int place = (int) parent;
                if (outputs.get(place) == null) {
                    outputs.set(place, stages.get(place).shuffled());
                }
                parents.add(outputs.get(place));
            }
            stages.add(new ReplayStage(context.sc(), stages.size(), parents, numbers(parts[1])));
            outputs.add(null);
        }
        stages.get(stages.size() - 1).count();
    }

    private static long[] numbers(String text) {
        String[] parts = text.isEmpty() ? new String[0] : text.split(",");
        long[] numbers = new long[parts.length];
        for (int i = 0; i < parts.length; i++) {
            numbers[i] = Long.parseLong(parts[i]);
        }
        return numbers;
    }
}
