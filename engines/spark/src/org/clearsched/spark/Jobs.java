package org.clearsched.spark;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import java.util.Set;
import org.apache.spark.scheduler.ActiveJob;
import org.apache.spark.scheduler.DAGScheduler;
import org.apache.spark.scheduler.TaskSetManager;
import scala.Option;

/**
 * The jobs of an application.
 *
 * <p>Stages become known when their tasks are submitted, in Spark's own thread and before the first offer; events of
 * the listener bus, which come later, bring durations and ends.
 */
final class Jobs {
    static final String TEMPLATE = "clearsched.template";
    static final String EXECUTION = "spark.sql.execution.id";

    /** Jobs that have left and may come back: between two Spark jobs of one query. */
    private static final int REMEMBERED = 1000;

    private final Shapes shapes;
    private final String property;
    /** In order of arrival. */
    private final Map<String, JobState> jobs = new LinkedHashMap<>();
    private final Map<Integer, StageState> byStage = new HashMap<>();
    /** Queries that have begun and not ended, though none of their Spark jobs may run at the moment. */
    private final Set<String> executions = new HashSet<>();
    private int arrived;
    private double finishedMs;
    private long finished;

    Jobs(Profiles profiles, String property) {
        shapes = new Shapes(profiles);
        this.property = property;
    }

    /** Those that have arrived and are not complete, in order of arrival. */
    List<JobState> inSystem() {
        List<JobState> found = new ArrayList<>();
        for (JobState job : jobs.values()) {
            if (job.inSystem) {
                found.add(job);
            }
        }
        return found;
    }

    /** Looks at the counts of all jobs in the system. */
    List<JobState> look() {
        List<JobState> found = inSystem();
        double usualMs = finished > 0 ? finishedMs / finished : Double.NaN;
        for (JobState job : found) {
            job.look(usualMs);
        }
        return found;
    }

    StageState stage(int id) {
        return byStage.get(id);
    }

    /** Tasks of a stage are submitted: in the thread of the DAG scheduler, whose maps no other may read. */
    StageState submitted(TaskSetManager manager, DAGScheduler dagScheduler, long nowMs) {
        JobState job = jobOf(manager, nowMs);
        Option<ActiveJob> active = dagScheduler.jobIdToActiveJob().get(manager.taskSet().priority());
        if (active.isDefined()) {
            shapes.learn(active.get().finalStage(), job);
        }
        return take(job, manager);
    }

    /** Tasks that Spark has, if they are new. */
    void adopt(TaskSetManager manager, long nowMs) {
        StageState stage = byStage.get(manager.stageId());
        if (!manager.isZombie() && (stage == null || stage.manager != manager)) {
            take(jobOf(manager, nowMs), manager);
        }
    }

    private StageState take(JobState job, TaskSetManager manager) {
        StageState stage = job.byId.get(manager.stageId());
        if (stage == null) { // a stage that another job began
            stage = shapes.attach(job, manager.stageId(), manager.numTasks());
        }
        stage.complete = false;
        stage.manager = manager;
        byStage.put(stage.id, stage);
        return stage;
    }

    /** Tasks of a stage are done with, by success or not. */
    void removed(TaskSetManager manager) {
        StageState stage = byStage.get(manager.stageId());
        if (stage == null || stage.manager != manager) {
            return;
        }
        stage.manager = null;
        stage.complete = manager.tasksSuccessful() == manager.numTasks();
        if (!stage.job.inSystem) {
            byStage.remove(stage.id, stage);
        } else if (!stage.job.open && stage.job.isComplete()) {
            leave(stage.job);
        }
    }

    void taskEnded(int stageId, double durationMs) {
        StageState stage = byStage.get(stageId);
        if (stage == null) {
            return;
        }
        stage.finishedMs += durationMs;
        stage.finished += 1;
        stage.job.finishedMs += durationMs;
        stage.job.finished += 1;
        finishedMs += durationMs;
        finished += 1;
    }

    void sparkJobEnded(int sparkJob) {
        for (JobState job : inSystem()) {
            if (job.sparkJobs.remove(sparkJob) && job.sparkJobs.isEmpty() && !job.open) {
                leave(job);
            }
        }
    }

    void executionStarted(long execution) {
        executions.add(ofExecution(execution));
        JobState job = jobs.get(ofExecution(execution)); // of a query whose first stage was faster than the event
        if (job != null) {
            job.open = true;
        }
    }

    void executionEnded(long execution) {
        executions.remove(ofExecution(execution));
        JobState job = jobs.get(ofExecution(execution));
        if (job != null) {
            job.open = false;
            leave(job);
        }
    }

    private void leave(JobState job) {
        job.inSystem = false;
        job.ceiling = 0;
        job.excess = 0;
        for (StageState stage : job.stages) {
            if (stage.manager == null) {
                byStage.remove(stage.id, stage);
            }
        }
        if (jobs.size() > REMEMBERED) {
            jobs.values().removeIf(old -> !old.inSystem && !old.open && jobs.size() > REMEMBERED / 2);
        }
    }

    private static String ofExecution(Object execution) {
        return "sql-" + execution;
    }

    private JobState jobOf(TaskSetManager manager, long nowMs) {
        int sparkJob = manager.taskSet().priority();
        Properties told = manager.taskSet().properties();
        Properties properties = told == null ? new Properties() : told;
        String execution = properties.getProperty(EXECUTION);
        String otherwise = execution == null ? "job-" + sparkJob : ofExecution(execution);
        String key = properties.getProperty(property, otherwise);
        JobState job = jobs.get(key);
        if (job == null) {
            job = new JobState(key, arrived++, nowMs);
            job.open = executions.contains(key);
            jobs.put(key, job);
        }
        if (job.stages.isEmpty()) {
            job.template = properties.getProperty(TEMPLATE, "");
            shapes.foresee(job, properties.getProperty(Shapes.DAG));
        }
        job.inSystem = true;
        job.sparkJobs.add(sparkJob);
        return job;
    }
}
