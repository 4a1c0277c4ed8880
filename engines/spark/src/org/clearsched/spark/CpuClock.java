package org.clearsched.spark;

import java.lang.management.ManagementFactory;
import java.lang.management.ThreadMXBean;

/** Processor time of this thread: what the engine costs, whatever else the machine is doing. */
final class CpuClock {
    private static final ThreadMXBean THREADS = ManagementFactory.getThreadMXBean();
    private static final boolean KNOWN = THREADS.isCurrentThreadCpuTimeSupported();

    private CpuClock() {
    }

    /** Nanoseconds; of the wall where the machine does not tell. */
    static long nanos() {
        return KNOWN ? THREADS.getCurrentThreadCpuTime() : System.nanoTime();
    }
}
