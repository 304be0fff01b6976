// SPDX-License-Identifier: Apache-2.0
package georep.it;

import io.netty.buffer.Unpooled;
import java.io.DataInputStream;
import java.io.DataOutputStream;
import java.io.EOFException;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.Executor;
import java.util.concurrent.atomic.AtomicLong;
import org.apache.bookkeeper.client.BKException;
import org.apache.bookkeeper.client.api.LastConfirmedAndEntry;
import org.apache.bookkeeper.client.api.LedgerEntries;
import org.apache.bookkeeper.client.api.LedgerEntry;
import org.apache.bookkeeper.client.api.LedgerMetadata;
import org.apache.bookkeeper.client.api.ReadHandle;
import org.apache.bookkeeper.client.impl.LedgerEntriesImpl;
import org.apache.bookkeeper.client.impl.LedgerEntryImpl;
import org.apache.bookkeeper.mledger.offload.OffloadUtils;

/**
 * One offloaded ledger, read back.
 *
 * <pre>
 *   data    the entries, one after another
 *   index   int length and bytes of the ledger's metadata, int entries, and of each the long at which it ends
 * </pre>
 *
 * The index is written last: a ledger without one is not there.
 */
final class OffloadedFile implements ReadHandle {
    private final long ledger;
    private final LedgerMetadata metadata;
    private final long[] ends;
    private final FileChannel data;
    private final Executor on;
    private final AtomicLong reads;

    OffloadedFile(Path data, Path index, long ledger, Executor on, AtomicLong reads) throws IOException {
        this.ledger = ledger;
        this.on = on;
        this.reads = reads;
        try (DataInputStream in = new DataInputStream(Files.newInputStream(index))) {
            this.metadata = OffloadUtils.parseLedgerMetadata(ledger, in.readNBytes(in.readInt()));
            this.ends = new long[in.readInt()];
            for (int i = 0; i < ends.length; i++) {
                ends[i] = in.readLong();
            }
        }
        this.data = FileChannel.open(data, StandardOpenOption.READ);
    }

    private LedgerEntry entry(long id) throws IOException {
        long from = id == 0 ? 0 : ends[(int) id - 1];
        ByteBuffer b = ByteBuffer.allocate((int) (ends[(int) id] - from));
        while (b.hasRemaining()) {
            if (data.read(b, from + b.position()) < 0) {
                throw new EOFException(ledger + ":" + id);
            }
        }
        reads.incrementAndGet();
        return LedgerEntryImpl.create(ledger, id, ends[(int) id], Unpooled.wrappedBuffer(b.flip()));
    }

    @Override
    public CompletableFuture<LedgerEntries> readAsync(long first, long last) {
        return CompletableFuture.supplyAsync(() -> {
            if (first < 0 || first > last || last >= ends.length) {
                throw new CompletionException(new BKException.BKIncorrectParameterException());
            }
            List<LedgerEntry> all = new ArrayList<>();
            try {
                for (long id = first; id <= last; id++) {
                    all.add(entry(id));
                }
            } catch (IOException e) {
                all.forEach(LedgerEntry::close);
                throw new CompletionException(e);
            }
            return LedgerEntriesImpl.create(all);
        }, on);
    }

    @Override
    public CompletableFuture<LedgerEntries> readUnconfirmedAsync(long first, long last) {
        return readAsync(first, last);
    }

    @Override
    public CompletableFuture<Long> readLastAddConfirmedAsync() {
        return CompletableFuture.completedFuture(getLastAddConfirmed());
    }

    @Override
    public CompletableFuture<Long> tryReadLastAddConfirmedAsync() {
        return CompletableFuture.completedFuture(getLastAddConfirmed());
    }

    @Override
    public long getLastAddConfirmed() {
        return ends.length - 1;
    }

    @Override
    public long getLength() {
        return ends.length == 0 ? 0 : ends[ends.length - 1];
    }

    @Override
    public boolean isClosed() {
        return true;
    }

    @Override
    public CompletableFuture<LastConfirmedAndEntry> readLastAddConfirmedAndEntryAsync(long id, long millis,
                                                                                      boolean parallel) {
        return CompletableFuture.failedFuture(new UnsupportedOperationException("an offloaded ledger does not grow"));
    }

    @Override
    public long getId() {
        return ledger;
    }

    @Override
    public LedgerMetadata getLedgerMetadata() {
        return metadata;
    }

    @Override
    public CompletableFuture<Void> closeAsync() {
        return CompletableFuture.runAsync(() -> {
            try {
                data.close();
            } catch (IOException e) {
                throw new CompletionException(e);
            }
        }, on);
    }

    /** Writes one; entries come in order. One thread at a time. */
    static final class Writer {
        private final Path index;
        private final FileChannel data;
        private final byte[] metadata;
        private final List<Long> ends = new ArrayList<>();
        private long end;

        Writer(Path data, Path index, long ledger, LedgerMetadata metadata) throws IOException {
            this.index = index;
            this.metadata = OffloadUtils.buildLedgerMetadataFormat(metadata);
            this.data = FileChannel.open(data, StandardOpenOption.CREATE_NEW, StandardOpenOption.WRITE);
        }

        void add(ByteBuffer entry) throws IOException {
            while (entry.hasRemaining()) {
                end += data.write(entry);
            }
            ends.add(end);
        }

        void close(boolean complete) throws IOException {
            data.close();
            if (!complete) {
                return;
            }
            Path unfinished = index.resolveSibling(index.getFileName() + ".part");
            try (DataOutputStream out = new DataOutputStream(new java.io.BufferedOutputStream(
                    Files.newOutputStream(unfinished)))) {
                out.writeInt(metadata.length);
                out.write(metadata);
                out.writeInt(ends.size());
                for (long e : ends) {
                    out.writeLong(e);
                }
            }
            Files.move(unfinished, index);
        }
    }
}
