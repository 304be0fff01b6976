// SPDX-License-Identifier: Apache-2.0
package georep.plugin.dest;

import static org.assertj.core.api.Assertions.assertThat;

import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import org.apache.pulsar.common.api.proto.MessageMetadata;
import org.junit.jupiter.api.Test;

class OriginGuardTest {
    private static final String BOUND = "segment://t/n/a%b/0000-ffff-0";
    private static final String RECORD = "1|z|00|7|1|5:0|segment://t/n/a%25b/0000-ffff-0";
    private final OriginGuard guard = new OriginGuard(BOUND);

    private static MessageMetadata metadata() {
        return new MessageMetadata().setProducerName("p").setSequenceId(1).setPublishTime(2);
    }

    private static ByteBuf entry(MessageMetadata m) {
        ByteBuf b = Unpooled.buffer();
        b.writeShort(0x0e01).writeInt(0).writeInt(m.getSerializedSize());
        m.writeTo(b);
        return b.writeBytes("__GEOREP_ORIGIN in the payload".getBytes());
    }

    private static MessageMetadata with(MessageMetadata m, String... values) {
        for (String v : values) {
            m.addProperty().setKey("__GEOREP_ORIGIN").setValue(v);
        }
        return m;
    }

    @Test
    void ordinaryEntriesPass() {
        ByteBuf b = entry(metadata());
        int at = b.readerIndex();
        assertThat(guard.forged(b)).isFalse();
        assertThat(b.readerIndex()).isEqualTo(at);
        assertThat(guard.forged(entry(metadata().setReplicatedFrom("z")))).isFalse();
        assertThat(guard.forged(entry(with(metadata(), RECORD)))).as("a copy").isFalse();
        assertThat(guard.forged(entry(with(metadata().setReplicatedFrom("z"), RECORD + "x")))).as("elsewhere")
                .isFalse();
    }

    @Test
    void aRecordBoundHereWithReplicatedFromIsForged() {
        assertThat(guard.forged(entry(with(metadata().setReplicatedFrom("z"), RECORD)))).isTrue();
        // the last occurrence counts
        assertThat(guard.forged(entry(with(metadata().setReplicatedFrom("z"), RECORD, RECORD + "x")))).isFalse();
        assertThat(guard.forged(entry(with(metadata().setReplicatedFrom("z"), RECORD + "x", RECORD)))).isTrue();
    }

    @Test
    void bytesThatDoNotParsePass() {
        assertThat(guard.forged(Unpooled.EMPTY_BUFFER)).isFalse();
        assertThat(guard.forged(Unpooled.wrappedBuffer(new byte[] {0, 0, 0}))).isFalse();
        ByteBuf b = Unpooled.buffer().writeInt(40);
        b.writeBytes("__GEOREP_ORIGIN__GEOREP_ORIGIN__GEOREP_O".getBytes());
        assertThat(guard.forged(b)).isFalse();
        assertThat(guard.forged(Unpooled.buffer().writeInt(Integer.MAX_VALUE).writeBytes("__GEOREP_ORIGI".getBytes())))
                .isFalse();
        assertThat(guard.forged(Unpooled.buffer().writeInt(-1).writeByte(1))).isFalse();
    }
}
