package org.clearsched.rules;

import com.fasterxml.jackson.databind.JsonNode;
import java.util.ArrayList;
import java.util.List;

/** A node of a file with the path that leads to it: what is missing or of another kind is told by its place. */
record Json(JsonNode node, String where) {
    Json get(String key) throws RulesException {
        JsonNode found = node.get(key);
        if (found == null || found.isNull()) {
            throw new RulesException(at(key) + ": missing");
        }
        return new Json(found, at(key));
    }

    boolean has(String key) {
        return node.hasNonNull(key);
    }

    List<Json> items() throws RulesException {
        if (!node.isArray()) {
            throw new RulesException(where + ": a list expected");
        }
        List<Json> found = new ArrayList<>();
        for (int i = 0; i < node.size(); i++) {
            found.add(new Json(node.get(i), where + "[" + i + "]"));
        }
        return found;
    }

    boolean isNumber() {
        return node.isNumber();
    }

    boolean isText() {
        return node.isTextual();
    }

    double number() throws RulesException {
        if (!node.isNumber() || !Double.isFinite(node.doubleValue())) {
            throw new RulesException(where + ": a number expected");
        }
        return node.doubleValue();
    }

    String text() throws RulesException {
        if (!node.isTextual()) {
            throw new RulesException(where + ": a text expected");
        }
        return node.textValue();
    }

    boolean flag() throws RulesException {
        if (!node.isBoolean()) {
            throw new RulesException(where + ": true or false expected");
        }
        return node.booleanValue();
    }

    private String at(String key) {
        return where.isEmpty() ? key : where + "." + key;
    }
}
