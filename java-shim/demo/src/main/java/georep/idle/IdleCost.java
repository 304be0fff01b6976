// SPDX-License-Identifier: Apache-2.0
package georep.idle;

import com.sun.management.OperatingSystemMXBean;
import georep.it.Cluster;
import georep.it.ClusterSpec;
import georep.it.Federation;
import georep.it.SegmentLog;
import georep.plugin.source.SourceBroker;
import java.lang.management.ManagementFactory;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.function.BooleanSupplier;

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

    private final int segments = number("SEGMENTS", 1000);
    private final int seconds = number("SECONDS", 300);
    private final Path home = Path.of(System.getenv().getOrDefault("DEMO_HOME", ".")).toAbsolutePath().normalize();
    private final OperatingSystemMXBean os = (OperatingSystemMXBean) ManagementFactory.getOperatingSystemMXBean();

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

    private static int number(String name, int def) {
        String v = System.getenv().getOrDefault(name, "").trim();
        return v.isEmpty() ? def : Integer.parseInt(v);
    }

    private void run() throws Exception {
        System.setProperty("georep.nar.dir", home.resolve("java-shim/nar/target/plugins").toString());
        Path data = home.resolve("build/data/idle");
        Cluster a = start("a", data);
        Cluster b = start("b", data);
        Federation.introduce(a, b);
        Federation.create(NAMESPACE, a, b);
        Federation.stop(a, NAMESPACE);
        Federation.stop(b, NAMESPACE);
        List<String> loaded = load(a, b);
        say("%d segments are loaded; replication off", loaded.size());
        double off = measure();

        Federation.replicate(a, NAMESPACE, Set.of(a.name, b.name));
        Federation.replicate(b, NAMESPACE, Set.of(a.name, b.name));
        await("every segment to be replicated", () -> supported(a) + supported(b) == loaded.size());
        say("%d segments, all remotes supported; replication on", loaded.size());
        double on = measure();
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

    /** CPU seconds of this process over one span, after things have settled. */
    private double measure() throws InterruptedException {
        TimeUnit.SECONDS.sleep(Math.min(60, seconds));
        System.gc();
        long t = System.nanoTime();
        long cpu = os.getProcessCpuTime();
        TimeUnit.SECONDS.sleep(seconds);
        double used = (os.getProcessCpuTime() - cpu) / 1e9;
        say("%.2f CPU seconds in %.0f s", used, (System.nanoTime() - t) / 1e9);
        return used;
    }

    private void report(int n, double off, double on) throws Exception {
        String text = String.format(Locale.ROOT, "bench-idle: %d replicated segments, %d s each: CPU off %.2f s, on "
                + "%.2f s, difference %.2f s = %.1f us per segment and second", n, seconds, off, on, on - off,
                (on - off) * 1e6 / n / seconds);
        Path file = home.resolve("build/reports/bench-idle.txt");
        Files.createDirectories(file.getParent());
        Files.writeString(file, text + "\n");
        System.out.println(text);
    }

    private static void await(String what, BooleanSupplier done) throws InterruptedException {
        long end = System.nanoTime() + TimeUnit.SECONDS.toNanos(PATIENCE_SECONDS);
        while (!done.getAsBoolean()) {
            if (System.nanoTime() > end) {
                throw new IllegalStateException("waited " + PATIENCE_SECONDS + " s in vain for " + what);
            }
            TimeUnit.MILLISECONDS.sleep(200);
        }
    }

    private static void say(String format, Object... args) {
        System.out.printf(Locale.ROOT, format + "%n", args);
    }
}
