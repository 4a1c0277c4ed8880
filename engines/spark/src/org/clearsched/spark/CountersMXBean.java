package org.clearsched.spark;

/** The counters that JMX shows; all since the application started. */
public interface CountersMXBean {
    /** Answers of the rules. */
    long getDecisions();

    /** Those of them that left slots idle. */
    long getNones();

    /** Offers of Spark that were planned; one may take several decisions, or none. */
    long getPlans();

    /** Time of all plans, features included, over all decisions; microseconds. */
    double getMicrosPerDecision();

    /** Time of all plans over their number; microseconds. */
    double getMicrosPerPlan();

    /** Tasks launched. */
    long getLaunches();

    /** Those of them that went on in their stage without a question. */
    long getGoneOn();

    /** Slots that a stage was given and did not take, since it waits for an executor near its data. */
    long getDeclined();

    /** Tasks launched beyond the limit of their job. */
    long getOverLimit();

    /** Times that FIFO took over after a fault. */
    long getTakeOvers();

    /** Files of rules that came into force. */
    long getRulesLoaded();

    /** Files of rules that were refused while others were in force. */
    long getFilesRefused();

    /** Whether FIFO is in force. */
    boolean isFifo();

    /** The rules in force. */
    String getRules();
}
