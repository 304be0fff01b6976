// SPDX-License-Identifier: Apache-2.0
package georep.bench.e2e;

import georep.bench.Paired;
import georep.bench.Paired.Better;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.concurrent.TimeUnit;
import org.HdrHistogram.Histogram;
import org.apache.pulsar.broker.service.persistent.PersistentTopic;
import org.apache.pulsar.client.impl.PulsarClientImpl;

/** From a publish on A to the receive at B, at one rate for all, in turn; and from A to A, which nobody can beat. */
final class Latency {
    private static final double BYTES_PER_SECOND = 30e6;
    private static final long WARM_UP = TimeUnit.MILLISECONDS.toNanos(400);
    private static final long SPAN = TimeUnit.MILLISECONDS.toNanos(1800);
    private static final List<String> NAMES = List.of("(i)", "(iii)", "(iv)", "A to A");
    private static final List<String> TEXTS = List.of("Georep verbatim", "classic replicator, 4 partitions",
            "Java client, consumer to producer", "A to A, no replication");

    private final Pair pair;
    private final Entries entries;
    private final List<List<Histogram>> results = new ArrayList<>();

    Latency(Pair pair, Entries entries) {
        this.pair = pair;
        this.entries = entries;
        NAMES.forEach(n -> results.add(new ArrayList<>()));
    }

    void run(int rounds, Report report) throws Exception {
        try (PulsarClientImpl pub = Pair.client(pair.a); PulsarClientImpl sub = Pair.client(pair.b);
                PulsarClientImpl mirrorA = Pair.client(pair.a); PulsarClientImpl mirrorB = Pair.client(pair.b);
                PulsarClientImpl subA = Pair.client(pair.a);
                GeorepRoute georep = GeorepRoute.verbatim(pair, entries); Route classic = new ClassicRoute(pair);
                Route mirror = new MirrorRoute(pair, mirrorA, mirrorB, entries)) {
            List<Line> lines = new ArrayList<>();
            for (Route r : List.of(georep, classic, mirror)) {
                r.start();
                lines.add(new Line(entries, pub, r.from, sub, r.to, r.primed()));
            }
            List<PersistentTopic> local = local();
            lines.add(new Line(entries, pub, local, subA, local, 0));
            for (int round = 0; round <= rounds; round++) {
                for (int i = 0; i < lines.size(); i++) {
                    int which = (i + round) % lines.size();
                    Histogram h = lines.get(which).run(BYTES_PER_SECOND, WARM_UP, SPAN);
                    if (round > 0) {
                        results.get(which).add(h);
                    }
                }
            }
            georep.assertWay(georep.stored() - georep.primed() * Corpus.SEGMENTS);
            rows(report, lines);
            for (Line l : lines) {
                l.close();
            }
        }
    }

    private List<PersistentTopic> local() throws Exception {
        String topic = "persistent://" + Pair.PLAIN + "/local";
        pair.a.admin().topics().createPartitionedTopic(topic, Corpus.SEGMENTS);
        return Pair.load(pair.a, Pair.partitions(topic));
    }

    private void rows(Report report, List<Line> lines) {
        String codec = entries.codec.name().toLowerCase(Locale.ROOT);
        long late = lines.stream().mapToLong(Line::late).max().orElse(0);
        for (int percentile : new int[]{50, 99}) {
            for (int peer = 1; peer < NAMES.size(); peer++) {
                Paired p = new Paired(Better.SMALLER);
                for (int i = 0; i < results.get(0).size(); i++) {
                    p.add(millis(0, i, percentile), millis(peer, i, percentile));
                }
                report.pair("d/latency/" + codec + "/p" + percentile + "/(i)-" + NAMES.get(peer), "ms", TEXTS.get(peer),
                        p, 0, String.format(Locale.ROOT, "publish on A to receive at B, %.0f MB/s raw in batches of "
                                + "1,000 x 1 KiB, %.1f s a round; the publisher was %.0f ms late at most; heap %d MiB; "
                                + "%s", BYTES_PER_SECOND / 1e6, SPAN / 1e9, late / 1e6,
                                Runtime.getRuntime().maxMemory() >> 20, Pair.BOOKIES));
            }
        }
    }

    private double millis(int which, int round, int percentile) {
        return results.get(which).get(round).getValueAtPercentile(percentile) / 1e6;
    }
}
