package org.clearsched.rules;

/** A number, and the piece of the rules that gave it, as test vectors name it: `rule 2`, `case 1: term 3`. */
public record Scored(double value, String rule) {
}
