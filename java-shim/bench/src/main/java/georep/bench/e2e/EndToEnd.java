// SPDX-License-Identifier: Apache-2.0
package georep.bench.e2e;

import java.nio.file.Path;
import java.util.List;
import java.util.Locale;
import org.apache.pulsar.client.api.CompressionType;

/**
 * {@code EndToEnd OUT.json}: row d of the benchmarks. Settings are properties: {@code bench.data}, a folder for the
 * bookies; {@code bench.rounds}; {@code bench.codecs} and {@code bench.parts}, both to leave something out.
 */
public final class EndToEnd {
    private static final int ROUNDS = 7;

    private EndToEnd() {
    }

    /** Ends the process itself: brokers leave threads behind. */
    public static void main(String[] args) {
        int status = 1;
        Report report = new Report();
        try {
            run(report);
            status = 0;
        } catch (Exception | LinkageError e) {
            e.printStackTrace();
            System.out.println("BENCH E2E FAILED " + e.toString().lines().limit(3).toList());
        }
        try {
            report.write(Path.of(args[0]));
        } catch (Exception e) {
            e.printStackTrace(System.out);
            status = 1;
        }
        System.out.flush();
        Runtime.getRuntime().halt(status);
    }

    private static void run(Report report) throws Exception {
        Pair pair = new Pair(Path.of(System.getProperty("bench.data", "build/data/bench-e2e")));
        Corpus corpus = new Corpus();
        int rounds = Integer.getInteger("bench.rounds", ROUNDS);
        List<String> parts = list("bench.parts", "drain");
        for (String name : list("bench.codecs", "lz4")) {
            CompressionType codec = CompressionType.valueOf(name.toUpperCase(Locale.ROOT));
            Entries entries = new Entries(pair, corpus, codec);
            if (parts.contains("drain")) {
                new Drains(pair, entries).run(rounds, report);
            }
        }
    }

    private static List<String> list(String property, String def) {
        return List.of(System.getProperty(property, def).split(","));
    }
}
