// SPDX-License-Identifier: Apache-2.0
package georep.plugin.source;

import java.util.Collection;
import java.util.Comparator;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.function.BooleanSupplier;
import java.util.function.Predicate;
import java.util.function.Supplier;
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
    private static final long MILLIS = 1000;

    private final String cluster;
    private final BooleanSupplier exposed;
    private final Supplier<Collection<ReplicationStatus.Replicator>> replicators;
    private final Predicate<ReplicationStatus.Replicator> stalled;

    public SegmentMetrics(SourceBroker broker) {
        this(broker.cluster(), () -> broker.pulsar().getConfiguration().isExposeTopicLevelMetricsInPrometheus(),
                () -> broker.status().all(), r -> broker.status().stalled(r, r.backlog()));
    }

    SegmentMetrics(String cluster, BooleanSupplier exposed,
                   Supplier<Collection<ReplicationStatus.Replicator>> replicators,
                   Predicate<ReplicationStatus.Replicator> stalled) {
        this.cluster = cluster;
        this.exposed = exposed;
        this.replicators = replicators;
        this.stalled = stalled;
    }

    @Override
    public void generate(SimpleTextOutputStream out) {
        if (!exposed.getAsBoolean()) {
            return;
        }
        List<ReplicationStatus.Replicator> all = replicators.get().stream()
                .sorted(Comparator.comparing(ReplicationStatus.Replicator::segmentTopic)
                        .thenComparing(ReplicationStatus.Replicator::remote)).toList();
        gauge(out, "pulsar_georep_segment_backlog", "Entries behind the replication cursor.", all,
                ReplicationStatus.Replicator::backlog);
        gauge(out, "pulsar_georep_segment_delay_seconds", "Age of the oldest un-replicated entry; -1: not known.", all,
                r -> ReplicationStatus.delaySeconds(r, r.backlog()));
        head(out, "pulsar_georep_segment_stalled", "1: backlog and no progress for georepStallSeconds, and for want of "
                + "what.", GAUGE);
        for (ReplicationStatus.Replicator r : all) {
            boolean stands = stalled.test(r);
            labels(out, "pulsar_georep_segment_stalled", r);
            out.write(",reason=\"").write(stands ? ReplicationStatus.stallReason(r) : "").write("\"} ")
                    .write(stands ? 1 : 0).write('\n');
        }
        head(out, "pulsar_georep_segment_throttled_seconds_total", "Time that re-batching has waited for the slow "
                + "path's budget, a slot or tokens.", COUNTER);
        for (ReplicationStatus.Replicator r : all) {
            labels(out, "pulsar_georep_segment_throttled_seconds_total", r);
            long millis = r.throttledMillis(); // as a double it could be written less than it was
            out.write("} ").write(String.format(Locale.ROOT, "%d.%03d", millis / MILLIS, millis % MILLIS))
                    .write('\n');
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
        out.write(metric).write("{cluster=\"").write(cluster).write("\",namespace=\"")
                .write(r.parent().getNamespace()).write("\",topic=\"").write(r.parent().toString())
                .write("\",segment=\"").write(r.segment()).write("\",remote_cluster=\"").write(r.remote()).write('"');
    }
}
