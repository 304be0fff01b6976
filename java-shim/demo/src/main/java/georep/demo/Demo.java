// SPDX-License-Identifier: Apache-2.0
package georep.demo;

import com.fasterxml.jackson.databind.JsonNode;
import georep.it.Cluster;
import georep.it.ClusterSpec;
import georep.it.Federation;
import georep.it.Http;
import georep.it.SegmentLog;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.logging.LogManager;
import org.apache.pulsar.broker.service.Subscription;
import org.apache.pulsar.broker.service.persistent.PersistentTopic;
import org.apache.pulsar.client.api.v5.PulsarClient;
import org.apache.pulsar.common.policies.data.RetentionPolicies;

/**
 * Two clusters in this process, real bookies, real clients: what is published on A arrives on B while both split
 * segments and follow each other's splits; once their layouts are the same nothing is opened any more. At the end
 * {@code georep verify} compares both clusters' logs, the application's messages are compared with A's log, and the
 * last line says DEMO OK or DEMO FAILED (exit status 1).
 */
public final class Demo {
    private static final String NAMESPACE = "demo/orders";
    private static final String TOPIC = "topic://" + NAMESPACE + "/events";
    private static final int BATCH = 100;
    private static final int SMALL_BATCH = 2;
    private static final Duration STALL = Duration.ofSeconds(20);
    /**
     * The consumer on B gets a split segment's children when B's stock controller sees the parent drained. As its
     * source has it, it asks 2, 4, 8, 16 s apart, so that the application may stand for so long though all is there.
     */
    private static final Duration STALL_OF_APPLICATION = Duration.ofSeconds(25);

    private final Settings settings;
    private final long began = System.nanoTime();
    private Cluster a;
    private Cluster b;
    private Metrics metrics;
    private Convergence convergence;
    private long lastLine;

    private Demo(Settings settings) {
        this.settings = settings;
    }

    /** Ends the process itself: brokers leave threads behind. */
    public static void main(String[] args) {
        int status = 1;
        LogManager.getLogManager().reset(); // what speaks java.util.logging would speak on the demo's console
        try {
            Verdict v = new Demo(Settings.of(System.getenv())).run();
            v.faults().forEach(f -> System.out.println("  " + f));
            System.out.println(v.line());
            status = v.faults().isEmpty() ? 0 : 1;
        } catch (Exception | LinkageError e) {
            e.printStackTrace(System.out);
            System.out.println("DEMO FAILED " + e);
        }
        System.out.flush();
        Runtime.getRuntime().halt(status);
    }

    private Verdict run() throws Exception {
        start();
        try (PulsarClient atA = a.v5(); PulsarClient atB = b.v5();
                Receiver receiver = new Receiver(atB, TOPIC);
                Load load = new Load(atA, TOPIC, 0, settings.messages(), BATCH, settings.loadSeconds());
                Load quiet = new Load(atA, TOPIC, settings.messages(), settings.quietMessages(), SMALL_BATCH,
                        settings.loadSeconds() / 2)) {
            say("publishing %,d messages with %d keys, every codec at once", settings.messages(), Load.KEYS);
            Splits splits = new Splits(a, b, TOPIC, convergence, load, settings.messages());
            load.start();
            splits.start();
            watch(List.of(load), splits, receiver);
            List<Splits.Split> done = splits.finish();
            done.forEach(s -> say("segment %d of %s was split; the other cluster followed in %d ms", s.segment(),
                    s.cluster(), s.followedMs()));
            say("A %s", Layouts.text(a, TOPIC));
            say("B %s", Layouts.text(b, TOPIC));
            convergence.await();
            Convergence.Sent before = convergence.sent();
            say("the layouts are the same: publishing %,d messages more", settings.quietMessages());
            quiet.start();
            watch(List.of(load, quiet), splits, receiver);
            return verdict(load.acked() + quiet.acked(), receiver, done, convergence.sent().since(before));
        }
    }

    private void start() throws Exception {
        System.setProperty("georep.nar.dir", settings.plugins().toString());
        say("starting two clusters with a bookie each");
        CompletableFuture<Cluster> other = CompletableFuture.supplyAsync(() -> cluster("b"));
        a = cluster("a");
        b = other.get();
        say("both are up; see: build/lib/georep status --admin-url %s %s", a.broker.getWebServiceAddress(), NAMESPACE);
        Federation.introduce(a, b);
        Federation.create(NAMESPACE, a, b);
        for (Cluster c : List.of(a, b)) { // both logs are read again at the end
            c.admin().namespaces().setRetention(NAMESPACE, new RetentionPolicies(-1, -1));
        }
        a.admin().scalableTopics().createScalableTopic(TOPIC, 2);
        b.admin().scalableTopics().createScalableTopic(TOPIC, 4);
        metrics = new Metrics(a.broker.getWebServiceAddress());
        convergence = new Convergence(List.of(a, b), TOPIC);
        say("A %s   B %s   replicating %s", Layouts.text(a, TOPIC), Layouts.text(b, TOPIC), TOPIC);
        Federation.of(NAMESPACE, a, b);
        say("their first meeting took %d ms: A %s   B %s", convergence.await(), Layouts.text(a, TOPIC),
                Layouts.text(b, TOPIC));
    }

    private Cluster cluster(String name) {
        try {
            return ClusterSpec.named(name).realBookies().start(settings.data().resolve(name));
        } catch (Exception e) {
            throw new IllegalStateException("cluster " + name + " does not start", e);
        }
    }

    /** Prints until everything has arrived, or nothing has moved for a while. */
    private void watch(List<Load> loads, Splits splits, Receiver receiver) throws Exception {
        long moved = System.nanoTime();
        String state = "";
        while (true) {
            for (Load l : loads) {
                l.check();
            }
            splits.check();
            receiver.check();
            int published = loads.stream().mapToInt(Load::published).sum();
            int acked = loads.stream().mapToInt(Load::acked).sum();
            boolean done = loads.stream().allMatch(Load::done);
            Metrics.Sample m = metrics.sample();
            progress(published, receiver, m);
            if (done && m.backlog() == 0 && receiver.count() >= acked) {
                return;
            }
            String now = acked + " " + receiver.count() + " " + m;
            if (!now.equals(state)) {
                state = now;
                moved = System.nanoTime();
            } else if (System.nanoTime() - moved
                    > (m.backlog() == 0 && done ? STALL_OF_APPLICATION : STALL).toNanos()) {
                say("nothing moves any more; what stands:");
                stuck();
                return;
            }
            Thread.sleep(250);
        }
    }

    /** What the plugin on A says of every segment that has a backlog, and what the application on B has before it. */
    private void stuck() throws Exception {
        String path = "/admin/v2/scalable-repl/status/" + TOPIC.substring("topic://".length());
        for (JsonNode s : Http.get(a.broker, path, null).json().path("segments")) {
            JsonNode r = s.path("remotes").path(b.name);
            if (r.path("backlog").asLong() > 0) {
                say("  segment %s %s: %s", s.path("id"), s.path("state").asText(), r);
            }
        }
        for (String segment : SegmentLog.segments(b, TOPIC)) {
            PersistentTopic t = b.segment(segment);
            Subscription application = t.getSubscription(Receiver.SUBSCRIPTION);
            if (application == null || application.getNumberOfEntriesInBacklog(true) > 0) {
                say("  B's segment %s%s: %s", segment, t.getManagedLedger().isTerminated() ? ", sealed" : "",
                        application == null ? "the application does not read it"
                                : application.getNumberOfEntriesInBacklog(true)
                                + " entries before the application, consumers " + application.getConsumers().size());
            }
        }
    }

    private void progress(int published, Receiver receiver, Metrics.Sample m) throws Exception {
        if (System.nanoTime() - lastLine < 1_000_000_000L) {
            return;
        }
        lastLine = System.nanoTime();
        say("published %,9d  received %,9d  verbatim %,6d  re-batched %,6d  backlog %,5d  A %s  B %s", published,
                receiver.count(), m.verbatim(), m.rebatched(), m.backlog(), Layouts.text(a, TOPIC),
                Layouts.text(b, TOPIC));
    }

    private Verdict verdict(int acked, Receiver receiver, List<Splits.Split> splits, Convergence.Sent quiet)
            throws Exception {
        int received = receiver.count();
        Sequences got = receiver.stop();
        if (settings.sabotage() != Sabotage.Kind.NONE) {
            say("received %,d; sabotage: %s one entry of B's segment %d", received, settings.sabotage(), Splits.KEPT);
            SpoiltLog.of(b, TOPIC, Splits.KEPT, settings.sabotage());
        }
        say("received %,d; georep verify reads both logs", received);
        Verify.Answer answer = Verify.run(settings.command(), a, b, TOPIC);
        long again = answer.total("messages") - acked;
        if (again > 0) {
            say("%,d messages are twice in A's log: its clients sent them again when their segment was sealed", again);
        }
        String consumer = StoredMessages.read(a, TOPIC).difference(got);
        Verdict v = new Verdict(acked, received, answer, metrics.sample(), splits, quiet, settings.quietEntries(),
                consumer, (System.nanoTime() - began) / 1_000_000);
        v.write(settings.report());
        return v;
    }

    private void say(String format, Object... args) {
        System.out.printf("%6.1f s  %s%n", (System.nanoTime() - began) / 1e9, format.formatted(args));
        System.out.flush();
    }
}
