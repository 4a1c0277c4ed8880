package org.clearsched.spark;

import org.apache.spark.scheduler.SparkListener;
import org.apache.spark.scheduler.SparkListenerApplicationEnd;
import org.apache.spark.scheduler.SparkListenerEvent;
import org.apache.spark.scheduler.SparkListenerJobEnd;
import org.apache.spark.scheduler.SparkListenerTaskEnd;
import org.apache.spark.sql.execution.ui.SparkListenerSQLExecutionEnd;
import org.apache.spark.sql.execution.ui.SparkListenerSQLExecutionStart;

/** What the listener bus tells: durations of tasks, and ends. It comes late: nothing that must be exact hangs on it. */
final class Events extends SparkListener {
    private final Engine engine;

    Events(Engine engine) {
        this.engine = engine;
    }

    @Override
    public void onTaskEnd(SparkListenerTaskEnd event) {
        if (event.taskInfo() != null && event.taskInfo().successful()) {
            engine.guarded(() -> engine.jobs.taskEnded(event.stageId(), event.taskInfo().duration()));
        }
    }

    @Override
    public void onJobEnd(SparkListenerJobEnd event) {
        engine.guarded(() -> engine.jobs.sparkJobEnded(event.jobId()));
    }

    @Override
    public void onOtherEvent(SparkListenerEvent event) {
        // By name first: an application without Spark SQL lacks the classes.
        String name = event.getClass().getSimpleName();
        if (name.equals("SparkListenerSQLExecutionStart")) {
            long id = ((SparkListenerSQLExecutionStart) event).executionId();
            engine.guarded(() -> engine.jobs.executionStarted(id));
        } else if (name.equals("SparkListenerSQLExecutionEnd")) {
            long id = ((SparkListenerSQLExecutionEnd) event).executionId();
            engine.guarded(() -> engine.jobs.executionEnded(id));
        }
    }

    @Override
    public void onApplicationEnd(SparkListenerApplicationEnd event) {
        engine.close();
    }
}
