// SPDX-License-Identifier: Apache-2.0
package georep.demo;

import io.netty.buffer.ByteBuf;
import org.apache.bookkeeper.mledger.AsyncCallbacks;
import org.apache.bookkeeper.mledger.ManagedLedger;
import org.apache.bookkeeper.mledger.ManagedLedgerException;
import org.apache.bookkeeper.mledger.Position;
import org.apache.pulsar.broker.service.BrokerService;
import org.apache.pulsar.broker.service.persistent.ReplicatedSegmentTopic;

/** A segment of B that loses, repeats or reorders one replicated entry behind everybody's back. */
final class SabotagedTopic extends ReplicatedSegmentTopic {
    /** An entry that waits for its successor. */
    private record Held(ByteBuf entry, PublishContext context) {
    }

    private Held held;

    SabotagedTopic(String topic, ManagedLedger ledger, BrokerService brokerService) {
        super(topic, ledger, brokerService);
    }

    @Override
    public synchronized void publishMessage(ByteBuf entry, PublishContext context) {
        String producer = context.getProducerName();
        if (producer == null || !producer.startsWith("pulsar.repl.")) {
            super.publishMessage(entry, context);
            return;
        }
        if (held != null && producer.equals(held.context().getProducerName())) {
            swap(entry.copy(), context);
            return;
        }
        switch (Sabotage.take()) {
            case REMOVE -> {
                Position last = getManagedLedger().getLastConfirmedEntry();
                context.completed(null, last.getLedgerId(), last.getEntryId() + 1); // as if
            }
            case REPEAT -> {
                ByteBuf again = entry.copy();
                super.publishMessage(entry, context);
                store(again, position -> { });
            }
            case SWAP -> held = new Held(entry.copy(), context);
            default -> super.publishMessage(entry, context);
        }
    }

    /** The successor first; receipts still in the order of the sends. */
    private void swap(ByteBuf successor, PublishContext context) {
        Held first = held;
        held = null;
        Position[] stored = new Position[1];
        store(successor, position -> stored[0] = position);
        store(first.entry(), position -> {
            first.context().completed(null, position.getLedgerId(), position.getEntryId());
            context.completed(null, stored[0].getLedgerId(), stored[0].getEntryId());
        });
    }

    private void store(ByteBuf entry, java.util.function.Consumer<Position> done) {
        getManagedLedger().asyncAddEntry(entry, new AsyncCallbacks.AddEntryCallback() {
            @Override
            public void addComplete(Position position, ByteBuf data, Object ctx) {
                done.accept(position);
            }

            @Override
            public void addFailed(ManagedLedgerException e, Object ctx) {
                throw new IllegalStateException(e);
            }
        }, null);
        entry.release();
    }
}
