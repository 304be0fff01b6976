// SPDX-License-Identifier: Apache-2.0
package georep.plugin.source;

import static org.assertj.core.api.Assertions.assertThat;

import georep.nativelib.Peer;
import georep.nativelib.Window;
import georep.nativelib.WindowConfig;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Who asks for a window's status never waits for a step. */
@Timeout(value = 60, unit = TimeUnit.SECONDS)
class WindowStatusViewTest {
    private static Window window() {
        return Window.open(new WindowConfig().clusters("a", "b").segment(0, 0, 0xffff, Peer.PROFILE_M1, false)
                .topic("topic://t/n/x", "instance", 1));
    }

    @Test
    void aStepThatTakesLongHoldsNobodyUp() throws Exception {
        try (Window w = window()) {
            WindowStatusView v = new WindowStatusView(w);
            assertThat(v.json()).contains("\"starting\"");
            CountDownLatch inside = new CountDownLatch(1);
            CountDownLatch asked = new CountDownLatch(1);
            CompletableFuture<Integer> step = CompletableFuture.supplyAsync(() -> v.during(() -> {
                inside.countDown();
                w.pause(true);
                try {
                    asked.await(); // a step that ends only when the status has been told
                } catch (InterruptedException e) {
                    throw new IllegalStateException(e);
                }
                return w.step(0, 0);
            }));
            inside.await();
            assertThat(v.json()).as("as it was before").contains("\"starting\"");
            asked.countDown();
            assertThat(step.get()).isZero();
            assertThat(v.json()).contains("\"paused\"");
        }
    }

    @Test
    void aClosedWindowHasNone() {
        Window w = window();
        WindowStatusView v = new WindowStatusView(w);
        w.close();
        assertThat(v.json()).isNull();
    }
}
