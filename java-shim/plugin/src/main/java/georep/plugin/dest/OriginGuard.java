// SPDX-License-Identifier: Apache-2.0
package georep.plugin.dest;

import io.netty.buffer.ByteBuf;
import java.nio.charset.StandardCharsets;
import org.apache.pulsar.common.api.proto.KeyValue;
import org.apache.pulsar.common.api.proto.MessageMetadata;
import org.apache.pulsar.common.protocol.Commands;

/**
 * Keeps ordinary producers from moving a watermark. Applications copy properties (retry and dead letters, functions),
 * so an origin record in an ordinary entry is nothing wrong; a reload must only be able to tell it from a replicated
 * one. What tells them apart is {@code replicated_from}, which no client API sets: an ordinary entry that has it, and a
 * record bound to this very topic, is made by hand and refused. Looks at the metadata only. Thread-safe.
 */
public final class OriginGuard {
    private static final byte[] NAME = "__GEOREP_ORIGIN".getBytes(StandardCharsets.US_ASCII);
    private static final String PROPERTY = "__GEOREP_ORIGIN";

    private final String tail;

    /** {@code boundTopic}: as senders write it into the record. */
    public OriginGuard(String boundTopic) {
        this.tail = "|" + boundTopic.replace("%", "%25").replace("|", "%7C");
    }

    /** True: an ordinary producer may not store this entry. Almost always answers without parsing. */
    public boolean forged(ByteBuf entry) {
        if (!mentionsOrigin(entry)) {
            return false;
        }
        MessageMetadata m = parse(entry);
        return m != null && m.hasReplicatedFrom() && boundHere(m);
    }

    private boolean boundHere(MessageMetadata m) {
        for (int i = m.getPropertiesCount() - 1; i >= 0; i--) {
            KeyValue kv = m.getPropertyAt(i);
            if (PROPERTY.equals(kv.getKey())) {
                return kv.getValue().endsWith(tail); // the last one counts, as everywhere
            }
        }
        return false;
    }

    private static MessageMetadata parse(ByteBuf entry) {
        try {
            MessageMetadata m = new MessageMetadata();
            Commands.parseMessageMetadata(entry.duplicate(), m);
            return m;
        } catch (RuntimeException e) {
            return null; // the broker stores what it cannot parse; it is not ours
        }
    }

    /** Whether the bytes of the property's name appear in the metadata. */
    private static boolean mentionsOrigin(ByteBuf entry) {
        ByteBuf b = entry.duplicate();
        int size;
        try {
            Commands.skipBrokerEntryMetadataIfExist(b);
            Commands.skipChecksumIfPresent(b);
            size = b.readInt();
        } catch (RuntimeException e) {
            return false;
        }
        int from = b.readerIndex();
        int to = from + Math.min(Math.max(size, 0), b.readableBytes()) - NAME.length;
        for (int i = from; i <= to; i++) {
            i = b.indexOf(i, to + 1, NAME[0]);
            if (i < 0) {
                return false;
            }
            int n = 1;
            while (n < NAME.length && b.getByte(i + n) == NAME[n]) {
                n++;
            }
            if (n == NAME.length) {
                return true;
            }
        }
        return false;
    }
}
