// SPDX-License-Identifier: Apache-2.0
package georep.it;

import static georep.it.SourcePair.active;
import static georep.it.SourcePair.assertCopied;
import static georep.it.SourcePair.id;
import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import georep.it.SourcePair.Rise;
import georep.plugin.source.SourceBroker;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.TimeUnit;
import org.awaitility.Awaitility;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestInstance;
import org.junit.jupiter.api.Timeout;

/** What is published on A arrives on B once and in order, whatever the layouts are and while they change. */
@TestInstance(TestInstance.Lifecycle.PER_CLASS)
@Timeout(value = 120, unit = TimeUnit.SECONDS)
class SourceReplicationTest {
    private SourcePair p;

    @BeforeAll
    void start() throws Exception {
        p = SourcePair.apart(false);
    }

    /** Slots and bytes come back on every way that an entry can take. */
    @AfterEach
    void budgetIsIdleAgain() {
        for (Cluster c : new Cluster[]{p.a, p.b}) {
            Awaitility.await().atMost(Duration.ofSeconds(20)).untilAsserted(() -> {
                JsonNode b = SourceBroker.of(c.broker).status().budget();
                assertThat(b.path("slotsInUse").asLong()).as("slots, %s", b).isZero();
                assertThat(b.path("waiting").asLong()).as("waiting, %s", b).isZero();
                assertThat(b.path("inFlightBytes").asLong()).as("bytes in flight, %s", b).isZero();
            });
        }
    }

    @AfterAll
    void stop() throws Exception {
        p.close();
    }

    @Test
    void equalLayoutsReplicateVerbatim() throws Exception {
        String t = p.topic("equal", 1, 1);
        Rise r = new Rise(p.a, p.b, "verbatim", "rebatched", "parts");
        try (Traffic x = Traffic.start(p.a, t, 20, 0)) {
            x.more(2000);
            x.finish();
        }
        assertCopied(p.a, p.b, t);
        assertThat(r.of("verbatim")).isPositive();
        assertThat(r.of("parts")).isZero();
    }

    /** The broker's /metrics name every metric of the source once, with help and type, and count what was sent. */
    @Test
    void metricsCountByPath() throws Exception {
        String t = p.topic("metrics", 1, 2);
        long before = metric("pulsar_georep_entries_total", "rebatched");
        Publish.v5(p.a, t, 0, 500, 40);
        assertCopied(p.a, p.b, t);
        Awaitility.await().atMost(Duration.ofSeconds(40)).untilAsserted(() -> { // the broker keeps a page for a while
            assertThat(metric("pulsar_georep_entries_total", "rebatched")).isGreaterThan(before);
            assertThat(metric("pulsar_georep_bytes_total", "rebatched")).isPositive();
            assertThat(ofSegment(t, "entries_total", ",path=\"rebatched\"")).isPositive();
            assertThat(ofSegment(t, "entries_total", ",path=\"rebatched\"")).as("it is not alone")
                    .isLessThanOrEqualTo(metric("pulsar_georep_entries_total", "rebatched"));
            assertThat(ofSegment(t, "bytes_total", ",path=\"rebatched\"")).isPositive();
            assertThat(ofSegment(t, "entries_total", ",path=\"skipped\"")).isZero();
            assertThat(ofSegment(t, "throttled_seconds_total", "")).isNotNegative();
        });
        List<String> lines = metrics();
        for (String name : List.of("entries_total", "bytes_total", "parts_total", "parked", "backlog", "delay_seconds",
                "stalled", "blocked", "sealed_pinned", "segments", "budget_tokens", "budget_slots_in_use",
                "budget_waiting", "budget_in_flight_bytes", "segment_backlog", "segment_delay_seconds",
                "segment_stalled", "segment_entries_total", "segment_bytes_total",
                "segment_throttled_seconds_total")) {
            String full = "pulsar_georep_" + name + " ";
            assertThat(lines.stream().filter(l -> l.startsWith("# HELP " + full))).as(name).hasSize(1);
            assertThat(lines.stream().filter(l -> l.startsWith("# TYPE " + full))).as(name).hasSize(1);
        }
    }

    private List<String> metrics() throws Exception {
        return Http.get(p.a.broker, "/metrics/", null).body().lines().filter(l -> l.contains("pulsar_georep_"))
                .toList();
    }

    private long metric(String name, String path) throws Exception {
        String start = name + "{cluster=\"cluster-a\",remote_cluster=\"cluster-b\",path=\"" + path + "\"} ";
        return metrics().stream().filter(l -> l.startsWith(start)).mapToLong(l ->
                Long.parseLong(l.substring(start.length()).trim())).sum();
    }

    /** Of the topic's first segment. */
    private double ofSegment(String topic, String name, String label) throws Exception {
        String start = "pulsar_georep_segment_" + name + "{cluster=\"cluster-a\",namespace=\"" + SourcePair.NS
                + "\",topic=\"" + topic + "\",segment=\"0\",remote_cluster=\"cluster-b\"" + label + "} ";
        return metrics().stream().filter(l -> l.startsWith(start)).mapToDouble(l ->
                Double.parseDouble(l.substring(start.length()).trim())).findFirst().orElse(-1);
    }

    @Test
    void finerDestinationGetsParts() throws Exception {
        String t = p.topic("finer", 2, 4);
        Rise r = new Rise(p.a, p.b, "rebatched", "parts");
        try (Traffic x = Traffic.start(p.a, t, 50, 0)) {
            x.more(3000);
            x.finish();
        }
        assertCopied(p.a, p.b, t);
        assertThat(r.of("parts")).isGreaterThan(1);
    }

    @Test
    void coarserDestinationGetsWholeEntries() throws Exception {
        String t = p.topic("coarser", 4, 1);
        Rise r = new Rise(p.a, p.b, "verbatim", "parts");
        try (Traffic x = Traffic.start(p.a, t, 50, 0)) {
            x.more(2000);
            x.finish();
        }
        assertCopied(p.a, p.b, t);
        assertThat(r.of("verbatim")).isPositive();
        assertThat(r.of("parts")).isZero();
    }

    @Test
    void destinationSplitsUnderLoad() throws Exception {
        String t = p.topic("dest-split", 2, 2);
        Rise r = new Rise(p.a, p.b, "verbatim", "parts", "seals");
        try (Traffic x = Traffic.start(p.a, t, 50, 0)) {
            x.more(1000);
            p.b.admin().scalableTopics().splitSegment(t, id(active(p.b, t, 0)));
            x.more(1000);
            p.b.admin().scalableTopics().splitSegment(t, id(active(p.b, t, 0xffff)));
            x.more(1000);
            x.finish();
        }
        assertCopied(p.a, p.b, t);
        assertThat(r.of("verbatim")).isPositive();
        assertThat(r.of("parts")).isPositive();
        assertThat(r.of("seals")).isPositive();
    }

    @Test
    void destinationMergesUnderLoad() throws Exception {
        String t = p.topic("dest-merge", 2, 4);
        Rise r = new Rise(p.a, p.b, "verbatim", "parts", "seals");
        try (Traffic x = Traffic.start(p.a, t, 50, 0)) {
            x.more(1000);
            p.b.controller(t).mergeSegments(id(active(p.b, t, 0)), id(active(p.b, t, 0x4000))).get();
            x.more(1000);
            p.b.controller(t).mergeSegments(id(active(p.b, t, 0x8000)), id(active(p.b, t, 0xc000))).get();
            x.more(1000);
            x.finish();
        }
        assertCopied(p.a, p.b, t);
        assertThat(r.of("parts")).isPositive();
        assertThat(r.of("verbatim")).isPositive();
        assertThat(r.of("seals")).isPositive();
    }

    @Test
    void sourceSplitsAndMergesUnderLoad() throws Exception {
        String t = p.topic("source-change", 2, 2);
        Rise r = new Rise(p.a, p.b, "verbatim");
        try (Traffic x = Traffic.start(p.a, t, 50, 0)) {
            x.more(1000);
            p.a.admin().scalableTopics().splitSegment(t, id(active(p.a, t, 0)));
            x.more(1000);
            p.a.controller(t).mergeSegments(id(active(p.a, t, 0)), id(active(p.a, t, 0x7fff))).get();
            x.more(1000);
            x.finish();
        }
        assertCopied(p.a, p.b, t);
        assertThat(r.of("verbatim")).isPositive();
    }

    @Test
    void bothSidesChangeUnderLoad() throws Exception {
        String t = p.topic("both", 1, 2);
        Rise r = new Rise(p.a, p.b, "verbatim", "parts", "seals");
        try (Traffic x = Traffic.start(p.a, t, 50, 0)) {
            for (int hash : new int[]{0, 0x8000, 0xffff}) {
                x.more(500);
                p.b.admin().scalableTopics().splitSegment(t, id(active(p.b, t, hash)));
                p.a.admin().scalableTopics().splitSegment(t, id(active(p.a, t, hash)));
            }
            x.more(500);
            x.finish();
        }
        assertCopied(p.a, p.b, t);
        assertThat(r.of("parts")).isPositive();
        assertThat(r.of("verbatim")).isPositive();
        assertThat(r.of("seals")).isPositive();
    }

    @Test
    void activeActive() throws Exception {
        String t = p.topic("active-active", 2, 3);
        Rise there = new Rise(p.a, p.b, "dropped", "parts");
        Rise back = new Rise(p.b, p.a, "dropped", "parts");
        try (Traffic x = Traffic.start(p.a, t, 40, 0); Traffic y = Traffic.start(p.b, t, 40, 1_000_000)) {
            x.more(1000);
            y.more(1000);
            p.b.admin().scalableTopics().splitSegment(t, id(active(p.b, t, 0)));
            p.a.admin().scalableTopics().splitSegment(t, id(active(p.a, t, 0xffff)));
            x.more(1000);
            y.more(1000);
            x.finish();
            y.finish();
        }
        assertCopied(p.a, p.b, t);
        assertCopied(p.b, p.a, t);
        assertThat(there.of("parts")).isPositive();
        assertThat(there.of("dropped")).as("what came from B is not sent back").isPositive();
        assertThat(back.of("dropped")).isPositive();
    }
}
