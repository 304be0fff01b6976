// SPDX-License-Identifier: Apache-2.0
package georep.plugin.source;

import static org.assertj.core.api.Assertions.assertThat;

import georep.plugin.GeorepConfig;
import java.util.Properties;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.Executors;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import org.awaitility.Awaitility;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

class BudgetServiceTest {
    private static final long MIB = 1 << 20;
    private final ScheduledExecutorService timer = Executors.newSingleThreadScheduledExecutor();

    private static final class Window implements BudgetService.Client {
        final AtomicInteger grants = new AtomicInteger();
        final AtomicInteger rooms = new AtomicInteger();
        final CountDownLatch granted = new CountDownLatch(1);

        @Override
        public void granted() {
            grants.incrementAndGet();
            granted.countDown();
        }

        @Override
        public void roomAgain() {
            rooms.incrementAndGet();
        }
    }

    private BudgetService budget(String... keysAndValues) {
        Properties p = new Properties();
        for (int i = 0; i < keysAndValues.length; i += 2) {
            p.setProperty(keysAndValues[i], keysAndValues[i + 1]);
        }
        return new BudgetService(new GeorepConfig(p), timer);
    }

    @AfterEach
    void stop() {
        timer.shutdownNow();
    }

    @Test
    void slotsAreBoundedAndComeBack() {
        BudgetService b = budget("georepSlowPathConcurrency", "1");
        int remote = b.remote("b");
        Window one = new Window();
        Window two = new Window();
        long k1 = b.register(one);
        long k2 = b.register(two);
        b.request(k1, remote, 1000);
        b.request(k2, remote, 1000);
        assertThat(one.grants).hasValue(1);
        assertThat(two.grants).hasValue(0);
        b.unregister(k1, remote); // the window ends while it holds the slot
        assertThat(two.grants).hasValue(1);
        b.unregister(k2, remote);
        b.close();
    }

    /** What is withdrawn was waited for, too, and a wait that goes on counts already. */
    @Test
    void waitsAddUp() {
        BudgetService b = budget("georepSlowPathConcurrency", "1");
        int remote = b.remote("b");
        Window one = new Window();
        long k1 = b.register(one);
        long k2 = b.register(new Window());
        b.request(k1, remote, 1);
        b.request(k2, remote, 1);
        Awaitility.await().until(() -> b.throttledMillis(k2) > 20);
        b.giveBack(k2);
        long first = b.throttledMillis(k2);
        b.request(k2, remote, 1);
        Awaitility.await().until(() -> b.throttledMillis(k2) > first + 20);
        b.unregister(k1, remote);
        long granted = b.throttledMillis(k2);
        b.giveBack(k2);
        assertThat(b.throttledMillis(k2)).isEqualTo(granted);
        b.unregister(k2, remote);
        assertThat(b.throttledMillis(k2)).as("it is gone").isZero();
        b.close();
    }

    /** More than the bucket holds goes into debt; who comes next waits for time to pass, not for another event. */
    @Test
    void timeAloneBringsTheNextGrant() throws Exception {
        BudgetService b = budget("georepSlowPathBytesPerSecond", "1000000", "georepSlowPathBurstBytes", "1000");
        int remote = b.remote("b");
        Window one = new Window();
        Window two = new Window();
        long k1 = b.register(one);
        long k2 = b.register(two);
        b.request(k1, remote, 200_000);
        assertThat(one.grants).hasValue(1);
        long t0 = System.nanoTime();
        b.request(k2, remote, 1000);
        assertThat(two.grants).hasValue(0);
        b.giveBack(k1);
        assertThat(two.granted.await(10, TimeUnit.SECONDS)).isTrue();
        assertThat(TimeUnit.NANOSECONDS.toMillis(System.nanoTime() - t0)).isGreaterThan(150);
        assertThat(b.throttledMillis(k2)).as("it has waited for that").isGreaterThan(150);
        assertThat(b.throttledMillis(k1)).as("it was served at once").isLessThan(150);
        b.unregister(k1, remote);
        b.unregister(k2, remote);
        b.close();
    }

    @Test
    void roomIsToldOnceWhenItIsThereAgain() {
        BudgetService b = budget("georepInFlightBytes", "2097152", "georepInFlightBytesPerRemote", "1048576");
        int remote = b.remote("b");
        int other = b.remote("c");
        Window w = new Window();
        long k = b.register(w);
        assertThat(b.room(remote, w)).isTrue();
        b.count(remote, MIB, 0);
        assertThat(b.room(remote, w)).isFalse();
        assertThat(b.room(other, w)).as("another remote").isTrue();
        assertThat(w.rooms).hasValue(0);
        b.count(remote, -MIB, 0);
        assertThat(w.rooms).hasValue(1);
        b.count(remote, 1000, 0);
        b.count(remote, -1000, 0);
        assertThat(w.rooms).hasValue(1);
        b.unregister(k, remote);
        b.close();
    }

    @Test
    void closesWhenTheLastWindowHasGone() {
        BudgetService b = budget();
        Window w = new Window();
        int remote = b.remote("b");
        long k = b.register(w);
        b.close();
        b.request(k, remote, 10); // topics are closed after the plugin
        assertThat(w.grants).hasValue(1);
        b.unregister(k, remote);
    }
}
