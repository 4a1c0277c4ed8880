package org.clearsched.spark;

import java.util.HashMap;
import java.util.Map;
import org.apache.spark.SparkContext;
import org.apache.spark.scheduler.ExecutorLossReason;
import org.apache.spark.scheduler.Pool;
import org.apache.spark.scheduler.TaskDescription;
import org.apache.spark.scheduler.TaskSchedulerImpl;
import org.apache.spark.scheduler.TaskSet;
import org.apache.spark.scheduler.TaskSetManager;
import org.apache.spark.scheduler.WorkerOffer;
import org.apache.spark.util.SystemClock;
import scala.collection.immutable.IndexedSeq;
import scala.collection.immutable.Seq;
import scala.jdk.javaapi.CollectionConverters;

/**
 * Spark's own task scheduler, but that the rules plan every offer first: which stage may launch how many tasks on which
 * slots. All the rest, locality, retries, speculation, lost executors, is Spark's.
 */
final class RuleTaskScheduler extends TaskSchedulerImpl {
    private static final int USUAL_FAILURES = 4;

    private final Engine engine;
    private final PolicyPool pool;

    RuleTaskScheduler(SparkContext sc, Engine engine, boolean local) {
        super(sc, local ? 1 : sc.conf().getInt("spark.task.maxFailures", USUAL_FAILURES), local, new SystemClock());
        this.engine = engine;
        pool = new PolicyPool("", engine, this::dagScheduler, true);
    }

    /** Spark asks for it while this object is made, too. */
    @Override
    public Pool rootPool() {
        return pool == null ? super.rootPool() : pool;
    }

    @Override
    public TaskSetManager createTaskSetManager(TaskSet taskSet, int maxTaskFailures) {
        return new RuleTaskSetManager(this, taskSet, maxTaskFailures, engine);
    }

    @Override
    public synchronized Seq<Seq<TaskDescription>> resourceOffers(IndexedSeq<WorkerOffer> offers, boolean all) {
        Map<String, Integer> offered = new HashMap<>();
        for (WorkerOffer offer : CollectionConverters.asJava(offers)) {
            offered.put(offer.executorId(), offer.cores().quot(CPUS_PER_TASK()).intValue());
        }
        engine.plan(offered, all, pool.schedulableQueue());
        Seq<Seq<TaskDescription>> launched = super.resourceOffers(offers, all);
        if (engine.offerIsOver(offered, all)) {
            backend().reviveOffers();
        }
        return launched;
    }

    @Override
    public void executorLost(String executor, ExecutorLossReason reason) {
        super.executorLost(executor, reason);
        engine.guarded(() -> engine.slots.lost(executor));
    }
}
