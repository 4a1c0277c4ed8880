package org.clearsched.spark.replay;

import java.util.List;
import org.apache.spark.Dependency;
import org.apache.spark.HashPartitioner;
import org.apache.spark.Partition;
import org.apache.spark.SparkContext;
import org.apache.spark.TaskContext;
import org.apache.spark.api.java.JavaPairRDD;
import org.apache.spark.rdd.RDD;
import scala.Tuple2;
import scala.collection.Iterator;
import scala.jdk.javaapi.CollectionConverters;
import scala.reflect.ClassTag$;

/**
 * A stage whose tasks sleep and whose data is empty: a recorded stage, replayed.
 *
 * <p>Its parents are stages of Spark, whatever their number: it depends on the shuffled output of each of them and
 * reads none of it. All children of a stage share one shuffle, else Spark would run the stage once for each of them.
 */
public final class ReplayStage extends RDD<Tuple2<Integer, Integer>> {
    private static final long serialVersionUID = 1L;

    /** What the partition of a task is: its place, and how long its task sleeps. */
    private static final class Nap implements Partition {
        private static final long serialVersionUID = 1L;
        private final int index;
        private final long milliseconds;

        Nap(int index, long milliseconds) {
            this.index = index;
            this.milliseconds = milliseconds;
        }

        @Override
        public int index() {
            return index;
        }

        @Override
        public boolean equals(Object other) {
            return other instanceof Nap && ((Nap) other).index == index;
        }

        @Override
        public int hashCode() {
            return index;
        }
    }

    /** What the name of a dataset begins with that says which stage of its job it is. */
    private static final String PLACE = "clearsched.stage=";

    /** Asked for by the driver alone. */
    private final transient long[] milliseconds;

    ReplayStage(SparkContext context, int place, List<Dependency<?>> parents, long[] milliseconds) {
        super(context, CollectionConverters.asScala(parents).toSeq(), ClassTag$.MODULE$.apply(Tuple2.class));
        this.milliseconds = milliseconds;
        setName(PLACE + place);
    }

    @Override
    public Partition[] getPartitions() {
        Partition[] naps = new Partition[milliseconds.length];
        for (int i = 0; i < naps.length; i++) {
            naps[i] = new Nap(i, milliseconds[i]);
        }
        return naps;
    }

    @Override
    public Iterator<Tuple2<Integer, Integer>> compute(Partition split, TaskContext context) {
        try {
            Thread.sleep(((Nap) split).milliseconds);
        } catch (InterruptedException stopped) {
            Thread.currentThread().interrupt();
            throw new IllegalStateException("the task was killed", stopped);
        }
        return scala.collection.Iterator$.MODULE$.empty();
    }

    /** The dependency of every child on this stage. */
    Dependency<?> shuffled() {
        JavaPairRDD<Integer, Integer> pairs =
                JavaPairRDD.fromRDD(this, ClassTag$.MODULE$.apply(Integer.class), ClassTag$.MODULE$.apply(Integer.class));
        return pairs.partitionBy(new HashPartitioner(1)).rdd().dependencies().head();
    }
}
