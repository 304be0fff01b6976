// SPDX-License-Identifier: Apache-2.0
package georep.crash;

import georep.it.RealBookies;
import georep.it.ZooKeeperNode;
import java.io.IOException;
import java.net.InetSocketAddress;
import java.net.ServerSocket;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.function.Function;
import java.util.stream.Collectors;
import org.apache.pulsar.client.admin.PulsarAdmin;
import org.apache.pulsar.common.policies.data.ClusterData;
import org.apache.pulsar.common.policies.data.RetentionPolicies;
import org.apache.pulsar.common.policies.data.TenantInfo;

/** ZooKeeper and a bookie in this process, and places for brokers. */
final class CrashCluster implements AutoCloseable {
    private static final int FIRST_PORT = 21_000; // below what the system gives to outgoing connections
    private static final int LAST_PORT = 31_000;
    private static int nextPort = FIRST_PORT + (int) (ProcessHandle.current().pid() % 500) * 20;

    final String name;
    final List<BrokerProcess> brokers = new ArrayList<>();
    private final ZooKeeperNode zookeeper;
    private final RealBookies bookies;
    private PulsarAdmin admin;

    CrashCluster(String name, int count, Path dir, Path logs) throws Exception {
        this.name = name;
        zookeeper = new ZooKeeperNode(dir.resolve("zookeeper"));
        bookies = new RealBookies(zookeeper.url, dir, 1);
        for (int i = 0; i < count; i++) {
            brokers.add(new BrokerProcess(name, i, zookeeper.url, dir, logs, freePort(), freePort()));
        }
    }

    private static int freePort() throws IOException {
        while (nextPort < LAST_PORT) {
            try (ServerSocket s = new ServerSocket()) {
                s.bind(new InetSocketAddress("127.0.0.1", nextPort++));
                return s.getLocalPort();
            } catch (IOException taken) {
                // the next one
            }
        }
        throw new IOException("no free port");
    }

    private String hosts(String scheme, Function<BrokerProcess, Integer> port) {
        return scheme + "://" + brokers.stream().map(b -> "127.0.0.1:" + port.apply(b))
                .collect(Collectors.joining(","));
    }

    String serviceUrl() {
        return hosts("pulsar", b -> b.binaryPort);
    }

    String webUrl() {
        return hosts("http", b -> b.httpPort);
    }

    /** Of one broker. */
    String webUrl(int broker) {
        return "http://127.0.0.1:" + brokers.get(broker).httpPort;
    }

    PulsarAdmin admin() throws Exception {
        if (admin == null) {
            admin = PulsarAdmin.builder().serviceHttpUrl(webUrl()).build();
        }
        return admin;
    }

    /** All brokers are up; the tenants and the namespace exist and replicate among the clusters; all is kept. */
    void federate(String namespace, List<CrashCluster> all) throws Exception {
        Set<String> names = all.stream().map(c -> c.name).collect(Collectors.toSet());
        for (CrashCluster c : all) {
            admin().clusters().createCluster(c.name, ClusterData.builder().serviceUrl(c.webUrl())
                    .brokerServiceUrl(c.serviceUrl()).build());
        }
        admin().tenants().createTenant("pulsar", TenantInfo.builder().allowedClusters(Set.of(name)).build());
        admin().namespaces().createNamespace("pulsar/system");
        admin().tenants().createTenant(namespace.substring(0, namespace.indexOf('/')),
                TenantInfo.builder().allowedClusters(names).build());
        admin().namespaces().createNamespace(namespace);
        admin().namespaces().setRetention(namespace, new RetentionPolicies(-1, -1));
        admin().namespaces().setNamespaceReplicationClusters(namespace, names, false);
    }

    @Override
    public void close() throws Exception {
        brokers.forEach(BrokerProcess::kill);
        if (admin != null) {
            admin.close();
        }
        bookies.close();
        zookeeper.close();
    }
}
