package org.clearsched.spark;

import java.io.IOException;
import java.io.InputStream;
import java.util.Properties;
import org.apache.spark.SparkContext;
import org.clearsched.rules.RulesException;

/** Which Spark this jar was built for: it calls what Spark may change with every minor version. */
final class SparkVersion {
    private SparkVersion() {
    }

    /**
     * Compares.
     *
     * @throws RulesException the application runs another minor version
     */
    static void check(SparkContext sc) throws RulesException {
        String built = built();
        if (!(sc.version() + ".").startsWith(built + ".")) {
            throw new RulesException("this clearsched-spark.jar was built for Spark " + built + ", and this is Spark "
                    + sc.version() + ": build it again with `make spark-jar`");
        }
    }

    private static String built() throws RulesException {
        Properties found = new Properties();
        try (InputStream in = SparkVersion.class.getResourceAsStream("built-for.properties")) {
            if (in != null) {
                found.load(in);
            }
        } catch (IOException e) {
            throw new RulesException("this clearsched-spark.jar is broken: " + e.getMessage(), e);
        }
        return found.getProperty("spark", "an unknown version");
    }
}
