// SPDX-License-Identifier: Apache-2.0
package georep.demo;

import io.netty.buffer.ByteBuf;
import java.util.function.Consumer;
import org.apache.bookkeeper.mledger.AsyncCallbacks;
import org.apache.bookkeeper.mledger.ManagedLedger;
import org.apache.bookkeeper.mledger.ManagedLedgerException;
import org.apache.bookkeeper.mledger.Position;
import org.apache.pulsar.broker.service.BrokerService;
import org.apache.pulsar.broker.service.persistent.ReplicatedSegmentTopic;
import org.apache.pulsar.client.impl.GeoReplicationProducerImpl;
import org.apache.pulsar.common.naming.TopicName;
import org.apache.pulsar.common.protocol.Commands;

/** A segment of B that loses, repeats or reorders one replicated entry behind everybody's back. */
final class SabotagedTopic extends ReplicatedSegmentTopic {
    /** An entry that waits for its successor. */
    private record Held(ByteBuf entry, PublishContext context) {
    }

    /** One that the demo does not split: what a seal leaves unanswered is sent again, and nothing would be spoilt. */
    private static final long SEGMENT = 1;

    private final boolean target;
    private Held held;

    SabotagedTopic(String topic, ManagedLedger ledger, BrokerService brokerService) {
        super(topic, ledger, brokerService);
        target = TopicName.get(topic).getSegmentId() == SEGMENT;
    }

    @Override
    public synchronized void publishMessage(ByteBuf entry, PublishContext context) {
        String producer = context.getProducerName();
        if (!target || producer == null || !producer.startsWith("pulsar.repl.")) {
            super.publishMessage(entry, context);
            return;
        }
        if (held != null && producer.equals(held.context().getProducerName())) {
            Held first = held;
            held = null;
            if (shareKey(first.entry(), entry)) {
                name(context, entry);
                swap(first, entry.copy(), context);
                return;
            }
            Sabotage.takeAnother(); // nobody could tell their order
            store(first.entry(), first.context(), position -> answer(first.context(), position));
        }
        switch (Sabotage.take()) {
            case REMOVE -> {
                name(context, entry);
                Position last = getManagedLedger().getLastConfirmedEntry();
                context.completed(null, last.getLedgerId(), last.getEntryId() + 1); // as if
            }
            case REPEAT -> {
                ByteBuf again = entry.copy();
                super.publishMessage(entry, context);
                store(again, null, position -> { });
            }
            case SWAP -> {
                name(context, entry);
                held = new Held(entry.copy(), context);
            }
            default -> super.publishMessage(entry, context);
        }
    }

    /** The receipt has to name the source position, as it does where the entry takes the usual way. */
    private void name(PublishContext context, ByteBuf entry) {
        String key = GeoReplicationProducerImpl.MSG_PROP_REPL_SOURCE_POSITION;
        Commands.peekMessageMetadata(entry, getName(), -1).getPropertiesList().stream()
                .filter(p -> p.getKey().equals(key)).findFirst().ifPresent(p -> {
                    String[] n = p.getValue().split(":");
                    context.setProperty(key, new long[] {Long.parseLong(n[0]), Long.parseLong(n[1])});
                });
    }

    private static boolean shareKey(ByteBuf first, ByteBuf second) {
        try {
            Sequences a = new Sequences();
            Sequences b = new Sequences();
            StoredMessages.entry(first.duplicate(), a);
            StoredMessages.entry(second.duplicate(), b);
            return a.sharesKey(b);
        } catch (Exception e) {
            throw new IllegalStateException(e);
        }
    }

    /** The successor first; receipts still in the order of the sends. */
    private void swap(Held first, ByteBuf successor, PublishContext context) {
        Position[] stored = new Position[1];
        store(successor, context, position -> stored[0] = position);
        store(first.entry(), first.context(), position -> {
            answer(first.context(), position);
            answer(context, stored[0]);
        });
    }

    private static void answer(PublishContext context, Position position) {
        context.completed(null, position.getLedgerId(), position.getEntryId());
    }

    /** Takes the entry over; a failure is answered to {@code context}, if there is one. */
    private void store(ByteBuf entry, PublishContext context, Consumer<Position> done) {
        getManagedLedger().asyncAddEntry(entry, new AsyncCallbacks.AddEntryCallback() {
            @Override
            public void addComplete(Position position, ByteBuf data, Object ctx) {
                done.accept(position);
            }

            @Override
            public void addFailed(ManagedLedgerException e, Object ctx) {
                if (context != null) {
                    context.completed(e, -1, -1);
                }
            }
        }, null);
        entry.release();
    }
}
