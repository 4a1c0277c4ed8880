package org.clearsched.spark;

import com.fasterxml.jackson.databind.JsonNode;
import org.clearsched.rules.RulesException;

/**
 * The stages of a job, known before Spark submits them.
 *
 * @param tasks of each stage
 * @param taskMs mean duration of its tasks
 * @param parents stages that must end before it starts
 */
record Dag(int[] tasks, double[] taskMs, int[][] parents) {
    /**
     * Reads a list of stages: `[{"tasks": 4, "task_ms": 120.5, "parents": [0]}, ...]`.
     *
     * @throws RulesException it is malformed, or stages wait for each other; the message begins with `where`
     */
    static Dag of(JsonNode stages, String where) throws RulesException {
        if (!stages.isArray() || stages.isEmpty()) {
            throw new RulesException(where + ": a list of stages expected");
        }
        int count = stages.size();
        Dag dag = new Dag(new int[count], new double[count], new int[count][]);
        for (int i = 0; i < count; i++) {
            JsonNode stage = stages.get(i);
            String at = where + "[" + i + "]";
            dag.tasks[i] = stage.path("tasks").asInt(-1);
            dag.taskMs[i] = stage.path("task_ms").asDouble(-1);
            if (dag.tasks[i] < 1 || !(dag.taskMs[i] >= 0 && dag.taskMs[i] < 1e12)) {
                throw new RulesException(at + ": tasks above 0 and task_ms from 0 on expected");
            }
            JsonNode parents = stage.path("parents");
            dag.parents[i] = new int[parents.size()];
            for (int k = 0; k < parents.size(); k++) {
                dag.parents[i][k] = parents.get(k).asInt(-1);
                if (dag.parents[i][k] < 0 || dag.parents[i][k] >= i) {
                    throw new RulesException(at + ".parents: stages before this one expected");
                }
            }
        }
        return dag;
    }

    int size() {
        return tasks.length;
    }
}
