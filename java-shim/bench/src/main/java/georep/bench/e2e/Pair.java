// SPDX-License-Identifier: Apache-2.0
package georep.bench.e2e;

import georep.it.Cluster;
import georep.it.ClusterSpec;
import georep.it.Federation;
import georep.plugin.source.SourceBroker;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import org.apache.bookkeeper.bookie.storage.ldb.DbLedgerStorage;
import org.apache.bookkeeper.conf.ServerConfiguration;
import org.apache.pulsar.broker.ServiceConfiguration;
import org.apache.pulsar.broker.service.persistent.PersistentTopic;
import org.apache.pulsar.client.impl.PulsarClientImpl;

/**
 * Clusters A and B with a real bookie each, and the namespaces that are replicated from A to B. B replicates nothing
 * back, so that nobody has to read and drop at B what has just come.
 */
final class Pair {
    static final String BOOKIES = "one bookie per cluster, DbLedgerStorage, journal written and "
            + "synced";
    /** Scalable topics; replicates by Georep. */
    static final String GEOREP = "bench/georep";
    /** Replicates nowhere. */
    static final String PLAIN = "bench/plain";
    /** Higher than any machine can re-batch. */
    static final long NO_LIMIT = 1L << 36;
    private static final int MIB = 1 << 20;
    private static final int PATIENCE_SECONDS = 2;

    final Cluster a;
    final Cluster b;
    private long budget = NO_LIMIT;
    private int namespaces;

    Pair(Path dir) throws Exception {
        a = spec("a").with(c -> c.getProperties().setProperty("georepSlowPathBytesPerSecond", Long.toString(budget)))
                .start(dir.resolve("a"));
        b = spec("b").start(dir.resolve("b"));
        Federation.introduce(a, b);
        Federation.create(PLAIN, a, b);
        onlyLocal(PLAIN);
        Federation.create(GEOREP, a, b);
        onlyLocal(GEOREP);
        replicate(GEOREP);
    }

    /** Layouts stay as they are made. */
    private static ClusterSpec spec(String name) {
        return ClusterSpec.named(name).bookies(Pair::bookie).apart().with(Pair::broker);
    }

    /** Caches hold what four readers have read ahead, and entry logs are given back within the run. */
    private static void bookie(ServerConfiguration c) {
        c.setLedgerStorageClass(DbLedgerStorage.class.getName());
        c.setProperty(DbLedgerStorage.WRITE_CACHE_MAX_SIZE_MB, 256);
        c.setProperty(DbLedgerStorage.READ_AHEAD_CACHE_MAX_SIZE_MB, 512);
        c.setReadBufferBytes(4096); // as Pulsar's bookkeeper.conf has it
        c.setJournalWriteData(true);
        c.setJournalSyncData(true);
        c.setMaxJournalSizeMB(256);
        c.setMaxBackupJournals(0);
        c.setEntryLogSizeLimit(256L * MIB);
        c.setGcWaitTime(20_000);
    }

    private static void broker(ServiceConfiguration c) {
        c.setBrokerDeleteInactiveTopicsEnabled(false);
        c.setBacklogQuotaDefaultLimitGB(-1);
    }

    /** Entries go from A to B from now on. */
    void replicate(String namespace) throws Exception {
        Federation.replicate(a, namespace, Set.of(a.name, b.name));
    }

    private void onlyLocal(String namespace) throws Exception {
        Federation.stop(a, namespace);
        Federation.stop(b, namespace);
    }

    /** A namespace on both sides that replicates nowhere yet. */
    String namespace() throws Exception {
        String ns = "bench/n" + namespaces++;
        Federation.create(ns, a, b);
        onlyLocal(ns);
        return ns;
    }

    /** A's broker starts again, with another limit of the bytes that may be re-batched per second. */
    void budget(long bytesPerSecond) throws Exception {
        budget = bytesPerSecond;
        a.restart();
        Federation.introduce(a, b);
    }

    /** Loads topics, and leaves them loaded. */
    static List<PersistentTopic> load(Cluster c, List<String> topics) throws Exception {
        List<PersistentTopic> all = new ArrayList<>();
        for (String t : topics) {
            all.add((PersistentTopic) c.broker.getBrokerService().getTopic(t, true).get().orElseThrow());
        }
        return all;
    }

    /**
     * Deletes logs on both sides, so that the bookies give their room back; by the stock broker's ways, which may take
     * for ever where a replicator has just ended. Nobody waits for that: another name comes next.
     */
    void delete(List<PersistentTopic> atA, List<PersistentTopic> atB) {
        delete(a, atA);
        delete(b, atB);
    }

    private static void delete(Cluster c, List<PersistentTopic> topics) {
        CompletableFuture.allOf(topics.stream().map(t -> c.broker.getBrokerService().deleteTopic(t.getName(), true))
                .toArray(CompletableFuture[]::new)).completeOnTimeout(null, PATIENCE_SECONDS, TimeUnit.SECONDS)
                .exceptionally(e -> {
                    System.err.println("not deleted: " + e);
                    return null;
                }).join();
    }

    static List<String> partitions(String topic) {
        List<String> all = new ArrayList<>();
        for (int i = 0; i < Corpus.SEGMENTS; i++) {
            all.add(topic + "-partition-" + i);
        }
        return all;
    }

    /** What the core on A has counted so far of what goes to B. */
    Map<String, Long> counters() {
        return new TreeMap<>(SourceBroker.of(a.broker).status().counters().getOrDefault(b.name, Map.of()));
    }

    /** A client of the application's kind, with threads enough not to be what is measured. */
    static PulsarClientImpl client(Cluster c) throws Exception {
        return (PulsarClientImpl) org.apache.pulsar.client.api.PulsarClient.builder()
                .serviceUrl(c.broker.getBrokerServiceUrl()).ioThreads(2).listenerThreads(Corpus.SEGMENTS)
                .memoryLimit(0, org.apache.pulsar.client.api.SizeUnit.BYTES).build();
    }
}
