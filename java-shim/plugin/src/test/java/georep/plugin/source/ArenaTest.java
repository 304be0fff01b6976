// SPDX-License-Identifier: Apache-2.0
package georep.plugin.source;

import static org.assertj.core.api.Assertions.assertThat;

import io.netty.buffer.ByteBuf;
import io.netty.util.concurrent.DefaultThreadFactory;
import java.util.concurrent.atomic.AtomicReference;
import org.junit.jupiter.api.Test;

class ArenaTest {
    @Test
    void aThreadThatEndsGivesItsMemoryBack() throws Exception {
        AtomicReference<ByteBuf> sent = new AtomicReference<>();
        Thread worker = new DefaultThreadFactory("worker", true).newThread(() -> {
            Arena a = Arena.ofThread();
            a.reserve(1);
            a.filled(a.capacity());
            sent.set(a.part(a.address(), 8)); // a part that is still on its way
            assertThat(Arena.ofThread()).isSameAs(a);
        });
        worker.start();
        worker.join(10_000);
        ByteBuf memory = sent.get().unwrap();
        assertThat(memory.refCnt()).isEqualTo(1); // the part's own
        sent.get().release();
        assertThat(memory.refCnt()).isZero();
    }

    @Test
    void memoryThatSomebodyElseReadsIsNotUsedAgain() {
        Arena a = Arena.ofThread();
        a.reserve(1);
        a.filled((a.capacity() + 1) / 2);
        ByteBuf part = a.part(a.address(), 8);
        long before = a.address();
        a.reserve(1);
        assertThat(a.address()).isNotEqualTo(before);
        assertThat(part.release()).isTrue();
        long now = a.address();
        a.reserve(1);
        assertThat(a.address()).isEqualTo(now);
    }

    @Test
    void aFewBytesInLargeMemoryDoNotKeepIt() {
        Arena a = Arena.ofThread();
        a.reserve(1000);
        a.memory().setBytes(100, new byte[] {1, 2, 3});
        a.filled(a.capacity() / 2 - 1);
        ByteBuf part = a.part(a.address() + 100, 3);
        assertThat(part.capacity()).isEqualTo(3);
        assertThat(part.readMedium()).isEqualTo(0x010203);
        long before = a.address();
        a.reserve(1);
        assertThat(a.address()).isEqualTo(before);
        assertThat(part.release()).isTrue();
    }
}
