// SPDX-License-Identifier: Apache-2.0
package georep.idle;

import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ObjectNode;
import com.sun.management.OperatingSystemMXBean;
import java.io.IOException;
import java.lang.management.ManagementFactory;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.concurrent.TimeUnit;
import java.util.function.BooleanSupplier;

/** What the measurements of idle clusters have in common: settings, waiting, CPU over a span of time, a report. */
final class Span {
    private static final OperatingSystemMXBean OS =
            (OperatingSystemMXBean) ManagementFactory.getOperatingSystemMXBean();
    private static final long PATIENCE_SECONDS = 300;

    private Span() {
    }

    /** The source tree. */
    static Path home() {
        return Path.of(System.getenv().getOrDefault("DEMO_HOME", ".")).toAbsolutePath().normalize();
    }

    /** A setting from the environment. */
    static int number(String name, int def) {
        String v = System.getenv().getOrDefault(name, "").trim();
        return v.isEmpty() ? def : Integer.parseInt(v);
    }

    /** CPU seconds of this process over so many seconds, once things have settled for a while. */
    static double cpu(int settle, int seconds) throws InterruptedException {
        TimeUnit.SECONDS.sleep(settle);
        System.gc();
        long t = System.nanoTime();
        long cpu = OS.getProcessCpuTime();
        TimeUnit.SECONDS.sleep(seconds);
        double used = (OS.getProcessCpuTime() - cpu) / 1e9;
        say("%.2f CPU seconds in %.0f s", used, (System.nanoTime() - t) / 1e9);
        return used;
    }

    /** CPU seconds of this process in each of so many spans of so many seconds. */
    static List<Double> cpus(int spans, int seconds) throws InterruptedException {
        List<Double> all = new ArrayList<>();
        for (int i = 0; i < spans; i++) {
            all.add(cpu(0, seconds));
        }
        return all;
    }

    /** The middle one; of an even number the mean of both that are. */
    static double median(List<Double> values) {
        List<Double> v = values.stream().sorted().toList();
        return (v.get((v.size() - 1) / 2) + v.get(v.size() / 2)) / 2;
    }

    static void await(String what, BooleanSupplier done) throws InterruptedException {
        long end = System.nanoTime() + TimeUnit.SECONDS.toNanos(PATIENCE_SECONDS);
        while (!done.getAsBoolean()) {
            if (System.nanoTime() > end) {
                throw new IllegalStateException("waited " + PATIENCE_SECONDS + " s in vain for " + what);
            }
            TimeUnit.MILLISECONDS.sleep(200);
        }
    }

    static void report(String name, String text) throws IOException {
        Path file = home().resolve("build/reports/" + name + ".txt");
        Files.createDirectories(file.getParent());
        Files.writeString(file, text + "\n");
        System.out.println(text);
    }

    /** Writes the one row of a part of the benchmarks; without a number where it drowns in noise. */
    static void row(String part, ObjectNode row, double ours) throws IOException {
        if (ours > 0) {
            row.put("ours", ours);
        } else {
            row.put("note", String.format(Locale.ROOT, "below the noise: %.3f", ours));
            row.remove(List.of("peer", "peerName", "ratio", "target"));
        }
        Path file = home().resolve("build/reports/bench.d/" + part + ".json");
        Files.createDirectories(file.getParent());
        Files.writeString(file, "[\n" + row + "\n]\n");
    }

    static ObjectNode row(String name, String unit) {
        return new ObjectMapper().createObjectNode().put("name", name).put("unit", unit);
    }

    static void say(String format, Object... args) {
        System.out.printf(Locale.ROOT, format + "%n", args);
        System.out.flush();
    }
}
