// SPDX-License-Identifier: Apache-2.0
package georep.plugin.dest;

import georep.nativelib.Dedup;
import georep.nativelib.Georep;
import georep.nativelib.Status;
import georep.nativelib.StatusException;
import io.netty.buffer.ByteBuf;
import java.nio.ByteBuffer;
import java.util.Optional;

/** {@link Watermarks} of the core's dedup machine, through the native library. */
public final class NativeWatermarks implements Watermarks {
    private final Dedup dedup;

    public NativeWatermarks(String boundTopic, int maxKeys) {
        this.dedup = Dedup.open(boundTopic, maxKeys);
    }

    private record NativeTicket(Dedup.Ticket of) implements Ticket {
        @Override
        public Verdict verdict() {
            return switch (of.verdict()) {
                case NOT_OURS -> Verdict.NOT_OURS;
                case NEW -> Verdict.NEW;
                case DUPLICATE -> Verdict.DUPLICATE;
                case UNKNOWN -> Verdict.UNKNOWN;
                case FULL -> Verdict.FULL;
            };
        }

        @Override
        public long ledger() {
            return of.ledger();
        }

        @Override
        public long entry() {
            return of.entry();
        }
    }

    @Override
    public Ticket check(ByteBuf entry) {
        try {
            if (entry.hasMemoryAddress()) {
                return new NativeTicket(dedup.check(Georep.FORM_ENTRY, entry.memoryAddress() + entry.readerIndex(),
                        entry.readableBytes()));
            }
            return new NativeTicket(dedup.check(Georep.FORM_ENTRY, contiguous(entry)));
        } catch (StatusException e) {
            throw new IllegalArgumentException(e.getMessage(), e);
        }
    }

    @Override
    public void persisted(Ticket ticket) {
        dedup.persisted(((NativeTicket) ticket).of());
    }

    @Override
    public void failed() {
        dedup.failed();
    }

    @Override
    public void replay(ByteBuf entry) {
        try {
            if (entry.hasMemoryAddress()) {
                dedup.replay(Georep.FORM_ENTRY, entry.memoryAddress() + entry.readerIndex(), entry.readableBytes());
            } else {
                dedup.replay(Georep.FORM_ENTRY, contiguous(entry));
            }
        } catch (StatusException e) {
            throw failure(e);
        }
    }

    private static RuntimeException failure(StatusException e) {
        return e.code() == Status.LIMIT ? new WatermarksFullException(e.getMessage(), e)
                : new IllegalArgumentException(e.getMessage(), e);
    }

    /** A composite or heap buffer's readable bytes as one piece; the library copies what is not direct. */
    private static ByteBuffer contiguous(ByteBuf b) {
        if (b.nioBufferCount() == 1) {
            return b.nioBuffer();
        }
        byte[] copy = new byte[b.readableBytes()];
        b.getBytes(b.readerIndex(), copy);
        return ByteBuffer.wrap(copy);
    }

    @Override
    public byte[] snapshot() {
        return dedup.snapshot();
    }

    @Override
    public void load(byte[] snapshot) {
        try {
            dedup.load(snapshot);
        } catch (StatusException e) {
            throw failure(e);
        }
    }

    @Override
    public Optional<Mark> watermark(OriginKey k) {
        Dedup.Watermark w = dedup.watermark(k.cluster(), k.instance(), k.segment(), k.generation());
        return w == null ? Optional.empty() : Optional.of(new Mark(w.ledger(), w.entry(), w.part()));
    }

    @Override
    public void prune(OriginKey k) {
        dedup.prune(k.cluster(), k.instance(), k.segment(), k.generation());
    }

    @Override
    public String statusJson() {
        return dedup.statusJson();
    }

    @Override
    public void close() {
        dedup.close();
    }
}
