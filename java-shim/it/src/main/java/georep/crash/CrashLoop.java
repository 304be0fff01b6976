// SPDX-License-Identifier: Apache-2.0
package georep.crash;

import java.io.IOException;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Random;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.logging.LogManager;

/**
 * Kills brokers of two clusters at random and starts them again, under load, while layouts change. Every few minutes,
 * and at the end, it lets things settle and compares both clusters' logs. The last line says "crash loop ok" or "crash
 * loop FAILED" (exit status 1). Environment: CRASH_MINUTES, CRASH_SEED, CRASH_HOME.
 */
public final class CrashLoop {
    private static final String NAMESPACE = "crash/ns";
    private static final String TOPIC = "topic://" + NAMESPACE + "/events";
    private static final int PER_SECOND_A = 250;
    private static final int PER_SECOND_B = 120;
    private static final Duration ROUND = Duration.ofMinutes(5);
    private static final Duration SETTLE = Duration.ofMinutes(4);

    private final Path home;
    private final double minutes;
    private final Random random;
    private final long began = System.nanoTime();
    private final List<CrashCluster> clusters = new ArrayList<>();
    private final List<CrashLoad> loads = new ArrayList<>();
    private final List<CompletableFuture<Void>> starting = new ArrayList<>();
    private LayoutChanges layouts;
    private int crashes;
    private Verification last;

    private CrashLoop(Path home, double minutes, long seed) {
        this.home = home;
        this.minutes = minutes;
        this.random = new Random(seed);
    }

    /** Ends the process itself: bookies leave threads behind. */
    public static void main(String[] args) {
        LogManager.getLogManager().reset();
        int status = 1;
        try {
            double minutes = Double.parseDouble(System.getenv().getOrDefault("CRASH_MINUTES", "30"));
            String given = System.getenv().getOrDefault("CRASH_SEED", "");
            long seed = given.isEmpty() ? System.currentTimeMillis() % 1_000_000 : Long.parseLong(given);
            System.out.printf("crash loop of %s minutes, seed %d%n", minutes, seed);
            CrashLoop loop = new CrashLoop(Path.of(System.getenv().getOrDefault("CRASH_HOME", ".")).toAbsolutePath(),
                    minutes, seed);
            String fault = loop.run(seed);
            System.out.println("crash loop " + (fault.isEmpty() ? "ok" : "FAILED, " + fault) + ": " + loop.summary());
            status = fault.isEmpty() ? 0 : 1;
            for (CrashCluster c : loop.clusters) {
                c.close();
            }
        } catch (Exception | LinkageError e) {
            e.printStackTrace(System.out);
            System.out.println("crash loop FAILED: " + e);
            status = 1;
        }
        System.out.flush();
        Runtime.getRuntime().halt(status);
    }

    private void say(String format, Object... args) {
        System.out.printf("%7.1f  %s%n", (System.nanoTime() - began) / 1e9, String.format(Locale.ROOT, format, args));
    }

    /** The first thing that is not as it should be; empty: none. */
    private String run(long seed) throws Exception {
        start();
        try (LayoutChanges l = new LayoutChanges(clusters, TOPIC, seed + 1)) {
            layouts = l;
            loads.add(new CrashLoad(clusters.get(0).serviceUrl(), TOPIC, PER_SECOND_A));
            loads.add(new CrashLoad(clusters.get(1).serviceUrl(), TOPIC, PER_SECOND_B));
            long end = System.nanoTime() + (long) (minutes * 60e9);
            while (System.nanoTime() < end) {
                round(Math.min(end, System.nanoTime() + ROUND.toNanos()));
                String fault = settle();
                if (!fault.isEmpty()) {
                    return fault;
                }
            }
        }
        if (crashes == 0 || layouts.splits() == 0) {
            return "nothing was tried";
        }
        return leaks() == 0 ? "" : "leaks, see the brokers' logs";
    }

    private void start() throws Exception {
        Path reports = home.resolve("build/reports");
        Files.createDirectories(reports);
        for (String name : List.of("a", "b")) {
            clusters.add(new CrashCluster(name, 2, home.resolve("build/data/crash-loop/" + name), reports));
        }
        for (CrashCluster c : clusters) {
            for (BrokerProcess b : c.brokers) {
                b.start();
                say("%s is up", b);
            }
        }
        for (CrashCluster c : clusters) {
            c.federate(NAMESPACE, clusters);
        }
        clusters.get(0).admin().scalableTopics().createScalableTopicAsync(TOPIC, 2).get(60, TimeUnit.SECONDS);
        if (System.getenv("CRASH_CONVERGE") == null) { // else the first creates it there
            clusters.get(1).admin().scalableTopics().createScalableTopicAsync(TOPIC, 3).get(60, TimeUnit.SECONDS);
        }
    }

    /** Load, layout changes and kills until then; afterwards all brokers are up. */
    private void round(long end) throws Exception {
        loads.forEach(l -> l.run(true));
        layouts.run(true);
        while (System.nanoTime() < end) {
            Thread.sleep(3000 + random.nextInt(12_000));
            CrashCluster c = clusters.get(random.nextInt(clusters.size()));
            BrokerProcess b = c.brokers.get(random.nextInt(c.brokers.size()));
            int down = random.nextInt(8000);
            boolean another = random.nextInt(4) == 0; // mostly one at a time
            if (!b.isUp() || !another && starting.stream().anyMatch(f -> !f.isDone())) {
                continue;
            }
            b.kill();
            crashes++;
            say("%s is dead; acked %d and %d, %d splits, %d merges", b, loads.get(0).acked(), loads.get(1).acked(),
                    layouts.splits(), layouts.merges());
            starting.add(CompletableFuture.runAsync(() -> again(b),
                    CompletableFuture.delayedExecutor(down, TimeUnit.MILLISECONDS)));
        }
        CompletableFuture.allOf(starting.toArray(CompletableFuture[]::new)).join();
        starting.clear();
    }

    private void again(BrokerProcess b) {
        try {
            b.start();
            say("%s is up", b);
        } catch (IOException e) {
            throw new java.io.UncheckedIOException(e);
        }
    }

    /** Waits until all is published and replicated; what is wrong if that does not come. */
    private String settle() throws Exception {
        layouts.run(false);
        loads.forEach(l -> l.run(false));
        long until = System.nanoTime() + SETTLE.toNanos();
        while (loads.stream().anyMatch(l -> l.outstanding() > 0)) {
            if (System.nanoTime() > until) {
                return "the applications' messages are not taken";
            }
            Thread.sleep(200);
        }
        do {
            Thread.sleep(2000);
            last = Verification.run(home.resolve("build/lib/georep"), clusters.get(0).webUrl(0),
                    clusters.get(1).webUrl(1), TOPIC);
            say("verify: %s", summary());
        } while (!last.equal() && System.nanoTime() < until);
        if (!last.equal()) {
            System.out.print(last.differences());
            status();
            return "the clusters differ";
        }
        long sent = loads.stream().mapToLong(CrashLoad::acked).sum();
        return last.total("messages") >= sent ? "" : "a cluster lost messages of its own applications";
    }

    /** What the plugin says, for whoever looks for the reason. */
    private void status() throws Exception {
        HttpClient http = HttpClient.newBuilder().followRedirects(HttpClient.Redirect.ALWAYS).build();
        for (CrashCluster c : clusters) {
            System.out.println(http.send(HttpRequest.newBuilder(URI.create(c.webUrl(0)
                    + "/admin/v2/scalable-repl/status/" + NAMESPACE + "/events")).build(),
                    HttpResponse.BodyHandlers.ofString()).body());
        }
    }

    private long leaks() throws IOException {
        long n = 0;
        for (CrashCluster c : clusters) {
            for (BrokerProcess b : c.brokers) {
                if (b.isUp()) {
                    b.leaks(); // looks for what nobody holds any more
                }
                n += b.leaksInLog();
            }
        }
        return n;
    }

    private String summary() throws IOException {
        long sent = loads.stream().mapToLong(CrashLoad::acked).sum();
        long want = last == null ? 0 : last.total("messages");
        long lost = last == null ? want : last.total("lost");
        return crashes + " crashes, " + layouts.splits() + " splits, " + layouts.merges() + " merges, sent " + sent
                + ", received " + (want - lost) + ", lost " + lost + ", duplicates "
                + (last == null ? 0 : last.total("duplicates")) + ", order violations "
                + (last == null ? 0 : last.total("orderViolations")) + ", leaks " + leaks();
    }
}
