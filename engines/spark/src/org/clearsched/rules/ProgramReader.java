package org.clearsched.rules;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;

/** Reads a file of rules and checks it: whatever is wrong is told in one line, and nothing of it is used. */
public final class ProgramReader {
    public static final String FORMAT = "clearsched-rules";
    public static final int VERSION = 1;
    public static final String PROBLEM = "dag_jobs";

    /** More is not a policy that somebody fitted; a file is read while the engine runs. */
    private static final long MOST_BYTES = 64L << 20;

    private static final ObjectMapper MAPPER = new ObjectMapper();

    private ProgramReader() {
    }

    /**
     * Reads a file.
     *
     * @param quantities what the engine knows, in the order of what formulas are given
     * @throws RulesException it is missing, broken, of another problem, or asks for what the engine does not know
     */
    public static Program read(Path path, List<String> quantities) throws RulesException {
        try {
            if (Files.size(path) > MOST_BYTES) {
                throw new RulesException(path + ": more than " + (MOST_BYTES >> 20) + " MiB: no file of rules");
            }
            return parse(Files.readString(path), quantities);
        } catch (NoSuchFileException e) {
            throw new RulesException(path + ": no such file", e);
        } catch (IOException e) {
            throw new RulesException(path + ": cannot be read: " + line(e.getMessage()), e);
        } catch (RulesException e) {
            throw new RulesException(path + ": " + e.getMessage(), e);
        }
    }

    /**
     * Reads a text.
     *
     * @throws RulesException see {@link #read}
     */
    public static Program parse(String text, List<String> quantities) throws RulesException {
        JsonNode root;
        try {
            root = MAPPER.readTree(text);
        } catch (JsonProcessingException e) {
            throw new RulesException("no JSON: " + line(e.getOriginalMessage()), e);
        }
        if (!root.isObject() || !FORMAT.equals(root.path("format").asText())) {
            throw new RulesException("no rules of clearsched: write them with `clearsched export --format spark`");
        }
        if (root.path("version").asInt() != VERSION) {
            throw new RulesException("version " + root.path("version") + " of the format; this jar reads " + VERSION);
        }
        if (!PROBLEM.equals(root.path("problem").asText())) {
            throw new RulesException("rules of " + root.path("problem") + "; Spark runs those of " + PROBLEM);
        }
        Feature[] features = features(new Json(root, "").get("features"), quantities);
        List<String> names = new ArrayList<>();
        for (Feature feature : features) {
            names.add(feature.name());
        }
        return new PartReader(names).program(new Json(root, ""), features);
    }

    private static Feature[] features(Json nodes, List<String> quantities) throws RulesException {
        List<Feature> found = new ArrayList<>();
        for (Json node : nodes.items()) {
            String name = node.get("name").text();
            Formula formula = formula(node.get("formula"), name, quantities);
            found.add(new Feature(name, node.get("unit").text(), formula));
        }
        return found.toArray(Feature[]::new);
    }

    private static Formula formula(Json node, String feature, List<String> quantities) throws RulesException {
        if (node.isNumber()) {
            return new Formula.Constant(node.number());
        }
        if (node.isText()) {
            int place = quantities.indexOf(node.text());
            if (place < 0) {
                throw new RulesException("feature " + feature + ": Spark does not know '" + node.text()
                        + "', which it is computed of: fit a student without it");
            }
            return new Formula.Quantity(place);
        }
        List<Json> parts = node.items();
        if (parts.size() != 3 || !List.of("+", "-", "*", "/", "==").contains(parts.get(0).text())) {
            throw new RulesException(node.where() + ": a sign and two sides expected");
        }
        return new Formula.Operation(
                parts.get(0).text().charAt(0),
                formula(parts.get(1), feature, quantities),
                formula(parts.get(2), feature, quantities));
    }

    private static String line(String message) {
        return message == null ? "" : message.strip().lines().findFirst().orElse("");
    }
}
