// SPDX-License-Identifier: Apache-2.0
package org.apache.pulsar.broker.service.persistent;

import static org.assertj.core.api.Assertions.assertThat;

import java.lang.reflect.Field;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Random;
import java.util.Set;
import java.util.concurrent.TimeUnit;
import org.apache.bookkeeper.client.PulsarMockBookKeeper;
import org.apache.bookkeeper.client.PulsarMockLedgerHandle;
import org.apache.bookkeeper.common.util.OrderedExecutor;
import org.apache.bookkeeper.mledger.ManagedCursor.IndividualDeletedEntries;
import org.apache.bookkeeper.mledger.ManagedLedger;
import org.apache.bookkeeper.mledger.ManagedLedgerConfig;
import org.apache.bookkeeper.mledger.ManagedLedgerFactory;
import org.apache.bookkeeper.mledger.Position;
import org.apache.bookkeeper.mledger.PositionFactory;
import org.apache.bookkeeper.mledger.impl.ManagedCursorImpl;
import org.apache.bookkeeper.mledger.impl.ManagedLedgerFactoryImpl;
import org.apache.pulsar.metadata.api.MetadataStoreConfig;
import org.apache.pulsar.metadata.api.extended.MetadataStoreExtended;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** What the plugin believes of Pulsar's ledgers and cursors, without a broker; numbers as in tests/faults/README.md. */
@Timeout(value = 60, unit = TimeUnit.SECONDS)
class FaultLedgerTest {
    private OrderedExecutor executor;
    private MetadataStoreExtended store;
    private PulsarMockBookKeeper bookies;
    private ManagedLedgerFactory factory;

    @BeforeEach
    void start() throws Exception {
        executor = OrderedExecutor.newBuilder().numThreads(1).name("bookies").build();
        store = MetadataStoreExtended.create("memory:faults-" + System.nanoTime(),
                MetadataStoreConfig.builder().build());
        bookies = new PulsarMockBookKeeper(executor);
        factory = new ManagedLedgerFactoryImpl(store, bookies);
    }

    @AfterEach
    void stop() throws Exception {
        factory.shutdown();
        bookies.shutdown();
        store.close();
        executor.shutdown();
    }

    private ManagedLedger open() throws Exception {
        return factory.open("ledger", new ManagedLedgerConfig().setEnsembleSize(1).setWriteQuorumSize(1)
                .setAckQuorumSize(1).setMaxEntriesPerLedger(7).setRetentionTime(-1, TimeUnit.SECONDS)
                .setRetentionSizeInMB(-1));
    }

    /**
     * The counter that tells how many positions have left a cursor counts each of them once, whoever takes it: single
     * deletes, repeated ones, skips over deleted ones, a truncation. The core's count of lapsed entries rests on it.
     */
    @Test
    void fault49ThePositionsThatLeaveACursorAreCountedOnce() throws Exception {
        ManagedLedger ledger = open();
        ManagedCursorImpl cursor = (ManagedCursorImpl) ledger.openCursor("pulsar.repl.b");
        Random random = new Random(49);
        List<Position> all = new ArrayList<>();
        Set<Position> left = new HashSet<>();
        long before = cursor.getMessagesConsumedCounter();
        for (int i = 0; i < 150; i++) {
            all.add(ledger.addEntry(new byte[8]));
            switch (random.nextInt(4)) {
                case 0 -> {
                    Position p = all.get(random.nextInt(all.size()));
                    cursor.delete(p);
                    left.add(p);
                }
                case 1 -> cursor.delete(List.copyOf(left)); // once more
                case 2 -> {
                    if (random.nextInt(10) == 0) {
                        cursor.skipEntries(random.nextInt(9), IndividualDeletedEntries.Include);
                        for (Position p : all) {
                            if (p.compareTo(cursor.getMarkDeletedPosition()) <= 0) {
                                left.add(p);
                            }
                        }
                    }
                }
                default -> { }
            }
            assertThat(cursor.getMessagesConsumedCounter() - before).as("after %s entries", i + 1)
                    .isEqualTo(left.size());
        }
        ledger.asyncTruncate().get(20, TimeUnit.SECONDS);
        for (Position p : all) {
            if (p.compareTo(cursor.getMarkDeletedPosition()) <= 0) {
                left.add(p);
            }
        }
        assertThat(left).hasSize(150);
        assertThat(cursor.getMessagesConsumedCounter() - before).isEqualTo(150);
    }

    /** A log that the bookies gave back shorter does not reach what lay at its end; one that was trimmed does. */
    @Test
    void fault52ALogThatEndsEarlier() throws Exception {
        ManagedLedger ledger = open();
        List<Position> all = new ArrayList<>();
        for (int i = 0; i < 12; i++) { // ledgers of seven and five entries
            all.add(ledger.addEntry(new byte[8]));
        }
        assertThat(LogReplay.reaches(ledger, all.get(11))).isTrue();
        ledger.close();
        PulsarMockLedgerHandle last = bookies.getLedgerMap().get(all.get(11).getLedgerId());
        List<?> stored = (List<?>) field("entries").get(last);
        stored.subList(2, stored.size()).clear();
        field("lastEntry").setLong(last, 1);
        ManagedLedger again = open();
        assertThat(again.getNumberOfEntries()).as("entries that are left").isEqualTo(9);
        assertThat(LogReplay.reaches(again, all.get(11))).isFalse();
        assertThat(LogReplay.reaches(again, all.get(9))).isFalse();
        assertThat(LogReplay.reaches(again, all.get(8))).as("the last that is left").isTrue();
        assertThat(LogReplay.reaches(again, all.get(3))).isTrue();
        assertThat(LogReplay.reaches(again, PositionFactory.create(all.get(0).getLedgerId() - 1, 99))).as("trimmed")
                .isTrue();
        assertThat(LogReplay.reaches(again, again.addEntry(new byte[8]))).as("in the open ledger").isTrue();
    }

    private static Field field(String name) throws Exception {
        Field f = PulsarMockLedgerHandle.class.getDeclaredField(name);
        f.setAccessible(true);
        return f;
    }
}
