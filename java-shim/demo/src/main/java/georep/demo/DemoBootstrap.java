// SPDX-License-Identifier: Apache-2.0
package georep.demo;

import com.fasterxml.jackson.databind.JsonNode;
import georep.it.Cluster;
import georep.it.ClusterSpec;
import georep.it.Command;
import georep.it.Federation;
import georep.it.FileOffloader;
import java.io.IOException;
import java.time.Duration;
import java.util.Arrays;
import java.util.List;
import java.util.Set;
import java.util.logging.LogManager;
import java.util.stream.Collectors;
import org.apache.pulsar.client.api.v5.PulsarClient;
import org.apache.pulsar.common.policies.data.RetentionPolicies;

/**
 * A topic whose ledgers are offloaded, some of them in tiered storage alone, gets a remote that starts behind them
 * (earliestNotOffloaded) while publishing goes on. What the plugin says was left out is compared with the broker's own
 * record of its ledgers, what the application on the remote gets with the log; nothing may be read back out of tiered
 * storage for it. The last line says DEMO OK or DEMO FAILED (exit status 1).
 */
public final class DemoBootstrap {
    private static final String NAMESPACE = "demo/history";
    private static final String TOPIC = "topic://" + NAMESPACE + "/events";
    private static final String REMOTE = "b";
    private static final int SEGMENTS = 2;
    private static final int BATCH = 50;
    private static final double SECONDS = 4;
    private static final int LEDGERS = 8; // or more, of a segment
    private static final Duration STALL = Duration.ofSeconds(30);

    private final Settings settings;
    private final FileOffloader tier;
    private final Command georep;
    private final long began = System.nanoTime();
    private Cluster a;

    private DemoBootstrap(Settings settings) throws IOException {
        this.settings = settings;
        tier = new FileOffloader(settings.data().resolve("tier"));
        georep = new Command(settings.command());
    }

    /** Ends the process itself: brokers leave threads behind. */
    public static void main(String[] args) {
        int status = 1;
        LogManager.getLogManager().reset();
        try {
            BootstrapVerdict v = new DemoBootstrap(Settings.of(System.getenv())).run();
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

    private BootstrapVerdict run() throws Exception {
        System.setProperty("georep.nar.dir", settings.plugins().toString());
        say("starting cluster a with a bookie, an offloader and short ledgers");
        int history = settings.messages() / 4;
        a = ClusterSpec.named("a").realBookies().offloader(tier)
                .ledgers(Math.max(5, history / BATCH / SEGMENTS / LEDGERS)).start(settings.data().resolve("a"));
        Federation.introduce(a);
        Federation.create(NAMESPACE, a);
        a.admin().namespaces().setRetention(NAMESPACE, new RetentionPolicies(-1, -1));
        a.admin().scalableTopics().createScalableTopic(TOPIC, SEGMENTS);
        try (PulsarClient atA = a.v5()) {
            List<Ledgers.Ledger> leftOut = makeHistory(atA, history);
            say("starting cluster b, the new remote");
            Cluster b = ClusterSpec.named(REMOTE).realBookies().start(settings.data().resolve(REMOTE));
            Federation.introduce(a, b);
            Federation.create(NAMESPACE, a, b);
            b.admin().namespaces().setRetention(NAMESPACE, new RetentionPolicies(-1, -1));
            b.admin().scalableTopics().createScalableTopic(TOPIC, SEGMENTS);
            return replicate(atA, b, leftOut, history);
        }
    }

    /** Publishes, rolls, offloads; returns the ledgers that a remote should leave out. */
    private List<Ledgers.Ledger> makeHistory(PulsarClient atA, int messages) throws Exception {
        say("publishing %,d messages on a", messages);
        publish(atA, 0, messages);
        Ledgers ledgers = new Ledgers(a, TOPIC);
        ledgers.offload();
        List<Ledgers.Ledger> all = ledgers.all();
        List<Ledgers.Ledger> leftOut = Ledgers.leftOut(all);
        say("a has %d ledgers in %d segments: %d offloaded, %d of these not in bookkeeper any more; %d are not "
                + "offloaded", all.size(), SEGMENTS, all.stream().filter(Ledgers.Ledger::offloaded).count(),
                all.stream().filter(Ledgers.Ledger::deleted).count(),
                all.stream().filter(g -> !g.offloaded()).count());
        return leftOut;
    }

    private int publish(PulsarClient atA, int first, int messages) throws Exception {
        try (Load load = new Load(atA, TOPIC, first, messages, BATCH, SECONDS)) {
            load.start();
            while (!load.done()) {
                load.check();
                Thread.sleep(50);
            }
            return load.acked();
        }
    }

    private BootstrapVerdict replicate(PulsarClient atA, Cluster b, List<Ledgers.Ledger> leftOut, int history)
            throws Exception {
        say("%s", georep("start-at", TOPIC, "--remote", REMOTE, "--at", "earliestNotOffloaded").out().trim());
        Metrics metrics = new Metrics(a.broker.getWebServiceAddress());
        long readBefore = tier.reads();
        Federation.of(NAMESPACE, a, b);
        say("the namespace replicates to b; see: build/lib/georep bootstrap show --admin-url %s %s", a.adminUrl(),
                TOPIC);
        try (PulsarClient atB = b.v5(); Receiver receiver = new Receiver(atB, TOPIC)) {
            int acked = history + publish(atA, history, history / 2);
            settle(metrics);
            long tierReads = tier.reads() - readBefore;
            Manifest manifest = Manifest.of(georep("bootstrap", "show", TOPIC, "--json").json(), REMOTE);
            System.out.print(georep("bootstrap", "show", TOPIC).out());
            BootstrapVerdict.DryRun dryRun = dryRun();
            Metrics.Sample sent = metrics.sample();
            say("all is sent: %,d entries; reading a's log, out of tiered storage too", sent.verbatim()
                    + sent.rebatched());
            Set<Long> out = leftOut.stream().map(Ledgers.Ledger::id).collect(Collectors.toSet());
            StoredMessages.Part skipped = StoredMessages.read(a, TOPIC, out::contains);
            StoredMessages.Part kept = StoredMessages.read(a, TOPIC, ledger -> !out.contains(ledger));
            arrive(receiver, kept.messages().count());
            int received = receiver.count();
            String consumer = kept.messages().difference(receiver.stop());
            BootstrapVerdict v = new BootstrapVerdict(acked, leftOut, manifest, skipped, kept,
                    sent.verbatim() + sent.rebatched(), received, consumer, tierReads, dryRun,
                    (System.nanoTime() - began) / 1_000_000);
            v.write(settings.reportOfBootstrap());
            return v;
        }
    }

    /** What an operator is told who thinks of sending all of it after all. */
    private BootstrapVerdict.DryRun dryRun() throws Exception {
        String[] reset = {"reset-cursor", TOPIC, "--remote", REMOTE, "--to", "earliest", "--dry-run"};
        System.out.print(georep(reset).out());
        JsonNode total = georep("reset-cursor", TOPIC, "--remote", REMOTE, "--to", "earliest", "--dry-run", "--json")
                .json().path("total");
        JsonNode status = georep("status", TOPIC, "--json").json();
        return new BootstrapVerdict.DryRun(total.path("readEntries").asLong(),
                total.path("readOffloadedBytes").asLong(),
                status.path("remotes").path(REMOTE).path("generation").asLong());
    }

    /** Until every start is placed and nothing is behind the cursors. */
    private void settle(Metrics metrics) throws Exception {
        String state = "";
        long moved = System.nanoTime();
        while (System.nanoTime() - moved < STALL.toNanos()) {
            Metrics.Sample m = metrics.sample();
            Manifest now = Manifest.of(georep("bootstrap", "show", TOPIC, "--json").json(), REMOTE);
            if (now.unplanned().isEmpty() && m.backlog() == 0 && m.verbatim() > 0) {
                return;
            }
            if (!state.equals(m + " " + now)) {
                state = m + " " + now;
                moved = System.nanoTime();
                say("sent %,d entries, backlog %,d, left out %,d %s", m.verbatim() + m.rebatched(), m.backlog(),
                        now.entries(), now.unplanned());
            }
            Thread.sleep(500);
        }
        say("nothing moves any more: %s", state);
        System.out.print(georep("status", TOPIC, "--all").out());
    }

    /** Until the application has so many, or gets no more. */
    private static void arrive(Receiver receiver, int messages) throws Exception {
        int last = -1;
        long moved = System.nanoTime();
        while (receiver.count() < messages && System.nanoTime() - moved < STALL.toNanos()) {
            receiver.check();
            if (receiver.count() != last) {
                last = receiver.count();
                moved = System.nanoTime();
            }
            Thread.sleep(100);
        }
    }

    private Command.Result georep(String... args) throws Exception {
        String[] line = Arrays.copyOf(args, args.length + 2);
        line[args.length] = "--admin-url";
        line[args.length + 1] = a.adminUrl();
        Command.Result r = georep.run(line);
        if (r.status() != 0) {
            throw new IOException("georep " + String.join(" ", args) + ": " + r);
        }
        return r;
    }

    private void say(String format, Object... args) {
        System.out.printf("%6.1f s  %s%n", (System.nanoTime() - began) / 1e9, format.formatted(args));
        System.out.flush();
    }
}
