// SPDX-License-Identifier: Apache-2.0
package georep.bench.e2e;

import java.nio.file.Path;
import java.util.List;
import java.util.Locale;
import org.apache.pulsar.client.api.CompressionType;

/**
 * {@code EndToEnd OUT.json}: row d of the benchmarks. Settings are properties: {@code bench.data}, a folder for the
 * bookies; {@code bench.rounds}; {@code bench.codecs} and {@code bench.parts}, both to leave something out; {@code
 * bench.threads}, to tell in the log whose CPU each drain took.
 */
public final class EndToEnd {
    private static final int ROUNDS = 7;
    /** Stands for what a drain would have told. */
    private static final double MB_PER_SECOND = 600;

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
        List<String> parts = list("bench.parts", "drain,latency,beside");
        Entries lz4 = new Entries(pair, corpus, CompressionType.LZ4);
        double max = MB_PER_SECOND;
        if (parts.contains("drain")) {
            for (String name : list("bench.codecs", "none,lz4,zstd")) {
                CompressionType codec = CompressionType.valueOf(name.toUpperCase(Locale.ROOT));
                Drains d = new Drains(pair, codec == lz4.codec ? lz4 : new Entries(pair, corpus, codec));
                d.run(rounds, report);
                max = codec == lz4.codec ? d.rate(Drains.Kind.VERBATIM) : max;
            }
        }
        if (parts.contains("latency")) {
            new Latency(pair, lz4).run(rounds, report);
        }
        if (parts.contains("beside")) {
            new Beside(pair, lz4).run(rounds, max, report);
        }
    }

    private static List<String> list(String property, String def) {
        return List.of(System.getProperty(property, def).split(","));
    }
}
