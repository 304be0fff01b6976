// SPDX-License-Identifier: Apache-2.0
package georep.bench.micro;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.DirectoryStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Collection;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.openjdk.jmh.infra.BenchmarkParams;
import org.openjdk.jmh.infra.IterationParams;
import org.openjdk.jmh.profile.InternalProfiler;
import org.openjdk.jmh.results.AggregationPolicy;
import org.openjdk.jmh.results.IterationResult;
import org.openjdk.jmh.results.Result;
import org.openjdk.jmh.results.ScalarResult;

/**
 * CPU time of this process per operation, all threads: the caller's, and what the collectors of both languages do for
 * it. On a machine that does other things as well it is what stays the same; the clock is not. Java's compilers are
 * left out: in a broker they have long been done.
 */
public final class CpuProfiler implements InternalProfiler {
    static final String NAME = "cpu";
    private static final Path TASKS = Path.of("/proc/self/task");
    private static final String COMPILER = "Compiler";

    private Map<Path, Long> before;

    @Override
    public String getDescription() {
        return "CPU time of the process";
    }

    @Override
    public void beforeIteration(BenchmarkParams benchmark, IterationParams iteration) {
        before = nanosByThread();
    }

    @Override
    public Collection<? extends Result<?>> afterIteration(BenchmarkParams benchmark, IterationParams iteration,
                                                          IterationResult result) {
        double nanos = 0;
        for (Map.Entry<Path, Long> t : nanosByThread().entrySet()) { // one that has ended did nothing in between
            nanos += t.getValue() - before.getOrDefault(t.getKey(), 0L);
        }
        return List.of(new ScalarResult(NAME, nanos / result.getMetadata().getAllOps(), "ns/op",
                AggregationPolicy.AVG));
    }

    /** The kernel counts each thread in nanoseconds; the sum that Java can ask for has steps of ten milliseconds. */
    private static Map<Path, Long> nanosByThread() {
        Map<Path, Long> nanos = new HashMap<>();
        try (DirectoryStream<Path> tasks = Files.newDirectoryStream(TASKS)) {
            for (Path t : tasks) {
                try {
                    if (!Files.readString(t.resolve("comm")).contains(COMPILER)) {
                        String s = Files.readString(t.resolve("schedstat"));
                        nanos.put(t, Long.parseLong(s, 0, s.indexOf(' '), 10));
                    }
                } catch (IOException ignored) {
                    // the thread has just ended
                }
            }
            return nanos;
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }
}
