package org.clearsched.rules;

import java.util.ArrayList;
import java.util.List;
import org.clearsched.rules.Expressions.Amount;
import org.clearsched.rules.Expressions.Product;
import org.clearsched.rules.Expressions.Test;
import org.clearsched.rules.Expressions.Value;
import org.clearsched.rules.Program.Action;
import org.clearsched.rules.Program.Bound;
import org.clearsched.rules.Program.Order;

/** Reads the nodes that score, given the names of the columns. */
final class PartReader {
    private static final Amount[] NOTHING = {};
    private static final Test[] ALWAYS = {};

    private final List<String> names;

    PartReader(List<String> names) {
        this.names = names;
    }

    Program program(Json root, Feature[] features) throws RulesException {
        List<Order> orders = new ArrayList<>();
        for (Json node : root.get("orders").items()) {
            orders.add(new Order(node.get("name").text(), tests(node), action(node.get("action"))));
        }
        List<Bound> bounds = new ArrayList<>();
        for (Json node : root.get("bounds").items()) {
            bounds.add(new Bound(node.get("name").text(), tests(node), node.get("share").number()));
        }
        return new Program(
                root.get("title").text(),
                root.get("student").text() + ", sha256 " + root.get("sha256").text(),
                features,
                part(root.get("rank"), ""),
                root.get("none").flag(),
                root.get("may_idle").flag(),
                orders.toArray(Order[]::new),
                root.has("level") ? part(root.get("level"), "") : null,
                root.get("up").flag(),
                bounds.toArray(Bound[]::new));
    }

    private Action action(Json node) throws RulesException {
        return switch (node.text()) {
            case "first" -> Action.FIRST;
            case "last" -> Action.LAST;
            case "idle" -> Action.IDLE;
            default -> throw new RulesException(node.where() + ": unknown action " + node.text());
        };
    }

    /** @param before of the names of its pieces: the way of the switch that it stands in */
    private Part part(Json node, String before) throws RulesException {
        String kind = node.get("kind").text();
        return switch (kind) {
            case "cases" -> cases(node, before);
            case "points" -> points(node, before);
            case "trees" -> trees(node, before);
            case "least" -> least(node, before);
            case "switch" -> switched(node, before);
            default -> throw new RulesException(node.where() + ".kind: unknown kind " + kind);
        };
    }

    private Part cases(Json node, String before) throws RulesException {
        List<Part.Case> cases = new ArrayList<>();
        for (Json one : node.get("cases").items()) {
            Json cap = one.has("cap") ? one.get("cap") : null;
            cases.add(new Part.Case(
                    before + one.get("name").text(),
                    tests(one),
                    cap == null ? -1 : column(cap.get("of")),
                    cap == null ? null : products(cap.get("least")),
                    value(one.get("value"))));
        }
        Part.Case last = cases.isEmpty() ? null : cases.get(cases.size() - 1);
        if (last == null || last.tests().length > 0 || last.of() >= 0) {
            throw new RulesException(node.where() + ".cases: the last must fit every candidate");
        }
        return new Part.Cases(cases.toArray(Part.Case[]::new));
    }

    private Part points(Json node, String before) throws RulesException {
        List<Part.Entry> entries = new ArrayList<>();
        for (Json one : node.get("entries").items()) {
            entries.add(new Part.Entry(tests(one), one.get("add").number()));
        }
        Value order = node.has("order") ? value(node.get("order")) : null;
        return new Part.Points(before + node.get("name").text(), entries.toArray(Part.Entry[]::new), order);
    }

    private Part trees(Json node, String before) throws RulesException {
        List<Part.Tree> trees = new ArrayList<>();
        for (Json one : node.get("trees").items()) {
            trees.add(tree(one));
        }
        return new Part.Trees(before + node.get("name").text(), trees.toArray(Part.Tree[]::new));
    }

    private Part.Tree tree(Json root) throws RulesException {
        List<Json> nodes = root.items();
        int count = nodes.size();
        Part.Tree tree = new Part.Tree(new Test[count], new int[count], new int[count], new double[count]);
        for (int i = 0; i < count; i++) {
            Json node = nodes.get(i);
            if (node.isNumber()) {
                tree.leaf()[i] = node.number();
            } else {
                tree.tests()[i] = test(node.get("test"));
                tree.low()[i] = child(node.get("low"), i, count);
                tree.high()[i] = child(node.get("high"), i, count);
            }
        }
        if (count == 0) {
            throw new RulesException(root.where() + ": a tree without nodes");
        }
        return tree;
    }

    /** Below its parent, so that no walk goes in circles. */
    private static int child(Json node, int parent, int count) throws RulesException {
        int place = (int) node.number();
        if (place != node.number() || place <= parent || place >= count) {
            throw new RulesException(node.where() + ": a node after its parent expected");
        }
        return place;
    }

    private Part least(Json node, String before) throws RulesException {
        List<String> told = new ArrayList<>();
        for (Json name : node.get("names").items()) {
            told.add(before + name.text());
        }
        Product[] terms = products(node.get("terms"));
        if (told.size() != terms.length || told.isEmpty()) {
            throw new RulesException(node.where() + ": a name for each term expected");
        }
        return new Part.Least(told.toArray(String[]::new), terms);
    }

    private Part switched(Json node, String before) throws RulesException {
        List<Part.Way> ways = new ArrayList<>();
        for (Json one : node.get("ways").items()) {
            Test test = one.has("test") ? test(one.get("test")) : null;
            ways.add(new Part.Way(test, part(one.get("part"), before + "case " + (ways.size() + 1) + ": ")));
        }
        if (ways.isEmpty() || ways.get(ways.size() - 1).test() != null) {
            throw new RulesException(node.where() + ".ways: the last must be open to every candidate");
        }
        return new Part.Switched(ways.toArray(Part.Way[]::new));
    }

    private Value value(Json node) throws RulesException {
        Product[] least = node.has("least") ? products(node.get("least")) : null;
        List<Amount> plus = new ArrayList<>();
        if (node.has("plus")) {
            for (Json one : node.get("plus").items()) {
                double scale = one.has("scale") ? one.get("scale").number() : 0.0;
                plus.add(new Amount(column(one.get("feature")), one.get("weight").number(), scale));
            }
        }
        double start = least == null ? node.get("start").number() : 0.0;
        return new Value(start, least, plus.isEmpty() ? NOTHING : plus.toArray(Amount[]::new));
    }

    private Product[] products(Json node) throws RulesException {
        List<Product> found = new ArrayList<>();
        for (Json one : node.items()) {
            List<Json> factors = one.get("powers").items();
            int[] columns = new int[factors.size()];
            double[] powers = new double[columns.length];
            for (int i = 0; i < columns.length; i++) {
                columns[i] = column(factors.get(i).get("feature"));
                powers[i] = factors.get(i).get("power").number();
            }
            found.add(new Product(one.get("times").number(), columns, powers));
        }
        return found.toArray(Product[]::new);
    }

    private Test[] tests(Json owner) throws RulesException {
        if (!owner.has("tests")) {
            return ALWAYS;
        }
        List<Test> found = new ArrayList<>();
        for (Json one : owner.get("tests").items()) {
            found.add(test(one));
        }
        return found.toArray(Test[]::new);
    }

    private Test test(Json node) throws RulesException {
        List<Json> words = node.items();
        if (words.size() != 3 || !List.of("<", ">=").contains(words.get(1).text())) {
            throw new RulesException(node.where() + ": a feature, < or >=, and a number expected");
        }
        return new Test(column(words.get(0)), words.get(1).text().equals("<"), (float) words.get(2).number());
    }

    private int column(Json node) throws RulesException {
        int place = names.indexOf(node.text());
        if (place < 0) {
            throw new RulesException(node.where() + ": " + node.text() + " is not among the file's features");
        }
        return place;
    }
}
