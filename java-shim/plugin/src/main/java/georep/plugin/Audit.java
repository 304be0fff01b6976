// SPDX-License-Identifier: Apache-2.0
package georep.plugin;

import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** Writes who did what to replication, one line at INFO on logger {@code georep.audit}. */
public final class Audit {
    private static final Logger LOG = LoggerFactory.getLogger("georep.audit");

    private Audit() {
    }

    /** {@code who}: role and address of the caller, or the component that acted by itself. */
    public static void log(String who, String call, String topic, String arguments) {
        LOG.info("who={} call={} topic={} {}", who, call, topic, arguments);
    }
}
