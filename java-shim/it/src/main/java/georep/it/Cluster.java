// SPDX-License-Identifier: Apache-2.0
package georep.it;

import georep.plugin.GeorepPlugin;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.UUID;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.function.Function;
import org.apache.bookkeeper.client.PulsarMockBookKeeper;
import org.apache.bookkeeper.common.util.OrderedExecutor;
import org.apache.pulsar.broker.PulsarService;
import org.apache.pulsar.broker.service.persistent.PersistentTopic;
import org.apache.pulsar.broker.service.persistent.ReplicatedSegmentTopic;
import org.apache.pulsar.broker.service.scalable.ReplicatedController;
import org.apache.pulsar.client.admin.PulsarAdmin;
import org.apache.pulsar.client.api.PulsarClientException;
import org.apache.pulsar.client.impl.PulsarClientImpl;
import org.apache.pulsar.common.naming.TopicName;
import org.apache.pulsar.common.policies.data.ClusterData;
import org.apache.pulsar.metadata.api.MetadataStore;
import org.apache.pulsar.metadata.api.MetadataStoreConfig;
import org.apache.pulsar.metadata.api.extended.MetadataStoreExtended;

/** A real cluster in this JVM: metadata store, bookies and one broker or several, on ports of their own. */
public final class Cluster implements AutoCloseable {
    static final int LOADS = 10;
    public final String name;
    public final String metadataUrl;
    /** The first broker; the one that {@link #restart} and {@link #crash} mean. */
    public PulsarService broker;
    final ClusterSpec spec;
    final Path dir;
    private final List<PulsarService> others = new ArrayList<>();
    private final MetadataStore store; // keeps a memory store's content alive while no broker is
    private OrderedExecutor mockExecutor;
    private PulsarMockBookKeeper mockBookies;
    private RealBookies realBookies;
    private ZooKeeperNode zookeeper;

    Cluster(ClusterSpec spec, Path dir) throws Exception {
        this.spec = spec;
        this.name = spec.name;
        this.dir = dir;
        Files.createDirectories(dir);
        boolean real = spec.bookies == ClusterSpec.Bookies.REAL;
        if (spec.zookeeper) {
            zookeeper = new ZooKeeperNode(dir.resolve("zookeeper"));
            metadataUrl = zookeeper.url;
        } else {
            // a name of its own: memory stores of one name are one store
            metadataUrl = real ? "rocksdb://" + dir.resolve("metadata").toAbsolutePath()
                    : "memory:" + name + "-" + UUID.randomUUID();
        }
        if (real) {
            realBookies = new RealBookies(metadataUrl, dir, spec.bookieCount, spec.bookieTweak);
        } else {
            mockExecutor = OrderedExecutor.newBuilder().numThreads(1).name("mock-bookies-" + name).build();
            mockBookies = new PulsarMockBookKeeper(mockExecutor) {
                @Override
                public void close() {
                    // a broker that is closed closes its client; the bookies go on until shutdown
                }
            };
        }
        store = MetadataStoreExtended.create(metadataUrl, MetadataStoreConfig.builder()
                .metadataStoreName("harness").build());
        broker = startBroker();
    }

    private PulsarService startBroker() throws Exception {
        return startBroker(metadataUrl);
    }

    private PulsarService startBroker(String metadata) throws Exception {
        PulsarService p = mockBookies == null ? new PulsarService(spec.configuration(metadata, dir))
                : new MockBookiesBroker(spec.configuration(metadata, dir), mockBookies);
        p.start();
        return p;
    }

    /** One more broker. */
    public PulsarService addBroker() throws Exception {
        return addBroker(metadataUrl);
    }

    /** One more broker, which reaches the metadata store by another address. */
    public PulsarService addBroker(String metadata) throws Exception {
        PulsarService p = startBroker(metadata);
        others.add(p);
        return p;
    }

    /** Closes a broker that was added. */
    public void remove(PulsarService added) throws Exception {
        others.remove(added);
        added.close();
    }

    /** Closes the first broker gracefully and starts another in its place. Addresses change: see {@link Federation}. */
    public void restart() throws Exception {
        broker.close();
        broker = startBroker();
    }

    /** Ends the first broker as a power cut would, without starting another. */
    public void crash() throws Exception {
        crash(broker);
    }

    /** Ends any of the brokers like that; where others live, one of them is the first now. */
    public void crash(PulsarService which) throws Exception {
        if (which == broker && !others.isEmpty()) {
            broker = others.remove(0);
        } else {
            others.remove(which);
        }
        BrokerCrash.of(which, store);
    }

    /** Ends one of the real bookies without a farewell to anybody; ledgers that lie on it too go on without it. */
    public void killBookie(int index) {
        realBookies.kill(index);
    }

    /** The first broker and those that were added and live. */
    public List<PulsarService> brokers() {
        List<PulsarService> all = new ArrayList<>(List.of(broker));
        all.addAll(others);
        return all;
    }

    /** The broker that owns a segment; where none does, one becomes its owner. */
    public PulsarService owner(String segmentTopic) throws Exception {
        if (others.isEmpty()) {
            return broker;
        }
        int port = internalClient().getLookup().getBroker(TopicName.get(segmentTopic)).get(30, TimeUnit.SECONDS)
                .getLogicalAddress().getPort();
        return brokers().stream().filter(p -> p.getBrokerListenPort().or(p::getBrokerListenPortTls).orElseThrow()
                == port).findFirst().orElseThrow();
    }

    /** Moves a namespace, which has one bundle here, to one of the brokers; returns when it is unloaded. */
    public void move(String namespace, PulsarService to) throws Exception {
        admin().namespaces().unloadNamespaceBundle(namespace, "0x00000000_0xffffffff", to.getBrokerId());
    }

    /** Starts a broker in place of one that was closed or has crashed. */
    public void startAgain() throws Exception {
        broker = startBroker();
    }

    public PulsarAdmin admin() throws Exception {
        return broker.getAdminClient();
    }

    /** The broker's own client, for producers that no public API makes. */
    public PulsarClientImpl internalClient() throws Exception {
        return (PulsarClientImpl) broker.getClient();
    }

    public org.apache.pulsar.client.api.v5.PulsarClient v5() throws Exception {
        return org.apache.pulsar.client.api.v5.PulsarClient.builder()
                .serviceUrl(joined(PulsarService::getBrokerServiceUrl)).build();
    }

    public org.apache.pulsar.client.api.PulsarClient v4() throws PulsarClientException {
        return org.apache.pulsar.client.api.PulsarClient.builder().serviceUrl(broker.getBrokerServiceUrl()).build();
    }

    /** Where the first broker answers; of TLS where its brokers use that. */
    public String adminUrl() {
        return adminUrl(broker);
    }

    public static String adminUrl(PulsarService p) {
        return p.getConfiguration().isBrokerClientTlsEnabled() ? p.getWebServiceAddressTls() : p.getWebServiceAddress();
    }

    public ClusterData addresses() {
        if (broker.getConfiguration().isBrokerClientTlsEnabled()) {
            return ClusterData.builder().serviceUrlTls(joined(PulsarService::getWebServiceAddressTls))
                    .brokerServiceUrlTls(joined(PulsarService::getBrokerServiceUrlTls)).build();
        }
        return ClusterData.builder().serviceUrl(joined(PulsarService::getWebServiceAddress))
                .brokerServiceUrl(joined(PulsarService::getBrokerServiceUrl)).build();
    }

    /** One URL with the hosts of all brokers: scheme://host:port,host:port. */
    private String joined(Function<PulsarService, String> address) {
        return brokers().stream().map(address).reduce((all, one) -> all + "," + one.substring(one.indexOf("://") + 3))
                .orElseThrow();
    }

    public GeorepPlugin plugin() {
        return GeorepPlugin.of(broker);
    }

    /** The topic's controller on the first broker. */
    public ReplicatedController controller(String topic) throws Exception {
        return (ReplicatedController) broker.getBrokerService().getScalableTopicService()
                .getOrCreateController(TopicName.get(topic)).get();
    }

    /** A segment, on the broker that owns it. */
    public ReplicatedSegmentTopic segment(String segmentTopic) throws Exception {
        return (ReplicatedSegmentTopic) topic(segmentTopic);
    }

    /** A load that met its namespace's unload; who wants the topic looks it up again, as clients do. */
    static boolean metUnload(String why) {
        return why != null && why.contains("cached state was cleared");
    }

    /** Nothing tells when the broker is done with the unload: 10 ms at first, 10 s for all tries together. */
    static void pause(int tries) throws InterruptedException {
        TimeUnit.MILLISECONDS.sleep(10L << tries);
    }

    /** Any persistent topic, on the broker that owns it. */
    PersistentTopic topic(String name) throws Exception {
        for (int tries = 1;; tries++) {
            try {
                return (PersistentTopic) owner(name).getBrokerService().getTopicIfExists(name).get().orElseThrow();
            } catch (ExecutionException e) {
                if (tries == LOADS || !metUnload(e.getMessage())) {
                    throw e;
                }
                pause(tries);
            }
        }
    }

    public MetadataStore store() {
        return store;
    }

    @Override
    public void close() throws Exception {
        for (PulsarService p : others) {
            end(p);
        }
        end(broker);
        store.close();
        if (realBookies != null) {
            realBookies.close();
        }
        if (mockBookies != null) {
            mockBookies.shutdown();
            mockExecutor.shutdown();
        }
        if (zookeeper != null) {
            zookeeper.close();
        }
    }

    /** A memory store does not tell sessions apart: of two brokers one may find its node gone, no harm at the end. */
    private static void end(PulsarService p) throws Exception {
        try {
            p.close();
        } catch (java.util.concurrent.CompletionException | org.apache.pulsar.broker.PulsarServerException e) {
            if (!String.valueOf(e.getCause()).contains("NotFoundException")) {
                throw e;
            }
        }
    }
}
