// SPDX-License-Identifier: Apache-2.0
package org.apache.pulsar.client.impl;

import io.netty.buffer.ByteBuf;
import org.apache.pulsar.common.allocator.PulsarByteBufAllocator;
import org.apache.pulsar.common.api.proto.BaseCommand;
import org.apache.pulsar.common.protocol.ByteBufPair;

/** Puts headers that the core made into SEND commands of one producer. Not thread-safe. */
public final class SendFrame {
    private final BaseCommand command = new BaseCommand();
    private final long producerId;

    public SendFrame(long producerId) {
        this.producerId = producerId;
    }

    /** Copies the header and takes the payload over. */
    public ByteBufPair of(long sequence, int messages, ByteBuf header, ByteBuf payload) {
        command.clear().setType(BaseCommand.Type.SEND);
        command.setSend().setProducerId(producerId).setSequenceId(sequence).setNumMessages(Math.max(1, messages));
        int commandSize = command.getSerializedSize();
        int headerSize = header.readableBytes();
        ByteBuf head = PulsarByteBufAllocator.DEFAULT.buffer(8 + commandSize + headerSize);
        head.writeInt(4 + commandSize + headerSize + payload.readableBytes());
        head.writeInt(commandSize);
        command.writeTo(head);
        head.writeBytes(header, header.readerIndex(), headerSize);
        return ByteBufPair.get(head, payload);
    }
}
