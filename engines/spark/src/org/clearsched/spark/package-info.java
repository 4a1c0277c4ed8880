/**
 * A student as the scheduler of an unpatched Spark.
 *
 * <p>Two forms: {@link org.clearsched.spark.RuleClusterManager} is the scheduler of a whole application, where order
 * and limits are exact; {@link org.clearsched.spark.PolicyPool} is a pool that any application adds, where limits are
 * approximate. Both rest on classes that Spark keeps to itself (`private[spark]`, which is public in bytecode), so a
 * jar serves one minor version of Spark.
 */
package org.clearsched.spark;
