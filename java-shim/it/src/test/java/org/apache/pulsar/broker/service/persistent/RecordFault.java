// SPDX-License-Identifier: Apache-2.0
package org.apache.pulsar.broker.service.persistent;

import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.UnaryOperator;
import org.apache.bookkeeper.mledger.ManagedLedger;
import org.apache.bookkeeper.mledger.impl.ManagedLedgerFactoryImpl;
import org.apache.bookkeeper.mledger.proto.ManagedLedgerInfo;
import org.apache.pulsar.broker.service.BrokerService;
import org.apache.pulsar.broker.service.Topic;
import org.apache.pulsar.broker.service.TopicFactory;
import org.apache.pulsar.broker.service.nonpersistent.NonPersistentTopic;
import org.apache.pulsar.common.naming.TopicName;

/** What reading the record of one segment's ledgers brings is not what is in the store, until this is closed. */
public final class RecordFault implements AutoCloseable {
    private static final Map<String, RecordFault> FAULTS = new ConcurrentHashMap<>();

    private final String segment;
    private final UnaryOperator<ManagedLedgerInfo> change;
    private final AtomicInteger met = new AtomicInteger();

    private RecordFault(String segment, UnaryOperator<ManagedLedgerInfo> change) {
        this.segment = segment;
        this.change = change;
        FAULTS.put(segment, this);
    }

    /** The read fails. */
    public static RecordFault unreadable(String segment) {
        return new RecordFault(segment, info -> {
            throw new IllegalStateException("the store does not answer");
        });
    }

    /** The ledgers can be read; of those that are offloaded nobody can say where the copy is. */
    public static RecordFault offloadsUnreadable(String segment) {
        return new RecordFault(segment, info -> {
            ManagedLedgerInfo spoilt = new ManagedLedgerInfo();
            spoilt.copyFrom(info);
            for (int i = 0; i < spoilt.getLedgerInfosCount(); i++) {
                if (spoilt.getLedgerInfoAt(i).hasOffloadContext()) {
                    spoilt.getLedgerInfoAt(i).setOffloadContext().clearUidMsb().clearUidLsb().clearBookkeeperDeleted();
                }
            }
            return spoilt;
        });
    }

    /** Reads that met the fault. */
    public int met() {
        return met.get();
    }

    @Override
    public void close() {
        FAULTS.remove(segment, this);
    }

    /** For topicFactoryClassName, in place of the plugin's. */
    public static final class Factory implements TopicFactory {
        @Override
        public <T extends Topic> T create(String topic, ManagedLedger ledger, BrokerService brokerService,
                                          Class<T> type) {
            return type == NonPersistentTopic.class || !TopicName.get(topic).isSegment() ? null
                    : type.cast(new Segment(topic, ledger, brokerService));
        }

        @Override
        public void close() {
            // nothing is open
        }
    }

    private static final class Segment extends ReplicatedSegmentTopic {
        Segment(String topic, ManagedLedger ledger, BrokerService brokerService) {
            super(topic, ledger, brokerService);
        }

        @Override
        SegmentLogRecord logRecord() {
            return new SegmentLogRecord(getBrokerService(), TopicName.get(getName()), getManagedLedger()) {
                @Override
                CompletableFuture<ManagedLedgerInfo> info(ManagedLedgerFactoryImpl factory) {
                    return super.info(factory).thenApply(info -> {
                        RecordFault f = FAULTS.get(getName());
                        if (f == null) {
                            return info;
                        }
                        f.met.incrementAndGet();
                        return f.change.apply(info);
                    });
                }
            };
        }
    }
}
