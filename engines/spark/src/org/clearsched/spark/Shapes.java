package org.clearsched.spark;

import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import org.apache.spark.scheduler.ShuffleMapStage;
import org.apache.spark.scheduler.Stage;
import org.apache.spark.storage.RDDInfo;
import org.clearsched.rules.RulesException;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import scala.jdk.javaapi.CollectionConverters;

/** The stages of jobs: those that a profile or the application foresees, and Spark's, fitted to them one by one. */
final class Shapes {
    static final String DAG = "clearsched.dag";
    /** In the name of a dataset: which stage of the profile the stage is that computes it. */
    static final String PLACE = "clearsched.stage=";

    private static final Logger LOG = LoggerFactory.getLogger(Shapes.class);
    private static final int UNPLACED = -1;
    private static final int SKIPPED = -2;
    private static final int MOST_COMPLAINTS = 1000;

    private final Profiles profiles;
    private final Set<String> complained = new HashSet<>();

    Shapes(Profiles profiles) {
        this.profiles = profiles;
    }

    /**
     * Gives a new job the stages that the application tells of, else those of its template.
     *
     * @param told the property `clearsched.dag`; null: the application tells nothing
     */
    void foresee(JobState job, String told) {
        Dag dag = profiles.of(job.template);
        if (told != null) {
            try {
                dag = Profiles.told(told);
            } catch (RulesException e) {
                complain("dag " + job.template, job.key + ": " + e.getMessage() + ": Spark alone tells its stages");
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

    /** Learns the stages of a Spark job, parents first. */
    void learn(Stage last, JobState job) {
        List<Stage> waiting = new ArrayList<>(List.of(last));
        while (!waiting.isEmpty()) {
            Stage stage = waiting.get(waiting.size() - 1);
            if (job.byId.containsKey(stage.id())) {
                waiting.remove(waiting.size() - 1);
                continue;
            }
            List<StageState> parents = new ArrayList<>();
            int before = waiting.size();
            for (Stage parent : CollectionConverters.asJava(stage.parents())) {
                StageState known = job.byId.get(parent.id());
                if (known == null) {
                    waiting.add(parent);
                } else {
                    parents.add(known);
                }
            }
            if (waiting.size() == before) {
                attach(stage, job, parents);
            }
        }
    }

    private void attach(Stage stage, JobState job, List<StageState> parents) {
        // What an earlier job has left is read, not computed again: no work, and no stage of the profile.
        boolean there = stage instanceof ShuffleMapStage map && map.isAvailable();
        int tasks = there ? 0 : stage.numTasks();
        attach(job, stage.id(), tasks, parents, there ? SKIPPED : place(stage)).complete = there;
    }

    /** A stage that no Spark job of this one has told of. */
    StageState attach(JobState job, int id, int tasks) {
        return attach(job, id, tasks, List.of(), UNPLACED);
    }

    private StageState attach(JobState job, int id, int tasks, List<StageState> parents, int place) {
        StageState stage = null;
        if (job.foreseen && place != SKIPPED) {
            stage = fitting(job, tasks, parents.size(), place);
            if (stage == null) {
                forget(job);
            }
        }
        if (stage == null) {
            stage = job.add(tasks);
            stage.parents.addAll(parents);
        }
        stage.id = id;
        stage.numTasks = tasks;
        job.byId.put(id, stage);
        return stage;
    }

    /** The place in the profile that a dataset of the stage is named after. */
    private static int place(Stage stage) {
        for (RDDInfo info : CollectionConverters.asJava(stage.latestInfo().rddInfos())) {
            String name = info.name();
            if (name != null && name.matches(PLACE + "[0-9]{1,6}")) {
                return Integer.parseInt(name.substring(PLACE.length()));
            }
        }
        return UNPLACED;
    }

    /** The stage of the profile with that place, else the first that is not taken and has as many tasks and parents. */
    private static StageState fitting(JobState job, int tasks, int parents, int place) {
        if (place >= 0) {
            StageState named = place < job.stages.size() ? job.stages.get(place) : null;
            return named == null || named.id != StageState.UNSEEN ? null : named;
        }
        StageState found = null;
        for (StageState stage : job.stages) {
            if (stage.id == StageState.UNSEEN && stage.numTasks == tasks) {
                if (stage.parents.size() == parents) {
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
        job.stages.removeIf(stage -> stage.id == StageState.UNSEEN);
        job.stages.sort((a, b) -> Integer.compare(a.id, b.id)); // Spark numbers parents first
        for (StageState stage : job.stages) {
            stage.index = job.stages.indexOf(stage);
            stage.profileMs = Double.NaN;
            stage.parents.removeIf(parent -> parent.id == StageState.UNSEEN);
        }
        complain("fit " + job.template, "template '" + job.template + "': its profile has other stages than " + job.key
                + ": durations are those of finished tasks");
    }

    /** Once for each reason, since the next job of the template would say the same. */
    private void complain(String reason, String line) {
        if (complained.size() < MOST_COMPLAINTS && complained.add(reason)) {
            LOG.warn("clearsched: {}", line);
        }
    }
}
