package org.clearsched.spark;

import java.nio.file.Path;
import org.apache.spark.SparkConf;
import org.clearsched.rules.RulesException;

/**
 * What an application sets under `spark.clearsched.*`.
 *
 * @param rules file of rules
 * @param decisions file of the decision log; null: none is written
 * @param profiles file of durations by template; null: durations are those of finished tasks
 * @param jobProperty local property that names the job that a Spark job is part of
 * @param movingDelayMs what a move costs in the eyes of the rules; NaN: what the profiles say
 * @param askEachTask whether the rules are asked for each task, not only when a stage has none left for an executor
 */
record Settings(
        Path rules, Path decisions, Path profiles, String jobProperty, double movingDelayMs, boolean askEachTask) {
    static final String RULES = "spark.clearsched.rules";
    static final String DECISIONS = "spark.clearsched.decisions";
    static final String PROFILES = "spark.clearsched.profiles";
    static final String JOB_PROPERTY = "spark.clearsched.jobProperty";
    static final String MOVING_DELAY = "spark.clearsched.movingDelay";
    static final String ASK = "spark.clearsched.ask";

    /** That of the simulator's default scenario. */
    static final double USUAL_MOVING_DELAY_MS = 2000.0;

    /**
     * Reads the settings of an application.
     *
     * @throws RulesException a key is missing or has no such value
     */
    static Settings of(SparkConf conf) throws RulesException {
        String rules = conf.get(RULES, "");
        if (rules.isEmpty()) {
            throw new RulesException(RULES + ": not set: the file that `clearsched export --format spark` wrote");
        }
        String ask = conf.get(ASK, "stage");
        if (!ask.equals("stage") && !ask.equals("task")) {
            throw new RulesException(ASK + ": stage or task expected, not '" + ask + "'");
        }
        return new Settings(
                path(rules),
                conf.contains(DECISIONS) ? path(conf.get(DECISIONS)) : null,
                conf.contains(PROFILES) ? path(conf.get(PROFILES)) : null,
                conf.get(JOB_PROPERTY, "clearsched.job"),
                conf.contains(MOVING_DELAY) ? delay(conf) : Double.NaN,
                ask.equals("task"));
    }

    private static double delay(SparkConf conf) throws RulesException {
        try {
            return conf.getTimeAsMs(MOVING_DELAY, "0ms");
        } catch (NumberFormatException e) {
            throw new RulesException(MOVING_DELAY + ": a time such as 2s expected", e);
        }
    }

    private static Path path(String text) {
        return Path.of(text.startsWith("file:") ? text.replaceFirst("^file:/*", "/") : text);
    }
}
