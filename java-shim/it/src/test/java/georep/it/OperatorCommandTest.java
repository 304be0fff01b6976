// SPDX-License-Identifier: Apache-2.0
package georep.it;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import com.fasterxml.jackson.databind.JsonNode;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HexFormat;
import java.util.List;
import java.util.concurrent.TimeUnit;
import org.apache.logging.log4j.Level;
import org.apache.pulsar.broker.PulsarService;
import org.apache.pulsar.common.api.proto.MessageMetadata;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestInstance;
import org.junit.jupiter.api.Timeout;

/**
 * The command, as an operator runs it, against two clusters that speak nothing but TLS and ask everybody for a token:
 * clients, brokers among each other, and the calls from one cluster's plugin to the other's.
 */
@TestInstance(TestInstance.Lifecycle.PER_CLASS)
@Timeout(value = 120, unit = TimeUnit.SECONDS)
class OperatorCommandTest {
    private static final String NS = "t/cmd";
    private static final String MALFORMED = "0e01000000000000000affffffffffffffffffffaabb";

    private Secrets secrets;
    private Cluster a;
    private Cluster b;
    private Command georep;
    private Path adminToken;

    @BeforeAll
    void start() throws Exception {
        georep = Command.built();
        secrets = Secrets.make(Dirs.fresh());
        adminToken = Files.writeString(fresh().resolve("admin.token"), secrets.token("admin") + "\n");
        a = secured("cluster-a");
        b = secured("cluster-b");
        Federation.of(NS, a, b);
    }

    private static Path fresh() throws Exception {
        return Files.createDirectories(Dirs.fresh());
    }

    private Cluster secured(String name) throws Exception {
        return ClusterSpec.named(name).apart().with(secrets::requireTokens).with(secrets::requireTls)
                .start(Dirs.fresh());
    }

    @AfterAll
    void stop() throws Exception {
        a.close();
        b.close();
    }

    /** As the super-user, at the source. */
    private Command.Result admin(String... args) throws Exception {
        return at(a.adminUrl(), args);
    }

    private Command.Result at(String url, String... args) throws Exception {
        return plain(url, with(args, "--token-file", adminToken.toString(), "--tls-ca",
                secrets.certificate.toString()));
    }

    private Command.Result plain(String url, String... args) throws Exception {
        return georep.run(with(args, "--admin-url", url));
    }

    private static String[] with(String[] args, String... more) {
        List<String> all = new ArrayList<>(Arrays.asList(args));
        all.addAll(List.of(more));
        return all.toArray(String[]::new);
    }

    private String topic(String name, int segmentsB) throws Exception {
        String t = "topic://" + NS + "/" + name;
        Federation.topic(t, 1, a);
        Federation.topic(t, segmentsB, b);
        return t;
    }

    private static MessageMetadata keyed(int i) {
        return new MessageMetadata().setProducerName("p").setSequenceId(i).setPublishTime(1).setPartitionKey("k" + i);
    }

    private static ByteBuf body(int i) {
        return Unpooled.wrappedBuffer(("k" + i + "#" + i).getBytes(StandardCharsets.UTF_8));
    }

    private void send(String topic, int i) throws Exception {
        new SourceRawProducer(a, SegmentLog.segments(a, topic).get(0), "raw").send(keyed(i), new byte[0], body(i));
    }

    private int storedAtB(String topic) throws Exception {
        int n = 0;
        for (String s : SegmentLog.segments(b, topic)) {
            n += SegmentLog.read(b, s).size();
        }
        return n;
    }

    private void awaitStored(String topic, int entries) {
        await().atMost(Duration.ofSeconds(20)).untilAsserted(() -> assertThat(storedAtB(topic))
                .as("entries of %s", topic).isEqualTo(entries));
    }

    /** The rows of the status table that begin with a segment's name, by columns. */
    private static List<String[]> rows(String table) {
        return table.lines().filter(l -> l.matches("[0-9a-f]{4}-[0-9a-f]{4}-\\d+ .*")).map(l -> l.split("\\s+"))
                .toList();
    }

    @Test
    void whatReplicatesIsShownAndVerified() throws Exception {
        String t = topic("shown", 2);
        for (int i = 0; i < 5; i++) {
            send(t, i);
        }
        awaitStored(t, 5);
        await().atMost(Duration.ofSeconds(20)).untilAsserted(() -> {
            Command.Result r = admin("status", t, "--check");
            assertThat(r.status()).as("%s", r).isZero();
            assertThat(rows(r.out())).as("%s", r).singleElement().satisfies(row -> assertThat(row).containsExactly(
                    "0000-ffff-0", "cluster-b", "replicating", "0", "0s", "0", "0", "5", "0", "0", "0"));
        });
        Command.Result r = admin("status", t);
        assertThat(r.out()).startsWith(t + "  cluster cluster-a  epoch 0  -> cluster-b generation 1\n")
                .contains("budget of " + a.broker.getBrokerId() + ": 64 MiB of 64 MiB left, 0 of 2 slots in use")
                .contains("in all: 1 replicating; backlog 0, parked 0");
        assertThat(r.out().lines()).allSatisfy(l -> assertThat(l.length()).isLessThanOrEqualTo(120));
        JsonNode segment = admin("status", t, "--json").json().path("segments").get(0);
        assertThat(segment.path("remotes").path("cluster-b").path("remoteStatus").asText()).isEqualTo("supported");
        assertThat(segment.has("budget")).isFalse();
        assertThat(admin("status", NS).out()).contains(t + "  cluster");
        Command.Result verified = at(a.adminUrl(), "verify", t, "--admin-url", b.adminUrl());
        assertThat(verified.status()).as("%s", verified).isZero();
        assertThat(verified.out()).contains("5 messages").endsWith("equal\n");
    }

    /** Seen with reason and bytes; told to the log once; let go one at a time, by a super-user, and audited. */
    @Test
    void aParkedEntryIsSeenAndSkipped() throws Exception {
        String t = topic("parked", 1);
        String segment = SegmentLog.segments(a, t).get(0);
        try (LogLines log = LogLines.of("georep.plugin.source.WindowDriver", Level.WARN);
             LogLines audit = LogLines.of("georep.audit", Level.INFO)) {
            send(t, 0);
            SourceRawProducer raw = new SourceRawProducer(a, segment, "raw");
            raw.send(Unpooled.wrappedBuffer(HexFormat.of().parseHex(MALFORMED)));
            send(t, 1);
            raw.send(Unpooled.wrappedBuffer(HexFormat.of().parseHex(MALFORMED)));
            send(t, 2);
            JsonNode parked = awaitParked(t, "malformed");
            String position = parked.path("position").asText();
            assertThat(parked.path("head").asText()).isEqualTo(MALFORMED);
            assertThat(parked.path("size").asInt()).isEqualTo(22);
            assertThat(parked.path("segment").asInt()).isZero();
            a.admin().namespaces().unload(NS);
            JsonNode again = awaitParked(t, "malformed");
            assertThat(again.path("since")).as("known since the first load").isEqualTo(parked.path("since"));
            assertThat(log.with(position + " is parked")).as("lines of the log").singleElement().asString()
                    .startsWith("WARN ").contains("reason malformed");
            assertThat(metric("malformed")).isEqualTo("1");

            Command.Result shown = admin("parked", t, "--remote", "cluster-b");
            assertThat(shown.out()).as("%s", shown).contains(position + " ", " malformed ", "    " + MALFORMED + "\n");
            assertThat(admin("parked", t, "--remote", "cluster-c").out()).isEqualTo("0 parked\n");
            inspectMalformed(t, position);

            String wrong = position.replaceAll("\\d+$", "9999");
            Command.Result refused = admin("skip", t, "--remote", "cluster-b", "--position", wrong);
            assertThat(refused.status()).as("%s", refused).isEqualTo(1);
            assertThat(refused.err()).contains("409", wrong + " is not parked for cluster-b; parked: " + position
                    + " (malformed)");
            assertThat(admin("skip", t, "--remote", "cluster-c", "--position", position).status()).isEqualTo(3);
            assertThat(admin("skip", t, "--remote", "cluster-b", "--position", position, "--segment", "7").status())
                    .isEqualTo(3);
            assertThat(storedAtB(t)).isEqualTo(1);

            Command.Result skipped = admin("skip", t, "--remote", "cluster-b", "--position", position, "--json");
            assertThat(skipped.status()).as("%s", skipped).isZero();
            assertThat(skipped.json().path("segment").asInt()).isZero();
            awaitStored(t, 2); // up to the second one, which stays
            await().atMost(Duration.ofSeconds(20)).untilAsserted(() -> // the skipped one until the cursor has let it go
                    assertThat(awaitParked(t, "malformed").path("position").asText()).isNotEqualTo(position));
            JsonNode second = awaitParked(t, "malformed");
            assertThat(admin("skip", t, "--remote", "cluster-b", "--position", position).status()).isEqualTo(1);
            assertThat(admin("skip", t, "--remote", "cluster-b", "--position", second.path("position").asText(),
                    "--segment", "0").status()).isZero();
            awaitStored(t, 3);
            assertThat(metric("malformed")).isEqualTo("0");
            assertThat(admin("parked", t).out()).isEqualTo("0 parked\n");
            assertThat(audit.with("call=skip topic=" + t + " ")).first().asString()
                    .startsWith("INFO who=admin@127.0.0.1 ").endsWith("remote=cluster-b position=" + wrong);
            assertThat(audit.with("call=skip topic=" + segment + " ")).as("what was done").hasSize(2).first().asString()
                    .endsWith("remote=cluster-b position=" + position);
        }
    }

    private JsonNode awaitParked(String topic, String reason) {
        JsonNode[] found = new JsonNode[1];
        await().atMost(Duration.ofSeconds(20)).untilAsserted(() -> {
            JsonNode n = admin("parked", topic, "--json").json();
            assertThat(n.path("parkedTotal").asInt()).as("%s", n).isEqualTo(1);
            found[0] = n.path("parked").get(0);
        });
        assertThat(found[0].path("reason").asText()).isEqualTo(reason);
        return found[0];
    }

    private String metric(String reason) throws Exception {
        String head = "pulsar_georep_parked{cluster=\"cluster-a\",remote_cluster=\"cluster-b\",reason=\"" + reason
                + "\"} ";
        return Http.get(a.broker, "/metrics/", secrets.token("admin")).body().lines().filter(l -> l.startsWith(head))
                .map(l -> l.substring(head.length())).findFirst().orElse("none");
    }

    /** The whole entry is to be had, and inspect says at which byte it is wrong. */
    private void inspectMalformed(String topic, String position) throws Exception {
        Path dir = fresh();
        assertThat(admin("parked", topic, "--save", dir.toString()).status()).isZero();
        Path saved = dir.resolve("0-" + position.replace(':', '-') + ".bin");
        assertThat(HexFormat.of().formatHex(Files.readAllBytes(saved))).isEqualTo(MALFORMED);
        Command.Result r = georep.run("inspect", saved.toString());
        assertThat(r.status()).isEqualTo(3);
        assertThat(r.err()).contains("at byte 10");
    }

    /** The first bytes of an entry that can be read but not placed are what inspect takes. */
    @Test
    void theBytesOfAParkedEntryAreInspected() throws Exception {
        String t = topic("encrypted", 2);
        MessageMetadata m = keyed(0).setNumMessagesInBatch(2);
        m.addEncryptionKey().setKey("k").setValue("v".getBytes(StandardCharsets.UTF_8));
        new SourceRawProducer(a, SegmentLog.segments(a, t).get(0), "raw").send(m, new byte[0],
                Unpooled.wrappedBuffer(new byte[24])); // as long as two messages can be
        JsonNode parked = awaitParked(t, "encrypted-batch");
        assertThat(parked.path("size").asInt()).isLessThanOrEqualTo(64);
        Path head = Files.writeString(fresh().resolve("head"), parked.path("head").asText());
        Command.Result r = georep.run("inspect", head.toString());
        assertThat(r.status()).as("%s", r).isZero();
        assertThat(r.json().path("opaque").asText()).isEqualTo("encrypted");
        assertThat(r.json().path("frame").path("checksumValid").asBoolean()).isTrue();
    }

    @Test
    void aPauseOutlivesTheBroker() throws Exception {
        String t = topic("paused", 1);
        send(t, 0);
        awaitStored(t, 1);
        Command.Result paused = admin("pause", t, "--remote", "cluster-b");
        assertThat(paused.toString()).isEqualTo("exit 0\n" + t + " to cluster-b: paused\n");
        a.restart();
        Federation.introduce(a, b);
        send(t, 1);
        await().atMost(Duration.ofSeconds(30)).untilAsserted(() -> {
            Command.Result r = admin("status", t);
            assertThat(rows(r.out())).as("%s", r).singleElement().satisfies(row -> assertThat(row).startsWith(
                    "0000-ffff-0", "cluster-b", "paused").contains("1"));
        });
        Command.Result checked = admin("status", t, "--check");
        assertThat(checked.status()).as("%s", checked).isEqualTo(1);
        assertThat(checked.out()).contains("-> cluster-b generation 1 (paused)\n");
        assertThat(storedAtB(t)).isEqualTo(1);
        assertThat(admin("resume", t, "--remote", "cluster-b").status()).isZero();
        awaitStored(t, 2);
    }

    @Test
    void aResetCursorSendsAgain() throws Exception {
        String t = topic("again", 1);
        send(t, 0);
        send(t, 1);
        awaitStored(t, 2);
        Command.Result r = admin("reset-cursor", t, "--remote", "cluster-b", "--to", "earliest");
        assertThat(r.toString()).startsWith("exit 0\n" + t + " to cluster-b: begins anew at earliest\n")
                .contains("reads 2 entries, ", "; the cursor was past 2 of them\n");
        awaitStored(t, 4);
        assertThat(admin("status", t).out()).contains("-> cluster-b generation 2");
        String second = SegmentLog.read(a, SegmentLog.segments(a, t).get(0)).get(1).position();
        Command.Result one = admin("reset-cursor", t, "--remote", "cluster-b", "--to", second, "--segment", "0");
        assertThat(one.status()).as("%s", one).isZero();
        awaitStored(t, 5); // from there on, and not what lies before
    }

    @Test
    void strangersAreToldWhatIsMissing() throws Exception {
        String t = topic("strangers", 1);
        String ca = secrets.certificate.toString();
        Command.Result anonymous = plain(a.adminUrl(), "status", t, "--tls-ca", ca);
        assertThat(anonymous.status()).isEqualTo(3);
        assertThat(anonymous.err()).contains("GET " + a.adminUrl(), "401 Unauthorized", "--token-file");
        for (String call : List.of("status %s", "parked %s", "pause %s --remote cluster-b",
                "resume %s --remote cluster-b", "skip %s --remote cluster-b --position 1:1",
                "reset-cursor %s --remote cluster-b --to latest", "start-at %s --remote cluster-b --at latest",
                "start-at " + NS + " --remote cluster-b --at latest", "bootstrap show %s")) {
            Command.Result user = plain(a.adminUrl(), with(call.formatted(t).split(" "), "--tls-ca", ca, "--token",
                    secrets.token("user")));
            assertThat(user.status()).as("%s %s", call, user).isEqualTo(3);
            assertThat(user.err()).containsPattern(" 40[13] ").doesNotContain(secrets.token("user"));
        }
        Command.Result untrusted = plain(a.adminUrl(), "status", t, "--token", secrets.token("admin"));
        assertThat(untrusted.status()).isEqualTo(3);
        assertThat(untrusted.err()).contains("certificate", "--tls-ca");
        Command.Result missing = admin("status", "topic://" + NS + "/nosuch");
        assertThat(missing.status()).isEqualTo(3);
        assertThat(missing.err()).contains("404");
    }

    /** Any broker may be asked: the one that leads or owns is found with the token. */
    @Test
    void anotherBrokerIsAsked() throws Exception {
        String t = topic("elsewhere", 1);
        send(t, 0);
        awaitStored(t, 1);
        assertThat(a.controller(t).isLeader()).isTrue();
        PulsarService second = a.addBroker();
        try {
            Command.Result r = at(Cluster.adminUrl(second), "status", t, "--check");
            assertThat(r.status()).as("%s", r).isZero();
            assertThat(rows(r.out())).hasSize(1);
            assertThat(at(Cluster.adminUrl(second), "pause", t, "--remote", "cluster-b").status()).isZero();
            assertThat(rows(admin("status", t).out()).get(0)).contains("paused");
            assertThat(at(Cluster.adminUrl(second), "parked", t).out()).isEqualTo("0 parked\n");
        } finally {
            a.remove(second);
        }
    }
}
