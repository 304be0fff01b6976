// SPDX-License-Identifier: Apache-2.0
package georep.plugin.source;

import georep.plugin.GeorepPlugin;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.ConcurrentHashMap;
import org.apache.pulsar.broker.service.BrokerService;
import org.apache.pulsar.client.admin.PulsarAdmin;
import org.apache.pulsar.client.impl.PulsarClientImpl;
import org.apache.pulsar.common.policies.data.ClusterData;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * This broker's clients for remote clusters, as these are registered now. The broker itself keeps what it made first
 * until a cluster is deleted, whatever becomes of its addresses and credentials. Here a change makes new ones, which
 * the broker keeps under a name of their own, and with which its own replicators have nothing to do. Thread-safe.
 */
public final class RemoteClients {
    private static final Logger LOG = LoggerFactory.getLogger(RemoteClients.class);

    /** Both clients of one cluster. */
    public record Clients(PulsarClientImpl client, PulsarAdmin admin) { }

    /** @param name under which the broker keeps them */
    private record Made(ClusterData data, String name, Clients clients) { }

    private final BrokerService broker;
    private final Map<String, Made> made = new ConcurrentHashMap<>();
    private int changes;

    private RemoteClients(GeorepPlugin plugin) {
        this.broker = plugin.pulsar().getBrokerService();
    }

    public static RemoteClients of(GeorepPlugin plugin) {
        return plugin.service(RemoteClients.class, RemoteClients::new);
    }

    /**
     * Clients for a cluster with this data.
     *
     * @throws IllegalStateException where it has none, or wrong ones
     */
    public synchronized Clients get(String remote, Optional<ClusterData> data) {
        check(remote, data);
        Made m = made.get(remote);
        if (m != null && m.clients != null) {
            return m.clients;
        }
        String name = m == null ? remote : m.name;
        PulsarClientImpl client = (PulsarClientImpl) broker.getReplicationClient(name, data);
        PulsarAdmin admin = broker.getClusterPulsarAdmin(name, data);
        if (client == null || admin == null) {
            throw new IllegalStateException("that cluster is not registered, or its addresses are wrong");
        }
        Clients c = new Clients(client, admin);
        made.put(remote, new Made(data.orElse(null), name, c));
        return c;
    }

    /** Forgets clients that were closed, or made with other data than this. */
    synchronized void check(String remote, Optional<ClusterData> data) {
        Made m = made.get(remote);
        if (m == null || m.clients == null || !m.clients.client.isClosed() && same(m.data, data.orElse(null))) {
            return;
        }
        boolean own = !m.name.equals(remote);
        if (m.clients.client.isClosed() && !own) {
            made.remove(remote); // the cluster was deleted, and the broker has forgotten them, too
            return;
        }
        LOG.info("addresses or credentials of cluster {} have changed: replication to it begins anew", remote);
        if (own) {
            // not here: who is told that its connection is closed may ask this object
            broker.executor().execute(() -> broker.closeAndRemoveReplicationClient(m.name));
        }
        made.put(remote, new Made(null, remote + "#" + ++changes, null));
    }

    private static boolean same(ClusterData a, ClusterData b) {
        return a != null && b != null && connection(a).equals(connection(b));
    }

    /** Without what says nothing of how to reach it. */
    private static ClusterData connection(ClusterData d) {
        return d.clone().peerClusterNames(null).build();
    }

    /** Whether it is the one that {@link #get} would return. */
    boolean isCurrent(String remote, PulsarClientImpl client) {
        Made m = made.get(remote);
        return m != null && m.clients != null && m.clients.client == client;
    }
}
