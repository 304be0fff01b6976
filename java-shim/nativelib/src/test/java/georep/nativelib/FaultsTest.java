// SPDX-License-Identifier: Apache-2.0
package georep.nativelib;

import static org.assertj.core.api.Assertions.assertThatThrownBy;

import org.junit.jupiter.api.Test;

/** Addresses that can not be read; what happens to the process is JvmSafetyTest's. */
class FaultsTest {
    /** Mapped in no process (below the kernel's mmap_min_addr), and too high for Go to call it nil. */
    private static final long WILD = 0x8000L;

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
}
