// SPDX-License-Identifier: Apache-2.0
package georep.idle;

import georep.it.Cluster;
import georep.it.ClusterSpec;
import georep.it.Federation;
import georep.it.SegmentLog;
import georep.plugin.source.SourceBroker;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;

/**
 * What replicated segments cost while nothing is published: CPU seconds of this process, in which both clusters run,
 * with replication on minus off, over the same span with the same segments loaded. Both clusters replicate to each
 * other; half of the segments are A's, half are B's.
 *
 * <p>Environment: SEGMENTS (1000), SECONDS per phase (300), DEMO_HOME (the source tree).
 */
public final class IdleCost {
    private static final String NAMESPACE = "idle/ns";
    private static final int PER_TOPIC = 10;
    private static final long PATIENCE_SECONDS = 300;

    private final int segments = Span.number("SEGMENTS", 1000);
    private final int seconds = Span.number("SECONDS", 300);

    private IdleCost() {
    }

    /** Ends the process itself: brokers leave threads behind. */
    public static void main(String[] args) {
        int status = 1;
        try {
            new IdleCost().run();
            status = 0;
        } catch (Exception | LinkageError e) {
            e.printStackTrace(System.out);
            System.out.println("BENCH-IDLE FAILED " + e);
        }
        System.out.flush();
        Runtime.getRuntime().halt(status);
    }

    private void run() throws Exception {
        System.setProperty("georep.nar.dir", Span.home().resolve("java-shim/nar/target/plugins").toString());
        Path data = Span.home().resolve("build/data/idle");
        Cluster a = start("a", data);
        Cluster b = start("b", data);
        Federation.introduce(a, b);
        Federation.create(NAMESPACE, a, b);
        Federation.stop(a, NAMESPACE);
        Federation.stop(b, NAMESPACE);
        List<String> loaded = load(a, b);
        Span.say("%d segments are loaded; replication off", loaded.size());
        double off = Span.cpu(Math.min(60, seconds), seconds);

        Federation.replicate(a, NAMESPACE, Set.of(a.name, b.name));
        Federation.replicate(b, NAMESPACE, Set.of(a.name, b.name));
        Span.await("every segment to be replicated", () -> supported(a) + supported(b) == loaded.size());
        Span.say("%d segments, all remotes supported; replication on", loaded.size());
        double on = Span.cpu(Math.min(60, seconds), seconds);
        report(loaded.size(), off, on);
    }

    private static Cluster start(String name, Path data) throws Exception {
        return ClusterSpec.named(name).with(c -> {
            c.setBrokerDeleteInactiveTopicsEnabled(false);
            c.setScalableTopicAutoScaleEnabled(false);
        }).start(data.resolve(name));
    }

    private static long supported(Cluster c) {
        return SourceBroker.of(c.broker).status().all().stream().filter(r -> r.remoteStatus().equals("supported"))
                .count();
    }

    /** Makes the topics and loads every segment on both sides. */
    private List<String> load(Cluster a, Cluster b) throws Exception {
        List<String> names = new ArrayList<>();
        List<CompletableFuture<?>> all = new ArrayList<>();
        for (int i = 0; names.size() < segments; i++) {
            String topic = "topic://" + NAMESPACE + "/t" + i;
            Federation.topic(topic, PER_TOPIC, a, b);
            for (Cluster c : List.of(a, b)) {
                List<String> here = SegmentLog.segments(c, topic);
                here.forEach(n -> all.add(c.broker.getBrokerService().getTopic(n, true)));
                names.addAll(here);
            }
        }
        CompletableFuture.allOf(all.toArray(CompletableFuture[]::new)).get(PATIENCE_SECONDS, TimeUnit.SECONDS);
        return names;
    }

    private void report(int n, double off, double on) throws Exception {
        String text = String.format(Locale.ROOT, "bench-idle: %d replicated segments, %d s each: CPU off %.2f s, on "
                + "%.2f s, difference %.2f s = %.1f us per segment and second", n, seconds, off, on, on - off,
                (on - off) * 1e6 / n / seconds);
        Span.report("bench-idle", text);
        Span.row("idle", Span.row("e/idle/segments", "us/segment/s"), (on - off) * 1e6 / n / seconds);
    }
}
