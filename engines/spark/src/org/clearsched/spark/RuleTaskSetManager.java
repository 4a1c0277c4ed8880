package org.clearsched.spark;

import org.apache.spark.scheduler.TaskDescription;
import org.apache.spark.scheduler.TaskInfo;
import org.apache.spark.scheduler.TaskSchedulerImpl;
import org.apache.spark.scheduler.TaskSet;
import org.apache.spark.scheduler.TaskSetManager;
import org.apache.spark.util.SystemClock;
import scala.Option;
import scala.Tuple3;
import scala.collection.immutable.Map;

/** The tasks of a stage; they take only what the plan gives them, so that no limit is exceeded. */
final class RuleTaskSetManager extends TaskSetManager {
    /** No task, not for want of locality, of no place. */
    private static final Tuple3<Option<TaskDescription>, Object, Object> NOTHING =
            new Tuple3<>(Option.empty(), false, -1);

    private final Engine engine;

    RuleTaskSetManager(TaskSchedulerImpl scheduler, TaskSet taskSet, int maxTaskFailures, Engine engine) {
        super(scheduler, taskSet, maxTaskFailures, scheduler.healthTrackerOpt(), new SystemClock());
        this.engine = engine;
    }

    @Override
    public Tuple3<Option<TaskDescription>, Object, Object> resourceOffer(
            String executor,
            String host,
            scala.Enumeration.Value locality,
            scala.math.BigDecimal cpus,
            Map<String, Map<String, Object>> resources) {
        Plan plan = engine.current();
        Plan.Share share = null;
        if (plan != null && !isBarrier()) {
            share = plan.share(this, executor);
            if (share == null) {
                return NOTHING;
            }
        }
        Tuple3<Option<TaskDescription>, Object, Object> found;
        try {
            found = super.resourceOffer(executor, host, locality, cpus, resources);
        } catch (Exception e) { // a task that cannot be serialized: Scala declares nothing, Spark expects it as it is
            throw Unchecked.of(e);
        }
        if (found._1().isDefined()) {
            engine.launched(this, executor, share);
        }
        return found;
    }

    @Override
    public void removeRunningTask(long task) {
        boolean runs = runningTasksSet().contains(task);
        super.removeRunningTask(task);
        Option<TaskInfo> info = taskInfos().get(task);
        if (runs && info.isDefined()) {
            engine.ended(this, info.get().executorId());
        }
    }
}
