package org.clearsched.spark;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.BasicFileAttributes;
import java.util.function.Consumer;
import org.clearsched.rules.Program;
import org.clearsched.rules.ProgramReader;
import org.clearsched.rules.Quantities;
import org.clearsched.rules.RulesException;

/** The file of rules, read again when it changes; one that is broken is refused, and what was in force stays. */
final class RulesFile implements AutoCloseable {
    /** Asked for by time and size: events of the file system are lost over networks and by renames. */
    private static final long LOOK_EVERY_MS = 500;

    private final Path path;
    private final Consumer<Program> loaded;
    private final Consumer<RulesException> refused;
    private final Thread thread = new Thread(this::watch, "clearsched-rules");
    private String seen;

    /**
     * Reads the file and begins to watch it.
     *
     * @param loaded is given what is in force from now on, first by the caller's thread
     * @param refused is told what is wrong with a later file
     * @throws RulesException the first file cannot be used
     */
    RulesFile(Path path, Consumer<Program> loaded, Consumer<RulesException> refused) throws RulesException {
        this.path = path;
        this.loaded = loaded;
        this.refused = refused;
        seen = stamp();
        loaded.accept(ProgramReader.read(path, Quantities.NAMES));
        thread.setDaemon(true);
        thread.start();
    }

    @Override
    public void close() {
        thread.interrupt();
    }

    private void watch() {
        try {
            while (true) {
                Thread.sleep(LOOK_EVERY_MS);
                String now = stamp();
                if (!now.equals(seen)) {
                    seen = now;
                    reload();
                }
            }
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }

    private void reload() {
        try {
            loaded.accept(ProgramReader.read(path, Quantities.NAMES));
        } catch (RulesException e) {
            refused.accept(e);
        } catch (RuntimeException e) {
            refused.accept(new RulesException(path + ": cannot be read: " + e, e));
        }
    }

    private String stamp() {
        try {
            BasicFileAttributes found = Files.readAttributes(path, BasicFileAttributes.class);
            return found.lastModifiedTime() + " " + found.size() + " " + found.fileKey();
        } catch (IOException e) {
            return "missing";
        }
    }
}
