// SPDX-License-Identifier: Apache-2.0
package georep.bench.e2e;

import georep.bench.Paired;
import georep.bench.Paired.Better;
import java.util.ArrayList;
import java.util.EnumMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import org.apache.pulsar.client.api.CompressionType;
import org.apache.pulsar.client.api.PulsarClient;

/** Drains of one codec by all kinds of routes, in turn, the first of a round another one each time. */
final class Drains {
    /** What carries; the names are those of the rows. */
    enum Kind {
        VERBATIM("(i)", "Georep verbatim"), REBATCH("(ii)", "Georep re-batching"),
        CLASSIC("(iii)", "classic replicator, 4 partitions"), MIRROR("(iv)", "Java client, consumer to producer");

        final String id;
        final String text;

        Kind(String id, String text) {
            this.id = id;
            this.text = text;
        }
    }

    private final Pair pair;
    private final Entries entries;
    private final String codec;
    private final Map<Kind, List<Drain.Result>> results = new EnumMap<>(Kind.class);

    Drains(Pair pair, Entries entries) {
        this.pair = pair;
        this.entries = entries;
        this.codec = entries.codec.name().toLowerCase(Locale.ROOT);
        for (Kind k : Kind.values()) {
            results.put(k, new ArrayList<>());
        }
    }

    /** One round more than are counted: the first warms up. */
    void run(int rounds, Report report) throws Exception {
        try (PulsarClient atA = Pair.client(pair.a); PulsarClient atB = Pair.client(pair.b)) {
            for (int round = 0; round <= rounds; round++) {
                System.gc();
                for (int i = 0; i < Kind.values().length; i++) {
                    Kind k = Kind.values()[(i + round) % Kind.values().length];
                    try (Route route = route(k, atA, atB)) {
                        long began = System.nanoTime();
                        Drain.Result r = Drain.run(route, entries, batches(k));
                        Report.say("%s %s round %d: %.0f MB/s in %.2f s, %.2f CPU s/GB, start-up %.2f s, %.1f s in all",
                                codec, k.id, round, r.rate(), r.seconds(), r.cpu(), r.startup(),
                                (System.nanoTime() - began) / 1e9);
                        if (round > 0) {
                            results.get(k).add(r);
                        }
                    }
                }
            }
        }
        rows(report);
    }

    /** Raw MB/s, the median. */
    double rate(Kind k) {
        return Paired.quantile(results.get(k).stream().map(Drain.Result::rate).toList(), 0.5);
    }

    private Route route(Kind k, PulsarClient atA, PulsarClient atB) throws Exception {
        return switch (k) {
            case VERBATIM -> GeorepRoute.verbatim(pair, entries);
            case REBATCH -> GeorepRoute.straddling(pair, entries);
            case CLASSIC -> new ClassicRoute(pair);
            case MIRROR -> new MirrorRoute(pair, atA, atB, entries);
        };
    }

    /** Of each segment; slow kinds get less, so that the whole ends in time. */
    private long batches(Kind k) {
        return switch (entries.codec) {
            case NONE -> k == Kind.MIRROR || k == Kind.REBATCH ? 32 : 64;
            case LZ4 -> switch (k) {
                case VERBATIM, CLASSIC -> 256;
                default -> 96;
            };
            default -> switch (k) {
                case VERBATIM, CLASSIC -> 320;
                case REBATCH -> 64;
                default -> 48;
            };
        };
    }

    private void rows(Report report) {
        boolean compressed = entries.codec != CompressionType.NONE;
        rate(report, Kind.VERBATIM, Kind.CLASSIC, compressed ? 0.95 : 0);
        rate(report, Kind.VERBATIM, Kind.MIRROR, compressed ? 4 : 0);
        rate(report, Kind.REBATCH, Kind.MIRROR, compressed ? 1.2 : 0);
        cpu(report, Kind.CLASSIC, 0.95);
        cpu(report, Kind.MIRROR, switch (entries.codec) {
            case NONE -> 1.3;
            case LZ4 -> 2.5;
            default -> 8;
        });
        for (Kind k : Kind.values()) {
            report.alone("d/startup/" + codec + "/" + k.id, "s",
                    results.get(k).stream().map(Drain.Result::startup).toList(), k.text + ": from the call that starts "
                            + "it to the first read of A's log");
        }
    }

    private void rate(Report report, Kind ours, Kind peer, double target) {
        Paired p = new Paired(Better.LARGER);
        for (int i = 0; i < results.get(ours).size(); i++) {
            p.add(results.get(ours).get(i).rate(), results.get(peer).get(i).rate());
        }
        report.pair("d/drain/" + codec + "/" + ours.id + "-" + peer.id, "MB/s", peer.text, p, target, note(ours, peer));
    }

    private void cpu(Report report, Kind peer, double target) {
        Paired p = new Paired(Better.SMALLER);
        for (int i = 0; i < results.get(Kind.VERBATIM).size(); i++) {
            p.add(results.get(Kind.VERBATIM).get(i).cpu(), results.get(peer).get(i).cpu());
        }
        report.pair("d/cpu/" + codec + "/" + Kind.VERBATIM.id + "-" + peer.id, "CPU-s/GB", peer.text, p, target,
                note(Kind.VERBATIM, peer));
    }

    private String note(Kind ours, Kind peer) {
        return String.format(Locale.ROOT, "%s; 1,000 x 1 KiB, %s, entries of %d bytes; raw MB per drain: %d %s, %d %s; "
                + "heap %d MiB; %s", ours.text, codec, entries.meanBytes(), Entries.raw(batches(ours)) / 1_000_000,
                ours.id, Entries.raw(batches(peer)) / 1_000_000, peer.id, Runtime.getRuntime().maxMemory() >> 20,
                Pair.BOOKIES);
    }
}
