// SPDX-License-Identifier: Apache-2.0
package georep.plugin.source;

import static org.assertj.core.api.Assertions.assertThat;

import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import java.util.Random;
import org.apache.pulsar.client.api.transaction.TxnID;
import org.apache.pulsar.common.api.proto.BrokerEntryMetadata;
import org.apache.pulsar.common.api.proto.MessageMetadata;
import org.apache.pulsar.common.protocol.Commands;
import org.junit.jupiter.api.Test;

class EntryFlagsTest {
    private static MessageMetadata metadata() {
        MessageMetadata m = new MessageMetadata().setProducerName("p").setSequenceId(5)
                .setPublishTime(1_700_000_000_123L);
        m.addProperty().setKey("k").setValue("v");
        return m;
    }

    private static ByteBuf entry(MessageMetadata m) {
        return Commands.serializeMetadataAndPayload(Commands.ChecksumType.Crc32c, m,
                Unpooled.wrappedBuffer(new byte[10]));
    }

    private static ByteBuf withBrokerMetadata(ByteBuf entry) {
        BrokerEntryMetadata b = new BrokerEntryMetadata().setBrokerTimestamp(7).setIndex(9);
        ByteBuf out = Unpooled.buffer();
        out.writeShort(Commands.magicBrokerEntryMetadata);
        out.writeInt(b.getSerializedSize());
        b.writeTo(out);
        return out.writeBytes(entry);
    }

    @Test
    void readsPublishTimeAndTransaction() {
        EntryFlags f = new EntryFlags();
        ByteBuf e = entry(metadata().setTxnidLeastBits(11).setTxnidMostBits(22));
        assertThat(f.read(e)).isTrue();
        assertThat(f.publishTime()).isEqualTo(1_700_000_000_123L);
        assertThat(f.transaction()).isEqualTo(new TxnID(22, 11));
        assertThat(e.readerIndex()).isZero();
    }

    @Test
    void countsMessages() {
        EntryFlags f = new EntryFlags();
        f.read(entry(metadata().setNumMessagesInBatch(250)));
        assertThat(f.messages()).isEqualTo(250);
        f.read(entry(metadata()));
        assertThat(f.messages()).isEqualTo(1);
        f.read(entry(metadata().setNumMessagesInBatch(-3)));
        assertThat(f.messages()).isEqualTo(1);
    }

    @Test
    void forgetsTheEntryBefore() {
        EntryFlags f = new EntryFlags();
        f.read(entry(metadata().setTxnidLeastBits(11).setTxnidMostBits(22)));
        assertThat(f.read(entry(metadata()))).isTrue();
        assertThat(f.transaction()).isNull();
    }

    @Test
    void skipsBrokerMetadata() {
        EntryFlags f = new EntryFlags();
        assertThat(f.read(withBrokerMetadata(entry(metadata())))).isTrue();
        assertThat(f.publishTime()).isEqualTo(1_700_000_000_123L);
    }

    @Test
    void halfATransactionIsNone() {
        EntryFlags f = new EntryFlags();
        f.read(entry(metadata().setTxnidLeastBits(11)));
        assertThat(f.transaction()).isNull();
    }

    @Test
    void saysNothingAboutDamagedEntries() {
        EntryFlags f = new EntryFlags();
        ByteBuf whole = withBrokerMetadata(entry(metadata()));
        int end = whole.readableBytes() - 10;
        for (int n = 0; n < end; n++) {
            assertThat(f.read(whole.slice(0, n))).as("cut at %d", n).isFalse();
        }
        Random r = new Random(1);
        byte[] bytes = new byte[200];
        for (int i = 0; i < 20_000; i++) { // any answer, no exception
            r.nextBytes(bytes);
            bytes[0] = 0x0e;
            bytes[1] = (byte) (1 + r.nextInt(2));
            bytes[2] = bytes[3] = bytes[4] = 0;
            f.read(Unpooled.wrappedBuffer(bytes));
        }
    }
}
