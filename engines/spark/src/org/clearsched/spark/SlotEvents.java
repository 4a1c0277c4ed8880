package org.clearsched.spark;

import org.apache.spark.SparkContext;
import org.apache.spark.scheduler.SparkListener;
import org.apache.spark.scheduler.SparkListenerExecutorAdded;
import org.apache.spark.scheduler.SparkListenerExecutorRemoved;
import org.apache.spark.scheduler.SparkListenerTaskEnd;
import org.apache.spark.scheduler.SparkListenerTaskStart;
import org.apache.spark.status.api.v1.ExecutorSummary;
import scala.jdk.javaapi.CollectionConverters;

/** Keeps the slots of the light form, from events: {@link RuleTaskScheduler} is told of them by Spark itself. */
final class SlotEvents extends SparkListener {
    private final Engine engine;
    private final int cpusPerTask;

    SlotEvents(Engine engine, SparkContext sc) {
        this.engine = engine;
        cpusPerTask = (int) Math.max(1, Math.ceil(Double.parseDouble(sc.conf().get("spark.task.cpus", "1"))));
        boolean local = sc.isLocal();
        for (ExecutorSummary found : CollectionConverters.asJava(sc.statusStore().executorList(true))) {
            if (local || !found.id().equals("driver")) {
                added(found.id(), found.totalCores());
            }
        }
    }

    private void added(String executor, int cores) {
        engine.guarded(() -> engine.slots.offered(executor, cores / cpusPerTask));
    }

    @Override
    public void onExecutorAdded(SparkListenerExecutorAdded event) {
        added(event.executorId(), event.executorInfo().totalCores());
    }

    @Override
    public void onExecutorRemoved(SparkListenerExecutorRemoved event) {
        engine.guarded(() -> engine.slots.lost(event.executorId()));
    }

    @Override
    public void onTaskStart(SparkListenerTaskStart event) {
        engine.guarded(() -> {
            StageState stage = engine.jobs.stage(event.stageId());
            engine.slots.started(event.taskInfo().executorId(), stage, stage == null ? null : stage.job);
        });
    }

    @Override
    public void onTaskEnd(SparkListenerTaskEnd event) {
        if (event.taskInfo() != null) {
            engine.guarded(() ->
                    engine.slots.ended(event.taskInfo().executorId(), engine.jobs.stage(event.stageId())));
        }
    }
}
