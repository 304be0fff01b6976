// SPDX-License-Identifier: Apache-2.0
package georep.it;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import com.fasterxml.jackson.databind.JsonNode;
import io.netty.buffer.Unpooled;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.time.Duration;
import java.time.Instant;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.TimeUnit;
import org.apache.bookkeeper.mledger.ManagedLedger;
import org.apache.bookkeeper.mledger.PositionFactory;
import org.apache.logging.log4j.Level;
import org.apache.pulsar.common.api.proto.MessageMetadata;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestInstance;
import org.junit.jupiter.api.Timeout;

/** Where a remote starts, as an operator says it by the command, sees it, and moves it. */
@TestInstance(TestInstance.Lifecycle.PER_CLASS)
@Timeout(value = 120, unit = TimeUnit.SECONDS)
class StartCommandTest {
    private static final int LEDGER = 3; // entries
    private static final String B = "cluster-b";

    private Cluster a;
    private Cluster b;
    private Command georep;

    @BeforeAll
    void start() throws Exception {
        georep = Command.built();
        FileOffloader tier = new FileOffloader(Files.createDirectories(Dirs.fresh()));
        a = ClusterSpec.named("cluster-a").apart().offloader(tier).ledgers(LEDGER).start(Dirs.fresh());
        b = ClusterSpec.named(B).apart().start(Dirs.fresh());
        Federation.introduce(a, b);
    }

    @AfterAll
    void stop() throws Exception {
        a.close();
        b.close();
    }

    private Command.Result admin(String... args) throws Exception {
        String[] line = Arrays.copyOf(args, args.length + 2);
        line[args.length] = "--admin-url";
        line[args.length + 1] = a.adminUrl();
        return georep.run(line);
    }

    private Command.Result done(String... args) throws Exception {
        Command.Result r = admin(args);
        assertThat(r.status()).as("%s: %s", List.of(args), r).isZero();
        return r;
    }

    /** A topic that does not replicate yet; each has a namespace of its own. */
    private String topic(String ns, String name) throws Exception {
        Federation.create(ns, a, b);
        String t = "topic://" + ns + "/" + name;
        Federation.topic(t, 1, a, b);
        return t;
    }

    private void send(String segment, int n) throws Exception {
        SourceRawProducer p = new SourceRawProducer(a, segment, "raw");
        for (int i = 0; i < n; i++) {
            MessageMetadata m = new MessageMetadata().setProducerName("p").setSequenceId(i)
                    .setPublishTime(System.currentTimeMillis()).setPartitionKey("k" + i);
            p.send(m, new byte[0], Unpooled.wrappedBuffer(("#" + i).getBytes(StandardCharsets.UTF_8)));
        }
    }

    private String segment(String topic, int index) throws Exception {
        return SegmentLog.segments(a, topic).get(index);
    }

    private void awaitStored(String topic, int entries) {
        await().atMost(Duration.ofSeconds(20)).untilAsserted(() -> {
            int n = 0;
            for (String s : SegmentLog.segments(b, topic)) {
                n += SegmentLog.read(b, s).size();
            }
            assertThat(n).as("entries of %s", topic).isEqualTo(entries);
        });
    }

    private int generation(String topic) throws Exception {
        return done("status", topic, "--json").json().path("remotes").path(B).path("generation").asInt();
    }

    /** Left out, shown, and sent after all: the dry run says what that will be, and changes nothing. */
    @Test
    void aRemoteStartsBehindWhatIsOffloaded() throws Exception {
        String ns = "t/behind";
        String offloaded = topic(ns, "offloaded");
        String other = topic(ns, "other");
        send(segment(offloaded, 0), 2 * LEDGER + 2);
        send(segment(other, 0), 4);
        ManagedLedger log = a.segment(segment(offloaded, 0)).getManagedLedger();
        log.offloadPrefix(PositionFactory.create(log.getLedgersInfo().lastKey(), 0));
        try (LogLines audit = LogLines.of("georep.audit", Level.INFO)) {
            assertThat(done("start-at", ns, "--remote", B, "--at", "latest").out())
                    .isEqualTo(ns + " to " + B + ": begins at latest\n");
            assertThat(done("start-at", offloaded, "--remote", B, "--at", "earliestNotOffloaded").out())
                    .isEqualTo(offloaded + " to " + B + ": begins at earliestNotOffloaded\n");
            assertThat(audit.with("call=start-at topic=" + offloaded + " ")).singleElement().asString()
                    .contains("remote=" + B, "earliestNotOffloaded");
        }
        Federation.of(ns, a, b);
        awaitStored(offloaded, 2);
        send(segment(other, 0), 1);
        awaitStored(other, 1); // the namespace's start: nothing of before

        String shown = done("bootstrap", "show", offloaded).out();
        assertThat(shown).contains(" placed ", " earliestNotOffloaded ", "by topic georep.startAt." + B,
                B + ": not replicated by choice: " + 2 * LEDGER + " entries, ", ", offloaded: ");
        assertThat(shown.lines()).allSatisfy(l -> assertThat(l.length()).isLessThanOrEqualTo(120));
        assertThat(done("bootstrap", "show", other).out()).contains(" latest ", "by namespace georep.startAt." + B,
                B + ": not replicated by choice: 4 entries, ");
        JsonNode plan = done("bootstrap", "show", offloaded, "--json", "--remote", B).json().path("segments").get(0)
                .path("remotes").path(B).path("plan");
        assertThat(plan.path("skipped")).as("%s", plan).hasSize(2);
        assertThat(plan.path("skipped").get(1).path("entries").asInt()).isEqualTo(LEDGER);
        assertThat(plan.path("skipped").get(1).path("uuid").asText()).hasSize(36);
        assertThat(done("status", offloaded).out()).contains("not replicated by choice: " + 2 * LEDGER + " entries, ");

        JsonNode total = done("reset-cursor", offloaded, "--remote", B, "--to", "earliest", "--dry-run", "--json")
                .json().path("total");
        assertThat(total.path("readEntries").asInt()).as("%s", total).isEqualTo(2 * LEDGER + 2);
        assertThat(total.path("againEntries").asInt()).as("sent or left out: %s", total).isEqualTo(2 * LEDGER + 2);
        assertThat(total.path("readOffloadedBytes").asLong()).isEqualTo(plan.path("bytes").asLong()).isPositive();
        assertThat(generation(offloaded)).isEqualTo(1);
        awaitStored(offloaded, 2);

        Command.Result reset = done("reset-cursor", offloaded, "--remote", B, "--to", "earliest");
        assertThat(reset.out()).startsWith(offloaded + " to " + B + ": begins anew at earliest\n")
                .contains("reads " + (2 * LEDGER + 2) + " entries, ", "; the cursor was past " + (2 * LEDGER + 2)
                        + " of them\n");
        awaitStored(offloaded, 2 + 2 * LEDGER + 2);
        assertThat(generation(offloaded)).isEqualTo(2);
        assertThat(done("bootstrap", "show", offloaded).out()).contains(B + ": nothing is left out");
    }

    /** A child's messages would come before its parent's: the answer says what has to be reset with it. */
    @Test
    void aParentIsNotResetWithoutItsChildren() throws Exception {
        String ns = "t/family";
        String t = topic(ns, "x");
        Federation.of(ns, a, b);
        send(segment(t, 0), 2);
        awaitStored(t, 2);
        a.admin().scalableTopics().splitSegment(t, 0);
        send(segment(t, 1), 1);
        send(segment(t, 2), 1);
        awaitStored(t, 4);
        for (String dry : List.of("--dry-run", "--json")) {
            Command.Result refused = admin("reset-cursor", t, "--remote", B, "--to", "earliest", "--segment", "0", dry);
            assertThat(refused.status()).as("%s", refused).isEqualTo(1);
            assertThat(refused.err()).as("%s", refused).containsPattern("409.*\\b0, 1, 2\\b");
        }
        assertThat(generation(t)).isEqualTo(1);
        done("reset-cursor", t, "--remote", B, "--to", "earliest", "--segment", "0", "--segment", "1", "--segment",
                "2");
        awaitStored(t, 8);
        Command.Result unknown = admin("reset-cursor", t, "--remote", B, "--to", "earliest", "--segment", "7");
        assertThat(unknown.status()).as("%s", unknown).isEqualTo(1);
        assertThat(unknown.err()).contains("segment 7 is not in the layout");
        // a child alone breaks nothing
        done("reset-cursor", t, "--remote", B, "--to", "earliest", "--segment", "1");
        awaitStored(t, 9);
    }

    @Test
    void positionsAndTimesAreStarts() throws Exception {
        String ns = "t/starts";
        String t = topic(ns, "x");
        send(segment(t, 0), 2);
        await().until(() -> System.currentTimeMillis() > lastPublished(t));
        String between = Instant.ofEpochMilli(lastPublished(t) + 1).toString();
        send(segment(t, 0), 2);
        String last = SegmentLog.read(a, segment(t, 0)).get(3).position();
        done("start-at", t, "--remote", B, "--at", last);
        Federation.of(ns, a, b);
        awaitStored(t, 1);
        assertThat(done("bootstrap", "show", t).out()).contains(" " + last + " ");
        JsonNode dry = done("reset-cursor", t, "--remote", B, "--to", between, "--dry-run", "--json").json();
        assertThat(dry.path("total").path("readEntries").asInt()).as("%s", dry).isEqualTo(2);
        assertThat(dry.path("total").path("againEntries").asInt()).as("sent or left out: %s", dry).isEqualTo(2);
        done("reset-cursor", t, "--remote", B, "--to", between);
        awaitStored(t, 3);
        done("reset-cursor", t, "--remote", B, "--to", "1"); // a millisecond after 1970
        awaitStored(t, 7);
        JsonNode latest = done("reset-cursor", t, "--remote", B, "--to", "latest", "--json").json();
        assertThat(latest.path("total").path("readEntries").asInt()).as("%s", latest).isZero();
        send(segment(t, 0), 1);
        awaitStored(t, 8);
    }

    private long lastPublished(String topic) throws Exception {
        List<StoredEntry> log = SegmentLog.read(a, segment(topic, 0));
        return log.get(log.size() - 1).parsed().getPublishTime();
    }

    /** A setting that is taken away counts no more: the broker's start, which is earliest here. */
    @Test
    void aStartIsUnset() throws Exception {
        String ns = "t/unset";
        String t = topic(ns, "x");
        send(segment(t, 0), 2);
        done("start-at", ns, "--remote", B, "--at", "latest");
        done("start-at", t, "--remote", B, "--at", "latest");
        assertThat(done("start-at", t, "--remote", B, "--unset").out())
                .isEqualTo(t + " to " + B + ": begins where the namespace says, or the broker\n");
        done("start-at", ns, "--remote", B, "--unset");
        Federation.of(ns, a, b);
        awaitStored(t, 2);
        assertThat(done("bootstrap", "show", t).out()).contains(" earliest ", "by replicationStartAt");
        assertThat(admin("start-at", "topic://" + ns + "/nosuch", "--remote", B, "--at", "latest").status())
                .isEqualTo(3);
        assertThat(admin("start-at", "t/nosuch", "--remote", B, "--at", "latest").status()).isEqualTo(3);
        assertThat(admin("bootstrap", "show", "topic://" + ns + "/nosuch").status()).isEqualTo(3);
        assertThat(admin("reset-cursor", t, "--remote", "cluster-c", "--to", "latest").status()).isEqualTo(3);
    }
}
