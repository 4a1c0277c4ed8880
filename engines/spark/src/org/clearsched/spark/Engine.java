package org.clearsched.spark;

import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.apache.spark.SparkContext;
import org.apache.spark.SparkException;
import org.apache.spark.scheduler.Schedulable;
import org.apache.spark.scheduler.TaskSetManager;
import org.clearsched.rules.Decision;
import org.clearsched.rules.Program;
import org.clearsched.rules.RulesException;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The rules in force, what they know, and what they have planned; both forms ask it.
 *
 * <p>Spark calls under the lock of its scheduler; events and the watcher of the file come in threads of their own. All
 * of them take this object's lock, none of them takes the scheduler's inside it.
 *
 * <p>A fault of ours must never stop an application: {@link #guarded} turns it into one line and FIFO, until rules are
 * loaded anew.
 */
final class Engine implements AutoCloseable {
    private static final Logger LOG = LoggerFactory.getLogger(Engine.class);

    /** How long a stage that did not take what it was given is passed over: Spark's own beat of offers. */
    private static final long DECLINED_MS = 1000;

    /** Something of ours that may fail. */
    interface Work {
        void run() throws RulesException;
    }

    final Counters counters = new Counters();
    final Jobs jobs;
    final Slots slots = new Slots();
    private final long startMs = System.currentTimeMillis();
    private final Planner planner;
    private final DecisionLog log;
    private final RulesFile file;
    private volatile Program program;
    private volatile boolean fifo;
    /** Whether jobs may hold what FIFO gave them. */
    private boolean afterFifo;
    private Plan plan;
    private long nowMs;

    private Engine(Settings settings, String name) throws RulesException {
        Profiles profiles = Profiles.read(settings.profiles());
        jobs = new Jobs(profiles, settings.jobProperty());
        double movingMs = settings.movingDelayMs();
        if (Double.isNaN(movingMs)) {
            movingMs = profiles.movingDelayMs();
        }
        if (Double.isNaN(movingMs)) {
            movingMs = Settings.USUAL_MOVING_DELAY_MS;
        }
        planner = new Planner(jobs, slots, movingMs, settings.askEachTask(), this::decided);
        file = new RulesFile(settings.rules(), this::loaded, this::refused);
        log = settings.decisions() == null ? null : new DecisionLog(settings.decisions());
        counters.register(name);
    }

    /**
     * Loads the rules of an application.
     *
     * @throws SparkException the jar is of another version of Spark, or a setting or a file cannot be used; Spark shows
     *     its message on top
     */
    static Engine of(SparkContext sc, Settings settings, String name) throws SparkException {
        try {
            SparkVersion.check(sc);
            Engine engine = new Engine(settings == null ? Settings.of(sc.conf()) : settings, name);
            sc.addSparkListener(new Events(engine));
            return engine;
        } catch (RulesException e) {
            throw new SparkException("clearsched: " + e.getMessage());
        }
    }

    /** Milliseconds since the engine started. */
    long clock() {
        return System.currentTimeMillis() - startMs;
    }

    boolean isFifo() {
        return fifo;
    }

    /** Runs something of ours; after a fault FIFO is in force, though what there is to know is still kept. */
    void guarded(Work work) {
        try {
            synchronized (this) {
                work.run();
            }
        } catch (RulesException | RuntimeException | LinkageError e) {
            fail(e);
        }
    }

    private synchronized void fail(Throwable e) {
        plan = null;
        if (!fifo) {
            fifo = true;
            counters.fifo = true;
            counters.takeOvers.incrementAndGet();
            Object told = e.getMessage() == null ? e : e.getMessage();
            LOG.warn("clearsched: FIFO takes over until rules are loaded anew: {}", told);
            LOG.debug("clearsched: the fault", e);
        }
    }

    /** Plans what to launch on what Spark offers: idle slots by executor. */
    void plan(Map<String, Integer> offered, boolean all, Iterable<Schedulable> queue) {
        plan = null;
        guarded(() -> {
            Map<String, List<Slots.Origin>> free = new HashMap<>();
            offered.forEach((id, count) -> free.put(id, slots.offered(id, count)));
            if (all) {
                slots.keepOnly(offered);
            }
            plan = planned(free, queue);
        });
    }

    /** Plans for a pool, which is not told what is offered: on what seems idle, and on one slot at least. */
    void plan(Iterable<Schedulable> queue) {
        plan = null;
        guarded(() -> {
            Map<String, List<Slots.Origin>> free = slots.idle();
            plan = planned(free.isEmpty() ? Map.of("", List.of(Slots.Origin.NOBODY)) : free, queue);
        });
    }

    /** The plan; null while FIFO is in force. */
    private Plan planned(Map<String, List<Slots.Origin>> free, Iterable<Schedulable> queue) {
        if (fifo) {
            return null;
        }
        long begun = System.nanoTime();
        nowMs = clock();
        for (Schedulable schedulable : queue) {
            if (schedulable instanceof TaskSetManager manager) {
                jobs.adopt(manager, nowMs); // after a fault there may be some that nobody has told of
            }
        }
        if (afterFifo) {
            jobs.look().forEach(job -> job.ceiling = Math.max(job.ceiling, job.running));
            afterFifo = false;
        }
        Plan found = planner.plan(program, free, nowMs);
        counters.plans.incrementAndGet();
        counters.nanos.addAndGet(System.nanoTime() - begun);
        return found;
    }

    /** The plan of the offer that Spark is at; null: FIFO is in force. */
    synchronized Plan current() {
        return fifo ? null : plan;
    }

    /** A task was launched. */
    synchronized void launched(TaskSetManager manager, String executor, Plan.Share share) {
        StageState stage = jobs.stage(manager.stageId());
        JobState source = share == null ? null : share.group.source;
        boolean goesOn = share != null && share.goesOn;
        slots.started(executor, goesOn ? stage : null, source);
        counters.launches.incrementAndGet();
        if (goesOn) {
            counters.goneOn.incrementAndGet();
        }
        if (share != null) {
            share.take(executor);
        }
        if (stage != null && !fifo) {
            audit(stage.job);
        }
    }

    /** Counts by Spark's own numbers whether a job has more tasks running than its limit allows. */
    void audit(JobState job) {
        int running = 0;
        for (StageState stage : job.stages) {
            running += stage.manager == null ? 0 : stage.manager.runningTasks();
        }
        int excess = Math.max(running - job.ceiling, 0);
        if (excess > job.excess) {
            counters.overLimit.addAndGet(excess - job.excess);
        }
        job.excess = excess;
    }

    synchronized void ended(TaskSetManager manager, String executor) {
        slots.ended(executor, jobs.stage(manager.stageId()));
    }

    /**
     * The offer is over: what was not taken is passed over for a while.
     *
     * @return whether Spark should offer again: others may take it, or other executors are idle too
     */
    boolean offerIsOver(Map<String, Integer> offered, boolean all) {
        boolean[] again = {false};
        guarded(() -> {
            if (plan == null) {
                return;
            }
            boolean refused = false;
            for (Plan.Share share : plan.shares) {
                if (share.left > 0) {
                    share.stage.declinedUntilMs = nowMs + DECLINED_MS;
                    counters.declined.addAndGet(share.left);
                    refused = true;
                }
            }
            offered.keySet().forEach(slots::park);
            // Spark offers the executor whose task ended; the rules would ask about all that are idle.
            boolean others = !all && slots.idle().keySet().stream().anyMatch(id -> !offered.containsKey(id));
            again[0] = plan.leavesDemand && (refused || others);
            plan = null;
        });
        return again[0];
    }

    private void loaded(Program found) {
        synchronized (this) {
            program = found;
            afterFifo |= fifo;
            fifo = false;
            counters.fifo = false;
            counters.rules = found.title() + ": " + found.source();
            counters.rulesLoaded.incrementAndGet();
        }
        LOG.info("clearsched: {}: {}", found.title(), found.source());
    }

    private void refused(RulesException e) {
        counters.filesRefused.incrementAndGet();
        LOG.warn("clearsched: {}; the rules before it stay in force", e.getMessage());
    }

    private void decided(Rows rows, Rows.Moment moment, boolean noneAllowed, Decision decision, int given) {
        long number = counters.decisions.getAndIncrement();
        if (decision.candidate() == Decision.NONE) {
            counters.nones.incrementAndGet();
        }
        if (log != null) {
            log.add(number, rows, moment, noneAllowed, program.features(), decision, given);
        }
    }

    @Override
    public void close() {
        file.close();
        if (log != null) {
            log.close();
        }
        LOG.info("clearsched: {}", counters);
        counters.unregister();
    }
}
