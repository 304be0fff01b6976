// SPDX-License-Identifier: Apache-2.0
package georep.demo;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import georep.demo.Sabotage.Kind;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import java.util.ArrayList;
import java.util.List;
import org.apache.pulsar.common.api.proto.MessageMetadata;
import org.apache.pulsar.common.protocol.Commands;
import org.junit.jupiter.api.Test;

/** Which entry of a log is spoilt, and how. */
class SabotageTest {
    /** A stored message; origin null: published here. */
    private static byte[] entry(String key, int number, String origin) {
        MessageMetadata m = new MessageMetadata().setProducerName("p").setSequenceId(number).setPublishTime(1)
                .setPartitionKey(key);
        if (origin != null) {
            m.addProperty().setKey("__GEOREP_ORIGIN").setValue(origin);
        }
        ByteBuf body = Unpooled.buffer().writeInt(number);
        m.setUncompressedSize(body.readableBytes());
        ByteBuf whole = Commands.serializeMetadataAndPayload(Commands.ChecksumType.Crc32c, m, body);
        byte[] bytes = new byte[whole.readableBytes()];
        whole.readBytes(bytes);
        return bytes;
    }

    private static String origin(int segment, int entry) {
        return "1|a|i|" + segment + "|1|5:" + entry + "|segment://t/n/x/0000-ffff-0";
    }

    /** Numbers 1, 3, 5, 6 came by one stream, 2 by another; 0 and 4 were published here. */
    private static List<byte[]> log() {
        return List.of(entry("k", 0, null), entry("k", 1, origin(0, 0)), entry("k", 2, origin(7, 0)),
                entry("k", 3, origin(0, 1)), entry("k", 4, null), entry("x", 5, origin(0, 2)),
                entry("k", 6, origin(0, 3)));
    }

    private static List<Integer> numbers(Kind kind) throws Exception {
        List<Integer> n = new ArrayList<>();
        for (byte[] e : Sabotage.spoil(kind, log())) {
            ByteBuf b = Unpooled.wrappedBuffer(e);
            Commands.skipMessageMetadata(b);
            n.add(b.readInt());
        }
        return n;
    }

    @Test
    void oneReplicatedEntryIsRemovedSwappedOrRepeated() throws Exception {
        assertThat(numbers(Kind.REMOVE)).containsExactly(0, 1, 2, 4, 5, 6);
        assertThat(numbers(Kind.REPEAT)).containsExactly(0, 1, 2, 3, 3, 4, 5, 6);
        assertThat(numbers(Kind.SWAP)).as("3 is followed by another key, 2 by nothing of its stream")
                .containsExactly(0, 3, 2, 1, 4, 5, 6);
    }

    @Test
    void aLogWithoutReplicatedEntriesIsNoGround() {
        assertThatThrownBy(() -> Sabotage.spoil(Kind.REMOVE, List.of(entry("k", 0, null))))
                .hasMessage("nothing to REMOVE among 1 entries");
    }
}
