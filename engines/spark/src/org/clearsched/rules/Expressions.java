package org.clearsched.rules;

/** What scores are made of: tests, products, sums. A row has the features in the order of the file. */
final class Expressions {
    private Expressions() {
    }

    /** Compared as float, like the simulator's loop. */
    record Test(int column, boolean below, float threshold) {
        boolean holds(float[] row) {
            return below ? row[column] < threshold : row[column] >= threshold;
        }
    }

    static boolean hold(Test[] tests, float[] row) {
        for (Test test : tests) {
            if (!test.holds(row)) {
                return false;
            }
        }
        return true;
    }

    /** times x feature^power x ..., from left to right. */
    record Product(double times, int[] columns, double[] powers) {
        double of(float[] row) {
            double value = times;
            for (int i = 0; i < columns.length; i++) {
                value *= powers[i] == 1.0 ? row[columns[i]] : Math.pow(row[columns[i]], powers[i]);
            }
            return value;
        }
    }

    /** The least of some products; one that is not a number counts for nothing. */
    static double least(Product[] terms, float[] row) {
        double least = Double.POSITIVE_INFINITY;
        for (Product term : terms) {
            double product = term.of(row);
            least = product < least ? product : least;
        }
        return least;
    }

    /** weight x feature, or with a scale weight x sign(feature) log(1 + |feature| / scale). */
    record Amount(int column, double weight, double scale) {
        double of(float[] row) {
            double value = row[column];
            if (scale == 0.0) {
                return weight * value;
            }
            double size = Math.log1p(Math.abs(value) / scale);
            return weight * (value >= 0 ? size : -size);
        }
    }

    /**
     * A number, or the least of some products, and what is added to it, one after another.
     *
     * @param least null: the value starts with the number
     */
    record Value(double start, Product[] least, Amount[] plus) {
        double of(float[] row) {
            double value = least == null ? start : Expressions.least(least, row);
            for (Amount amount : plus) {
                value += amount.of(row);
            }
            return value;
        }
    }
}
