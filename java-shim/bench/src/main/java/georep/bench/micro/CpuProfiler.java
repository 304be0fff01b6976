// SPDX-License-Identifier: Apache-2.0
package georep.bench.micro;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.DirectoryStream;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.util.Collection;
import java.util.List;
import org.openjdk.jmh.infra.BenchmarkParams;
import org.openjdk.jmh.infra.IterationParams;
import org.openjdk.jmh.profile.InternalProfiler;
import org.openjdk.jmh.results.AggregationPolicy;
import org.openjdk.jmh.results.IterationResult;
import org.openjdk.jmh.results.Result;
import org.openjdk.jmh.results.ScalarResult;

/**
 * CPU time of this process per operation, all threads: the caller's, and what the collectors of both languages do for
 * it. On a machine that does other things as well it is what stays the same; the clock is not.
 */
public final class CpuProfiler implements InternalProfiler {
    static final String NAME = "cpu";
    private static final Path TASKS = Path.of("/proc/self/task");

    private long before;

    @Override
    public String getDescription() {
        return "CPU time of the process";
    }

    @Override
    public void beforeIteration(BenchmarkParams benchmark, IterationParams iteration) {
        before = nanos();
    }

    @Override
    public Collection<? extends Result<?>> afterIteration(BenchmarkParams benchmark, IterationParams iteration,
                                                          IterationResult result) {
        double nanos = nanos() - before;
        return List.of(new ScalarResult(NAME, nanos / result.getMetadata().getAllOps(), "ns/op",
                AggregationPolicy.AVG));
    }

    /** The kernel counts each thread in nanoseconds; the sum that Java can ask for has steps of ten milliseconds. */
    private static long nanos() {
        long sum = 0;
        try (DirectoryStream<Path> tasks = Files.newDirectoryStream(TASKS)) {
            for (Path t : tasks) {
                sum += nanos(t.resolve("schedstat"));
            }
            return sum;
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    private static long nanos(Path schedstat) throws IOException {
        try {
            String s = Files.readString(schedstat);
            return Long.parseLong(s, 0, s.indexOf(' '), 10);
        } catch (NoSuchFileException e) {
            return 0; // a thread that has just ended
        }
    }
}
