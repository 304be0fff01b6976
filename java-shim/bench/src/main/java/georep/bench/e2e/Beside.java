// SPDX-License-Identifier: Apache-2.0
package georep.bench.e2e;

import georep.bench.Paired;
import georep.bench.Paired.Better;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.concurrent.TimeUnit;

/**
 * Topic X, which goes verbatim at a third of what is possible, alone and beside topic Y, whose backlog has to be
 * re-batched under a budget; Y is paused and resumed in between.
 */
final class Beside {
    private static final long BUDGET = 20_000_000;
    private static final long SETTLE = TimeUnit.MILLISECONDS.toNanos(700);
    private static final long FOLLOWS = TimeUnit.MILLISECONDS.toNanos(200);
    private static final long SPAN = TimeUnit.MILLISECONDS.toNanos(2000);
    /** Of a span, with the bytes that the bucket holds when it begins. */
    private static final long BACKLOG = 6 * BUDGET;

    private final Pair pair;
    private final Entries entries;
    private final Paired throughput = new Paired(Better.LARGER);
    private final Paired p99 = new Paired(Better.SMALLER);
    private final List<Double> rebatched = new ArrayList<>();

    Beside(Pair pair, Entries entries) {
        this.pair = pair;
        this.entries = entries;
    }

    /** {@code max}: raw MB/s of a verbatim drain. */
    void run(int rounds, double max, Report report) throws Exception {
        pair.budget(BUDGET);
        try (GeorepRoute x = GeorepRoute.verbatim(pair, entries);
                GeorepRoute y = GeorepRoute.straddling(pair, entries)) {
            long behind = y.primed();
            Publisher p = new Publisher(y.from, entries, behind);
            for (long bytes = 0; bytes < BACKLOG * (rounds + 1); bytes += Corpus.RAW) {
                p.publish();
            }
            p.flush();
            x.start();
            long published;
            try (Steady steady = new Steady(x, entries, max / 3 * 1e6)) {
                for (int round = 0; round <= rounds; round++) {
                    boolean aloneFirst = round % 2 == 0;
                    Steady.Span first = span(steady, y, !aloneFirst, round);
                    Steady.Span second = span(steady, y, aloneFirst, round);
                    if (round > 0) {
                        add(aloneFirst ? first : second, aloneFirst ? second : first);
                    }
                }
                steady.close();
                published = steady.published();
            }
            verify(x, y, published);
        }
        rows(report, max);
    }

    private Steady.Span span(Steady steady, GeorepRoute y, boolean beside, int round) throws Exception {
        if (beside) {
            y.start();
        }
        TimeUnit.NANOSECONDS.sleep(SETTLE);
        Route.await("B to follow X at the rate that is offered", () -> steady.follows(FOLLOWS));
        long before = y.rise("rebatched");
        Steady.Span s = steady.span(SPAN);
        double rate = (y.rise("rebatched") - before) * Corpus.RAW / (SPAN / 1e9);
        if (beside) {
            y.pause(true);
            if (round > 0) {
                rebatched.add(rate / 1e6);
            }
        }
        // of a bucket that is never empty; what is granted comes in whole batches
        if (beside ? rate < 0.6 * BUDGET || rate > 1.4 * BUDGET : rate > 0) {
            throw new IllegalStateException("Y re-batched " + rate / 1e6 + " MB/s " + (beside ? "beside X" : "while "
                    + "it was paused"));
        }
        return s;
    }

    private void add(Steady.Span alone, Steady.Span beside) {
        throughput.add(beside.entriesPerSecond() * Corpus.RAW / 1e6, alone.entriesPerSecond() * Corpus.RAW / 1e6);
        p99.add(beside.latency().getValueAtPercentile(99) / 1e6, alone.latency().getValueAtPercentile(99) / 1e6);
    }

    private void verify(GeorepRoute x, GeorepRoute y, long published) throws Exception {
        long verbatim = x.rise("verbatim");
        if (verbatim != published || y.stored() <= y.primed() * Corpus.SEGMENTS * y.entriesPerEntry()) {
            throw new IllegalStateException("verbatim " + verbatim + " of " + published + "; Y has " + y.stored());
        }
        x.verify(entries, published / Corpus.SEGMENTS + x.primed());
        new Messages(entries.corpus).read(y.to);
    }

    private void rows(Report report, double max) {
        String note = String.format(Locale.ROOT, "X: entries of 1,000 x 1 KiB, %s, offered at %.0f MB/s raw, a third "
                + "of a verbatim drain, alone and beside Y, which re-batches %.1f MB/s raw under a budget of %d MB/s; "
                + "%.1f s each; due to stored at B; heap %d MiB; %s", entries.codec.name().toLowerCase(Locale.ROOT),
                max / 3, Paired.quantile(rebatched, 0.5), BUDGET / 1_000_000, SPAN / 1e9,
                Runtime.getRuntime().maxMemory() >> 20, Pair.BOOKIES);
        report.pair("d/beside/throughput", "MB/s", "X alone", throughput, 0.95, note);
        report.pair("d/beside/p99", "ms", "X alone", p99, 0, note);
    }
}
