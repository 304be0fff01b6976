// SPDX-License-Identifier: Apache-2.0
package georep.it;

import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;
import org.apache.logging.log4j.Level;
import org.awaitility.Awaitility;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/**
 * Cluster B is told lies about what cluster A says: a clear error each, nothing changed on either, a log line that says
 * who. Token authentication; the liar is a super-user, as a broker of another cluster has to be.
 */
@Timeout(value = 120, unit = TimeUnit.SECONDS)
class LyingPeerTest {
    private static final String TOPIC = "topic://t/lie/x";
    private static final String EXCHANGE = "/admin/v2/scalable-repl/exchange";
    private static final String HANDSHAKE = "/admin/v2/scalable-repl/t/lie/x/state";
    private static final String WHO = " from liar@127.0.0.1 refused: ";
    private static final int MAX_BODY = 8 << 20;
    private static final ObjectMapper JSON = new ObjectMapper();
    private static Cluster a;
    private static Cluster b;
    private static Secrets secrets;
    private static String liar;
    private LogLines log;
    private Object before;

    @BeforeAll
    static void start() throws Exception {
        secrets = Secrets.make(Dirs.fresh());
        liar = secrets.token("liar");
        a = secured("cluster-a").start(Dirs.fresh());
        b = secured("cluster-b").start(Dirs.fresh());
        Federation.of("t/lie", a, b);
        Federation.topic(TOPIC, 2, a, b);
        awaitConverged();
    }

    private static ClusterSpec secured(String name) {
        return ClusterSpec.named(name).with(secrets::requireTokens)
                .with(c -> c.setSuperUserRoles(Set.of("admin", "liar", "flood")))
                .key("georepAntiEntropySeconds", 1).key("georepExchangeCallsPerSecond", 50);
    }

    @AfterAll
    static void stop() throws Exception {
        a.close();
        b.close();
    }

    @BeforeEach
    void look() throws Exception {
        before = known();
        log = LogLines.of("georep.plugin.http.RefusalLog", Level.WARN);
    }

    @AfterEach
    void close() {
        log.close();
    }

    private static void awaitConverged() {
        Awaitility.await().atMost(Duration.ofSeconds(60)).untilAsserted(() -> {
            for (Cluster c : List.of(a, b)) {
                JsonNode peer = status(c).path("peers").path(0);
                assertThat(peer.path("known").asBoolean()).as("%s", peer).isTrue();
                assertThat(peer.path("diverged")).as("%s", peer).isEmpty();
                assertThat(peer.path("epoch").asLong()).as("%s", peer)
                        .isEqualTo(Layouts.stored(c == a ? b : a, TOPIC).getEpoch());
                assertThat(peer.path("acknowledgedEpoch").asLong()).as("%s", peer)
                        .isEqualTo(Layouts.stored(c, TOPIC).getEpoch());
                assertThat(peer.path("trouble").asText()).isEmpty();
            }
        });
    }

    private static JsonNode status(Cluster c) throws Exception {
        JsonNode s = c.controller(TOPIC).convergence().status();
        assertThat(s).as("the topic converges on " + c.name).isNotNull();
        return s;
    }

    /** What both clusters have stored of the topic and believe of each other, times aside. */
    private static Map<String, Object> known() throws Exception {
        Map<String, Object> all = new TreeMap<>();
        for (Cluster c : List.of(a, b)) {
            ObjectNode s = (ObjectNode) status(c);
            s.path("peers").forEach(p -> ((ObjectNode) p).remove(List.of("ageMillis", "silentMillis", "lagMillis")));
            all.put(c.name + " believes", s);
            all.put(c.name + " stores", Layouts.stored(c, TOPIC));
        }
        return all;
    }

    // ------------------------------------------------------------------ what a peer says

    /** What A says of its layout, epoch 9 where it has 0: taken, were it not for the lie. */
    private static ObjectNode state(String cluster) throws Exception {
        ObjectNode s = JSON.createObjectNode().put("cluster", cluster).put("topic", TOPIC).put("epoch", 9)
                .put("instance", Layouts.stored(a, TOPIC).getProperties().get("georep.instance")).put("leaderTerm", 1);
        s.putObject("shape").put("profile", "PROFILE_M1").set("segments", segments(0, 0x4000, 0x8000));
        s.putObject("caps").put("maxSegments", 64).put("maxBuckets", 64);
        return s;
    }

    private static ArrayNode segments(int... starts) {
        ArrayNode all = JSON.createArrayNode();
        for (int start : starts) {
            all.addObject().put("start", start);
        }
        return all;
    }

    private static ObjectNode request(String cluster, JsonNode... states) {
        ObjectNode r = JSON.createObjectNode().put("protocolVersion", 1).put("cluster", cluster);
        r.putArray("states").addAll(List.of(states));
        return r;
    }

    private static Http.Answer tell(String token, String json) throws Exception {
        return Http.post(b.broker, EXCHANGE, token, json);
    }

    private void nothingChanged(String lie) throws Exception {
        assertThat(known()).as("after " + lie).isEqualTo(before);
    }

    /** Texts of the JSON library have a space in them that is another one from build to build. */
    private static String plain(String text) {
        return text.replace('\u00a0', ' ');
    }

    /** One state with a lie in it: it alone is refused. */
    private void badState(String text, Consumer<ObjectNode> lie) throws Exception {
        ObjectNode s = state("cluster-a");
        lie.accept(s);
        String line = WHO + "as cluster-a, state of " + TOPIC + ": CONVERGE_CODE_BAD_STATE " + text;
        int lines = log.with(line).size();
        Http.Answer r = tell(liar, request("cluster-a", s).toString());
        assertThat(r.status()).as(text + ": " + r.body()).isEqualTo(200);
        assertThat(r.json().path("cluster").asText()).isEqualTo("cluster-b");
        JsonNode answer = r.json().path("answers").path(0);
        assertThat(answer.path("code").asText()).as(text).isEqualTo("CONVERGE_CODE_BAD_STATE");
        assertThat(answer.path("text").asText()).isEqualTo(text);
        assertThat(log.with(line)).as(text).hasSize(lines + 1);
        nothingChanged(text);
    }

    @Test
    void aStateThatBreaksARuleIsAnsweredWithIt() throws Exception {
        String bad = "converge: bad state: ";
        badState(bad + "version: 9223372036854775807.1.0 is above 281474976710656",
                s -> s.put("epoch", Long.MAX_VALUE));
        badState(bad + "version: 9.18446744073709551615.0 is above 281474976710656",
                s -> s.put("leaderTerm", "18446744073709551615"));
        badState(bad + "segments: 65536 are above the cap of 16384", s -> {
            int[] all = new int[65536];
            for (int i = 0; i < all.length; i++) {
                all[i] = i;
            }
            shape(s).set("segments", segments(all));
        });
        badState(bad + "layout: invalid: starts[0]: the first segment has to start at 0",
                s -> shape(s).set("segments", segments(1, 0x8000)));
        badState(bad + "layout: invalid: starts[0]: the first segment has to start at 0",
                s -> shape(s).set("segments", segments()));
        badState(bad + "layout: invalid: starts[2]: 32768 is not above 32768",
                s -> shape(s).set("segments", segments(0, 0x8000, 0x8000)));
        badState(bad + "layout: invalid: starts[2]: 16384 is not above 32768",
                s -> shape(s).set("segments", segments(0, 0x8000, 0x4000)));
        badState("control: bad configuration: shape.segments.start: 65536 is above 65535",
                s -> shape(s).set("segments", segments(0, 65536)));
        badState("control: bad configuration: shape.segments.bucketStarts: 2147483648 is above 65535",
                s -> ((ObjectNode) shape(s).path("segments").path(1)).putArray("bucketStarts").add(1L << 31));
        badState(bad + "layout: invalid: buckets[1]: profile m1 has no buckets",
                s -> ((ObjectNode) shape(s).path("segments").path(1)).putArray("bucketStarts").add(0));
        badState(bad + "cold[0]: no boundary at 0",
                s -> ((ObjectNode) shape(s).path("segments").path(0)).put("cold", true));
        badState("control: bad configuration: state.shape: absent", s -> s.remove("shape"));
        badState(bad + "caps: max_segments 0 is not in 1..1048576", s -> caps(s).put("maxSegments", 0));
        badState(bad + "caps: max_buckets 0 is not in 1..1048576", s -> caps(s).put("maxBuckets", 0));
        badState(bad + "caps: max_buckets 2147483648 is not in 1..1048576", s -> caps(s).put("maxBuckets", 1L << 31));
        badState(bad + "instance: 0 bytes", s -> s.remove("instance"));
    }

    private static ObjectNode shape(ObjectNode state) {
        return (ObjectNode) state.path("shape");
    }

    private static ObjectNode caps(ObjectNode state) {
        return (ObjectNode) state.path("caps");
    }

    /** A cluster that the topic does not replicate with, and a topic that is not here. */
    @Test
    void aStrangerIsNotHeard() throws Exception {
        Http.Answer r = tell(liar, request("cluster-z", state("cluster-z")).toString());
        assertThat(r.status()).isEqualTo(200);
        assertThat(r.json().path("answers").path(0).path("code").asText()).isEqualTo("CONVERGE_CODE_NOT_MEMBER");
        assertThat(r.json().path("answers").path(0).path("text").asText())
                .isEqualTo("\"cluster-z\" is not in the replication set");
        assertThat(log.with(WHO + "as cluster-z, state of " + TOPIC + ": CONVERGE_CODE_NOT_MEMBER")).hasSize(1);
        r = tell(liar, request("cluster-a", state("cluster-a").put("topic", "topic://t/lie/nosuch")).toString());
        assertThat(r.json().path("answers").path(0).path("code").asText()).isEqualTo("CONVERGE_CODE_NO_TOPIC");
        nothingChanged("a stranger's state");
    }

    /** A call that breaks a rule: nothing of it is looked at. */
    private void refused(int status, String why, String json) throws Exception {
        Http.Answer r = tell(liar, json);
        assertThat(r.status()).as(r.body()).isEqualTo(status);
        assertThat(plain(r.json().path("reason").asText())).isEqualTo(why);
        assertThat(log.with(WHO + status + " ")).as(why).anySatisfy(line -> assertThat(plain(line)).contains(why));
        nothingChanged(why);
    }

    @Test
    void aCallThatBreaksARuleIsRefusedWhole() throws Exception {
        String bad = "georep: format: exchange: bad request: ";
        String field = bad + "exchange: bad field: ";
        ObjectNode s = state("cluster-a");
        refused(400, field + "protocolVersion: absent", "{}");
        refused(400, field + "cluster: 0 bytes", "{\"protocolVersion\":1}");
        refused(400, field + "cluster: \"cluster-b\" is this cluster's own name",
                request("cluster-b", state("cluster-b")).toString());
        refused(400, field + "states[0].cluster: \"cluster-b\" in a request of \"cluster-a\"",
                request("cluster-a", state("cluster-b")).toString());
        refused(400, field + "states[1].topic: " + TOPIC + " is in states[0], too",
                request("cluster-a", s, s).toString());
        refused(400, bad + "states[1].topic: exchange: bad field: \"persistent://t/lie/x\" is not topic://tenant/"
                + "namespace/name", request("cluster-a", s, s.deepCopy().put("topic", "persistent://t/lie/x"))
                .toString());
        List<JsonNode> many = new ArrayList<>();
        for (int i = 0; i <= 1000; i++) {
            many.add(JSON.createObjectNode().put("cluster", "cluster-a").put("topic", TOPIC + i));
        }
        refused(400, field + "states: 1001 are above the cap of 1000",
                request("cluster-a", many.toArray(JsonNode[]::new)).toString());
    }

    @Test
    void whatIsNoRequestIsRefused() throws Exception {
        refused(400, "georep: format: control: ExchangeRequest: proto: syntax error (line 1:1): unexpected token ", "");
        refused(400, "georep: format: control: ExchangeRequest: proto: (line 1:16): duplicate field \"cluster\"",
                "{\"cluster\":\"a\",\"cluster\":\"b\"}");
        refused(400, "georep: format: control: ExchangeRequest: proto: exceeded max recursion depth",
                "{\"x\":".repeat(100_000) + "1" + "}".repeat(100_000));
        refused(400, "georep: format: control: ExchangeRequest: proto: exceeded max recursion depth",
                "{\"x\":" + "[".repeat(1_000_000));
        refused(400, "georep: format: control: ExchangeRequest: proto: (line 1:12): invalid value for string field "
                + "cluster: 1", "{\"cluster\":1}");
        refused(413, "georep: limit: control: ExchangeRequest: control: over the limit: 400001 objects are above the "
                + "cap of 400000",
                "{\"states\":[" + "{},".repeat(399_999) + "{}]}");
        refused(413, "body: more than 8388608 bytes", "{\"x\":\"" + "x".repeat(MAX_BODY) + "\"}");
    }

    /** 50 MB are refused before a byte of them is there; what announces nothing, as soon as it is too much. */
    @Test
    void aLargeBodyIsNotRead() throws Exception {
        String reason = "{\"reason\":\"body: more than 8388608 bytes\"}";
        for (String path : List.of(EXCHANGE, HANDSHAKE)) {
            String r = RawCall.announcing(b.broker, path, liar, 50_000_000);
            assertThat(r).startsWith("HTTP/1.1 413 ").endsWith(reason);
            assertThat(log.with("POST " + path + WHO + "413 body: more than 8388608 bytes")).hasSize(1);
        }
        for (int i = 0; i < 10; i++) { // more than may be under way at a time: each gives its room back
            String r = RawCall.endless(b.broker, EXCHANGE, liar, MAX_BODY + 1);
            assertThat(r).startsWith("HTTP/1.1 413 ").endsWith(reason);
        }
        assertThat(log.with(WHO + "413 body: more than 8388608 bytes")).hasSize(12);
        nothingChanged("large bodies");
    }

    @Test
    void whoMayNotCallIsTurnedAwayUnread() throws Exception {
        String json = request("cluster-a", state("cluster-a")).toString();
        try (LogLines filter = LogLines.of("org.apache.pulsar.broker.web.AuthenticationFilter", Level.WARN)) {
            assertThat(tell(null, json).status()).isEqualTo(401);
            assertThat(tell("not.a.token", json).status()).isEqualTo(401);
            assertThat(filter.with("127.0.0.1")).hasSize(2);
        }
        String user = secrets.token("user");
        Http.Answer r = tell(user, json);
        assertThat(r.status()).isEqualTo(401);
        assertThat(r.json().path("reason").asText()).isEqualTo("This operation requires super-user access");
        String endless = RawCall.announcing(b.broker, EXCHANGE, user, MAX_BODY); // and then sends nothing
        assertThat(endless).startsWith("HTTP/1.1 401 ");
        assertThat(log.with("POST " + EXCHANGE + " from user@127.0.0.1 refused: 401 This operation requires"))
                .hasSize(2);
        nothingChanged("calls of others");
    }

    @Test
    void whoCallsTooOftenIsToldWhenToComeAgain() throws Exception {
        String flood = secrets.token("flood");
        Http.Answer r = tell(flood, "{}");
        for (int i = 0; i < 2000 && r.status() == 400; i++) {
            r = tell(flood, "{}");
        }
        assertThat(r.status()).as(r.body()).isEqualTo(429);
        assertThat(r.retryAfter()).isEqualTo("1");
        assertThat(r.json().path("reason").asText())
                .isEqualTo("more than 50 calls a second from flood@127.0.0.1");
        assertThat(log.with("from flood@127.0.0.1 refused: ")).as("a line for each, at first").hasSizeBetween(90, 130);
        assertThat(tell(liar, "{}").status()).as("somebody else").isEqualTo(400);
        nothingChanged("a flood");
    }

    /** The handshake says who B is; what the caller says of itself changes nothing but where B may be written to. */
    @Test
    void aHandshakeThatLiesChangesNothing() throws Exception {
        JsonNode layout = Http.get(a.broker, HANDSHAKE, liar).json();
        Map<String, Consumer<ObjectNode>> lies = Map.of(
                "a gap", n -> segment(n, 0).withObject("/range").put("end", 5),
                "an overlap", n -> segment(n, 0).withObject("/range").put("end", 0x9000),
                "an epoch", n -> n.withObject("/layout").put("epoch", Long.MAX_VALUE),
                "B's own name", n -> n.put("cluster", "cluster-b"),
                "a generation", n -> n.withObject("/generations").put("cluster-b", Long.MAX_VALUE));
        for (Map.Entry<String, Consumer<ObjectNode>> e : lies.entrySet()) {
            ObjectNode n = layout.deepCopy();
            e.getValue().accept(n);
            Http.Answer r = Http.post(b.broker, HANDSHAKE, liar, n.toString());
            assertThat(r.status()).as(e.getKey() + ": " + r.body()).isEqualTo(200);
            assertThat(r.json().path("cluster").asText()).isEqualTo("cluster-b");
            nothingChanged(e.getKey());
        }
        Http.Answer r = Http.post(b.broker, HANDSHAKE, liar, "{\"layout\":{\"epoch\":\"-1\"}}");
        assertThat(r.status()).isEqualTo(400);
        assertThat(plain(r.json().path("reason").asText()))
                .contains("invalid value for uint64 field epoch: \"-1\"");
        assertThat(log.with("POST " + HANDSHAKE + WHO + "400 body: ")).hasSize(1);
        nothingChanged("a negative epoch");
    }

    private static ObjectNode segment(ObjectNode peerState, int index) {
        return (ObjectNode) peerState.path("layout").path("segments").path(index);
    }

    /**
     * The one lie that nothing gives away: the highest epoch that is taken, with caps that let nobody grow. A speaks
     * for itself again after three rounds of anti-entropy, and its next split is followed.
     */
    @Test
    void aLieThatIsBelievedIsNotForEver() throws Exception {
        long max = 1L << 48;
        ObjectNode s = state("cluster-a").put("epoch", max);
        shape(s).set("segments", segments(Layouts.starts(b, TOPIC).stream().mapToInt(i -> i).toArray()));
        caps(s).put("maxSegments", 1);
        Http.Answer r = tell(liar, request("cluster-a", s).toString());
        assertThat(r.json().path("answers").path(0).path("code").asText()).as(r.body()).isEqualTo("CONVERGE_CODE_OK");
        JsonNode told = status(b);
        assertThat(told.path("peers").path(0).path("epoch").asLong()).isEqualTo(max);
        assertThat(told.path("effectiveCaps").path("maxSegments").asInt()).isEqualTo(1);
        Awaitility.await().atMost(Duration.ofSeconds(40)).untilAsserted(() -> {
            assertThat(status(b).path("peers").path(0).path("epoch").asLong())
                    .isEqualTo(Layouts.stored(a, TOPIC).getEpoch());
            assertThat(status(b).path("effectiveCaps").path("maxSegments").asInt()).isEqualTo(64);
        });
        int segments = Layouts.starts(a, TOPIC).size();
        long first = Layouts.stored(a, TOPIC).getSegments().values().stream().filter(x -> x.isActive())
                .mapToLong(x -> x.segmentId()).min().orElseThrow();
        a.admin().scalableTopics().splitSegment(TOPIC, first);
        Awaitility.await().atMost(Duration.ofSeconds(60)).untilAsserted(() -> {
            assertThat(Layouts.starts(b, TOPIC)).hasSize(segments + 1).isEqualTo(Layouts.starts(a, TOPIC));
        });
        awaitConverged();
    }
}
