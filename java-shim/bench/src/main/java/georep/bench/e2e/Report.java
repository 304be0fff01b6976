// SPDX-License-Identifier: Apache-2.0
package georep.bench.e2e;

import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import georep.bench.Paired;
import java.io.IOException;
import java.math.BigDecimal;
import java.math.MathContext;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Collection;
import java.util.Locale;

/** The rows of this part of the benchmarks: written to a file as a whole, printed one by one. */
final class Report {
    private static final ObjectMapper JSON = new ObjectMapper();
    private static final int DIGITS = 4;

    private final ArrayNode rows = JSON.createArrayNode();

    /** Ours beside a peer. A target of 0 is none. */
    void pair(String name, String unit, String peerName, Paired p, double target, String note) {
        ObjectNode r = row(name, unit, p.ours());
        put(r, "peer", p.peer());
        r.put("peerName", peerName);
        put(r, "ratio", p.ratio());
        if (target > 0) {
            put(r, "target", target);
        }
        put(r, "spread", p.spread());
        r.put("rounds", p.rounds());
        r.put("note", note);
        say("%-34s %9.4g %-9s %-44s %9.4g  ratio %6.3f%s  spread %.2f", name, p.ours(), unit, peerName, p.peer(),
                p.ratio(), target > 0 ? String.format(Locale.ROOT, " of %.2f", target) : "", p.spread());
    }

    /** What stands alone. */
    void alone(String name, String unit, Collection<Double> rounds, String note) {
        double median = Paired.quantile(rounds, 0.5);
        ObjectNode r = row(name, unit, median);
        put(r, "spread", median == 0 ? 0 : (Paired.quantile(rounds, 0.75) - Paired.quantile(rounds, 0.25)) / median);
        r.put("rounds", rounds.size());
        r.put("note", note);
        say("%-34s %9.4g %s", name, median, unit);
    }

    private ObjectNode row(String name, String unit, double ours) {
        ObjectNode r = rows.addObject();
        r.put("name", name);
        r.put("unit", unit);
        put(r, "ours", ours);
        return r;
    }

    /** More digits than a measurement has tell nothing. */
    private static void put(ObjectNode r, String field, double value) {
        r.put(field, new BigDecimal(value).round(new MathContext(DIGITS)).doubleValue());
    }

    void write(Path file) throws IOException {
        Files.createDirectories(file.toAbsolutePath().getParent());
        StringBuilder s = new StringBuilder("[\n");
        for (int i = 0; i < rows.size(); i++) {
            s.append(JSON.writeValueAsString(rows.get(i))).append(i + 1 < rows.size() ? ",\n" : "\n");
        }
        Files.writeString(file, s.append("]\n"));
    }

    static void say(String format, Object... args) {
        System.out.printf(Locale.ROOT, format + "%n", args);
        System.out.flush();
    }
}
