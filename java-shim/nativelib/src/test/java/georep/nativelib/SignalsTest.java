// SPDX-License-Identifier: Apache-2.0
package georep.nativelib;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicReference;
import org.junit.jupiter.api.Test;

/**
 * Go and the JVM share the process's signals. What the JVM turns into exceptions must stay exceptions, and what Go
 * turns into errors must stay errors, from any thread, while both collect garbage.
 */
class SignalsTest {
    /** Mapped in no process (below the kernel's mmap_min_addr), and too high for Go to call it nil. */
    private static final long WILD = 0x8000L;

    private static final class Box {
        private int value;
    }

    private static int read(Box b) {
        return b.value;
    }

    private static int depth(int n) {
        return depth(n + 1) + 1;
    }

    private static void library(int i) {
        Scratch s = Scratch.local();
        byte[] key = Entries.utf8("key-" + i);
        java.nio.ByteBuffer k = Scratch.direct(key);
        assertThat(Native.keyHash(Native.address(k), key.length, 2, s.at(0), 0, 0, s.err)).isEqualTo(Status.OK);
        java.lang.ref.Reference.reachabilityFence(k);
    }

    @Test
    void exceptionsAndFaultsKeepTheirMeaning() throws Exception {
        AtomicInteger nulls = new AtomicInteger();
        AtomicInteger overflows = new AtomicInteger();
        AtomicInteger faults = new AtomicInteger();
        AtomicReference<Throwable> wrong = new AtomicReference<>();
        Runnable work = () -> {
            try {
                Box box = new Box();
                byte[][] garbage = new byte[64][];
                for (int i = 0; i < 50_000; i++) {
                    try {
                        read(i % 3 == 0 ? null : box);
                    } catch (NullPointerException e) {
                        nulls.incrementAndGet();
                    }
                    if (i % 16 == 0) {
                        library(i);
                    }
                    if (i % 500 == 0) {
                        Scratch s = Scratch.local();
                        if (Native.keyHash(WILD, 64, 2, s.at(0), 0, 0, s.err) == Status.FAULT) {
                            faults.incrementAndGet();
                        }
                    }
                    if (i % 5_000 == 0) {
                        try {
                            depth(0);
                        } catch (StackOverflowError e) {
                            overflows.incrementAndGet();
                            library(i);
                        }
                    }
                    garbage[i % 64] = new byte[4096];
                }
            } catch (Throwable t) {
                wrong.set(t);
            }
        };
        Thread[] threads = {new Thread(work), new Thread(work), new Thread(work)};
        for (Thread t : threads) {
            t.start();
        }
        for (Thread t : threads) {
            t.join();
        }
        assertThat(wrong.get()).isNull();
        assertThat(nulls.get()).isEqualTo(3 * 16_667);
        assertThat(overflows.get()).isEqualTo(3 * 10);
        assertThat(faults.get()).isEqualTo(3 * 100);
    }

    /** A window that faulted in the middle of an event is not used again. */
    @Test
    void aMachineThatFaultedIsClosedToUse() {
        try (Window w = Window.open(new WindowConfig().clusters("eu", "us").segment(0, 0, 65535, 1, false)
                .topic("topic://a/b/c", "i", 1))) {
            w.offer(WILD, 100, 0, 1, 1);
            assertThatThrownBy(() -> w.step(0, 0)).isInstanceOf(StatusException.class)
                    .extracting(e -> ((StatusException) e).code()).isEqualTo(Status.FAULT);
            assertThatThrownBy(() -> w.step(0, 0)).isInstanceOf(StatusException.class)
                    .hasMessageContaining("free it")
                    .extracting(e -> ((StatusException) e).code()).isEqualTo(Status.STATE);
        }
    }

    @Test
    void shortLivedThreadsLeaveNothing() throws Exception {
        for (int round = 0; round < 10; round++) {
            Thread[] threads = new Thread[100];
            for (int i = 0; i < threads.length; i++) {
                int n = i;
                threads[i] = new Thread(() -> library(n));
                threads[i].start();
            }
            for (Thread t : threads) {
                t.join();
            }
        }
        try (var tasks = java.nio.file.Files.list(java.nio.file.Path.of("/proc/self/task"))) {
            assertThat(tasks.count()).isLessThan(100);
        }
    }
}
