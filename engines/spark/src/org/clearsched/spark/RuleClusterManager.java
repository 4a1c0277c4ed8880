package org.clearsched.spark;

import org.apache.spark.SparkContext;
import org.apache.spark.SparkException;
import org.apache.spark.scheduler.ExternalClusterManager;
import org.apache.spark.scheduler.SchedulerBackend;
import org.apache.spark.scheduler.TaskScheduler;
import org.apache.spark.scheduler.TaskSchedulerImpl;
import org.apache.spark.scheduler.cluster.StandaloneSchedulerBackend;
import org.apache.spark.scheduler.local.LocalSchedulerBackend;

/**
 * Two masters: `spark-rules://host:port` is the standalone cluster at `spark://host:port`, `spark-rules-local[n]` is
 * `local[n]`; both with {@link RuleTaskScheduler}. Spark finds this class by `META-INF/services`.
 */
public final class RuleClusterManager implements ExternalClusterManager {
    private static final String STANDALONE = "spark-rules://";
    private static final String LOCAL = "spark-rules-local[";

    @Override
    public boolean canCreate(String master) {
        return master.startsWith(STANDALONE) || master.startsWith(LOCAL);
    }

    @Override
    public TaskScheduler createTaskScheduler(SparkContext sc, String master) {
        try {
            boolean local = master.startsWith(LOCAL);
            if (local) {
                threads(master);
            }
            return new RuleTaskScheduler(sc, Engine.of(sc, null, sc.appName()), local);
        } catch (SparkException e) {
            throw Unchecked.of(e);
        }
    }

    @Override
    public SchedulerBackend createSchedulerBackend(SparkContext sc, String master, TaskScheduler scheduler) {
        TaskSchedulerImpl rules = (TaskSchedulerImpl) scheduler;
        if (master.startsWith(LOCAL)) {
            try {
                return new LocalSchedulerBackend(sc.conf(), rules, threads(master));
            } catch (SparkException e) {
                throw Unchecked.of(e);
            }
        }
        // Masters of a cluster with several are told apart by commas, as in Spark's own URL.
        String[] masters = master.substring(STANDALONE.length()).split(",");
        for (int i = 0; i < masters.length; i++) {
            masters[i] = "spark://" + masters[i];
        }
        return new StandaloneSchedulerBackend(rules, sc, masters);
    }

    @Override
    public void initialize(TaskScheduler scheduler, SchedulerBackend backend) {
        ((TaskSchedulerImpl) scheduler).initialize(backend);
    }

    private static int threads(String master) throws SparkException {
        String count = master.substring(LOCAL.length()).replaceFirst("\\]$", "");
        if (count.equals("*")) {
            return Runtime.getRuntime().availableProcessors();
        }
        if (!count.matches("[1-9][0-9]{0,3}") || !master.endsWith("]")) {
            throw new SparkException("clearsched: master " + master + ": spark-rules-local[2] expected, or [*]");
        }
        return Integer.parseInt(count);
    }
}
