package org.clearsched.spark;

import com.fasterxml.jackson.core.JsonGenerator;
import com.fasterxml.jackson.core.JsonFactory;
import java.io.BufferedWriter;
import java.io.IOException;
import java.io.StringWriter;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.LinkedBlockingQueue;
import org.clearsched.rules.Decision;
import org.clearsched.rules.Feature;
import org.clearsched.rules.RulesException;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * A line of JSON for each decision, in the words of the project's decision log (docs/decisions.md).
 *
 * <p>Lines are made and written by a thread of its own, so that the scheduler never waits for a disk. Should the disk
 * not keep up, memory is what gives; a file that can no longer be written is given up with one line.
 */
final class DecisionLog implements AutoCloseable {
    private static final Logger LOG = LoggerFactory.getLogger(DecisionLog.class);
    private static final Line END = new Line(0, 0, null, 0, false, 0, null, null, null, 0);

    /** What was decided; nothing of it changes any more. */
    record Line(
            long number,
            double timeS,
            String source,
            int toDecide,
            boolean noneAllowed,
            int most,
            Candidate[] candidates,
            Feature[] features,
            Decision decision,
            int given) {
    }

    record Candidate(int stage, int group, String job, String template, float[] row) {
    }

    private final BlockingQueue<Line> lines = new LinkedBlockingQueue<>();
    private final BufferedWriter out;
    private final Path path;
    private final Thread thread = new Thread(this::write, "clearsched-decisions");

    /**
     * Opens a file; an older one is replaced.
     *
     * @throws RulesException it cannot be written
     */
    DecisionLog(Path path) throws RulesException {
        this.path = path;
        try {
            out = Files.newBufferedWriter(path, StandardOpenOption.CREATE, StandardOpenOption.TRUNCATE_EXISTING);
        } catch (IOException e) {
            throw new RulesException(path + ": cannot be written: " + e, e);
        }
        thread.setDaemon(true);
        thread.start();
    }

    /** Takes down a decision; what may still change is copied. */
    void add(
            long number,
            Rows rows,
            Rows.Moment moment,
            boolean noneAllowed,
            Feature[] features,
            Decision decision,
            int given) {
        Candidate[] candidates = new Candidate[rows.features.length];
        for (int i = 0; i < candidates.length; i++) {
            StageState stage = rows.stages.get(i);
            candidates[i] =
                    new Candidate(stage.id, stage.job.number, stage.job.key, stage.job.template, rows.features[i]);
        }
        lines.add(new Line(
                number,
                moment.nowMs() / 1000.0,
                moment.source() == null ? null : moment.source().key,
                moment.toDecide(),
                noneAllowed,
                moment.executors(),
                candidates,
                features,
                decision,
                given));
    }

    @Override
    public void close() {
        lines.add(END);
        try {
            thread.join(10_000);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }

    private void write() {
        JsonFactory factory = new JsonFactory();
        try (out) {
            while (true) {
                Line line = lines.poll();
                if (line == null) { // nothing waits: what there is can be read by others meanwhile
                    out.flush();
                    line = lines.take();
                }
                if (line == END) {
                    return;
                }
                out.write(text(line, factory));
                out.newLine();
            }
        } catch (IOException e) {
            LOG.warn("clearsched: {}: no decisions are logged any more: {}", path, e.getMessage());
            lines.clear();
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }

    private static String text(Line line, JsonFactory factory) throws IOException {
        StringWriter text = new StringWriter(256);
        try (JsonGenerator json = factory.createGenerator(text)) {
            json.writeStartObject();
            json.writeNumberField("decision", line.number);
            json.writeNumberField("time_s", line.timeS);
            json.writeStringField("source", line.source);
            json.writeNumberField("executors_to_decide", line.toDecide);
            json.writeBooleanField("none_allowed", line.noneAllowed);
            json.writeNumberField("most", line.most);
            json.writeArrayFieldStart("candidates");
            for (int i = 0; i < line.candidates.length; i++) {
                candidate(json, line, i);
            }
            json.writeEndArray();
            json.writeNumberField("chosen", line.decision.candidate());
            json.writeStringField("rule", line.decision.rule());
            json.writeNumberField("limit", line.decision.limit());
            json.writeStringField("limit_rule", line.decision.limitRule());
            json.writeNumberField("given", line.given);
            json.writeEndObject();
        }
        return text.toString();
    }

    private static void candidate(JsonGenerator json, Line line, int place) throws IOException {
        Candidate candidate = line.candidates[place];
        json.writeStartObject();
        json.writeNumberField("candidate", candidate.stage);
        json.writeNumberField("group", candidate.group);
        json.writeStringField("job", candidate.job);
        if (!candidate.template.isEmpty()) {
            json.writeStringField("template", candidate.template);
        }
        json.writeNumberField("score", line.decision.scores()[place]);
        json.writeObjectFieldStart("features");
        for (int k = 0; k < line.features.length; k++) {
            json.writeNumberField(line.features[k].name(), candidate.row[k]);
        }
        json.writeEndObject();
        json.writeEndObject();
    }
}
