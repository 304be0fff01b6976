// SPDX-License-Identifier: Apache-2.0
package georep.plugin;

import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import java.lang.reflect.Method;
import org.apache.pulsar.common.api.proto.MessageMetadata;

/**
 * Field numbers of entry_hash_min and entry_hash_max. A broker that knows the fields (PIP-486) is asked with a
 * serialised sample; for one that does not, the core's defaults hold.
 *
 * @param min 0 = the core's default
 * @param max 0 = the core's default
 */
record HashTags(int min, int max) {
    boolean known() {
        return min != 0;
    }

    static HashTags ofBroker() {
        try {
            int a = field("setEntryHashMin");
            int b = field("setEntryHashMax");
            return new HashTags(a, b);
        } catch (NoSuchMethodException e) {
            return new HashTags(0, 0);
        } catch (ReflectiveOperationException e) {
            throw new IllegalStateException("MessageMetadata's entry hashes cannot be set", e);
        }
    }

    /** The field that a sample with this setter has and one without it has not. */
    private static int field(String setter) throws ReflectiveOperationException {
        Method set = null;
        for (Method m : MessageMetadata.class.getMethods()) {
            if (m.getName().equals(setter) && m.getParameterCount() == 1) {
                set = m;
            }
        }
        if (set == null) {
            throw new NoSuchMethodException(setter);
        }
        MessageMetadata sample = new MessageMetadata().setProducerName("").setSequenceId(0).setPublishTime(0);
        int before = sample.getSerializedSize();
        if (set.getParameterTypes()[0] == long.class) {
            set.invoke(sample, 1L);
        } else {
            set.invoke(sample, 1);
        }
        ByteBuf b = Unpooled.buffer();
        sample.writeTo(b);
        // required fields come first in number order, the new one after them
        b.skipBytes(before);
        int tag = 0;
        for (int shift = 0; b.isReadable(); shift += 7) {
            byte x = b.readByte();
            tag |= (x & 0x7f) << shift;
            if (x >= 0) {
                break;
            }
        }
        return tag >>> 3;
    }
}
