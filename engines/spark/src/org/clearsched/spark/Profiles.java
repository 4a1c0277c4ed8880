package org.clearsched.spark;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.HashMap;
import java.util.Map;
import org.clearsched.rules.RulesException;

/** Jobs by template, as a trace knows them: `clearsched traces profiles` writes the file. */
final class Profiles {
    private static final ObjectMapper MAPPER = new ObjectMapper();
    private static final String FORMAT = "clearsched-profiles";

    private final Map<String, Dag> dags = new HashMap<>();
    private double movingDelayMs = Double.NaN;

    /**
     * Reads a file.
     *
     * @param path null: no template is known
     * @throws RulesException it is missing or broken
     */
    static Profiles read(Path path) throws RulesException {
        Profiles found = new Profiles();
        if (path == null) {
            return found;
        }
        JsonNode root;
        try {
            root = MAPPER.readTree(Files.readString(path));
        } catch (JsonProcessingException e) {
            throw new RulesException(path + ": no JSON: " + e.getOriginalMessage().lines().findFirst().orElse(""), e);
        } catch (IOException e) {
            throw new RulesException(path + ": cannot be read: " + e.getMessage(), e);
        }
        if (!FORMAT.equals(root.path("format").asText()) || root.path("version").asInt() != 1) {
            throw new RulesException(path + ": no profiles: write them with `clearsched traces profiles`");
        }
        found.movingDelayMs = root.path("moving_delay_ms").asDouble(Double.NaN);
        for (Map.Entry<String, JsonNode> entry : root.path("templates").properties()) {
            found.dags.put(entry.getKey(), Dag.of(entry.getValue(), path + ": templates." + entry.getKey()));
        }
        return found;
    }

    /**
     * Reads the DAG that an application tells of a job.
     *
     * @throws RulesException it is malformed
     */
    static Dag told(String text) throws RulesException {
        try {
            return Dag.of(MAPPER.readTree(text), Shapes.DAG);
        } catch (JsonProcessingException e) {
            throw new RulesException(Shapes.DAG + ": no JSON: " + e.getOriginalMessage(), e);
        }
    }

    /** Null: the template is not known. */
    Dag of(String template) {
        return template == null ? null : dags.get(template);
    }

    double movingDelayMs() {
        return movingDelayMs;
    }
}
