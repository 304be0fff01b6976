// SPDX-License-Identifier: Apache-2.0
package georep.nativelib;

import java.lang.ref.Reference;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.lang.reflect.Modifier;
import java.nio.ByteBuffer;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Set;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.atomic.AtomicReference;
import org.junit.jupiter.api.Test;

/**
 * Main class of a child JVM that does to itself, with the library loaded, what JVMs survive. It prints what it counted;
 * JvmSafetyTest knows what that has to be.
 */
public final class Safety {
    /** Mapped in no process (below the kernel's mmap_min_addr), and too high for Go to call it nil. */
    private static final long WILD = 0x8000L;
    private static final int THREADS = 3;
    /** Exports in C, which can not panic, and what is no export. */
    private static final Set<String> NOT_GO = Set.of("abiVersion", "start", "address", "view");

    private Safety() {}

    private static final class Box {
        private int value = 1;
    }

    /** With the compiler's implicit null check: a read of page zero, a SIGSEGV, an exception. */
    private static int read(Box b) {
        return b.value;
    }

    private static int depth(int n) {
        return depth(n + 1) + 1;
    }

    /** Calls the library at every depth, down to where the stack ends. */
    private static int deepCalls(Scratch s, int[] calls) {
        if (Native.keyHash(0, 0, 2, s.at(0), 0, 0, s.err) != Status.OK) {
            throw new AssertionError("at call " + calls[0]);
        }
        calls[0]++;
        return deepCalls(s, calls) + 1;
    }

    /** The hash of "k1", with a fresh copy of the key each time. */
    private static int library() {
        Scratch s = Scratch.local();
        ByteBuffer k = Scratch.direct(Entries.utf8("k1"));
        int status = Native.keyHash(Native.address(k), 2, 2, s.at(0), 0, 0, s.err);
        Reference.reachabilityFence(k);
        if (status != Status.OK || s.getInt(0) != 0xfdc6602a) {
            throw new AssertionError("status " + status + ", hash " + Integer.toHexString(s.getInt(0)));
        }
        return s.getInt(0);
    }

    public static void main(String[] args) throws Throwable {
        switch (args[0]) {
            case "exceptions" -> exceptions(100_000);
            case "threads" -> threads();
            case "until-told" -> untilTold();
            case "exercise" -> exercise();
            case "panics" -> panics();
            default -> throw new IllegalArgumentException(args[0]);
        }
    }

    private static void inThreads(int n, Runnable r) throws InterruptedException {
        AtomicReference<Throwable> wrong = new AtomicReference<>();
        Thread[] threads = new Thread[n];
        for (int i = 0; i < n; i++) {
            threads[i] = new Thread(r);
            threads[i].setUncaughtExceptionHandler((t, e) -> wrong.set(e));
            threads[i].start();
        }
        for (Thread t : threads) {
            t.join();
        }
        if (wrong.get() != null) {
            throw new AssertionError(wrong.get());
        }
    }

    /** Null checks, overflows and wild addresses from several threads, while both sides collect garbage. */
    private static void exceptions(int rounds) throws InterruptedException {
        AtomicInteger nulls = new AtomicInteger();
        AtomicInteger overflows = new AtomicInteger();
        AtomicInteger faults = new AtomicInteger();
        inThreads(THREADS, () -> {
            Box box = new Box();
            byte[][] garbage = new byte[64][];
            for (int i = 0; i < rounds; i++) {
                try {
                    read(i % 2 == 0 ? null : box);
                } catch (NullPointerException e) {
                    nulls.incrementAndGet();
                }
                if (i % 16 == 0) {
                    library();
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
                        library();
                    }
                }
                garbage[i % 64] = new byte[4096];
            }
        });
        int[] calls = {0};
        try {
            deepCalls(Scratch.local(), calls);
        } catch (StackOverflowError e) {
            overflows.incrementAndGet();
        }
        System.out.printf("nulls %d overflows %d faults %d%n", nulls.get(), overflows.get(), faults.get());
        System.out.println("deep calls " + calls[0]);
    }

    /** Ten thousand threads that live for one call each. */
    private static void threads() throws Exception {
        for (int i = 0; i < 10; i++) {
            inThreads(100, Safety::library);
        }
        long before = residentKib();
        for (int i = 0; i < 90; i++) {
            inThreads(100, Safety::library);
        }
        try (var tasks = Files.list(Path.of("/proc/self/task"))) {
            System.out.printf("os threads %d%ngrown KiB %d%n", tasks.count(), residentKib() - before);
        }
    }

    private static long residentKib() throws Exception {
        System.gc();
        for (String l : Files.readAllLines(Path.of("/proc/self/status"))) {
            if (l.startsWith("VmRSS")) {
                return Long.parseLong(l.replaceAll("\\D", ""));
            }
        }
        throw new IllegalStateException("no VmRSS");
    }

    /** Calls from several threads until standard input ends, or a signal ends it all. */
    private static void untilTold() throws Exception {
        AtomicLong calls = new AtomicLong();
        Runtime.getRuntime().addShutdownHook(new Thread(() ->
                System.out.println("hook " + Integer.toHexString(library()))));
        for (int i = 0; i < THREADS; i++) {
            Thread t = new Thread(() -> {
                while (true) {
                    library();
                    calls.incrementAndGet();
                }
            });
            t.setDaemon(true);
            t.start();
        }
        while (calls.get() < 1_000) {
            Thread.onSpinWait();
        }
        System.out.println("ready");
        while (System.in.read() >= 0) {
            continue;
        }
        long now = calls.get();
        while (calls.get() < now + 1_000) {
            Thread.onSpinWait();
        }
        System.out.println("calls go on");
    }

    /** All tests of the bindings, as they are. */
    private static void exercise() throws Throwable {
        int n = 0;
        for (Class<?> c : List.of(MachinesTest.class, WindowTest.class)) {
            for (Method m : c.getDeclaredMethods()) {
                if (m.isAnnotationPresent(Test.class)) {
                    m.setAccessible(true);
                    var constructor = c.getDeclaredConstructor();
                    constructor.setAccessible(true);
                    try {
                        m.invoke(constructor.newInstance());
                    } catch (InvocationTargetException e) {
                        throw e.getCause();
                    }
                    n++;
                }
            }
        }
        exceptions(10_000);
        System.out.println("exercised " + n);
    }

    /** Every function of the library panics: each has to say so, and the process to live on. */
    private static void panics() throws Exception {
        int exports = 0;
        for (Method m : Native.class.getDeclaredMethods()) {
            if (!Modifier.isNative(m.getModifiers()) || NOT_GO.contains(m.getName())) {
                continue;
            }
            Object[] zeros = new Object[m.getParameterCount()];
            for (int i = 0; i < zeros.length; i++) {
                zeros[i] = m.getParameterTypes()[i] == long.class ? (Object) 0L : (Object) 0;
            }
            m.setAccessible(true);
            for (int i = 0; i < 1_000; i++) {
                int status = (int) m.invoke(null, zeros);
                if (status != Status.PANIC) {
                    throw new AssertionError(m.getName() + " returned " + status);
                }
            }
            exports++;
        }
        Scratch s = Scratch.local();
        System.out.println(s.error(Native.keyHash(0, 0, 0, 0, 0, 0, s.err)).getMessage().lines().findFirst().get());
        System.out.println("exports " + exports);
    }
}
