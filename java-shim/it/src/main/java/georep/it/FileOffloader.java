// SPDX-License-Identifier: Apache-2.0
package georep.it;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Map;
import java.util.Set;
import java.util.UUID;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.Executor;
import java.util.concurrent.ForkJoinPool;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.LongFunction;
import java.util.zip.ZipEntry;
import java.util.zip.ZipOutputStream;
import org.apache.bookkeeper.client.api.LedgerEntries;
import org.apache.bookkeeper.client.api.ReadHandle;
import org.apache.bookkeeper.mledger.LedgerOffloader;
import org.apache.pulsar.common.policies.data.OffloadPolicies;
import org.apache.pulsar.common.policies.data.OffloadPoliciesImpl;

/**
 * Tiered storage in a folder: every offloaded ledger is a file of its entries and one of their places, with the
 * ledger's metadata. A broker gets it as it gets any offloader, by a NAR in its offloaders' folder and the driver's
 * name in broker.conf. Thread-safe.
 */
public final class FileOffloader implements LedgerOffloader {
    public static final String DRIVER = "georep-files";

    private static final int ENTRIES_PER_READ = 100;
    /** By folder: the broker's offloader is another object than the test's. */
    private static final Map<Path, Shared> SHARED = new ConcurrentHashMap<>();

    private static final class Shared {
        final AtomicLong reads = new AtomicLong();
        final Set<Long> refused = ConcurrentHashMap.newKeySet();
    }

    private final Path dir;
    private final OffloadPolicies policies;
    private final LongFunction<Executor> threads;
    private final Shared shared;

    public FileOffloader(Path dir) throws IOException {
        this(dir, new OffloadPoliciesImpl(), ledger -> ForkJoinPool.commonPool());
    }

    FileOffloader(Path dir, OffloadPolicies policies, LongFunction<Executor> threads) throws IOException {
        this.dir = Files.createDirectories(dir.toAbsolutePath());
        this.policies = policies;
        this.threads = threads;
        this.shared = SHARED.computeIfAbsent(this.dir, d -> new Shared());
    }

    Path dir() {
        return dir;
    }

    /** Entries that were read back out of this folder, by whomever. */
    public long reads() {
        return shared.reads.get();
    }

    /** This ledger cannot be offloaded from now on. */
    public void refuse(long ledger) {
        shared.refused.add(ledger);
    }

    /** Ledgers that are in the folder now. */
    public long ledgers() throws IOException {
        try (var files = Files.list(dir)) {
            return files.filter(f -> f.toString().endsWith(".index")).count();
        }
    }

    /** A folder for broker.conf's offloadersDirectory; the class itself comes with the broker's own loader. */
    Path nars() throws IOException {
        Path nars = Files.createDirectories(dir.resolve("nars"));
        try (ZipOutputStream nar = new ZipOutputStream(Files.newOutputStream(nars.resolve("files.nar")))) {
            nar.putNextEntry(new ZipEntry("META-INF/bundled-dependencies/"));
            nar.putNextEntry(new ZipEntry("META-INF/services/pulsar-offloader.yaml"));
            nar.write(("name: files\ndescription: ledgers in a folder\noffloaderFactoryClass: "
                    + FileOffloaderFactory.class.getName() + "\n").getBytes(java.nio.charset.StandardCharsets.UTF_8));
        }
        return nars;
    }

    private Path file(long ledger, UUID uid, String kind) {
        return dir.resolve(ledger + "-" + uid + kind);
    }

    @Override
    public String getOffloadDriverName() {
        return DRIVER;
    }

    @Override
    public Map<String, String> getOffloadDriverMetadata() {
        return Map.of("folder", dir.toString());
    }

    @Override
    public OffloadPolicies getOffloadPolicies() {
        return policies;
    }

    @Override
    public CompletableFuture<Void> offload(ReadHandle ledger, UUID uid, Map<String, String> extra) {
        if (shared.refused.contains(ledger.getId())) {
            return CompletableFuture.failedFuture(new IOException("the folder does not take ledger " + ledger.getId()));
        }
        Executor on = threads.apply(ledger.getId());
        return CompletableFuture.supplyAsync(() -> open(ledger, uid), on)
                .thenCompose(copy -> copy(ledger, copy, 0, on).whenCompleteAsync((x, e) -> close(copy, e == null), on));
    }

    private OffloadedFile.Writer open(ReadHandle ledger, UUID uid) {
        try {
            return new OffloadedFile.Writer(file(ledger.getId(), uid, ".data"), file(ledger.getId(), uid, ".index"),
                    ledger.getId(), ledger.getLedgerMetadata());
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    private CompletableFuture<Void> copy(ReadHandle from, OffloadedFile.Writer to, long first, Executor on) {
        long end = from.getLastAddConfirmed();
        if (first > end) {
            return CompletableFuture.completedFuture(null);
        }
        long last = Math.min(end, first + ENTRIES_PER_READ - 1);
        return from.readAsync(first, last).thenComposeAsync(entries -> {
            try (LedgerEntries all = entries) {
                for (var e : all) {
                    to.add(e.getEntryNioBuffer());
                }
            } catch (IOException e) {
                throw new UncheckedIOException(e);
            }
            return copy(from, to, last + 1, on);
        }, on);
    }

    private static void close(OffloadedFile.Writer copy, boolean complete) {
        try {
            copy.close(complete);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    @Override
    public CompletableFuture<ReadHandle> readOffloaded(long ledger, UUID uid, Map<String, String> driver) {
        Executor on = threads.apply(ledger);
        return CompletableFuture.supplyAsync(() -> {
            try {
                return new OffloadedFile(file(ledger, uid, ".data"), file(ledger, uid, ".index"), ledger, on,
                        shared.reads);
            } catch (IOException e) {
                throw new UncheckedIOException(e);
            }
        }, on);
    }

    @Override
    public CompletableFuture<Void> deleteOffloaded(long ledger, UUID uid, Map<String, String> driver) {
        return CompletableFuture.runAsync(() -> {
            try {
                Files.deleteIfExists(file(ledger, uid, ".index"));
                Files.deleteIfExists(file(ledger, uid, ".data"));
            } catch (IOException e) {
                throw new UncheckedIOException(e);
            }
        }, threads.apply(ledger));
    }

    @Override
    public void close() {
        // the threads are the broker's
    }
}
