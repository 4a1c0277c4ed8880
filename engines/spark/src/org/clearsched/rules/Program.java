package org.clearsched.rules;

import org.clearsched.rules.Expressions.Test;

/**
 * A policy: which candidate, or none of them, and how many executors its job may hold.
 *
 * <p>It has no state, so that one thread can decide while another reads the next file.
 *
 * @param title "Student rule_list of DAG jobs"
 * @param source the student's file and its sha256
 * @param features that a row has, in their order
 * @param rank scores candidates
 * @param none whether a score that is not above 0 stands behind none
 * @param mayIdle whether none is an answer at all
 * @param orders patches on the candidates
 * @param level the share of all executors; null: jobs have no limit
 * @param up whether a limit is rounded up
 * @param bounds patches on the share
 */
public record Program(
        String title,
        String source,
        Feature[] features,
        Part rank,
        boolean none,
        boolean mayIdle,
        Order[] orders,
        Part level,
        boolean up,
        Bound[] bounds) {
    /** Takes what a limit is short of a whole number by rounding. */
    private static final double EPSILON = 1e-9;

    /** What a patch does to a row that meets its tests: before all others, after them, after none as well. */
    enum Action { FIRST, LAST, IDLE }

    record Order(String name, Test[] tests, Action action) {
    }

    record Bound(String name, Test[] tests, double share) {
    }

    /**
     * Decides.
     *
     * @param rows of the candidates, in the order in which they are offered
     * @param most executors in all
     * @param least the least limit of each candidate
     * @param noneAllowed whether none is an answer now
     * @throws ArithmeticException a feature or a score is not a finite number
     */
    public Decision choose(float[][] rows, int most, int[] least, boolean noneAllowed) {
        int best = Decision.NONE;
        double top = 0.0;
        String rule = "";
        double[] scores = new double[rows.length];
        for (int i = 0; i < rows.length; i++) {
            Scored scored = rank.score(rows[i]);
            check(rows[i], i);
            if (!Double.isFinite(scored.value())) {
                throw new ArithmeticException("the score of candidate " + i + " is " + scored.value());
            }
            scores[i] = scored.value();
            Scored placed = placed(rows[i], scored);
            boolean better = best < 0
                    || placed.value() > top
                    || (placed.value() == top && scores[i] > scores[best]);
            if (better) {
                best = i;
                top = placed.value();
                rule = placed.rule();
            }
        }
        boolean low = best >= 0 && (orders.length > 0 ? top < 0.0 : !(scores[best] > 0.0));
        if (best < 0 || (mayIdle && noneAllowed && low)) {
            return new Decision(Decision.NONE, 0, rule, "", scores);
        }
        if (level == null) {
            return new Decision(best, most, rule, "", scores);
        }
        Scored share = bounded(rows[best], level.score(rows[best]));
        if (!Double.isFinite(share.value())) {
            throw new ArithmeticException("the limit of candidate " + best + " is " + share.value());
        }
        return new Decision(best, limit(share.value(), most, least[best]), rule, share.rule(), scores);
    }

    private int limit(double share, int most, int least) {
        double wanted = Math.min(Math.max(share, 0.0), 1.0) * most;
        int limit = (int) (up ? Math.ceil(wanted - EPSILON) : Math.floor(wanted + 0.5));
        return Math.min(Math.max(limit, least), most);
    }

    /**
     * The place of a row among all: the higher comes first; below 0, none comes before it. Without patches all have the
     * same place.
     */
    private Scored placed(float[] row, Scored scored) {
        if (orders.length == 0) {
            return new Scored(0.0, scored.rule());
        }
        double place = 0.0;
        double last = Math.scalb(1.0, orders.length);
        double behind = none && scored.value() <= 0.0 ? last : 0.0;
        String rule = "";
        for (Order order : orders) {
            boolean met = Expressions.hold(order.tests, row);
            place *= 2;
            if (met == (order.action == Action.FIRST)) {
                place += 1;
            }
            if (met && rule.isEmpty()) {
                rule = order.name;
            }
            if (met && order.action == Action.IDLE) {
                behind = last;
            }
        }
        return new Scored(place - behind, rule.isEmpty() ? scored.rule() : rule);
    }

    private Scored bounded(float[] row, Scored share) {
        Scored found = share;
        for (Bound bound : bounds) {
            if (bound.share < found.value() && Expressions.hold(bound.tests, row)) {
                found = new Scored(bound.share, bound.name);
            }
        }
        return found;
    }

    private void check(float[] row, int candidate) {
        for (int i = 0; i < row.length; i++) {
            if (!Float.isFinite(row[i])) {
                throw new ArithmeticException(features[i].name() + " of candidate " + candidate + " is " + row[i]);
            }
        }
    }
}
