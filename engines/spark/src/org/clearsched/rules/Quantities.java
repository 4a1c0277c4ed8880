package org.clearsched.rules;

import java.util.List;

/**
 * What Spark knows of a candidate: the quantities that the formulas of features are written in, by the simulator's
 * names (docs/decisions.md). A rule that asks for another one is refused when it is loaded.
 */
public final class Quantities {
    /** In the order of the places below. */
    public static final List<String> NAMES = List.of(
            "is_source",
            "held",
            "parked",
            "work_left_ms",
            "work_ms",
            "tasks_left",
            "stages_left",
            "time_ms",
            "arrival_ms",
            "critical_path_left_ms",
            "smaller_jobs",
            "weight",
            "smallest_weight",
            "sum_weight",
            "sqrt_weight",
            "sum_sqrt_weight",
            "root",
            "sum_power_20",
            "sum_power_40",
            "sum_power_60",
            "sum_power_80",
            "jobs",
            "executors",
            "moving_delay_ms",
            "waiting_parents",
            "unstarted",
            "running",
            "moving",
            "promised",
            "task_ms",
            "levels_below",
            "critical_path_ms",
            "earlier_candidates",
            "to_decide",
            "parked_in_all");

    public static final int IS_SOURCE = at("is_source");
    public static final int HELD = at("held");
    public static final int PARKED = at("parked");
    public static final int WORK_LEFT_MS = at("work_left_ms");
    public static final int WORK_MS = at("work_ms");
    public static final int TASKS_LEFT = at("tasks_left");
    public static final int STAGES_LEFT = at("stages_left");
    public static final int TIME_MS = at("time_ms");
    public static final int ARRIVAL_MS = at("arrival_ms");
    public static final int CRITICAL_PATH_LEFT_MS = at("critical_path_left_ms");
    public static final int SMALLER_JOBS = at("smaller_jobs");
    public static final int WEIGHT = at("weight");
    public static final int SMALLEST_WEIGHT = at("smallest_weight");
    public static final int SUM_WEIGHT = at("sum_weight");
    public static final int SQRT_WEIGHT = at("sqrt_weight");
    public static final int SUM_SQRT_WEIGHT = at("sum_sqrt_weight");
    public static final int ROOT = at("root");
    public static final int SUM_POWER_20 = at("sum_power_20");
    public static final int SUM_POWER_40 = at("sum_power_40");
    public static final int SUM_POWER_60 = at("sum_power_60");
    public static final int SUM_POWER_80 = at("sum_power_80");
    public static final int JOBS = at("jobs");
    public static final int EXECUTORS = at("executors");
    public static final int MOVING_DELAY_MS = at("moving_delay_ms");
    public static final int WAITING_PARENTS = at("waiting_parents");
    public static final int UNSTARTED = at("unstarted");
    public static final int RUNNING = at("running");
    public static final int MOVING = at("moving");
    public static final int PROMISED = at("promised");
    public static final int TASK_MS = at("task_ms");
    public static final int LEVELS_BELOW = at("levels_below");
    public static final int CRITICAL_PATH_MS = at("critical_path_ms");
    public static final int EARLIER_CANDIDATES = at("earlier_candidates");
    public static final int TO_DECIDE = at("to_decide");
    public static final int PARKED_IN_ALL = at("parked_in_all");

    private Quantities() {
    }

    private static int at(String name) {
        return NAMES.indexOf(name);
    }
}
