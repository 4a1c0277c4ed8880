package org.clearsched.spark;

/** Scala declares no exceptions; Java would wrap what Spark expects as it is. */
final class Unchecked {
    private Unchecked() {
    }

    static RuntimeException of(Exception e) {
        return Unchecked.<RuntimeException>thrown(e);
    }

    @SuppressWarnings("unchecked") // the type is gone when it runs: any exception passes
    private static <E extends Exception> E thrown(Exception e) throws E {
        throw (E) e;
    }
}
