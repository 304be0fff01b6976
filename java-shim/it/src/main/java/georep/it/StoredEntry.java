// SPDX-License-Identifier: Apache-2.0
package georep.it;

import io.netty.buffer.ByteBuf;
import java.util.ArrayList;
import java.util.List;
import org.apache.pulsar.common.api.proto.KeyValue;
import org.apache.pulsar.common.api.proto.MessageMetadata;
import org.apache.pulsar.common.protocol.Commands;

/**
 * One entry as it lies in a segment's log.
 *
 * @param ledger   position
 * @param entry    position
 * @param metadata MessageMetadata, as stored
 * @param payload  as stored
 */
public record StoredEntry(long ledger, long entry, byte[] metadata, byte[] payload) {
    static StoredEntry of(long ledger, long entry, ByteBuf data) {
        ByteBuf b = data.duplicate();
        Commands.skipBrokerEntryMetadataIfExist(b);
        Commands.skipChecksumIfPresent(b);
        byte[] m = new byte[b.readInt()];
        b.readBytes(m);
        byte[] p = new byte[b.readableBytes()];
        b.readBytes(p);
        return new StoredEntry(ledger, entry, m, p);
    }

    /** What this broker version knows of the metadata. */
    public MessageMetadata parsed() {
        MessageMetadata m = new MessageMetadata();
        m.parseFrom(metadata);
        return m;
    }

    /** All values of a property, in order. */
    public List<String> property(String key) {
        List<String> all = new ArrayList<>();
        for (KeyValue kv : parsed().getPropertiesList()) {
            if (kv.getKey().equals(key)) {
                all.add(kv.getValue());
            }
        }
        return all;
    }

    public String position() {
        return ledger + ":" + entry;
    }
}
