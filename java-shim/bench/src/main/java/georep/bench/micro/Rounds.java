// SPDX-License-Identifier: Apache-2.0
package georep.bench.micro;

import java.util.Collection;
import java.util.regex.Pattern;
import org.openjdk.jmh.profile.GCProfiler;
import org.openjdk.jmh.results.RunResult;
import org.openjdk.jmh.runner.Runner;
import org.openjdk.jmh.runner.RunnerException;
import org.openjdk.jmh.runner.options.ChainedOptionsBuilder;
import org.openjdk.jmh.runner.options.OptionsBuilder;
import org.openjdk.jmh.runner.options.TimeValue;
import org.openjdk.jmh.runner.options.VerboseMode;

/** Runs of JMH in this JVM, one benchmark method for a moment each, so that the methods of a cell can take turns. */
final class Rounds {
    private static final String ALLOCATED = "gc.alloc.rate.norm";

    private final int rounds;
    private final int millis;

    Rounds(int rounds, int millis) {
        this.rounds = rounds;
        this.millis = millis;
    }

    int rounds() {
        return rounds;
    }

    /** Each method so many times, thrown away. */
    void warmUp(int turns, Class<?> bench, String cell, String... methods) {
        for (int i = 0; i < turns; i++) {
            for (String m : methods) {
                run(bench, cell, m, false);
            }
        }
    }

    /** Nanoseconds of CPU, or bytes, per operation by method and round; another method begins each round. */
    double[][] alternate(Class<?> bench, String cell, boolean allocations, String... methods) {
        double[][] scores = new double[methods.length][rounds];
        for (int r = 0; r < rounds; r++) {
            for (int k = 0; k < methods.length; k++) {
                int m = (k + r) % methods.length;
                scores[m][r] = run(bench, cell, methods[m], allocations);
            }
        }
        return scores;
    }

    private double run(Class<?> bench, String cell, String method, boolean allocations) {
        ChainedOptionsBuilder o = new OptionsBuilder()
                .include("^" + Pattern.quote(bench.getName() + "." + method) + "$").param("cell", cell).forks(0)
                .warmupIterations(0).measurementIterations(1).measurementTime(TimeValue.milliseconds(millis))
                .verbosity(VerboseMode.SILENT).shouldFailOnError(true);
        o.addProfiler(allocations ? GCProfiler.class : CpuProfiler.class);
        try {
            Collection<RunResult> results = new Runner(o.build()).run();
            RunResult only = results.iterator().next();
            return only.getSecondaryResults().get(allocations ? ALLOCATED : CpuProfiler.NAME).getScore();
        } catch (RunnerException e) {
            throw new IllegalStateException(bench.getSimpleName() + "." + method + " with " + cell, e);
        }
    }
}
