// SPDX-License-Identifier: Apache-2.0
package georep.plugin.source;

import static org.assertj.core.api.Assertions.assertThat;

import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import java.nio.charset.StandardCharsets;
import java.util.List;
import org.apache.pulsar.common.naming.TopicName;
import org.apache.pulsar.common.util.SimpleTextOutputStream;
import org.junit.jupiter.api.Test;

class SegmentMetricsTest {
    /** A replicator of topic://t/n/x that says this; without a window where that is null. */
    private record Says(long segment, String remote, String windowStatusJson, long throttledMillis)
            implements ReplicationStatus.Replicator {
        @Override
        public TopicName parent() {
            return TopicName.get("topic://t/n/x");
        }

        @Override
        public String segmentTopic() {
            return "segment://t/n/x/0000-ffff-" + segment;
        }

        @Override
        public long backlog() {
            return 3;
        }

        @Override
        public long oldestPublishTime() {
            return -1;
        }

        @Override
        public String remoteStatus() {
            return "supported";
        }

        @Override
        public String trouble() {
            return "";
        }

        @Override
        public boolean connected() {
            return true;
        }

        @Override
        public long lapsed() {
            return 0;
        }

        @Override
        public String horizon() {
            return "";
        }

        @Override
        public long secondsWithoutProgress() {
            return 0;
        }

        @Override
        public boolean sealed() {
            return false;
        }

        @Override
        public void closeIdleProducers(long idleNanos) {
            throw new UnsupportedOperationException("metrics only read");
        }
    }

    private static final ReplicationStatus.Replicator BUSY = new Says(0, "b", """
            {"state":"replicating","reason":"budget","counters":[{"name":"verbatim","value":"12"},
             {"name":"rebatched","value":"7"},{"name":"partBytes","value":"700"}]}""",
            2345);
    private static final ReplicationStatus.Replicator STARTING = new Says(1, "b", null, 0);

    private static List<String> page(boolean exposed) {
        ByteBuf buf = Unpooled.buffer();
        new SegmentMetrics("a", () -> exposed, () -> List.of(STARTING, BUSY), r -> r == BUSY)
                .generate(new SimpleTextOutputStream(buf));
        return buf.toString(StandardCharsets.UTF_8).lines().toList();
    }

    private static String labels(int segment) {
        return "{cluster=\"a\",namespace=\"t/n\",topic=\"topic://t/n/x\",segment=\"" + segment
                + "\",remote_cluster=\"b\"";
    }

    @Test
    void countersByPath() {
        List<String> page = page(true);
        assertThat(page.stream().filter(l -> l.startsWith("pulsar_georep_segment_entries_total" + labels(0))))
                .containsExactly(entries(0, "verbatim", 12), entries(0, "single", 0), entries(0, "unkeyed", 0),
                        entries(0, "rebatched", 7), entries(0, "dropped", 0), entries(0, "skipped", 0));
        assertThat(page).contains(entries(1, "rebatched", 0),
                "pulsar_georep_segment_bytes_total" + labels(0) + ",path=\"rebatched\"} 700",
                "pulsar_georep_segment_bytes_total" + labels(0) + ",path=\"verbatim\"} 0");
    }

    private static String entries(int segment, String path, int n) {
        return "pulsar_georep_segment_entries_total" + labels(segment) + ",path=\"" + path + "\"} " + n;
    }

    @Test
    void waitsAreSeconds() {
        assertThat(page(true)).contains("pulsar_georep_segment_throttled_seconds_total" + labels(0) + "} 2.345",
                "pulsar_georep_segment_throttled_seconds_total" + labels(1) + "} 0.000",
                "pulsar_georep_segment_stalled" + labels(0) + ",reason=\"budget\"} 1",
                "pulsar_georep_segment_stalled" + labels(1) + ",reason=\"\"} 0");
    }

    /** Each name once, with help and type, before its values. */
    @Test
    void everyMetricHasOneHead() {
        List<String> types = page(true).stream().filter(l -> l.startsWith("# TYPE ")).toList();
        assertThat(types).containsExactly("# TYPE pulsar_georep_segment_backlog gauge",
                "# TYPE pulsar_georep_segment_delay_seconds gauge", "# TYPE pulsar_georep_segment_stalled gauge",
                "# TYPE pulsar_georep_segment_throttled_seconds_total counter",
                "# TYPE pulsar_georep_segment_entries_total counter",
                "# TYPE pulsar_georep_segment_bytes_total counter");
        assertThat(page(true).stream().filter(l -> l.startsWith("# HELP "))).hasSameSizeAs(types);
    }

    @Test
    void nothingWhereTheBrokerKeepsTopicsOut() {
        assertThat(page(false)).isEmpty();
    }
}
