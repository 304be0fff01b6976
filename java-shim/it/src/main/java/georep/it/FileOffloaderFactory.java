// SPDX-License-Identifier: Apache-2.0
package georep.it;

import java.io.IOException;
import java.nio.file.Path;
import java.util.Map;
import org.apache.bookkeeper.common.util.OrderedScheduler;
import org.apache.bookkeeper.mledger.LedgerOffloaderFactory;
import org.apache.bookkeeper.mledger.LedgerOffloaderStats;
import org.apache.pulsar.common.policies.data.OffloadPoliciesImpl;

/** Makes the broker's {@link FileOffloader}; its folder is broker.conf's fileSystemURI. */
public final class FileOffloaderFactory implements LedgerOffloaderFactory<FileOffloader> {
    @Override
    public boolean isDriverSupported(String driverName) {
        return FileOffloader.DRIVER.equals(driverName);
    }

    @Override
    public FileOffloader create(OffloadPoliciesImpl policies, Map<String, String> metadata, OrderedScheduler threads)
            throws IOException {
        return new FileOffloader(Path.of(policies.getFileSystemURI()), policies, threads::chooseThread);
    }

    @Override
    public FileOffloader create(OffloadPoliciesImpl policies, Map<String, String> metadata, OrderedScheduler threads,
                                LedgerOffloaderStats stats) throws IOException {
        return create(policies, metadata, threads);
    }
}
