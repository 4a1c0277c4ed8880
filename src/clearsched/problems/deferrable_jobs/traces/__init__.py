"""Where the jobs come from: a module a source, each with `write(path, out, options, seed)`."""
