// SPDX-License-Identifier: Apache-2.0
package georep.it;

import java.nio.file.Path;
import java.util.concurrent.atomic.AtomicInteger;

/** Folders for test clusters. */
final class Dirs {
    private static final AtomicInteger NEXT = new AtomicInteger();

    private Dirs() {
    }

    /** A new one under the build folder. */
    static Path fresh() {
        return Path.of(System.getProperty("georep.it.dir", "target/clusters"),
                ProcessHandle.current().pid() + "-" + NEXT.incrementAndGet());
    }
}
