// SPDX-License-Identifier: Apache-2.0
package georep.it;

import java.util.LinkedHashSet;
import java.util.List;
import java.util.Set;
import org.apache.pulsar.client.admin.PulsarAdminException.ConflictException;
import org.apache.pulsar.common.policies.data.ClusterData;
import org.apache.pulsar.common.policies.data.RetentionPolicies;
import org.apache.pulsar.common.policies.data.TenantInfo;

/** Makes clusters know each other and namespaces replicate; each has a configuration store of its own. */
public final class Federation {
    private Federation() {
    }

    /** Every cluster knows every other; tenant and namespace exist everywhere and replicate among all of them. */
    public static void of(String namespace, Cluster... clusters) throws Exception {
        introduce(clusters);
        create(namespace, clusters);
        for (Cluster c : clusters) {
            replicate(c, namespace, names(clusters));
        }
    }

    /**
     * The namespace replicates from one cluster to the other and not back: the destination knows no cluster but itself.
     */
    public static void oneWay(String namespace, Cluster from, Cluster to) throws Exception {
        introduce(from);
        introduce(to);
        register(from, to);
        create(namespace, Set.of(from.name, to.name), from);
        create(namespace, to);
        replicate(from, namespace, names(from, to));
    }

    /** Registers every cluster with its present addresses at every other; repeat it after a restart. */
    public static void introduce(Cluster... clusters) throws Exception {
        for (Cluster at : clusters) {
            for (Cluster c : clusters) {
                register(at, c);
            }
        }
    }

    private static void register(Cluster at, Cluster c) throws Exception {
        register(at, c.name, c.addresses());
    }

    /** A cluster is known at another one by these addresses, which need not be its own: those of a proxy. */
    static void register(Cluster at, String name, ClusterData addresses) throws Exception {
        if (at.admin().clusters().getClusters().contains(name)) {
            at.admin().clusters().updateCluster(name, addresses);
        } else {
            at.admin().clusters().createCluster(name, addresses);
        }
    }

    /** The namespace exists on every cluster and replicates nowhere yet. */
    public static void create(String namespace, Cluster... clusters) throws Exception {
        create(namespace, names(clusters), clusters);
    }

    private static void create(String namespace, Set<String> allowed, Cluster... clusters) throws Exception {
        String tenant = namespace.substring(0, namespace.indexOf('/'));
        for (Cluster c : clusters) {
            TenantInfo info = TenantInfo.builder().adminRoles(Set.of("admin")).allowedClusters(allowed).build();
            tenant(c, tenant, info);
            tenant(c, "pulsar", TenantInfo.builder().adminRoles(Set.of("admin")).allowedClusters(Set.of(c.name))
                    .build());
            namespaceAt(c, "pulsar/system");
            namespaceAt(c, namespace);
        }
    }

    private static void tenant(Cluster c, String name, TenantInfo info) throws Exception {
        if (c.admin().tenants().getTenants().contains(name)) {
            c.admin().tenants().updateTenant(name, info);
        } else {
            c.admin().tenants().createTenant(name, info);
        }
    }

    private static void namespaceAt(Cluster c, String name) throws Exception {
        if (!c.admin().namespaces().getNamespaces(name.substring(0, name.indexOf('/'))).contains(name)) {
            c.admin().namespaces().createNamespace(name);
            // tests read whole logs: a broker that starts again drops closed ledgers without subscriptions otherwise
            c.admin().namespaces().setRetention(name, new RetentionPolicies(-1, -1));
        }
    }

    /** Sets the namespace's clusters on one cluster; without the others replication from there is off. */
    public static void replicate(Cluster at, String namespace, Set<String> clusters) throws Exception {
        at.admin().namespaces().setNamespaceReplicationClusters(namespace, clusters, false);
    }

    /** Replication from this cluster ends. */
    public static void stop(Cluster at, String namespace) throws Exception {
        replicate(at, namespace, Set.of(at.name));
    }

    /** The topic exists on every cluster with so many segments; where it replicates, the first may have created it. */
    public static void topic(String topic, int segments, Cluster... clusters) throws Exception {
        for (Cluster c : clusters) {
            try {
                c.admin().scalableTopics().createScalableTopic(topic, segments);
            } catch (ConflictException e) {
                int there = c.admin().scalableTopics().getMetadata(topic).getSegments().size();
                if (there != segments) {
                    throw new IllegalStateException(c.name + " has " + topic + " with " + there + " segments", e);
                }
            }
        }
    }

    static Set<String> names(Cluster... clusters) {
        Set<String> s = new LinkedHashSet<>();
        for (Cluster c : List.of(clusters)) {
            s.add(c.name);
        }
        return s;
    }
}
