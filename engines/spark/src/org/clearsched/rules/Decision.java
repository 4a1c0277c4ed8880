package org.clearsched.rules;

/**
 * What is chosen, and what gave it.
 *
 * @param candidate its place among those that were offered, or {@link #NONE}
 * @param limit executors that its job may hold; 0 where no candidate is chosen
 * @param rule what scored it, or the one that came first where the answer is none
 * @param limitRule what gave the limit; empty where there is none
 * @param scores of all candidates, in their order
 */
public record Decision(int candidate, int limit, String rule, String limitRule, double[] scores) {
    /** In place of a candidate: leave the executors idle. */
    public static final int NONE = -1;
}
