// SPDX-License-Identifier: Apache-2.0
package georep.demo;

import georep.it.Cluster;
import georep.it.SegmentLog;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import org.apache.bookkeeper.client.BookKeeper;
import org.apache.bookkeeper.client.api.LedgerEntries;
import org.apache.bookkeeper.client.api.LedgerEntry;
import org.apache.bookkeeper.client.api.ReadHandle;
import org.apache.bookkeeper.client.api.WriteHandle;
import org.apache.bookkeeper.mledger.ManagedLedger;
import org.apache.bookkeeper.mledger.ManagedLedgerConfig;
import org.apache.bookkeeper.mledger.ManagedLedgerException.MetaStoreException;
import org.apache.bookkeeper.mledger.impl.ManagedLedgerFactoryImpl;
import org.apache.bookkeeper.mledger.impl.MetaStore;
import org.apache.bookkeeper.mledger.proto.ManagedLedgerInfo;
import org.apache.bookkeeper.mledger.proto.ManagedLedgerInfo.LedgerInfo;
import org.apache.pulsar.metadata.api.Stat;

/**
 * Replaces one ledger of a segment's log by a spoilt copy, behind the back of the broker that serves it. Nothing may be
 * published meanwhile.
 */
final class SpoiltLog {
    private final Cluster cluster;
    private final String segment;
    private final ManagedLedgerFactoryImpl factory;
    private final BookKeeper bookies;
    private final String name;
    private final ManagedLedgerConfig config;

    private SpoiltLog(Cluster cluster, String segment) throws Exception {
        this.cluster = cluster;
        this.segment = segment;
        factory = (ManagedLedgerFactoryImpl) cluster.broker.getDefaultManagedLedgerFactory();
        bookies = factory.getBookKeeper().get();
        ManagedLedger log = cluster.segment(segment).getManagedLedger();
        name = log.getName();
        config = log.getConfig();
    }

    /** Spoils the largest ledger of a segment; the segment is loaded again afterwards. */
    static void of(Cluster cluster, String topic, long segment, Sabotage.Kind kind) throws Exception {
        String segmentTopic = SegmentLog.segments(cluster, topic).stream().filter(s -> s.endsWith("-" + segment))
                .findFirst().orElseThrow();
        new SpoiltLog(cluster, segmentTopic).replace(kind);
    }

    private void replace(Sabotage.Kind kind) throws Exception {
        reload(); // closes the ledger that was written to; a fresh one is open, and nothing changes by itself now
        LedgerInfo victim = null;
        for (LedgerInfo l : cluster.segment(segment).getManagedLedger().getLedgersInfo().values()) {
            victim = victim == null || l.getEntries() > victim.getEntries() ? l : victim;
        }
        List<byte[]> spoilt = Sabotage.spoil(kind, read(victim.getLedgerId()));
        long copy = write(spoilt);
        enter(victim.getLedgerId(), copy, spoilt);
        reload();
        Map<Long, LedgerInfo> now = cluster.segment(segment).getManagedLedger().getLedgersInfo();
        if (!now.containsKey(copy) || now.containsKey(victim.getLedgerId())) {
            throw new IllegalStateException("ledger " + copy + " does not stand for " + victim.getLedgerId() + " in "
                    + now.keySet());
        }
    }

    private void reload() throws Exception {
        cluster.segment(segment).close(false).get();
        cluster.segment(segment);
    }

    private List<byte[]> read(long ledger) throws Exception {
        List<byte[]> all = new ArrayList<>();
        try (ReadHandle h = bookies.newOpenLedgerOp().withLedgerId(ledger).withDigestType(config.getDigestType())
                .withPassword(config.getPassword()).execute().get();
                LedgerEntries entries = h.read(0, h.getLastAddConfirmed())) {
            for (LedgerEntry e : entries) {
                all.add(e.getEntryBytes());
            }
        }
        return all;
    }

    private long write(List<byte[]> entries) throws Exception {
        try (WriteHandle h = bookies.newCreateLedgerOp().withEnsembleSize(config.getEnsembleSize())
                .withWriteQuorumSize(config.getWriteQuorumSize()).withAckQuorumSize(config.getAckQuorumSize())
                .withDigestType(config.getDigestType()).withPassword(config.getPassword()).execute().get()) {
            for (byte[] e : entries) {
                h.append(e);
            }
            return h.getId();
        }
    }

    /** Puts a ledger in another's place in the log's metadata. */
    private void enter(long victim, long copy, List<byte[]> entries) throws Exception {
        MetaStore store = factory.getMetaStore();
        Answer<ManagedLedgerInfo> was = new Answer<>();
        store.getManagedLedgerInfo(name, false, was);
        ManagedLedgerInfo changed = new ManagedLedgerInfo();
        changed.copyFrom(was.get());
        for (int i = 0; i < changed.getLedgerInfosCount(); i++) {
            LedgerInfo l = changed.getLedgerInfoAt(i);
            if (l.getLedgerId() == victim) {
                l.setLedgerId(copy).setEntries(entries.size())
                        .setSize(entries.stream().mapToLong(e -> e.length).sum());
            }
        }
        Answer<Void> updated = new Answer<>();
        store.asyncUpdateLedgerIds(name, changed, was.stat, updated);
        updated.get();
    }

    /** An answer of the metadata store; {@code stat} is there once it is complete. */
    private static final class Answer<T> extends CompletableFuture<T> implements MetaStore.MetaStoreCallback<T> {
        private volatile Stat stat;

        @Override
        public void operationComplete(T result, Stat s) {
            stat = s;
            complete(result);
        }

        @Override
        public void operationFailed(MetaStoreException e) {
            completeExceptionally(e);
        }
    }
}
