// SPDX-License-Identifier: Apache-2.0
package georep.bench.micro;

import io.netty.buffer.ByteBuf;
import java.io.IOException;
import java.io.UncheckedIOException;
import org.apache.pulsar.client.impl.GeoReplicationProducerImpl;
import org.apache.pulsar.client.impl.MessageImpl;
import org.apache.pulsar.common.api.proto.MessageMetadata;
import org.apache.pulsar.common.protocol.ByteBufPair;
import org.apache.pulsar.common.protocol.Commands;
import org.apache.pulsar.common.protocol.Markers;

/**
 * The peer: what the broker's own geo-replicator and its producer call for every entry, in their order: the metadata is
 * parsed and asked, changed and serialised, and the checksum runs over the payload.
 */
final class ClassicPath {
    private static final int TTL_SECONDS = 0;

    /** Up to the SEND command. */
    ByteBufPair send(ByteBuf entry, long entryId) {
        try {
            MessageImpl<byte[]> msg = MessageImpl.deserializeSkipBrokerEntryMetaData(entry);
            MessageMetadata metadata = msg.getMessageBuilder();
            if (Markers.isTxnMarker(metadata) || metadata.hasTxnidLeastBits() && metadata.hasTxnidMostBits()
                    || msg.isReplicated() || msg.hasReplicateTo() && !msg.getReplicateTo().contains(Topology.REMOTE)
                    || msg.isExpired(TTL_SECONDS)) {
                throw new IllegalStateException("an entry that does not travel");
            }
            msg.setReplicatedFrom(Topology.LOCAL);
            entry.retain();
            metadata.clearTxnidMostBits();
            metadata.clearTxnidLeastBits();
            metadata.addProperty().setKey(GeoReplicationProducerImpl.MSG_PROP_REPL_SOURCE_POSITION)
                    .setValue(String.format("%s:%s", Topology.LEDGER, entryId));
            int messages = metadata.hasNumMessagesInBatch() ? metadata.getNumMessagesInBatch() : 1;
            ByteBufPair wire = Commands.newSend(1, metadata.getSequenceId(), messages, Commands.ChecksumType.Crc32c,
                    -1, -1, metadata, msg.getDataBuffer());
            msg.recycle();
            return wire;
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }
}
