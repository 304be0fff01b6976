// SPDX-License-Identifier: Apache-2.0
package georep.bench.micro;

import java.util.concurrent.TimeUnit;
import org.apache.pulsar.common.protocol.ByteBufPair;
import org.openjdk.jmh.annotations.Benchmark;
import org.openjdk.jmh.annotations.BenchmarkMode;
import org.openjdk.jmh.annotations.Level;
import org.openjdk.jmh.annotations.Mode;
import org.openjdk.jmh.annotations.OutputTimeUnit;
import org.openjdk.jmh.annotations.Param;
import org.openjdk.jmh.annotations.Scope;
import org.openjdk.jmh.annotations.Setup;
import org.openjdk.jmh.annotations.State;

/** One batch cut into the parts of four segments, up to SEND commands that could be written. */
@State(Scope.Thread)
@BenchmarkMode(Mode.AverageTime)
@OutputTimeUnit(TimeUnit.MICROSECONDS)
public class RebatchBench {
    @Param("1000x1KiB/lz4/json")
    public String cell;

    private RebatchCell c;
    private long entryId;
    private long sent;

    @Setup(Level.Trial)
    public void open() {
        c = RebatchCell.of(cell);
    }

    @Benchmark
    public long ours() {
        return cut(c.ours);
    }

    @Benchmark
    public long peer() {
        return cut(c.peer);
    }

    private long cut(Cutter cutter) {
        cutter.cut(c.entry, entryId++, this::send);
        return sent;
    }

    private void send(long segment, ByteBufPair wire) {
        sent += segment + wire.readableBytes();
        wire.release();
    }
}
