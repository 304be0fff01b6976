// SPDX-License-Identifier: Apache-2.0
package georep.it;

import java.io.IOException;
import java.net.ServerSocket;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.function.Consumer;
import org.apache.bookkeeper.conf.ServerConfiguration;
import org.apache.pulsar.broker.ServiceConfiguration;

/** What a test cluster is made of. Defaults: mock bookies, memory metadata, the plugin on, deduplication policy off. */
public final class ClusterSpec {
    /** Where entries are stored. */
    public enum Bookies { REAL, MOCK }

    final String name;
    Bookies bookies = Bookies.MOCK;
    boolean plugin = true;
    boolean nar = true;
    boolean zookeeper;
    int bookieCount = 1;
    Consumer<ServerConfiguration> bookieTweak = c -> { };
    private final List<Consumer<ServiceConfiguration>> tweaks = new ArrayList<>();

    private ClusterSpec(String name) {
        this.name = name;
    }

    public static ClusterSpec named(String name) {
        return new ClusterSpec(name);
    }

    public ClusterSpec realBookies() {
        bookies = Bookies.REAL;
        return this;
    }

    /** So many real bookies; ledgers lie on {@code copies} of them. */
    public ClusterSpec realBookies(int count, int copies) {
        bookieCount = count;
        return realBookies().with(c -> {
            c.setManagedLedgerDefaultEnsembleSize(copies);
            c.setManagedLedgerDefaultWriteQuorum(copies);
            c.setManagedLedgerDefaultAckQuorum(copies);
        });
    }

    /** Real bookies that differ from those of the tests, which write no journal. */
    public ClusterSpec bookies(Consumer<ServerConfiguration> tweak) {
        bookieTweak = tweak;
        return realBookies();
    }

    /** Metadata in a real ZooKeeper: needed by a cluster of several brokers, which have to agree on leaders. */
    public ClusterSpec zookeeper() {
        zookeeper = true;
        return this;
    }

    /** The broker as it was published. */
    public ClusterSpec stock() {
        plugin = false;
        return this;
    }

    /** The topic factory without the servlet. */
    public ClusterSpec withoutNar() {
        nar = false;
        return this;
    }

    /** Layouts do not follow those of other clusters: they stay as different as a test makes them. */
    public ClusterSpec apart() {
        return key("georepConvergence", false);
    }

    /** brokerDeduplicationEnabled. */
    public ClusterSpec dedup(boolean on) {
        return with(c -> c.setBrokerDeduplicationEnabled(on));
    }

    /** A cluster of one broker that has the same addresses again when it starts again. */
    public ClusterSpec fixedPorts() throws IOException {
        try (ServerSocket binary = new ServerSocket(0); ServerSocket http = new ServerSocket(0)) {
            Optional<Integer> b = Optional.of(binary.getLocalPort());
            Optional<Integer> h = Optional.of(http.getLocalPort());
            return with(c -> {
                c.setBrokerServicePort(b);
                c.setWebServicePort(h);
            });
        }
    }

    /** One of the plugin's keys in broker.conf. */
    public ClusterSpec key(String key, Object value) {
        return with(c -> c.getProperties().setProperty(key, value.toString()));
    }

    /** Ledgers can be offloaded; those that are leave bookkeeper at the next trimming. */
    public ClusterSpec offloader(FileOffloader tier) throws IOException {
        String nars = tier.nars().toString();
        return key("offloadersDirectory", nars).key("managedLedgerOffloadDriver", FileOffloader.DRIVER)
                .key("fileSystemURI", tier.dir()).key("managedLedgerOffloadDeletionLagMs", 0);
    }

    /** Ledgers are closed after so many entries. */
    public ClusterSpec ledgers(int entries) {
        return with(c -> {
            c.setManagedLedgerMaxEntriesPerLedger(entries);
            c.setManagedLedgerMinLedgerRolloverTimeMinutes(0);
        });
    }

    public ClusterSpec with(Consumer<ServiceConfiguration> tweak) {
        tweaks.add(tweak);
        return this;
    }

    public Cluster start(Path dir) throws Exception {
        return new Cluster(this, dir);
    }

    /** A configuration for one more broker, with ports of its own. */
    public ServiceConfiguration configuration(String metadataUrl, Path dir) {
        ServiceConfiguration c = new ServiceConfiguration();
        c.setClusterName(name);
        c.setMetadataStoreUrl(metadataUrl);
        c.setConfigurationMetadataStoreUrl(metadataUrl);
        c.setBindAddress("127.0.0.1");
        c.setAdvertisedAddress("127.0.0.1");
        c.setBrokerServicePort(Optional.of(0));
        c.setWebServicePort(Optional.of(0));
        c.setManagedLedgerDefaultEnsembleSize(1);
        c.setManagedLedgerDefaultWriteQuorum(1);
        c.setManagedLedgerDefaultAckQuorum(1);
        c.setManagedLedgerCacheSizeMB(8);
        c.setBookkeeperNumberOfChannelsPerBookie(1);
        c.setLoadBalancerEnabled(false);
        c.setLoadManagerClassName("org.apache.pulsar.broker.loadbalance.impl.ModularLoadManagerImpl");
        c.setDefaultNumberOfNamespaceBundles(1);
        c.setBrokerShutdownTimeoutMs(0);
        small(c);
        c.setBrokerDeduplicationEnabled(false);
        c.setScalableTopicAutoScaleEnabled(false);
        c.setReplicationStartAt("Earliest");
        c.setForceDeleteNamespaceAllowed(true);
        c.setAllowAutoTopicCreation(true);
        if (plugin) {
            enablePlugin(c, dir);
        }
        tweaks.forEach(t -> t.accept(c));
        return c;
    }

    /** Two brokers or more share a test machine's few cores. */
    private static void small(ServiceConfiguration c) {
        c.setNumIOThreads(2);
        c.setNumExecutorThreadPoolSize(2);
        c.setNumOrderedExecutorThreads(1);
        c.setNumHttpServerThreads(8);
        c.setTopicOrderedExecutorThreadNum(2);
        c.setMetadataStoreSerDesThreads(1);
        c.setManagedLedgerNumSchedulerThreads(1);
    }

    /** As an operator does it in broker.conf; a file would fill the typed fields and the raw properties. */
    private void enablePlugin(ServiceConfiguration c, Path dir) {
        c.setTopicFactoryClassName("georep.plugin.SegmentTopicFactory");
        if (!nar) {
            return;
        }
        String nars = System.getProperty("georep.nar.dir", "../nar/target/plugins");
        String extracted = dir.resolve("nar").toAbsolutePath().toString();
        c.setAdditionalServlets(Set.of("georep"));
        c.setAdditionalServletDirectory(nars);
        c.setNarExtractionDirectory(extracted);
        c.getProperties().setProperty("additionalServlets", "georep");
        c.getProperties().setProperty("additionalServletDirectory", nars);
        c.getProperties().setProperty("narExtractionDirectory", extracted);
    }
}
