// SPDX-License-Identifier: Apache-2.0
package georep.differential;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.EnumMap;
import java.util.HexFormat;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;

/** Mutated entries of real clients, read by Pulsar's classes and by the core. */
class DifferentialTest {
    private static final Pattern ROW = Pattern.compile("^\\| `([a-z0-9-]+)` \\| (.+) \\|$");
    private static final int RUN_OF_ALL = 100_000;

    private static int entries() {
        return Integer.getInteger("differential.entries", 5_000);
    }

    /** Entries of real clients by file name. */
    static Map<String, byte[]> vectors() throws IOException {
        Map<String, byte[]> out = new TreeMap<>();
        try (Stream<Path> files = Files.list(Path.of(System.getProperty("differential.vectors")))) {
            for (Path p : files.filter(f -> f.toString().endsWith(".hex")).toList()) {
                StringBuilder digits = new StringBuilder();
                for (String line : Files.readAllLines(p)) {
                    digits.append(line.replaceFirst("#.*", "").replaceAll("\\s", ""));
                }
                out.put(p.getFileName().toString(), HexFormat.of().parseHex(digits));
            }
        }
        return out;
    }

    /** The reasons of the README, by class. */
    private static Map<String, String> reasons() throws IOException {
        Map<String, String> out = new TreeMap<>();
        for (String line : Files.readAllLines(Path.of(System.getProperty("differential.table")))) {
            var m = ROW.matcher(line);
            if (m.matches()) {
                out.put(m.group(1), m.group(2));
            }
        }
        return out;
    }

    @Test
    void entriesOfRealClientsAreReadAlike() throws IOException {
        Map<String, byte[]> vectors = vectors();
        assertThat(vectors).hasSizeGreaterThan(40);
        try (Comparison c = new Comparison()) {
            vectors.forEach((name, raw) -> {
                assertThat(c.compare(raw, 0)).as(name).isEmpty();
                assertThat(c.compare(raw, 1)).as(name).isEmpty();
            });
            assertThat(c.agreed()).containsKeys("cut into parts", "unkeyed, whole", "whole, not a batch", "dropped",
                    "encrypted batch, whole");
        }
    }

    @Test
    void mutatedEntriesDifferForKnownReasonsOnly() throws IOException {
        long seed = Long.getLong("differential.seed", 1);
        System.out.printf("differential: %d entries from seed %d%n", entries(), seed);
        Mutator mutator = new Mutator(seed, new ArrayList<>(vectors().values()));
        Map<Difference, Integer> counts = new EnumMap<>(Difference.class);
        List<String> unexplained = new ArrayList<>();
        int same = 0;
        try (Comparison c = new Comparison()) {
            for (int i = 0; i < entries(); i++) {
                byte[] raw = mutator.next();
                try {
                    var found = c.compare(raw, i);
                    found.forEach(d -> counts.merge(d, 1, Integer::sum));
                    same += found.isEmpty() ? 1 : 0;
                } catch (AssertionError | RuntimeException e) {
                    if (unexplained.size() < 20) {
                        unexplained.add("entry " + i + ": " + e + "\n" + HexFormat.of().formatHex(raw));
                    }
                }
            }
            print(counts, c.agreed(), same);
        }
        assertThat(unexplained).as("unexplained, of seed %d", seed).isEmpty();
        assertThat(same).as("most entries are read alike").isGreaterThan(entries() / 2);
    }

    private static void print(Map<Difference, Integer> counts, Map<String, Integer> agreed, int same)
            throws IOException {
        System.out.println("read alike: " + same + " " + agreed);
        Map<String, String> reasons = reasons();
        System.out.println("class | count | reason");
        for (Difference d : Difference.values()) {
            int n = counts.getOrDefault(d, 0);
            System.out.printf("%s | %d | %s%n", d.label(), n, reasons.get(d.label()));
            assertThat(reasons.get(d.label())).as("reason of %s in the table", d.label()).isNotBlank();
            if (entries() >= RUN_OF_ALL && Long.getLong("differential.seed", 1) == 1) {
                assertThat(n).as("entries of class %s: a row that nothing needs", d.label()).isPositive();
            }
        }
        assertThat(reasons.keySet()).as("rows of the table").containsExactlyInAnyOrderElementsOf(
                Stream.of(Difference.values()).map(Difference::label).toList());
    }
}
