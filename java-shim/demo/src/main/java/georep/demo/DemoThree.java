// SPDX-License-Identifier: Apache-2.0
package georep.demo;

import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ObjectNode;
import georep.it.Cluster;
import georep.it.ClusterSpec;
import georep.it.Federation;
import georep.plugin.source.ReplicationStatus;
import georep.plugin.source.SourceBroker;
import java.nio.file.Files;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.logging.LogManager;
import org.apache.pulsar.client.api.v5.PulsarClient;
import org.apache.pulsar.common.policies.data.RetentionPolicies;

/**
 * Three clusters in this process whose layouts have nothing in common. All publish; meanwhile they begin to replicate,
 * end on one layout, and follow each other's splits. At the end {@code georep verify} compares the logs of each two,
 * and the last line says DEMO OK or DEMO FAILED (exit status 1). Its convergenceMs is the time from the splits to equal
 * layouts; what is behind the cursors of sealed segments drains later.
 */
public final class DemoThree {
    private static final String NAMESPACE = "demo/three";
    private static final String TOPIC = "topic://" + NAMESPACE + "/events";
    private static final List<Integer> SEGMENTS = List.of(2, 3, 5);
    private static final Duration STALL = Duration.ofSeconds(60);
    private static final int BATCH = 50;

    private final Settings settings;
    private final long began = System.nanoTime();
    private final List<Cluster> clusters = new ArrayList<>();
    private final List<String> faults = new ArrayList<>();

    private DemoThree(Settings settings) {
        this.settings = settings;
    }

    /** Ends the process itself: brokers leave threads behind. */
    public static void main(String[] args) {
        int status = 1;
        LogManager.getLogManager().reset();
        try {
            DemoThree d = new DemoThree(Settings.of(System.getenv()));
            String line = d.run();
            d.faults.forEach(f -> System.out.println("  " + f));
            System.out.println("DEMO " + (d.faults.isEmpty() ? "OK " : "FAILED ") + line);
            status = d.faults.isEmpty() ? 0 : 1;
        } catch (Exception | LinkageError e) {
            e.printStackTrace(System.out);
            System.out.println("DEMO FAILED " + e);
        }
        System.out.flush();
        Runtime.getRuntime().halt(status);
    }

    private String run() throws Exception {
        start();
        Convergence convergence = new Convergence(clusters, TOPIC);
        int each = settings.messages() / 6;
        List<Load> loads = new ArrayList<>();
        List<PulsarClient> clients = new ArrayList<>();
        for (Cluster c : clusters) {
            clients.add(c.v5());
            loads.add(new Load(clients.get(clients.size() - 1), TOPIC, 0, each, BATCH, settings.loadSeconds()));
        }
        say("publishing %,d messages or more on each", each);
        loads.forEach(Load::startOpen);
        int inFlight = inFlight(loads);
        List<Integer> acked = loads.stream().map(Load::acked).toList();
        Federation.of(NAMESPACE, clusters.toArray(Cluster[]::new));
        long met = convergence.await();
        say("replicating; their layouts became the same in %d ms:", met);
        wentOn(loads, acked);
        show();
        List<Splits.Split> splits = split(convergence, loads);
        long followed = splits.get(0).followedMs();
        say("A and B split at once; all had both in %d ms:", followed);
        show();
        loads.forEach(Load::end);
        settle(loads);
        say("all has arrived; georep verify reads the logs");
        long messages = verify(loads);
        faults.addAll(Promises.traffic(splits));
        ObjectNode report = new ObjectMapper().createObjectNode().put("ok", faults.isEmpty()).put("messages", messages)
                .put("acked", loads.stream().mapToInt(Load::acked).sum()).put("firstMeetingMs", met)
                .put("inFlightAtMeeting", inFlight).put("convergenceMs", followed)
                .put("inFlightAtSplit", splits.get(0).inFlight()).put("layout", Layouts.text(clusters.get(0), TOPIC))
                .put("elapsedMs", (System.nanoTime() - began) / 1_000_000);
        faults.forEach(f -> report.withArray("faults").add(f));
        Files.createDirectories(settings.reportOfThree().getParent());
        new ObjectMapper().writerWithDefaultPrettyPrinter().writeValue(settings.reportOfThree().toFile(), report);
        return "clusters 3 messages " + messages + " firstMeetingMs " + met + " convergenceMs " + followed
                + " inFlightAtMeeting " + inFlight + " inFlightAtSplit " + splits.get(0).inFlight() + " layout "
                + report.path("layout").asText() + " elapsedMs " + report.path("elapsedMs").asLong();
    }

    private void start() throws Exception {
        System.setProperty("georep.nar.dir", settings.plugins().toString());
        say("starting three clusters with a bookie each");
        List<CompletableFuture<Cluster>> starting = List.of("a", "b", "c").stream()
                .map(n -> CompletableFuture.supplyAsync(() -> cluster(n))).toList();
        for (CompletableFuture<Cluster> f : starting) {
            clusters.add(f.get());
        }
        Federation.introduce(clusters.toArray(Cluster[]::new));
        Federation.create(NAMESPACE, clusters.toArray(Cluster[]::new));
        for (int i = 0; i < clusters.size(); i++) {
            Cluster c = clusters.get(i);
            c.admin().namespaces().setRetention(NAMESPACE, new RetentionPolicies(-1, -1));
            c.admin().scalableTopics().createScalableTopic(TOPIC, SEGMENTS.get(i));
        }
        show();
    }

    private Cluster cluster(String name) {
        try {
            return ClusterSpec.named(name).realBookies().start(settings.data().resolve(name));
        } catch (Exception e) {
            throw new IllegalStateException("cluster " + name + " does not start", e);
        }
    }

    /** The least that any of them has in flight; waits until each has something. */
    private static int inFlight(List<Load> loads) {
        return loads.stream().mapToInt(l -> Splits.underLoad(l::inFlight)).min().orElseThrow();
    }

    /** Something was published on each while the layouts met. */
    private void wentOn(List<Load> loads, List<Integer> before) {
        for (int i = 0; i < loads.size(); i++) {
            if (loads.get(i).acked() == before.get(i)) {
                faults.add("nothing was published on " + clusters.get(i).name + " while the layouts met");
            }
        }
    }

    /** A splits its first segment and B its last, at once, under load; followed when all have both. */
    private List<Splits.Split> split(Convergence convergence, List<Load> loads) throws Exception {
        long first = Layouts.at(clusters.get(0), TOPIC, 0x0000);
        long last = Layouts.at(clusters.get(1), TOPIC, 0xffff);
        int inFlight = inFlight(loads);
        CompletableFuture.allOf(clusters.get(0).admin().scalableTopics().splitSegmentAsync(TOPIC, first),
                clusters.get(1).admin().scalableTopics().splitSegmentAsync(TOPIC, last)).get(60, TimeUnit.SECONDS);
        long ms = convergence.await();
        return List.of(new Splits.Split(clusters.get(0).name, first, inFlight, ms),
                new Splits.Split(clusters.get(1).name, last, inFlight, ms));
    }

    /** Waits until everything is published and nothing is behind a replication cursor. */
    private void settle(List<Load> loads) throws Exception {
        long moved = System.nanoTime();
        String state = "";
        while (true) {
            for (Load l : loads) {
                l.check();
            }
            long backlog = 0;
            for (Cluster c : clusters) {
                backlog += SourceBroker.of(c.broker).status().all().stream()
                        .mapToLong(ReplicationStatus.Replicator::backlog).sum();
            }
            if (backlog == 0 && loads.stream().allMatch(Load::done)) {
                return;
            }
            String now = backlog + " " + loads.stream().mapToInt(Load::acked).sum();
            if (!now.equals(state)) {
                state = now;
                moved = System.nanoTime();
            } else if (System.nanoTime() - moved > STALL.toNanos()) {
                faults.add("nothing moves any more: backlog " + backlog);
                return;
            }
            Thread.sleep(250);
        }
    }

    /** Messages of all origins. */
    private long verify(List<Load> loads) throws Exception {
        long messages = 0;
        for (int i = 0; i < clusters.size(); i++) {
            for (int j = i + 1; j < clusters.size(); j++) {
                Cluster a = clusters.get(i);
                Cluster b = clusters.get(j);
                Verify.Answer v = Verify.run(settings.command(), a, b, TOPIC);
                messages = Math.max(messages, v.total("messages"));
                faults.addAll(Promises.logs(a.name + " and " + b.name, v, a.name, v.published(a.name),
                        loads.get(i).acked()));
                faults.addAll(Promises.stored(b.name, v.published(b.name), loads.get(j).acked()));
            }
        }
        return messages;
    }

    private void show() throws Exception {
        for (Cluster c : clusters) {
            say("  %s %s", c.name, Layouts.text(c, TOPIC));
        }
    }

    private void say(String format, Object... args) {
        System.out.printf("%6.1f s  %s%n", (System.nanoTime() - began) / 1e9, format.formatted(args));
        System.out.flush();
    }
}
