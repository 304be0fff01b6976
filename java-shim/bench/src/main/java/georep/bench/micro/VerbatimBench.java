// SPDX-License-Identifier: Apache-2.0
package georep.bench.micro;

import io.netty.buffer.ByteBuf;
import java.util.concurrent.TimeUnit;
import org.apache.pulsar.common.protocol.ByteBufPair;
import org.openjdk.jmh.annotations.Benchmark;
import org.openjdk.jmh.annotations.BenchmarkMode;
import org.openjdk.jmh.annotations.Level;
import org.openjdk.jmh.annotations.Mode;
import org.openjdk.jmh.annotations.OperationsPerInvocation;
import org.openjdk.jmh.annotations.OutputTimeUnit;
import org.openjdk.jmh.annotations.Param;
import org.openjdk.jmh.annotations.Scope;
import org.openjdk.jmh.annotations.Setup;
import org.openjdk.jmh.annotations.State;

/** One entry that goes as it is, in batches of 64. */
@State(Scope.Thread)
@BenchmarkMode(Mode.AverageTime)
@OutputTimeUnit(TimeUnit.NANOSECONDS)
@OperationsPerInvocation(VerbatimCell.BATCH)
public class VerbatimBench {
    @Param("1KiB")
    public String cell;

    private VerbatimCell c;
    private long sum;
    private long entryId;

    @Setup(Level.Trial)
    public void open() {
        c = VerbatimCell.of(cell);
    }

    /** Offer, send actions, acknowledgements, delete and release actions: a replicator's whole talk with the core. */
    @Benchmark
    public long window() {
        c.window.pass(c.entries, (index, actions, i, arena) -> sum += actions.segment(i) + actions.part(i)
                + actions.headerAddress(i) + actions.headerLength(i) + actions.payloadAddress(i)
                + actions.payloadLength(i) + actions.messages(i));
        return sum;
    }

    /** The same, and SEND commands as the plugin makes them. */
    @Benchmark
    public long wire() {
        c.window.pass(c.entries, (index, actions, i, arena) -> drop(c.frame(index, actions, i, arena)));
        return sum;
    }

    /** Fit check and new header alone. */
    @Benchmark
    public long place() {
        c.place.pass(c.entries, (i, placer, arena) -> sum += placer.headerAddress(i) + placer.headerLength(i)
                + placer.payloadOffset(i) + placer.payloadLength(i) + placer.messages(i));
        return sum;
    }

    /** The broker's own replicator, up to the SEND command. */
    @Benchmark
    public long peer() {
        for (ByteBuf entry : c.entries) {
            int start = entry.readerIndex();
            drop(c.classic.send(entry, entryId++));
            entry.readerIndex(start);
        }
        return sum;
    }

    private void drop(ByteBufPair wire) {
        sum += wire.readableBytes();
        wire.release();
    }
}
