package org.clearsched.rules;

/**
 * The formula of a feature: a tree of arithmetic over the quantities that an engine knows.
 *
 * <p>Formulas come with the rules, so that a feature is defined in one place only, the simulator's.
 */
public sealed interface Formula {
    /**
     * Its value.
     *
     * @param quantities in the order that the reader was given
     */
    double of(double[] quantities);

    record Constant(double value) implements Formula {
        @Override
        public double of(double[] quantities) {
            return value;
        }
    }

    record Quantity(int place) implements Formula {
        @Override
        public double of(double[] quantities) {
            return quantities[place];
        }
    }

    record Operation(char sign, Formula left, Formula right) implements Formula {
        @Override
        public double of(double[] quantities) {
            double a = left.of(quantities);
            double b = right.of(quantities);
            return switch (sign) {
                case '+' -> a + b;
                case '-' -> a - b;
                case '*' -> a * b;
                case '/' -> a / b;
                default -> a == b ? 1.0 : 0.0;
            };
        }
    }
}
