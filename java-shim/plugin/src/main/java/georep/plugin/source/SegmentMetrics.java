// SPDX-License-Identifier: Apache-2.0
package georep.plugin.source;

import java.util.Comparator;
import java.util.List;
import java.util.Map;
import java.util.function.ToLongFunction;
import org.apache.pulsar.broker.stats.prometheus.PrometheusRawMetricsProvider;
import org.apache.pulsar.common.util.SimpleTextOutputStream;

/**
 * Backlog, delay, stalls, what was sent and what waited for the budget, by segment and remote in the broker's /metrics;
 * nothing where the broker does not expose metrics by topic (exposeTopicLevelMetricsInPrometheus). Counters begin anew
 * with a segment's replicator: where it is loaded again, or its remote has another instance.
 */
public final class SegmentMetrics implements PrometheusRawMetricsProvider {
    private static final String GAUGE = "gauge";
    private static final String COUNTER = "counter";
    private static final double MILLIS = 1000;

    private final SourceBroker broker;

    public SegmentMetrics(SourceBroker broker) {
        this.broker = broker;
    }

    @Override
    public void generate(SimpleTextOutputStream out) {
        if (!broker.pulsar().getConfiguration().isExposeTopicLevelMetricsInPrometheus()) {
            return;
        }
        List<ReplicationStatus.Replicator> all = broker.status().all().stream()
                .sorted(Comparator.comparing(ReplicationStatus.Replicator::segmentTopic)
                        .thenComparing(ReplicationStatus.Replicator::remote)).toList();
        gauge(out, "pulsar_georep_segment_backlog", "Entries behind the replication cursor.", all,
                ReplicationStatus.Replicator::backlog);
        gauge(out, "pulsar_georep_segment_delay_seconds", "Age of the oldest un-replicated entry; -1: not known.", all,
                r -> ReplicationStatus.delaySeconds(r, r.backlog()));
        head(out, "pulsar_georep_segment_stalled", "1: backlog and no progress for georepStallSeconds, and for want of "
                + "what.", GAUGE);
        for (ReplicationStatus.Replicator r : all) {
            boolean stalled = broker.status().stalled(r, r.backlog());
            labels(out, "pulsar_georep_segment_stalled", r);
            out.write(",reason=\"").write(stalled ? ReplicationStatus.stallReason(r) : "").write("\"} ")
                    .write(stalled ? 1 : 0).write('\n');
        }
        head(out, "pulsar_georep_segment_throttled_seconds_total", "Time that re-batching has waited for the slow "
                + "path's budget, a slot or tokens.", COUNTER);
        for (ReplicationStatus.Replicator r : all) {
            labels(out, "pulsar_georep_segment_throttled_seconds_total", r);
            out.write("} ").write(r.throttledMillis() / MILLIS).write('\n');
        }
        List<Map<String, Long>> counters = all.stream().map(ReplicationStatus::counters).toList();
        byPath(out, "pulsar_georep_segment_entries_total", "Source entries handed over to a remote, by path.", all,
                counters, SourceMetrics.ENTRIES);
        byPath(out, "pulsar_georep_segment_bytes_total", "Payload bytes sent to a remote, by path.", all, counters,
                SourceMetrics.BYTES);
    }

    private void byPath(SimpleTextOutputStream out, String metric, String help, List<ReplicationStatus.Replicator> all,
                        List<Map<String, Long>> counters, Map<String, String> paths) {
        head(out, metric, help, COUNTER);
        for (int i = 0; i < all.size(); i++) {
            for (Map.Entry<String, String> path : paths.entrySet()) {
                labels(out, metric, all.get(i));
                out.write(",path=\"").write(path.getKey()).write("\"} ")
                        .write(counters.get(i).getOrDefault(path.getValue(), 0L)).write('\n');
            }
        }
    }

    private void gauge(SimpleTextOutputStream out, String metric, String help, List<ReplicationStatus.Replicator> all,
                       ToLongFunction<ReplicationStatus.Replicator> f) {
        head(out, metric, help, GAUGE);
        for (ReplicationStatus.Replicator r : all) {
            labels(out, metric, r);
            out.write("} ").write(f.applyAsLong(r)).write('\n');
        }
    }

    private static void head(SimpleTextOutputStream out, String metric, String help, String type) {
        out.write("# HELP ").write(metric).write(' ').write(help).write('\n');
        out.write("# TYPE ").write(metric).write(' ').write(type).write('\n');
    }

    private void labels(SimpleTextOutputStream out, String metric, ReplicationStatus.Replicator r) {
        out.write(metric).write("{cluster=\"").write(broker.cluster()).write("\",namespace=\"")
                .write(r.parent().getNamespace()).write("\",topic=\"").write(r.parent().toString())
                .write("\",segment=\"").write(r.segment()).write("\",remote_cluster=\"").write(r.remote()).write('"');
    }
}
