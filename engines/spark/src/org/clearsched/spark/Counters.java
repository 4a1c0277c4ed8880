package org.clearsched.spark;

import java.lang.management.ManagementFactory;
import java.util.concurrent.atomic.AtomicLong;
import javax.management.JMException;
import javax.management.ObjectName;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** What the engine has done, for whoever watches it by JMX: `org.clearsched.spark:type=Rules,name=...`. */
final class Counters implements CountersMXBean {
    private static final Logger LOG = LoggerFactory.getLogger(Counters.class);

    final AtomicLong decisions = new AtomicLong();
    final AtomicLong nones = new AtomicLong();
    final AtomicLong plans = new AtomicLong();
    final AtomicLong nanos = new AtomicLong();
    final AtomicLong launches = new AtomicLong();
    final AtomicLong goneOn = new AtomicLong();
    final AtomicLong declined = new AtomicLong();
    final AtomicLong overLimit = new AtomicLong();
    final AtomicLong takeOvers = new AtomicLong();
    final AtomicLong rulesLoaded = new AtomicLong();
    final AtomicLong filesRefused = new AtomicLong();
    volatile boolean fifo;
    volatile String rules = "";

    private ObjectName name;

    void register(String called) {
        try {
            name = new ObjectName("org.clearsched.spark:type=Rules,name=" + ObjectName.quote(called));
            ManagementFactory.getPlatformMBeanServer().registerMBean(this, name);
        } catch (JMException e) {
            LOG.warn("clearsched: no counters by JMX: {}", e.getMessage());
        }
    }

    void unregister() {
        try {
            if (name != null) {
                ManagementFactory.getPlatformMBeanServer().unregisterMBean(name);
                name = null;
            }
        } catch (JMException e) {
            LOG.debug("clearsched: {}", e.getMessage());
        }
    }

    @Override
    public long getDecisions() {
        return decisions.get();
    }

    @Override
    public long getNones() {
        return nones.get();
    }

    @Override
    public long getPlans() {
        return plans.get();
    }

    @Override
    public double getMicrosPerDecision() {
        return decisions.get() == 0 ? 0.0 : nanos.get() / 1e3 / decisions.get();
    }

    @Override
    public double getMicrosPerPlan() {
        return plans.get() == 0 ? 0.0 : nanos.get() / 1e3 / plans.get();
    }

    @Override
    public long getLaunches() {
        return launches.get();
    }

    @Override
    public long getGoneOn() {
        return goneOn.get();
    }

    @Override
    public long getDeclined() {
        return declined.get();
    }

    @Override
    public long getOverLimit() {
        return overLimit.get();
    }

    @Override
    public long getTakeOvers() {
        return takeOvers.get();
    }

    @Override
    public long getRulesLoaded() {
        return rulesLoaded.get();
    }

    @Override
    public long getFilesRefused() {
        return filesRefused.get();
    }

    @Override
    public boolean isFifo() {
        return fifo;
    }

    @Override
    public String getRules() {
        return rules;
    }

    @Override
    public String toString() {
        return String.format(
                "%d decisions, %.0f us each; %d launches, %d of them without a question, %d beyond a limit; "
                        + "rules loaded %d times, %d files refused, FIFO took over %d times",
                decisions.get(), getMicrosPerDecision(), launches.get(), goneOn.get(), overLimit.get(),
                rulesLoaded.get(), filesRefused.get(), takeOvers.get());
    }
}
