// SPDX-License-Identifier: Apache-2.0
package georep.bench.micro;

import io.netty.buffer.ByteBuf;
import org.apache.pulsar.common.protocol.ByteBufPair;

/** Makes the parts of {@link Topology#destination} of one batch. */
interface Cutter {
    /** Takes the parts in sending order, each with its reference. */
    @FunctionalInterface
    interface Sink {
        /** @param wire a SEND command with header, and the payload: what a connection writes */
        void part(long segment, ByteBufPair wire);
    }

    /** The entry is left as it was. */
    void cut(ByteBuf entry, long entryId, Sink out);
}
