// SPDX-License-Identifier: Apache-2.0
package georep.plugin.source;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.Consumer;
import org.junit.jupiter.api.Test;

class SerialExecutorTest {
    private static final Consumer<Throwable> NONE = e -> {
        throw new AssertionError(e);
    };

    @Test
    void oneStepServesABurst() {
        ArrayDeque<Runnable> pool = new ArrayDeque<>();
        List<String> log = new ArrayList<>();
        SerialExecutor s = new SerialExecutor(pool::add, () -> log.add("step"), NONE);
        for (int i = 0; i < 3; i++) {
            int n = i;
            s.execute(() -> log.add("task" + n));
        }
        assertThat(pool).hasSize(1);
        pool.poll().run();
        assertThat(log).containsExactly("task0", "task1", "task2", "step");
        assertThat(pool).isEmpty();
    }

    @Test
    void aTaskAddedDuringTheStepRunsInTheNextTurn() {
        ArrayDeque<Runnable> pool = new ArrayDeque<>();
        List<String> log = new ArrayList<>();
        SerialExecutor[] s = new SerialExecutor[1];
        s[0] = new SerialExecutor(pool::add, () -> {
            log.add("step");
            if (log.size() == 2) {
                s[0].execute(() -> log.add("late"));
            }
        }, NONE);
        s[0].execute(() -> log.add("first"));
        pool.poll().run();
        assertThat(pool).hasSize(1);
        pool.poll().run();
        assertThat(log).containsExactly("first", "step", "late", "step");
    }

    @Test
    void orderHoldsUnderContentionAndNothingRunsTwiceAtOnce() throws Exception {
        ExecutorService pool = Executors.newFixedThreadPool(4);
        try {
            AtomicInteger inside = new AtomicInteger();
            List<Integer> seen = Collections.synchronizedList(new ArrayList<>());
            List<String> wrong = Collections.synchronizedList(new ArrayList<>());
            SerialExecutor s = new SerialExecutor(pool, () -> { }, NONE);
            int n = 20_000;
            CountDownLatch done = new CountDownLatch(n);
            for (int i = 0; i < n; i++) {
                int k = i;
                s.execute(() -> {
                    if (inside.incrementAndGet() != 1) {
                        wrong.add("two at once");
                    }
                    seen.add(k);
                    inside.decrementAndGet();
                    done.countDown();
                });
            }
            assertThat(done.await(30, TimeUnit.SECONDS)).isTrue();
            assertThat(wrong).isEmpty();
            assertThat(seen).isSorted().hasSize(n);
        } finally {
            pool.shutdownNow();
        }
    }

    @Test
    void aFailureIsToldAndTheNextTasksRun() {
        List<String> log = new ArrayList<>();
        SerialExecutor s = new SerialExecutor(Runnable::run, () -> {
            if (log.size() == 3) {
                throw new StackOverflowError("expected by the test");
            }
            log.add("step");
        }, e -> {
            log.add(e.getClass().getSimpleName());
            throw new IllegalStateException("expected by the test");
        });
        s.execute(() -> {
            throw new UnsupportedOperationException("expected by the test");
        });
        s.execute(() -> log.add("next"));
        assertThat(log).containsExactly("UnsupportedOperationException", "step", "next", "StackOverflowError");
        s.execute(() -> log.add("last"));
        assertThat(log).endsWith("last", "step");
    }

    @Test
    void runsOnTheCallerWhenThePoolIsClosed() {
        List<String> log = new ArrayList<>();
        SerialExecutor s = new SerialExecutor(r -> {
            throw new RejectedExecutionException();
        }, () -> log.add("step"), NONE);
        s.execute(() -> log.add("task"));
        assertThat(log).containsExactly("task", "step");
    }
}
