package org.clearsched.spark;

import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.function.Supplier;
import org.apache.spark.SparkContext;
import org.apache.spark.SparkException;
import org.apache.spark.scheduler.DAGScheduler;
import org.apache.spark.scheduler.Pool;
import org.apache.spark.scheduler.Schedulable;
import org.apache.spark.scheduler.SchedulingMode;
import org.apache.spark.scheduler.TaskSetManager;
import org.clearsched.rules.RulesException;
import scala.collection.mutable.ArrayBuffer;
import scala.jdk.javaapi.CollectionConverters;

/**
 * A pool of Spark's in which the rules say whose turn it is: the root of {@link RuleTaskScheduler}, and by itself the
 * light form, which any application adds with any cluster manager: {@link #install}.
 *
 * <p>The light form is asked for an order once an offer and is not told what is offered. The order is that of the
 * rules; a stage that comes first takes as many slots as it likes, so limits are approximate, and which executor was
 * last whose is known from events, which come late.
 */
public final class PolicyPool extends Pool {
    private final Engine engine;
    private final Supplier<DAGScheduler> dagScheduler;
    private final boolean isRoot;

    PolicyPool(String name, Engine engine, Supplier<DAGScheduler> dagScheduler, boolean isRoot) {
        super(name, SchedulingMode.FIFO(), 0, 1);
        this.engine = engine;
        this.dagScheduler = dagScheduler;
        this.isRoot = isRoot;
    }

    /**
     * Adds a pool to an application with `spark.scheduler.mode=FAIR`; the jobs of threads that set the local property
     * `spark.scheduler.pool` to its name are ordered by the rules.
     *
     * @param rules file of rules; other settings are those of the application
     * @throws SparkException the jar is of another version of Spark, or a file or setting cannot be used
     */
    public static PolicyPool install(SparkContext sc, String name, String rules) throws SparkException {
        Pool root = sc.taskScheduler().rootPool();
        if (!root.schedulingMode().equals(SchedulingMode.FAIR())) {
            throw new SparkException("clearsched: a pool needs spark.scheduler.mode=FAIR: in FIFO there are no pools");
        }
        Settings settings;
        try {
            settings = Settings.of(sc.conf().clone().set(Settings.RULES, Path.of(rules).toString()));
        } catch (RulesException e) {
            throw new SparkException("clearsched: " + e.getMessage());
        }
        Engine engine = Engine.of(sc, settings, sc.appName() + " " + name);
        sc.addSparkListener(new SlotEvents(engine, sc));
        PolicyPool pool = new PolicyPool(name, engine, sc::dagScheduler, false);
        root.addSchedulable(pool);
        return pool;
    }

    /** The counters, for an application that does not ask JMX. */
    public CountersMXBean counters() {
        return engine.counters;
    }

    @Override
    public void addSchedulable(Schedulable schedulable) {
        super.addSchedulable(schedulable);
        if (schedulable instanceof TaskSetManager manager) {
            engine.guarded(() -> engine.jobs.submitted(manager, dagScheduler.get(), engine.clock()));
        }
    }

    @Override
    public void removeSchedulable(Schedulable schedulable) {
        super.removeSchedulable(schedulable);
        if (schedulable instanceof TaskSetManager manager) {
            engine.guarded(() -> engine.jobs.removed(manager));
        }
    }

    /** As the root it is every pool: jobs are the rules', whatever pool they ask for. */
    @Override
    public Schedulable getSchedulableByName(String name) {
        return isRoot ? this : super.getSchedulableByName(name);
    }

    @Override
    public ArrayBuffer<TaskSetManager> getSortedTaskSetQueue() {
        if (!isRoot) {
            engine.plan(schedulableQueue());
        }
        Plan plan = engine.current();
        if (plan == null) {
            return super.getSortedTaskSetQueue();
        }
        // A barrier stage needs all its slots at once, which no rule gives: it goes first and takes them when it can.
        List<TaskSetManager> queue = new ArrayList<>();
        List<TaskSetManager> rest = new ArrayList<>();
        List<TaskSetManager> order = plan.order();
        for (Schedulable schedulable : schedulableQueue()) {
            if (schedulable instanceof TaskSetManager manager && manager.isSchedulable() && !order.contains(manager)) {
                (manager.isBarrier() ? queue : rest).add(manager);
            }
        }
        queue.addAll(order);
        if (isRoot) { // they launch nothing, but Spark tells who stands in the queue of new executors
            queue.addAll(rest);
        } else {
            engine.guarded(() -> engine.jobs.inSystem().forEach(engine::audit));
        }
        ArrayBuffer<TaskSetManager> found = new ArrayBuffer<>();
        found.addAll(CollectionConverters.asScala(queue));
        return found;
    }
}
