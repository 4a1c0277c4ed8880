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
import org.apache.spark.scheduler.ShuffleMapStage;
import org.apache.spark.scheduler.Stage;
import org.apache.spark.scheduler.TaskSetManager;
import org.apache.spark.storage.RDDInfo;
import org.clearsched.rules.RulesException;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import scala.Option;
import scala.jdk.javaapi.CollectionConverters;

/**
 * The jobs of an application.
 *
 * <p>Stages become known when their tasks are submitted, in Spark's own thread and before the first offer; events of the
 * listener bus, which come later, bring durations and ends.
 */
final class Jobs {
    static final String TEMPLATE = "clearsched.template";
    static final String DAG = "clearsched.dag";
    static final String EXECUTION = "spark.sql.execution.id";
    /** In the name of a dataset: which stage of the profile the stage is that computes it. */
    static final String PLACE = "clearsched.stage=";

    /** Jobs that have left and may come back: between two Spark jobs of one query. */
    private static final int REMEMBERED = 1000;

    private static final Logger LOG = LoggerFactory.getLogger(Jobs.class);

    private final Profiles profiles;
    private final String property;
    private final Map<String, JobState> jobs = new LinkedHashMap<>();
    private final Map<Integer, StageState> byStage = new HashMap<>();
    private final Set<String> complained = new HashSet<>();
    private int arrived;
    private double finishedMs;
    private long finished;

    Jobs(Profiles profiles, String property) {
        this.profiles = profiles;
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
        found.sort((a, b) -> Integer.compare(a.number, b.number));
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
            learn(active.get().finalStage(), job);
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
            stage = attach(job, manager.stageId(), manager.numTasks(), List.of(), UNPLACED);
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
        if (!stage.job.open && stage.job.isComplete()) {
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

    void executionStarted(long execution, long nowMs) {
        JobState job = jobs.computeIfAbsent(ofExecution(execution), key -> new JobState(key, arrived++, nowMs));
        job.open = true;
        job.inSystem = false; // until it has a stage to run: planning a query needs no executors
    }

    void executionEnded(long execution) {
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
            jobs.put(key, job);
        }
        if (job.stages.isEmpty()) {
            job.template = properties.getProperty(TEMPLATE, "");
            foresee(job, properties.getProperty(DAG));
        }
        job.inSystem = true;
        job.sparkJobs.add(sparkJob);
        return job;
    }

    /** The stages that the application tells of, or those of the template. */
    private void foresee(JobState job, String told) {
        Dag dag = profiles.of(job.template);
        if (told != null) {
            try {
                dag = Profiles.told(told);
            } catch (RulesException e) {
                complain("dag " + job.template, job + ": " + e.getMessage() + ": its DAG is what Spark tells of it");
            }
        }
        if (dag == null) {
            return;
        }
        for (int i = 0; i < dag.size(); i++) {
            StageState stage = job.add(dag.tasks()[i]);
            stage.profileMs = dag.taskMs()[i];
            for (int parent : dag.parents()[i]) {
                stage.parents.add(job.stages.get(parent));
            }
        }
        job.foreseen = true;
    }

    /** The stages of a Spark job, parents first. */
    private void learn(Stage last, JobState job) {
        List<Stage> waiting = new ArrayList<>(List.of(last));
        while (!waiting.isEmpty()) {
            Stage stage = waiting.get(waiting.size() - 1);
            List<Stage> unknown = new ArrayList<>();
            List<StageState> parents = new ArrayList<>();
            for (Stage parent : CollectionConverters.asJava(stage.parents())) {
                StageState known = job.byId.get(parent.id());
                if (known == null) {
                    unknown.add(parent);
                } else {
                    parents.add(known);
                }
            }
            if (!unknown.isEmpty() && !job.byId.containsKey(stage.id())) {
                waiting.addAll(unknown);
                continue;
            }
            waiting.remove(waiting.size() - 1);
            if (!job.byId.containsKey(stage.id())) {
                boolean there = stage instanceof ShuffleMapStage map && map.isAvailable();
                int tasks = there ? 0 : stage.numTasks();
                attach(job, stage.id(), tasks, parents, there ? SKIPPED : place(stage)).complete = there;
            }
        }
    }

    private static final int UNPLACED = -1;
    private static final int SKIPPED = -2;

    /** The place in the profile that a dataset of the stage is named after. */
    private static int place(Stage stage) {
        for (RDDInfo info : CollectionConverters.asJava(stage.latestInfo().rddInfos())) {
            String name = info.name();
            if (name != null && name.startsWith(PLACE)) {
                try {
                    return Integer.parseInt(name.substring(PLACE.length()).strip());
                } catch (NumberFormatException e) {
                    return UNPLACED;
                }
            }
        }
        return UNPLACED;
    }

    /** A stage of Spark's, as the one of the profile that it is, or as one more. */
    private StageState attach(JobState job, int id, int tasks, List<StageState> parents, int place) {
        StageState stage = null;
        if (job.foreseen && place != SKIPPED) {
            stage = fitting(job, tasks, parents, place);
            if (stage == null) {
                forget(job);
            }
        }
        if (stage == null) {
            stage = job.add(tasks);
            for (StageState parent : parents) { // those of today: the profile may just have been given up
                stage.parents.add(job.byId.getOrDefault(parent.id, parent));
            }
        }
        stage.id = id;
        stage.numTasks = tasks;
        job.byId.put(id, stage);
        return stage;
    }

    /** The first stage of the profile that Spark has not told of yet and that has as many tasks and parents. */
    private static StageState fitting(JobState job, int tasks, List<StageState> parents, int place) {
        if (place >= 0) {
            StageState named = place < job.stages.size() ? job.stages.get(place) : null;
            return named == null || named.id != StageState.UNSEEN ? null : named;
        }
        StageState found = null;
        for (StageState stage : job.stages) {
            if (stage.id == StageState.UNSEEN && stage.numTasks == tasks) {
                if (stage.parents.size() == parents.size()) {
                    return stage;
                }
                found = found == null ? stage : found;
            }
        }
        return found;
    }

    /** The profile is of another DAG: what Spark tells counts alone. */
    private void forget(JobState job) {
        job.foreseen = false;
        List<StageState> seen = new ArrayList<>(job.byId.values());
        job.stages.clear();
        job.byId.clear();
        seen.sort((a, b) -> Integer.compare(a.id, b.id));
        for (StageState old : seen) {
            StageState stage = job.add(old.numTasks);
            stage.id = old.id;
            stage.complete = old.complete;
            stage.manager = old.manager;
            stage.finishedMs = old.finishedMs;
            stage.finished = old.finished;
            for (StageState parent : old.parents) {
                StageState now = job.byId.get(parent.id);
                if (now != null) {
                    stage.parents.add(now);
                }
            }
            job.byId.put(stage.id, stage);
            byStage.replace(stage.id, old, stage);
        }
        complain("fit " + job.template, "template '" + job.template + "': its profile has other stages than " + job.key
                + ": durations are those of finished tasks");
    }

    /** Once for each reason, since the next job of the template would say the same. */
    private void complain(String reason, String line) {
        if (complained.size() < REMEMBERED && complained.add(reason)) {
            LOG.warn("clearsched: {}", line);
        }
    }
}
