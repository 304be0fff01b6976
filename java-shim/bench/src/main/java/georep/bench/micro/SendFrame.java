// SPDX-License-Identifier: Apache-2.0
package georep.bench.micro;

import io.netty.buffer.ByteBuf;
import org.apache.pulsar.common.allocator.PulsarByteBufAllocator;
import org.apache.pulsar.common.api.proto.BaseCommand;
import org.apache.pulsar.common.protocol.ByteBufPair;

/** Puts a header that the core made into a SEND command, as the plugin's producer does. */
final class SendFrame {
    private final BaseCommand command = new BaseCommand();
    private long sequence;

    /** Takes both buffers over. */
    ByteBufPair of(int messages, ByteBuf header, ByteBuf payload) {
        command.clear().setType(BaseCommand.Type.SEND);
        command.setSend().setProducerId(1).setSequenceId(sequence++).setNumMessages(Math.max(1, messages));
        int commandSize = command.getSerializedSize();
        int headerSize = header.readableBytes();
        ByteBuf head = PulsarByteBufAllocator.DEFAULT.buffer(8 + commandSize + headerSize);
        head.writeInt(4 + commandSize + headerSize + payload.readableBytes());
        head.writeInt(commandSize);
        command.writeTo(head);
        head.writeBytes(header, header.readerIndex(), headerSize);
        header.release();
        return ByteBufPair.get(head, payload);
    }
}
