// SPDX-License-Identifier: Apache-2.0
package georep.plugin.source;

import java.util.Comparator;
import java.util.List;
import java.util.function.ToLongFunction;
import org.apache.pulsar.broker.stats.prometheus.PrometheusRawMetricsProvider;
import org.apache.pulsar.common.util.SimpleTextOutputStream;

/**
 * Backlog, delay and stalls by segment and remote in the broker's /metrics; nothing where the broker does not expose
 * metrics by topic (exposeTopicLevelMetricsInPrometheus).
 */
public final class SegmentMetrics implements PrometheusRawMetricsProvider {
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
                + "what.");
        for (ReplicationStatus.Replicator r : all) {
            boolean stalled = broker.status().stalled(r, r.backlog());
            labels(out, "pulsar_georep_segment_stalled", r);
            out.write(",reason=\"").write(stalled ? ReplicationStatus.stallReason(r) : "").write("\"} ")
                    .write(stalled ? 1 : 0).write('\n');
        }
    }

    private void gauge(SimpleTextOutputStream out, String metric, String help, List<ReplicationStatus.Replicator> all,
                       ToLongFunction<ReplicationStatus.Replicator> f) {
        head(out, metric, help);
        for (ReplicationStatus.Replicator r : all) {
            labels(out, metric, r);
            out.write("} ").write(f.applyAsLong(r)).write('\n');
        }
    }

    private static void head(SimpleTextOutputStream out, String metric, String help) {
        out.write("# HELP ").write(metric).write(' ').write(help).write('\n');
        out.write("# TYPE ").write(metric).write(" gauge\n");
    }

    private void labels(SimpleTextOutputStream out, String metric, ReplicationStatus.Replicator r) {
        out.write(metric).write("{cluster=\"").write(broker.cluster()).write("\",namespace=\"")
                .write(r.parent().getNamespace()).write("\",topic=\"").write(r.parent().toString())
                .write("\",segment=\"").write(r.segment()).write("\",remote_cluster=\"").write(r.remote()).write('"');
    }
}
