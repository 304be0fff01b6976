// SPDX-License-Identifier: Apache-2.0
package georep.nativelib;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;

/** Budget, gate, dedup, layout, peer, JSON. */
class MachinesTest {
    private static final String BOUND = "segment://public/default/t/0000-ffff-0";

    private static String record(String instance, String profile) {
        return "{\"epoch\":2,\"properties\":{\"georep.instance\":\"" + instance + "\","
                + "\"georep.segment.0\":\"{\\\"profile\\\":\\\"" + profile + "\\\"}\"},"
                + "\"segments\":{\"0\":{\"segmentId\":0,"
                + "\"hashRange\":{\"start\":0,\"end\":65535},\"state\":\"ACTIVE\"}}}";
    }

    @Test
    void budgetGrantsBySlot() {
        List<Long> granted = new ArrayList<>();
        try (Budget b = Budget.open(1000, 1000, 1, 10_000, 5_000)) {
            b.advance(1);
            b.request(11, 1, 400);
            b.request(12, 2, 400);
            assertThat(b.granted(granted::add)).isZero();
            assertThat(granted).containsExactly(11L);
            b.giveBack(11);
            b.granted(granted::add);
            assertThat(granted).containsExactly(11L, 12L);
            b.giveBack(12);
            b.charge(1, 5_000);
            assertThat(b.room(1)).isZero();
            b.request(13, 1, 1);
            b.granted(granted::add);
            assertThat(granted).as("a remote at its cap gets no slot").hasSize(2);
            b.uncharge(1, 5_000);
            b.granted(granted::add);
            assertThat(granted).containsExactly(11L, 12L, 13L);
            b.hold(1, 2_000);
            assertThat(b.room(1)).isEqualTo(3_000);
            b.unhold(1, 2_000);
            assertThat(b.statusJson()).contains("\"slotsInUse\":1", "{\"name\":\"grants\",\"value\":\"3\"}");
        }
        assertThatThrownBy(() -> Budget.open(0, 1, 1, 1, 1)).isInstanceOf(StatusException.class);
    }

    @Test
    void gateOpensWhenAllAncestorsAreDrained() {
        String json = """
                {"epoch":5,"segments":{
                 "0":{"segmentId":0,"hashRange":{"start":0,"end":65535},"state":"SEALED","childIds":[1,2]},
                 "1":{"segmentId":1,"hashRange":{"start":0,"end":32767},"state":"SEALED",
                  "parentIds":[0],"childIds":[3]},
                 "2":{"segmentId":2,"hashRange":{"start":32768,"end":65535},"state":"ACTIVE","parentIds":[0]},
                 "3":{"segmentId":3,"hashRange":{"start":0,"end":32767},"state":"ACTIVE","parentIds":[1]}}}""";
        try (Layout l = Layout.fromPulsarJson(json); Gate g = Gate.open(3)) {
            assertThat(g.isOpen()).as("in no layout").isFalse();
            g.layout(l);
            assertThat(g.ask()).containsExactly(0);
            g.backlog(1, true, 0, true);
            assertThat(g.isOpen()).as("an empty middle segment proves nothing").isFalse();
            g.backlog(0, true, 0, true);
            assertThat(g.isOpen()).isTrue();
            assertThat(g.ask()).isEmpty();
        }
    }

    @Test
    void dedupKnowsWhatIsStored() {
        byte[] meta = replicated("1|eu|ab|4|2|8:1:3|" + BOUND);
        ByteBuffer entry = Entries.entry(meta, new byte[10]);
        try (Dedup d = Dedup.open(BOUND, 0); Dedup fresh = Dedup.open(BOUND, 0)) {
            Dedup.Ticket t = d.check(Georep.FORM_ENTRY, entry);
            assertThat(t.verdict()).isEqualTo(Dedup.Verdict.NEW);
            assertThat(List.of(t.ledger(), t.entry(), t.part(), t.segment(), t.generation()))
                    .containsExactly(8L, 1L, 3L, 4L, 2L);
            assertThat(d.check(Georep.FORM_METADATA, ByteBuffer.wrap(meta)).verdict()).isEqualTo(Dedup.Verdict.UNKNOWN);
            assertThat(d.watermark("eu", "ab", 4, 2)).isNull();
            d.persisted(t);
            assertThat(d.watermark("eu", "ab", 4, 2)).isEqualTo(new Dedup.Watermark(8, 1, 3));
            assertThat(d.check(Georep.FORM_ENTRY, entry).verdict()).isEqualTo(Dedup.Verdict.DUPLICATE);
            fresh.load(d.snapshot());
            fresh.replay(Georep.FORM_METADATA, ByteBuffer.wrap(replicated("1|eu|ab|4|2|9:0|" + BOUND)));
            assertThat(fresh.watermark("eu", "ab", 4, 2)).isEqualTo(new Dedup.Watermark(9, 0, Georep.WHOLE));
            assertThat(fresh.statusJson()).contains("\"ledger\":\"9\"").doesNotContain("\"part\"");
            fresh.prune("eu", "ab", 4, 2);
            assertThat(fresh.watermark("eu", "ab", 4, 2)).isNull();
        }
    }

    @Test
    void dedupLeavesOthersAlone() {
        try (Dedup d = Dedup.open(BOUND, 1)) {
            byte[] plain = new Wire().string(1, "p").varint(2, 1).varint(3, 1).bytes();
            assertThat(verdict(d, plain)).isEqualTo(Dedup.Verdict.NOT_OURS);
            byte[] elsewhere = replicated("1|eu|ab|4|2|8:1|segment://public/default/t/0000-7fff-1");
            assertThat(verdict(d, elsewhere)).isEqualTo(Dedup.Verdict.NOT_OURS);
            assertThat(verdict(d, replicated("1|eu|ab|4|2|8:1|" + BOUND))).isEqualTo(Dedup.Verdict.NEW);
            assertThat(verdict(d, replicated("1|eu|ab|5|2|8:1|" + BOUND))).isEqualTo(Dedup.Verdict.FULL);
            assertThatThrownBy(() -> verdict(d, replicated("1|eu|nonsense"))).isInstanceOf(StatusException.class)
                    .extracting(e -> ((StatusException) e).code()).isEqualTo(Status.FORMAT);
            d.failed();
            assertThatThrownBy(() -> d.load(new byte[] {1, 2, 3})).isInstanceOf(StatusException.class);
        }
    }

    private static Dedup.Verdict verdict(Dedup d, byte[] metadata) {
        return d.check(Georep.FORM_METADATA, ByteBuffer.wrap(metadata)).verdict();
    }

    private static byte[] replicated(String origin) {
        return new Wire().string(1, "pulsar.repl.eu.4").varint(2, 1).varint(3, 1).string(5, "eu")
                .bytes(4, new Wire().string(1, "__GEOREP_ORIGIN").string(2, origin).bytes()).bytes();
    }

    @Test
    void convergenceFoldsAPeersLayout() {
        String stored = """
                {"epoch":1,"properties":{"georep.instance":"aa"},"segments":{"0":
                 {"segmentId":0,"hashRange":{"start":0,"end":65535},"state":"ACTIVE"}}}""";
        try (Converge c = Converge.open(Json.toProto("ConvergeConfig", """
                {"cluster":"eu","topic":"topic://public/default/t"}"""))) {
            for (String event : List.of("{\"stored\":\"" + stored.replace("\n", "").replace("\"", "\\\"") + "\"}",
                    "{\"members\":{\"clusters\":[\"eu\",\"us\"]}}", "{\"lead\":{\"term\":\"1\"}}", """
                    {"pushFailed":{"cluster":"us","token":"1","text":"refused"}}""", """
                    {"received":{"token":"5","state":{"cluster":"us","instance":"bb","epoch":"3",
                     "caps":{"maxSegments":8,"maxBuckets":8},
                     "shape":{"profile":"PROFILE_M1","segments":[{},{"start":1000}]}}}}""")) {
                c.step(Json.toProto("ConvergeEvent", event));
            }
            assertThat(Json.fromProto("ConvergeResult", c.ready())).contains("{\"push\":{\"cluster\":\"us\"",
                    "\"LAYOUT_OP_KIND_SPLIT_EXPLICIT\",\"parents\":[\"0\"]", "\"childIds\":[\"1\",\"2\"]");
            assertThat(Json.fromProto("ConvergeResult", c.ready())).isEqualTo("{\"wakeAtMillis\":\"20000\"}");
            assertThat(Json.fromProto("ConvergeStatus", c.status(9))).contains("\"mutating\":\"fold\"");
            assertThatThrownBy(() -> c.step(new byte[0])).isInstanceOf(StatusException.class)
                    .hasMessageContaining("event: absent");
        }
    }

    @Test
    void bootstrapHoldsAndPlaces() {
        try (Bootstrap b = Bootstrap.open(Json.toProto("BootstrapConfig", """
                {"remote":"us","end":{"ledger":"11"}}"""))) {
            assertThat(Json.fromProto("BootstrapHold", only(b.result(), Bootstrap.HOLD)))
                    .isEqualTo("{\"end\":{\"ledger\":\"11\"}}");
            b.step(Json.toProto("BootstrapEvent", "{\"held\":{}}"));
            assertThat(only(b.result(), Bootstrap.READ)).isEmpty();
            b.step(Json.toProto("BootstrapEvent", "{\"nowMillis\":\"7\",\"failed\":\"store: no answer\"}"));
            assertThat(b.result()).isEqualTo(new Result(List.of(), 1007));
            b.tick(1007);
            only(b.result(), Bootstrap.READ);
            b.step(Json.toProto("BootstrapEvent", """
                    {"read":{"policy":{"remote":"us","topicProperties":{"georep.startAt":"earliestNotOffloaded"}},
                     "log":{"ledgers":[{"id":"10","entries":"9","bytes":"90","offload":"OFFLOAD_STATE_COMPLETE"},
                      {"id":"11","offload":"OFFLOAD_STATE_NONE","open":true}]}}}"""));
            assertThat(Json.fromProto("StartPlan", only(b.result(), Bootstrap.PLACE))).contains(
                    "\"start\":{\"ledger\":\"11\"}", "\"horizon\":{\"ledger\":\"10\",\"entry\":\"8\"}",
                    "\"entries\":\"9\"");
            assertThatThrownBy(() -> b.step(Json.toProto("BootstrapEvent", "{\"held\":{}}")))
                    .isInstanceOf(StatusException.class).hasMessageContaining("not asked for while placing");
            b.step(Json.toProto("BootstrapEvent", "{\"placed\":{}}"));
            only(b.result(), Bootstrap.BEGIN);
            assertThat(Json.fromProto("BootstrapStatus", b.status())).contains("\"state\":\"placed\"");
        }
    }

    @Test
    void startsAreChosenAndResetsPlanned() {
        assertThat(Json.fromProto("StartChoice", Bootstrap.choose(Json.toProto("StartQuery", """
                {"remote":"us","namespaceProperties":{"georep.startAt.us":"soon"}}"""))))
                .contains("\"trouble\":\"namespace georep.startAt.us: \\\"soon\\\" is none of earliest");
        assertThat(Json.fromProto("ResetPlan", Bootstrap.resetPlan(Json.toProto("ResetRequest", """
                {"to":{"at":"START_AT_EARLIEST"},"segments":["1"],"known":[
                 {"segment":"1","next":{"ledger":"3","entry":"2"},
                  "log":{"ledgers":[{"id":"3","entries":"2"}]}},
                 {"segment":"2","parents":["1"],"published":true}]}""")))).contains("\"together\":[\"1\",\"2\"]");
    }

    @Test
    void exchangeCarriesAPushAndItsAnswer() {
        String state = """
                {"cluster":"%s","topic":"topic://public/default/t","instance":"aa","epoch":"1",
                 "caps":{"maxSegments":8,"maxBuckets":8},"shape":{"profile":"PROFILE_M1","segments":[{}]}}""";
        try (Exchange eu = Exchange.open(Json.toProto("ExchangeConfig", "{\"cluster\":\"eu\"}"));
                Exchange us = Exchange.open(Json.toProto("ExchangeConfig", "{\"cluster\":\"us\"}"))) {
            for (String event : List.of("""
                    {"nowMillis":"1","push":{"cluster":"us","token":"9","state":%s}}"""
                    .formatted(state.formatted("eu")),
                    "{\"nowMillis\":\"51\",\"tick\":{}}")) {
                eu.step(Json.toProto("ExchangeEvent", event));
            }
            assertThat(Json.fromProto("ExchangeResult", eu.ready())).contains(
                    "{\"call\":{\"call\":\"1\",\"cluster\":\"us\",\"request\":{\"protocolVersion\":1,");
            String request = "{\"protocolVersion\":1,\"cluster\":\"%s\",\"states\":[%s]}";
            us.offer(0, Json.toProto("ExchangeRequest", request.formatted("eu", state.formatted("eu"))));
            assertThatThrownBy(() -> us.offer(0, Json.toProto("ExchangeRequest", request.formatted("us", ""))))
                    .isInstanceOf(StatusException.class).hasMessageContaining("\"us\" is this cluster's own name");
            assertThat(Json.fromProto("ExchangeResult", us.ready())).isEqualTo("{\"wakeAtMillis\":\"-1\"}");
            us.step(Json.toProto("ExchangeEvent", """
                    {"received":{"call":"4","request":{"protocolVersion":1,"cluster":"eu","states":[%s]}}}"""
                    .formatted(state.formatted("eu"))));
            assertThat(Json.fromProto("ExchangeResult", us.ready())).contains(
                    "{\"deliver\":{\"topic\":\"topic://public/default/t\",\"event\":{\"received\":{\"token\":");
            eu.step(Json.toProto("ExchangeEvent", """
                    {"nowMillis":"60","returned":{"call":"1","response":{"protocolVersion":1,"cluster":"us","answers":[
                     {"topic":"topic://public/default/t","code":"CONVERGE_CODE_OK","state":%s}]}}}"""
                    .formatted(state.formatted("us"))));
            assertThat(Json.fromProto("ExchangeResult", eu.ready())).contains(
                    "\"answered\":{\"cluster\":\"us\",\"token\":\"9\"");
            assertThat(Json.fromProto("ExchangeStatus", eu.status(60)))
                    .isEqualTo("{\"peers\":[{\"cluster\":\"us\",\"calls\":\"1\",\"states\":\"1\"}]}");
            assertThatThrownBy(() -> us.step(Json.toProto("ExchangeEvent", """
                    {"received":{"call":"5","caller":"it","request":{"protocolVersion":1,"cluster":"eu"}}}""")))
                    .isInstanceOf(StatusException.class).hasMessageContaining("cluster: \"eu\" is said by \"it\"");
        }
    }

    /** As brokers do it: what one machine gives goes into the next one as bytes. */
    @Test
    void aRoundNeedsNoJson() {
        String topic = "topic://public/default/t";
        try (Converge a = leader("eu", topic, "aa", "us"); Converge b = leader("us", topic, "bb", "eu");
                Exchange eu = Exchange.open(Json.toProto("ExchangeConfig", "{\"cluster\":\"eu\"}"));
                Exchange us = Exchange.open(Json.toProto("ExchangeConfig", "{\"cluster\":\"us\"}"))) {
            eu.push(1, only(a.result(), Converge.PUSH));
            assertThat(eu.result()).isEqualTo(new Result(List.of(), 51));
            eu.tick(51);
            Exchange.Call call = Exchange.Call.of(only(eu.result(), Exchange.CALL));
            assertThat(call.cluster()).isEqualTo("us");
            assertThat(Exchange.topics(call.request())).containsExactly(topic);
            us.offer(60, call.request());
            us.received(60, 7, call.request());
            Exchange.Delivery pushed = Exchange.Delivery.of(only(us.result(), Exchange.DELIVER));
            assertThat(pushed.topic()).isEqualTo(topic);
            b.step(pushed.event());
            us.replied(61, b.result().actions().stream().filter(x -> x.kind() == Converge.ANSWER).findFirst()
                    .orElseThrow().message());
            Exchange.Response response = Exchange.Response.of(only(us.result(), Exchange.RESPOND));
            assertThat(response.call()).isEqualTo(7);
            eu.returned(62, call.id(), response.response());
            Exchange.Delivery answered = Exchange.Delivery.of(only(eu.result(), Exchange.DELIVER));
            assertThat(answered.topic()).isEqualTo(topic);
            a.step(answered.event());
            assertThat(a.result()).as("told again a minute later").isEqualTo(new Result(List.of(), 60_062));
            assertThat(Json.fromProto("ConvergeStatus", a.status(70))).contains("\"support\":\"supported\"",
                    "\"converged\":1");
            a.tick(60_062);
            only(a.result(), Converge.PUSH);
        }
    }

    private static byte[] only(Result r, int kind) {
        assertThat(r.actions()).hasSize(1).allMatch(a -> a.kind() == kind);
        return r.actions().get(0).message();
    }

    private static Converge leader(String cluster, String topic, String instance, String peer) {
        Converge c = Converge.open(Json.toProto("ConvergeConfig", "{\"cluster\":\"" + cluster + "\",\"topic\":\""
                + topic + "\"}"));
        for (String event : List.of("{\"stored\":\"" + record(instance, "m1").replace("\\", "\\\\")
                .replace("\"", "\\\"") + "\"}", "{\"members\":{\"clusters\":[\"" + peer + "\"]}}",
                "{\"lead\":{\"term\":\"1\"}}")) {
            c.step(Json.toProto("ConvergeEvent", event));
        }
        return c;
    }

    @Test
    void statesAreBuiltAndChecked() {
        String topic = "topic://public/default/t";
        byte[] eu = Peer.buildState(record("aa", "pip486"), "eu", topic, 3, 8, 5 << 20, Peer.PROFILE_M1, "0.1.0");
        byte[] us = Peer.buildState(record("bb", "pip486"), "us", topic, 1, 1, 5 << 20, 0, "0.1.0");
        byte[] m1 = Peer.buildState(record("bb", "m1"), "us", topic, 1, 1, 5 << 20, 0, "0.1.0");
        assertThat(Json.fromProto("PeerState", eu))
                .contains("\"cluster\":\"eu\"", "\"instance\":\"aa\"", "\"counter\":\"8\"");
        assertThat(Peer.check(eu, us)).isEqualTo(new Peer.Check(Peer.Verdict.SUPPORTED, "", "", false));
        Peer.Check c = Peer.check(eu, m1);
        assertThat(c.verdict()).isEqualTo(Peer.Verdict.INCOMPATIBLE);
        assertThat(c.reason()).isEqualTo("profile");
        assertThat(c.detail()).contains("pip486").contains("m1");
        assertThat(Peer.check(eu, new byte[0]).reason()).isEqualTo("no-state");
        byte[] bare = Peer.buildState(record("bb", "pip486").replace("georep.instance", "x"), "us", topic, 0, 0, 1, 0,
                "");
        assertThat(Peer.check(eu, bare)).matches(x -> x.prepare() && x.reason().equals("no-instance"));
        String held = "{\"entries\":[{\"key\":{\"cluster\":\"eu\",\"instance\":\"zz\",\"segment\":\"4\"}},"
                + "{\"key\":{\"cluster\":\"eu\",\"instance\":\"aa\"}}]}";
        assertThat(Json.fromProto("OriginKeys", Peer.gone(eu, Json.toProto("DedupStatus", held))))
                .isEqualTo("{\"keys\":[{\"cluster\":\"eu\",\"instance\":\"zz\",\"segment\":\"4\"}]}");
        try (Layout a = Layout.fromState(us); Layout b = Layout.fromProto(a.toProto())) {
            assertThat(a.toJson()).isEqualTo(b.toJson()).contains("PROFILE_PIP486");
        }
        assertThatThrownBy(() -> Peer.buildState("{", "eu", "topic://a/b/c", 0, 0, 0, 0, ""))
                .isInstanceOf(StatusException.class).hasMessageContaining("byte 1");
    }

    @Test
    void topicsAreFiltered() {
        var remotes = List.of("us", "eu");
        assertThat(TopicFilter.of("tmp-1", remotes, Map.of("georep.deny.us", "tmp-.*", "georep.allow.*", "(")))
                .satisfies(v -> assertThat(v.denied()).isEqualTo(Map.of("us", "denied by pattern georep.deny.us")))
                .satisfies(v -> assertThat(v.troubles()).singleElement().asString()
                        .startsWith("georep.allow.* counts for nothing: "));
        assertThat(TopicFilter.of("orders", remotes, Map.of("georep.deny.us", "tmp-.*")))
                .isEqualTo(TopicFilter.Verdicts.NONE);
        assertThat(TopicFilter.of("x".repeat(5000), remotes, Map.of("georep.allow.*", "orders")).denied())
                .containsOnlyKeys("us", "eu");
    }

    @Test
    void jsonGoesBothWays() {
        String json = "{\"status\":\"WATERMARK_STATUS_KNOWN\","
                + "\"position\":{\"ledger\":\"5\",\"entry\":\"6\"},\"part\":\"0\"}";
        assertThat(Json.fromProto("WatermarkResponse", Json.toProto("WatermarkResponse", json))).isEqualTo(json);
        String large = "{\"cluster\":\"" + "x".repeat(50_000) + "\"}";
        assertThat(Json.fromProto("OriginKey", Json.toProto("OriginKey", large))).isEqualTo(large);
        assertThatThrownBy(() -> Json.toProto("OriginKey", "{\"clusters\":1}")).isInstanceOf(StatusException.class)
                .hasMessageContaining("clusters");
        assertThatThrownBy(() -> Json.fromProto("Nothing", new byte[0])).hasMessageContaining("Nothing");
    }

    @Test
    void optionsAreChecked() {
        Georep.init(Georep.Options.defaults());
        assertThatThrownBy(() -> Georep.init(new Georep.Options(0, 0, 0, 0, 0, 0, 1L << 40, 0)))
                .isInstanceOf(StatusException.class).hasMessageContaining("max_entry_bytes");
        assertThat(Georep.keyHash(Entries.utf8("k1"))).isEqualTo(0xfdc6602aL);
        assertThatThrownBy(() -> Georep.address(ByteBuffer.allocate(1))).isInstanceOf(IllegalArgumentException.class);
    }

    /** Several threads may use one table; every entry is new to exactly one of them. */
    @Test
    void oneTableForManyThreads() throws Exception {
        int threads = 4;
        int entries = 2_000;
        var fresh = new java.util.concurrent.atomic.AtomicInteger();
        try (Dedup d = Dedup.open(BOUND, 0)) {
            Thread[] all = new Thread[threads];
            for (int t = 0; t < threads; t++) {
                all[t] = new Thread(() -> {
                    for (int i = 0; i < entries; i++) {
                        byte[] meta = replicated("1|eu|ab|4|2|1:" + i + "|" + BOUND);
                        Dedup.Ticket k = d.check(Georep.FORM_METADATA, ByteBuffer.wrap(meta));
                        if (k.verdict() == Dedup.Verdict.NEW) {
                            fresh.incrementAndGet();
                            d.persisted(k);
                        }
                    }
                });
                all[t].start();
            }
            for (Thread t : all) {
                t.join();
            }
            assertThat(d.watermark("eu", "ab", 4, 2)).isEqualTo(new Dedup.Watermark(1, entries - 1, Georep.WHOLE));
            assertThat(fresh.get()).isEqualTo(entries);
        }
    }
}
