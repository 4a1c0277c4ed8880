package org.clearsched.rules;

import org.clearsched.rules.Expressions.Product;
import org.clearsched.rules.Expressions.Test;
import org.clearsched.rules.Expressions.Value;

/** What scores a candidate. Names of pieces are complete when the file is read, those inside a switch included. */
sealed interface Part {
    Scored score(float[] row);

    /**
     * A row that meets the tests and whose feature is below the least of the products has the value.
     *
     * @param of column of the feature that is bounded; -1: none
     */
    record Case(String name, Test[] tests, int of, Product[] below, Value value) {
        boolean fits(float[] row) {
            return Expressions.hold(tests, row) && (of < 0 || row[of] < Expressions.least(below, row));
        }
    }

    /** The first case that fits; the last fits always, which the reader checks. */
    record Cases(Case[] cases) implements Part {
        @Override
        public Scored score(float[] row) {
            for (Case one : cases) {
                if (one.fits(row)) {
                    return new Scored(one.value().of(row), one.name());
                }
            }
            throw new IllegalStateException("no case fits");
        }
    }

    /** What is added to the score of a row that meets the tests. */
    record Entry(Test[] tests, double add) {
    }

    /**
     * The sum of all entries whose tests a row meets.
     *
     * @param order decides between equal sums; null: nothing does
     */
    record Points(String name, Entry[] entries, Value order) implements Part {
        @Override
        public Scored score(float[] row) {
            double score = 0.0;
            for (Entry entry : entries) {
                if (Expressions.hold(entry.tests(), row)) {
                    score += entry.add();
                }
            }
            return new Scored(order == null ? score : score + order.of(row), name);
        }
    }

    /** Nodes of a tree by their place, the root first; a leaf has no test. */
    record Tree(Test[] tests, int[] low, int[] high, double[] leaf) {
        double of(float[] row) {
            int node = 0;
            while (tests[node] != null) {
                node = tests[node].holds(row) ? low[node] : high[node];
            }
            return leaf[node];
        }
    }

    /** The sum of all trees, from the first to the last. */
    record Trees(String name, Tree[] trees) implements Part {
        @Override
        public Scored score(float[] row) {
            double score = 0.0;
            for (Tree tree : trees) {
                score += tree.of(row);
            }
            return new Scored(score, name);
        }
    }

    /** The least of some products; the first of equals tells the name. */
    record Least(String[] names, Product[] terms) implements Part {
        @Override
        public Scored score(float[] row) {
            double least = Double.POSITIVE_INFINITY;
            int place = 0;
            for (int i = 0; i < terms.length; i++) {
                double product = terms[i].of(row);
                if (product < least) {
                    least = product;
                    place = i;
                }
            }
            return new Scored(least, names[place]);
        }
    }

    /**
     * A part, and when it answers.
     *
     * @param test null: otherwise
     */
    record Way(Test test, Part part) {
    }

    /** The first way whose test holds; the last has none. */
    record Switched(Way[] ways) implements Part {
        @Override
        public Scored score(float[] row) {
            for (Way way : ways) {
                if (way.test() == null || way.test().holds(row)) {
                    return way.part().score(row);
                }
            }
            throw new IllegalStateException("no way is open");
        }
    }
}
