// SPDX-License-Identifier: Apache-2.0
package georep.bench.micro;

import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.SerializationFeature;
import com.scurrilous.circe.checksum.Crc32cIntChecksum;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.function.Predicate;
import java.util.regex.Pattern;

/**
 * Rows a and b of the benchmarks: {@code Micro OUT.json [PATTERN]}. Every cell's contents are compared before it is
 * measured; what is measured is CPU time. -Dgeorep.bench.rounds and -Dgeorep.bench.millis set the number and the length
 * of the turns.
 */
public final class Micro {
    private static final String[] CODECS = {"none", "lz4", "zlib", "zstd", "snappy"};
    private static final String[] SHAPES = {"1000x1KiB", "1000x100B", "10x64KiB"};
    private static final String[] CONTENTS = {"json", "random"};
    private static final String[] PAYLOADS = {"1KiB", "64KiB", "1MiB"};
    private static final String[] PATHS = {"window", "place", "wire", "peer"};
    private static final int WARM_UP_TURNS = 3;
    private static final String[] NOTES = {"the whole talk with the core: offers, sends, acknowledgements, deletes",
        "fit check and new header alone", "window, and SEND commands as the plugin makes them; so does the peer"};
    private static final String HEAP = "Java heap only";
    private static final String JAVA = "Java, Pulsar's Commands and codecs";
    private static final String CLASSIC = "Java, the classic replicator's calls";

    private static final Map<String, Double> TARGETS = Map.ofEntries(Map.entry("a/1000x1KiB/none/json", 1.5),
            Map.entry("a/1000x1KiB/lz4/json", 1.45), Map.entry("a/1000x1KiB/zstd/json", 2.7),
            Map.entry("a/1000x1KiB/snappy/json", 1.4), Map.entry("a/1000x1KiB/zlib/json", 4.0),
            Map.entry("a/1000x100B/none/json", 1.8), Map.entry("a/1000x100B/lz4/json", 1.3),
            Map.entry("a/1000x100B/zstd/json", 1.7), Map.entry("a/1000x100B/snappy/json", 1.7),
            Map.entry("a/1000x100B/zlib/json", 3.0), Map.entry("b/1KiB/window", 3.0), Map.entry("b/1KiB/place", 3.0),
            Map.entry("b/64KiB/window", 12.0), Map.entry("b/64KiB/place", 12.0), Map.entry("b/1MiB/window", 150.0),
            Map.entry("b/1MiB/place", 150.0));

    private final Rounds rounds = new Rounds(Integer.getInteger("georep.bench.rounds", 7),
            Integer.getInteger("georep.bench.millis", 200));
    private final List<Row> rows = new ArrayList<>();
    private final Predicate<String> wanted;

    private Micro(String pattern) {
        wanted = Pattern.compile(pattern).asPredicate();
    }

    public static void main(String[] args) throws IOException {
        System.setProperty("jmh.ignoreLock", "true"); // one JVM, whose runs follow each other
        Micro m = new Micro(args.length > 1 ? args[1] : "");
        if (!Crc32cIntChecksum.acceptsMemoryAddressBuffer()) {
            throw new IllegalStateException("the peer has no checksum by the processor: --add-opens is missing");
        }
        m.warmUp();
        m.rebatch();
        m.verbatim();
        m.allocations();
        byte[] json = new ObjectMapper().enable(SerializationFeature.INDENT_OUTPUT).writeValueAsBytes(m.rows);
        Files.write(Path.of(args[0]), json);
        System.exit(0); // Netty's and JMH's threads
    }

    private List<String> cells() {
        List<String> cells = new ArrayList<>();
        for (String shape : SHAPES) {
            for (String codec : CODECS) {
                for (String content : CONTENTS) {
                    String cell = shape + "/" + codec + "/" + content;
                    if (wanted.test("a/" + cell)) {
                        cells.add(cell);
                    }
                }
            }
        }
        return cells;
    }

    /** All of it once, so that the first cell meets the same compiled code as the last. */
    private void warmUp() {
        for (String cell : cells()) {
            rounds.warmUp(1, RebatchBench.class, cell, "ours", "peer");
        }
    }

    private void rebatch() {
        for (String cell : cells()) {
            rounds.warmUp(WARM_UP_TURNS, RebatchBench.class, cell, "ours", "peer");
            double[][] s = rounds.alternate(RebatchBench.class, cell, false, "ours", "peer");
            RebatchCell c = RebatchCell.of(cell);
            String name = "a/" + cell;
            add(Row.of(name, "us/entry", micros(s[0]), micros(s[1]), JAVA, TARGETS.get(name), c.oursOutBytes,
                    c.peerOutBytes, null));
        }
    }

    private static double[] micros(double[] nanos) {
        return Arrays.stream(nanos).map(v -> v / 1000).toArray();
    }

    private void verbatim() {
        for (String payload : PAYLOADS) {
            if (!wanted.test("b/" + payload)) {
                continue;
            }
            rounds.warmUp(WARM_UP_TURNS, VerbatimBench.class, payload, PATHS);
            double[][] s = rounds.alternate(VerbatimBench.class, payload, false, PATHS);
            for (int i = 0; i < PATHS.length - 1; i++) {
                String name = "b/" + payload + "/" + PATHS[i];
                add(Row.of(name, "ns/entry", s[i], s[PATHS.length - 1], CLASSIC, TARGETS.get(name), null, null,
                        NOTES[i]));
            }
        }
    }

    /** Bytes of Java heap that one entry costs. */
    private void allocations() {
        String cell = "1000x1KiB/lz4/json";
        if (wanted.test("a/" + cell + "/alloc")) {
            double[][] s = rounds.alternate(RebatchBench.class, cell, true, "ours", "peer");
            add(Row.of("a/" + cell + "/alloc", "B/entry", s[0], s[1], JAVA, null, null, null, HEAP));
        }
        if (wanted.test("b/1KiB/alloc")) {
            double[][] s = rounds.alternate(VerbatimBench.class, "1KiB", true, "wire", "peer");
            add(Row.of("b/1KiB/alloc", "B/entry", s[0], s[1], CLASSIC, null, null, null, HEAP));
        }
    }

    private void add(Row row) {
        rows.add(row);
        System.out.println(row.text());
    }
}
