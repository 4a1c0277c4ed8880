package org.clearsched.rules;

/** A file of rules that cannot be used: what is wrong and where, in one line. */
public final class RulesException extends Exception {
    private static final long serialVersionUID = 1L;

    public RulesException(String message) {
        super(message);
    }

    public RulesException(String message, Throwable cause) {
        super(message, cause);
    }
}
