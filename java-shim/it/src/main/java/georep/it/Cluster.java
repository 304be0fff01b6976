// SPDX-License-Identifier: Apache-2.0
package georep.it;

import georep.plugin.GeorepPlugin;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.UUID;
import org.apache.bookkeeper.client.PulsarMockBookKeeper;
import org.apache.bookkeeper.common.util.OrderedExecutor;
import org.apache.bookkeeper.conf.ServerConfiguration;
import org.apache.pulsar.broker.PulsarService;
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
import org.apache.pulsar.metadata.bookkeeper.BKCluster;

/** A real cluster in this JVM: metadata store, bookies and one broker or several, on ports of their own. */
public final class Cluster implements AutoCloseable {
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
    private BKCluster realBookies;

    Cluster(ClusterSpec spec, Path dir) throws Exception {
        this.spec = spec;
        this.name = spec.name;
        this.dir = dir;
        Files.createDirectories(dir);
        if (spec.bookies == ClusterSpec.Bookies.REAL) {
            metadataUrl = "rocksdb://" + dir.resolve("metadata").toAbsolutePath();
            realBookies = RealBookies.start(metadataUrl, dir);
        } else {
            // a name of its own: memory stores of one name are one store
            metadataUrl = "memory:" + name + "-" + UUID.randomUUID();
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
        PulsarService p = mockBookies == null ? new PulsarService(spec.configuration(metadataUrl, dir))
                : new MockBookiesBroker(spec.configuration(metadataUrl, dir), mockBookies);
        p.start();
        return p;
    }

    /** One more broker. */
    public PulsarService addBroker() throws Exception {
        PulsarService p = startBroker();
        others.add(p);
        return p;
    }

    /** Closes the first broker gracefully and starts another in its place. Addresses change: see {@link Federation}. */
    public void restart() throws Exception {
        broker.close();
        broker = startBroker();
    }

    /** Ends the first broker as a power cut would, without starting another. */
    public void crash() throws Exception {
        BrokerCrash.of(broker, store);
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
        return org.apache.pulsar.client.api.v5.PulsarClient.builder().serviceUrl(broker.getBrokerServiceUrl()).build();
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
            return ClusterData.builder().serviceUrlTls(broker.getWebServiceAddressTls())
                    .brokerServiceUrlTls(broker.getBrokerServiceUrlTls()).build();
        }
        return ClusterData.builder().serviceUrl(broker.getWebServiceAddress())
                .brokerServiceUrl(broker.getBrokerServiceUrl()).build();
    }

    public GeorepPlugin plugin() {
        return GeorepPlugin.of(broker);
    }

    /** The topic's controller on the first broker. */
    public ReplicatedController controller(String topic) throws Exception {
        return (ReplicatedController) broker.getBrokerService().getScalableTopicService()
                .getOrCreateController(TopicName.get(topic)).get();
    }

    /** A segment, loaded on the first broker. */
    public ReplicatedSegmentTopic segment(String segmentTopic) throws Exception {
        return (ReplicatedSegmentTopic) broker.getBrokerService().getTopicIfExists(segmentTopic).get().orElseThrow();
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

    /** One real bookie, small. */
    private static final class RealBookies {
        static BKCluster start(String metadataUrl, Path dir) throws Exception {
            ServerConfiguration c = new ServerConfiguration();
            c.setAllowLoopback(true);
            c.setListeningInterface(null);
            c.setAdvertisedAddress("127.0.0.1");
            c.setJournalSyncData(false);
            c.setJournalWriteData(false);
            c.setDiskUsageThreshold(0.999f);
            c.setDiskUsageWarnThreshold(0.99f);
            return BKCluster.builder().baseServerConfiguration(c).metadataServiceUri(metadataUrl).numBookies(1)
                    .dataDir(dir.resolve("bookie").toString()).clearOldData(true).build();
        }
    }
}
