// SPDX-License-Identifier: Apache-2.0
package georep.plugin;

import java.util.concurrent.atomic.LongAdder;
import org.apache.pulsar.broker.stats.prometheus.PrometheusRawMetricsProvider;
import org.apache.pulsar.common.util.SimpleTextOutputStream;

/** What the plugin itself counts, in the broker's /metrics; the replicators' counters come from the core. */
public final class PluginMetrics implements PrometheusRawMetricsProvider {
    private final GeorepPlugin plugin;

    PluginMetrics(GeorepPlugin plugin) {
        this.plugin = plugin;
    }

    @Override
    public void generate(SimpleTextOutputStream out) {
        gauge(out, "pulsar_georep_usable", "1 when the start-up check passed", plugin.usable() ? 1 : 0);
        gauge(out, "pulsar_georep_problems", "What the start-up check found", plugin.problems().size());
        counter(out, "pulsar_georep_handshakes_total", "State calls answered", plugin.counters().handshakes);
        counter(out, "pulsar_georep_watermark_queries_total", "Watermark calls answered",
                plugin.counters().watermarkQueries);
        counter(out, "pulsar_georep_dedup_stored_total", "Replicated entries stored", plugin.counters().stored);
        counter(out, "pulsar_georep_dedup_duplicates_total", "Replicated entries recognised as stored already",
                plugin.counters().duplicates);
        counter(out, "pulsar_georep_dedup_unknown_total", "Replicated entries refused because an earlier send of them "
                + "was not known to be stored", plugin.counters().unknown);
        counter(out, "pulsar_georep_dedup_full_total", "Replicated entries refused because their segment keeps as many "
                + "streams as it may", plugin.counters().full);
        gauge(out, "pulsar_georep_dedup_refusing", "Segments that take nothing from other clusters because they "
                + "have more streams than they may keep", plugin.counters().refusing.sum());
        counter(out, "pulsar_georep_forged_total", "Ordinary entries refused for pretending to be replicated",
                plugin.counters().forged);
        counter(out, "pulsar_georep_refused_calls_total", "Calls, and states in calls of other clusters, refused for "
                + "what the caller is or says", plugin.counters().refused);
        counter(out, "pulsar_georep_cursors_lost_total", "Replication cursors that were missing and begin anew at the "
                + "first entry", plugin.counters().cursorsLost);
    }

    private void gauge(SimpleTextOutputStream out, String name, String help, long value) {
        write(out, name, help, "gauge", value);
    }

    private void counter(SimpleTextOutputStream out, String name, String help, LongAdder value) {
        write(out, name, help, "counter", value.sum());
    }

    private void write(SimpleTextOutputStream out, String name, String help, String type, long value) {
        out.write("# HELP ").write(name).write(' ').write(help).write('\n');
        out.write("# TYPE ").write(name).write(' ').write(type).write('\n');
        out.write(name).write("{cluster=\"").write(plugin.pulsar().getConfiguration().getClusterName()).write("\"} ")
                .write(value).write('\n');
    }
}
