package org.clearsched.rules;

import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.StringTokenizer;

/**
 * Holds the interpreter against the simulator's answers: `Check rules.json rules.vectors.csv`.
 *
 * <p>Without vectors it answers decisions on standard input, a line each with candidate and limit: a line of "none
 * allowed, most, candidates", then a line for each candidate: the least limit and its features.
 * `Check --quantities` prints what features may be computed of.
 */
public final class Check {
    private final Program program;

    private Check(Program program) {
        this.program = program;
    }

    public static void main(String[] words) throws IOException {
        if (words.length < 1 || words.length > 2) {
            System.err.println("usage: Check RULES [VECTORS]");
            System.exit(2);
        }
        if (words[0].equals("--quantities")) {
            System.out.println(String.join("\n", Quantities.NAMES));
            return;
        }
        try {
            Check check = new Check(ProgramReader.read(Path.of(words[0]), Quantities.NAMES));
            if (words.length == 1) {
                check.answer();
            } else {
                check.compare(Path.of(words[1]));
            }
        } catch (RulesException e) {
            System.err.println("clearsched-spark: " + e.getMessage());
            System.exit(2);
        }
    }

    private void answer() throws IOException {
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.US_ASCII));
        StringBuilder out = new StringBuilder();
        for (String line = in.readLine(); line != null; line = in.readLine()) {
            StringTokenizer head = new StringTokenizer(line);
            boolean noneAllowed = head.nextToken().equals("1");
            int most = Integer.parseInt(head.nextToken());
            int count = Integer.parseInt(head.nextToken());
            int[] least = new int[count];
            float[][] rows = new float[count][];
            for (int i = 0; i < count; i++) {
                String[] numbers = in.readLine().split(" ");
                least[i] = Integer.parseInt(numbers[0]);
                rows[i] = floats(Arrays.asList(numbers).subList(1, numbers.length));
            }
            Decision found = program.choose(rows, most, least, noneAllowed);
            out.append(found.candidate()).append(' ').append(found.limit()).append('\n');
        }
        System.out.print(out);
    }

    private void compare(Path vectors) throws IOException, RulesException {
        List<String> lines = Files.readAllLines(vectors);
        List<String> header = Arrays.asList(lines.get(0).split(","));
        int decisions = 0;
        for (int first = 1; first < lines.size(); decisions++) {
            List<List<String>> rows = new ArrayList<>();
            String number = lines.get(first).split(",")[0];
            while (first < lines.size() && lines.get(first).split(",")[0].equals(number)) {
                rows.add(Arrays.asList(lines.get(first++).split(",", -1)));
            }
            String wrong = wrong(header, rows);
            if (!wrong.isEmpty()) {
                throw new RulesException(vectors + ": decision " + number + ": " + wrong);
            }
        }
        System.out.println(decisions + " decisions, all as the simulator answers");
    }

    /** How the answer differs from the vectors'; empty: it does not. */
    private String wrong(List<String> header, List<List<String>> rows) {
        int[] least = new int[rows.size()];
        float[][] features = new float[rows.size()][program.features().length];
        for (int i = 0; i < features.length; i++) {
            List<String> row = rows.get(i);
            least[i] = Integer.parseInt(cell(header, row, "least", "1"));
            for (int k = 0; k < program.features().length; k++) {
                features[i][k] = Float.parseFloat(cell(header, row, program.features()[k].name(), "NaN"));
            }
        }
        List<String> told = rows.get(0);
        int most = Integer.parseInt(cell(header, told, "most", "1"));
        boolean noneAllowed = cell(header, told, "none_allowed", "0").equals("1");
        Decision found = program.choose(features, most, least, noneAllowed);
        List<String> got = List.of(
                "" + found.candidate(), "" + found.limit(), found.rule(), found.limitRule());
        List<String> expected = List.of(
                cell(header, told, "candidate", ""),
                cell(header, told, "limit", "" + found.limit()),
                cell(header, told, "rule", ""),
                cell(header, told, "limit_rule", found.limitRule()));
        return got.equals(expected) ? "" : "answered " + got + ", expected " + expected;
    }

    private static String cell(List<String> header, List<String> row, String name, String otherwise) {
        int place = header.indexOf(name);
        return place < 0 ? otherwise : row.get(place);
    }

    private static float[] floats(List<String> numbers) {
        float[] found = new float[numbers.size()];
        for (int i = 0; i < found.length; i++) {
            found[i] = Float.parseFloat(numbers.get(i));
        }
        return found;
    }
}
