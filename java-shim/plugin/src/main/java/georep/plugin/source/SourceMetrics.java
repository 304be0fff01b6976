// SPDX-License-Identifier: Apache-2.0
package georep.plugin.source;

import com.fasterxml.jackson.databind.JsonNode;
import java.util.Comparator;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.concurrent.ConcurrentSkipListSet;
import org.apache.pulsar.broker.stats.prometheus.PrometheusRawMetricsProvider;
import org.apache.pulsar.common.util.SimpleTextOutputStream;

/**
 * The source side in the broker's /metrics, per remote cluster. Built at each scrape from the replicators' status; the
 * counters of windows that have ended are carried on. Register with addPrometheusRawMetricsProvider.
 */
public final class SourceMetrics implements PrometheusRawMetricsProvider {
    /** Names of the window's counters by metric and path label. */
    static final Map<String, String> ENTRIES = paths("verbatim", "single", "unkeyed", "rebatched", "dropped",
            "skipped");
    static final Map<String, String> BYTES = Map.of("verbatim", "verbatimBytes", "single", "singleBytes",
            "unkeyed", "unkeyedBytes", "rebatched", "partBytes");

    private final SourceBroker broker;
    private final Set<Reason> seen = new ConcurrentSkipListSet<>(); // what was parked once falls back to 0

    public SourceMetrics(SourceBroker broker) {
        this.broker = broker;
    }

    private static Map<String, String> paths(String... names) {
        Map<String, String> m = new LinkedHashMap<>();
        for (String n : names) {
            m.put(n, n);
        }
        return m;
    }

    private record Reason(String remote, String name) implements Comparable<Reason> {
        private static final Comparator<Reason> ORDER = Comparator.comparing(Reason::remote)
                .thenComparing(Reason::name);

        @Override
        public int compareTo(Reason o) {
            return ORDER.compare(this, o);
        }
    }

    private static final class Gauges {
        final Map<String, Long> parked = new TreeMap<>();
        long backlog;
        long delay;
        long stalled;
        long lapsed;
        long blocked;
        long pinned;
        long replicators;
    }

    @Override
    public void generate(SimpleTextOutputStream out) {
        Map<String, Map<String, Long>> counters = new TreeMap<>();
        Map<String, Gauges> gauges = new TreeMap<>();
        broker.status().retired().addTo(counters);
        for (ReplicationStatus.Replicator r : broker.status().all()) {
            collect(r, counters.computeIfAbsent(r.remote(), k -> new TreeMap<>()),
                    gauges.computeIfAbsent(r.remote(), k -> new Gauges()));
        }
        labelled(out, "pulsar_georep_entries_total", "Source entries handed over to a remote, by path.", counters,
                ENTRIES);
        labelled(out, "pulsar_georep_bytes_total", "Payload bytes sent to a remote, by path.", counters, BYTES);
        head(out, "pulsar_georep_parts_total", "Parts made by re-batching.", "counter");
        counters.forEach((remote, m) -> value(out, "pulsar_georep_parts_total", remote, null, null,
                m.getOrDefault("parts", 0L)));
        parked(out, gauges);
        gauge(out, "pulsar_georep_backlog", "Entries behind the replication cursors.", gauges, g -> g.backlog);
        gauge(out, "pulsar_georep_delay_seconds", "Age of the oldest un-replicated entry.", gauges, g -> g.delay);
        gauge(out, "pulsar_georep_stalled", "Segments with backlog and no progress.", gauges, g -> g.stalled);
        gauge(out, "pulsar_georep_lapsed", "Entries that left the cursors without having been sent.", gauges,
                g -> g.lapsed);
        gauge(out, "pulsar_georep_blocked", "Segments whose remote is not written to.", gauges, g -> g.blocked);
        gauge(out, "pulsar_georep_sealed_pinned", "Sealed segments that stay because a remote has not got all of them.",
                gauges, g -> g.pinned);
        gauge(out, "pulsar_georep_segments", "Replicated segments on this broker.", gauges, g -> g.replicators);
        budget(out, broker.status().budget());
    }

    private void collect(ReplicationStatus.Replicator r, Map<String, Long> counters, Gauges g) {
        long backlog = r.backlog();
        g.replicators++;
        g.backlog += backlog;
        g.lapsed += r.lapsed();
        g.delay = Math.max(g.delay, ReplicationStatus.delaySeconds(r, backlog));
        g.pinned += backlog > 0 && r.sealed() ? 1 : 0;
        g.stalled += broker.status().stalled(r, backlog) ? 1 : 0;
        g.blocked += "supported".equals(r.remoteStatus()) ? 0 : 1;
        String json = r.windowStatusJson();
        if (json != null) {
            JsonNode n = ReplicationStatus.parse(json);
            n.path("parkedBy").forEach(c -> g.parked.merge(c.path("name").asText(), c.path("value").asLong(),
                    Long::sum));
            RetiredCounters.each(n, (name, value) -> counters.merge(name, value, Long::sum));
        }
    }

    private void parked(SimpleTextOutputStream out, Map<String, Gauges> gauges) {
        gauges.forEach((remote, g) -> g.parked.keySet().forEach(reason -> seen.add(new Reason(remote, reason))));
        head(out, "pulsar_georep_parked", "Entries that wait for an operator.", "gauge");
        for (Reason r : seen) {
            Gauges g = gauges.get(r.remote);
            value(out, "pulsar_georep_parked", r.remote, "reason", r.name,
                    g == null ? 0 : g.parked.getOrDefault(r.name, 0L));
        }
    }

    private void budget(SimpleTextOutputStream out, JsonNode b) {
        Map<String, String> names = new LinkedHashMap<>();
        names.put("tokens", "Decompressed bytes that may be used now; negative is debt.");
        names.put("slotsInUse", "Batches being re-batched.");
        names.put("waiting", "Segments that wait for the budget.");
        names.put("inFlightBytes", "Bytes held for sends.");
        names.forEach((field, help) -> {
            String metric = "pulsar_georep_budget_" + field.replaceAll("([A-Z])", "_$1")
                    .toLowerCase(java.util.Locale.ROOT);
            head(out, metric, help, "gauge");
            value(out, metric, null, null, null, b.path(field).asLong());
        });
    }

    private void labelled(SimpleTextOutputStream out, String metric, String help,
            Map<String, Map<String, Long>> counters,
                          Map<String, String> paths) {
        head(out, metric, help, "counter");
        counters.forEach((remote, m) -> paths.forEach((path, name) -> value(out, metric, remote, "path", path,
                m.getOrDefault(name, 0L))));
    }

    private void gauge(SimpleTextOutputStream out, String metric, String help, Map<String, Gauges> gauges,
                       java.util.function.ToLongFunction<Gauges> f) {
        head(out, metric, help, "gauge");
        gauges.forEach((remote, g) -> value(out, metric, remote, null, null, f.applyAsLong(g)));
    }

    private static void head(SimpleTextOutputStream out, String metric, String help, String type) {
        out.write("# HELP ").write(metric).write(' ').write(help).write('\n');
        out.write("# TYPE ").write(metric).write(' ').write(type).write('\n');
    }

    private void value(SimpleTextOutputStream out, String metric, String remote, String label, String is, long v) {
        out.write(metric).write("{cluster=\"").write(broker.cluster()).write('"');
        if (remote != null) {
            out.write(",remote_cluster=\"").write(remote).write('"');
        }
        if (label != null) {
            out.write(",").write(label).write("=\"").write(is).write('"');
        }
        out.write("} ").write(v).write('\n');
    }
}
