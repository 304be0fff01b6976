// SPDX-License-Identifier: Apache-2.0
package georep.it;

import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import org.apache.bookkeeper.mledger.Position;
import org.apache.pulsar.broker.service.Topic;
import org.apache.pulsar.broker.service.persistent.PersistentTopic;
import org.apache.pulsar.broker.transaction.buffer.TransactionBuffer;
import org.apache.pulsar.broker.transaction.buffer.TransactionBufferProvider;
import org.apache.pulsar.broker.transaction.buffer.impl.DispatchingTransactionBufferProvider;
import org.apache.pulsar.broker.transaction.buffer.impl.MetadataTransactionBuffer;
import org.apache.pulsar.broker.transaction.metadata.TxnMetadataStore;
import org.apache.pulsar.client.api.transaction.TxnID;

/** Transaction buffers as configured by default; those of chosen segments take their time to recover. */
public final class KindSlowBuffers implements TransactionBufferProvider {
    private static final Map<String, CompletableFuture<Void>> SLOW = new ConcurrentHashMap<>();
    private final TransactionBufferProvider stock = new DispatchingTransactionBufferProvider();

    /** From its next load on the segment's buffer knows nothing until the future completes. */
    static CompletableFuture<Void> hold(String segment) {
        return SLOW.computeIfAbsent(segment, s -> new CompletableFuture<>());
    }

    @Override
    public TransactionBuffer newTransactionBuffer(Topic topic) {
        CompletableFuture<Void> known = SLOW.get(topic.getName());
        return known == null ? stock.newTransactionBuffer(topic) : new Slow((PersistentTopic) topic, known);
    }

    private static final class Slow extends MetadataTransactionBuffer {
        private final PersistentTopic topic;
        private final CompletableFuture<Void> known;

        Slow(PersistentTopic topic, CompletableFuture<Void> known) {
            super(topic, new TxnMetadataStore(topic.getBrokerService().getPulsar().getLocalMetadataStore()));
            this.topic = topic;
            this.known = known;
        }

        private boolean recovering() {
            return known != null && !known.isDone(); // null: called by the constructor
        }

        @Override
        public CompletableFuture<Void> checkIfTBRecoverCompletely() {
            return super.checkIfTBRecoverCompletely().thenCombine(known, (x, y) -> null);
        }

        /** As before recovery: all that is written. */
        @Override
        public Position getMaxReadPosition() {
            return recovering() ? topic.getManagedLedger().getLastConfirmedEntry() : super.getMaxReadPosition();
        }

        @Override
        public boolean isTxnAborted(TxnID txn, Position position) {
            return !recovering() && super.isTxnAborted(txn, position);
        }
    }
}
