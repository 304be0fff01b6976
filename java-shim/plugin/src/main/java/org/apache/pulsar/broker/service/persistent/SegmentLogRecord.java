// SPDX-License-Identifier: Apache-2.0
package org.apache.pulsar.broker.service.persistent;

import georep.plugin.source.BookieCopies;
import georep.plugin.source.LedgerList;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import org.apache.bookkeeper.mledger.ManagedLedger;
import org.apache.bookkeeper.mledger.ManagedLedgerException.MetaStoreException;
import org.apache.bookkeeper.mledger.Position;
import org.apache.bookkeeper.mledger.impl.ManagedLedgerFactoryImpl;
import org.apache.bookkeeper.mledger.impl.ManagedLedgerImpl;
import org.apache.bookkeeper.mledger.impl.MetaStore.MetaStoreCallback;
import org.apache.bookkeeper.mledger.proto.ManagedLedgerInfo;
import org.apache.bookkeeper.mledger.proto.ManagedLedgerInfo.LedgerInfo;
import org.apache.pulsar.broker.service.BrokerService;
import org.apache.pulsar.common.naming.TopicName;
import org.apache.pulsar.metadata.api.Stat;

/** Reads the record of a segment's managed ledger from the metadata store, past everything that is in memory. */
class SegmentLogRecord {
    private final BrokerService brokerService;
    private final TopicName segment;
    private final ManagedLedger log;

    SegmentLogRecord(BrokerService brokerService, TopicName segment, ManagedLedger log) {
        this.brokerService = brokerService;
        this.segment = segment;
        this.log = log;
    }

    CompletableFuture<LedgerList> read() {
        return brokerService.getManagedLedgerFactoryForTopic(segment).thenCompose(f -> {
            ManagedLedgerFactoryImpl factory = (ManagedLedgerFactoryImpl) f;
            return info(factory).thenApply(this::list).thenCompose(list -> factory.getBookKeeper()
                    .thenCompose(bookies -> BookieCopies.of(bookies, list.unclear())).thenApply(list::with));
        });
    }

    CompletableFuture<ManagedLedgerInfo> info(ManagedLedgerFactoryImpl factory) {
        CompletableFuture<ManagedLedgerInfo> f = new CompletableFuture<>();
        factory.getMetaStore().getManagedLedgerInfo(log.getName(), false, new MetaStoreCallback<>() {
            @Override
            public void operationComplete(ManagedLedgerInfo info, Stat stat) {
                f.complete(info);
            }

            @Override
            public void operationFailed(MetaStoreException e) {
                f.completeExceptionally(e);
            }
        });
        return f;
    }

    /** The log's end is read after the record, so what that lacks is seen to be lacking. */
    private LedgerList list(ManagedLedgerInfo info) {
        Position last = log.getLastConfirmedEntry();
        LedgerList list = new LedgerList(info, last, length(info), Map.of());
        if (list.behind()) {
            throw new IllegalStateException("the store's list of ledgers ends before ledger " + last.getLedgerId());
        }
        return list;
    }

    /** Bytes of the last ledger: as it was found when the log was opened, or as it has grown since. */
    private long length(ManagedLedgerInfo info) {
        long newest = info.getLedgerInfosList().stream().mapToLong(LedgerInfo::getLedgerId).max().orElse(-1);
        if (!(log instanceof ManagedLedgerImpl own)) {
            return 0;
        }
        LedgerInfo opened = own.getLedgersInfo().get(newest);
        return Math.max(opened == null ? 0 : opened.getSize(), own.getCurrentLedgerSize());
    }
}
