// SPDX-License-Identifier: Apache-2.0
package georep.plugin;

import com.fasterxml.jackson.databind.JsonNode;
import georep.plugin.control.PeerExchange;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.function.ToDoubleFunction;
import java.util.stream.StreamSupport;
import org.apache.pulsar.broker.service.scalable.ReplicatedScalableTopicService;
import org.apache.pulsar.broker.service.scalable.TopicConvergence;
import org.apache.pulsar.broker.stats.prometheus.PrometheusRawMetricsProvider;
import org.apache.pulsar.common.util.SimpleTextOutputStream;

/**
 * Convergence of the layouts that this broker leads, in the broker's /metrics: per remote cluster, and by topic where
 * the broker exposes metrics by topic (exposeTopicLevelMetricsInPrometheus). Built at each scrape.
 */
final class ConvergeMetrics implements PrometheusRawMetricsProvider {
    private static final double MILLIS = 1000;

    private final GeorepPlugin plugin;
    private final ReplicatedScalableTopicService service;

    /** One peer of one topic; {@code status} is its PeerConvergence. */
    record Peer(String topic, String cluster, JsonNode status) {
        double behind() {
            return StreamSupport.stream(status.path("diverged").spliterator(), false)
                    .filter(d -> d.path("localIsCoarser").asBoolean()).count();
        }

        double lagSeconds() {
            return status.path("lagMillis").asLong() / MILLIS;
        }

        double silentSeconds() {
            return status.path("silentMillis").asLong() / MILLIS;
        }

        double refused() {
            return status.path("refused").asText().isEmpty() && status.path("declined").asText().isEmpty() ? 0 : 1;
        }
    }

    ConvergeMetrics(GeorepPlugin plugin, ReplicatedScalableTopicService service) {
        this.plugin = plugin;
        this.service = service;
    }

    @Override
    public void generate(SimpleTextOutputStream out) {
        List<Peer> peers = peers();
        Map<String, List<Peer>> byCluster = new TreeMap<>();
        peers.forEach(p -> byCluster.computeIfAbsent(p.cluster, k -> new ArrayList<>()).add(p));
        byCluster(out, "pulsar_georep_diverged_ranges", "Hash ranges where this cluster's layouts lag a peer's.",
                byCluster, Peer::behind, false);
        byCluster(out, "pulsar_georep_convergence_lag_seconds", "Time since a peer's layout differs, until it is "
                + "folded in and drained; else how long the last difference lasted. The longest of all.", byCluster,
                Peer::lagSeconds, true);
        byCluster(out, "pulsar_georep_peer_state_age_seconds", "Age of the oldest last state of a peer; of one that "
                + "has told none since the leader here leads, the time since then. 0 where it takes no part.",
                byCluster, Peer::silentSeconds, true);
        byCluster(out, "pulsar_georep_layouts_refused", "Topics whose layout here or at a peer is not followed by the "
                + "other: the caps or routing profiles differ.", byCluster, Peer::refused, false);
        exchanges(out);
        if (plugin.pulsar().getConfiguration().isExposeTopicLevelMetricsInPrometheus()) {
            byTopic(out, "pulsar_georep_topic_diverged_ranges", "Hash ranges where this cluster's layout lags a "
                    + "peer's.", peers, Peer::behind);
            byTopic(out, "pulsar_georep_topic_convergence_lag_seconds", "The convergence lag of a topic.", peers,
                    Peer::lagSeconds);
        }
    }

    private List<Peer> peers() {
        List<Peer> all = new ArrayList<>();
        for (TopicConvergence c : service.converging()) {
            JsonNode status = c.status();
            if (status != null) {
                status.path("peers").forEach(p -> all.add(new Peer(c.topic().toString(), p.path("cluster").asText(),
                        p)));
            }
        }
        all.sort(Comparator.comparing(Peer::topic).thenComparing(Peer::cluster));
        return all;
    }

    private void exchanges(SimpleTextOutputStream out) {
        String name = "pulsar_georep_peer_exchanges_total";
        head(out, name, "Calls that tell layouts to a peer, by result.", "counter");
        JsonNode peers = PeerExchange.of(plugin).status().path("peers");
        for (JsonNode p : peers) {
            String cluster = p.path("cluster").asText();
            labels(out, name, cluster);
            out.write(",result=\"success\"} ").write(p.path("calls").asLong()).write('\n');
            labels(out, name, cluster);
            out.write(",result=\"failure\"} ").write(p.path("failures").asLong()).write('\n');
        }
        name = "pulsar_georep_peer_exchange_bytes_total";
        head(out, name, "Bytes of these calls and of the responses.", "counter");
        for (JsonNode p : peers) {
            String cluster = p.path("cluster").asText();
            labels(out, name, cluster);
            out.write("} ").write(PeerExchange.of(plugin).bytes(cluster)).write('\n');
        }
    }

    private void byCluster(SimpleTextOutputStream out, String name, String help, Map<String, List<Peer>> all,
                           ToDoubleFunction<Peer> f, boolean largest) {
        head(out, name, help, "gauge");
        all.forEach((cluster, peers) -> {
            labels(out, name, cluster);
            double v = largest ? peers.stream().mapToDouble(f).max().orElse(0) : peers.stream().mapToDouble(f).sum();
            out.write("} ").write(v).write('\n');
        });
    }

    private void byTopic(SimpleTextOutputStream out, String name, String help, List<Peer> peers,
                         ToDoubleFunction<Peer> f) {
        head(out, name, help, "gauge");
        for (Peer p : peers) {
            labels(out, name, p.cluster);
            out.write(",topic=\"").write(p.topic).write("\"} ").write(f.applyAsDouble(p)).write('\n');
        }
    }

    private static void head(SimpleTextOutputStream out, String name, String help, String type) {
        out.write("# HELP ").write(name).write(' ').write(help).write('\n');
        out.write("# TYPE ").write(name).write(' ').write(type).write('\n');
    }

    private void labels(SimpleTextOutputStream out, String name, String remote) {
        out.write(name).write("{cluster=\"").write(plugin.pulsar().getConfiguration().getClusterName())
                .write("\",remote_cluster=\"").write(remote).write('"');
    }
}
