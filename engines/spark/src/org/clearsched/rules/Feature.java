package org.clearsched.rules;

/** A feature that the rules ask for: its name, its unit, what it is computed by. */
public record Feature(String name, String unit, Formula formula) {
}
