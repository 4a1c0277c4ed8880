/**
 * A student's rules as `clearsched export --format spark` writes them, and what runs them: no Spark here.
 *
 * <p>The file holds a program of a handful of kinds of nodes, to which the exporter lowers every kind of student. All
 * numbers are those of the simulator's loop: thresholds are float, everything else is double, and sums are made in its
 * order, so that the answer is its answer.
 */
package org.clearsched.rules;
