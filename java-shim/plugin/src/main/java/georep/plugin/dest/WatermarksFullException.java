// SPDX-License-Identifier: Apache-2.0
package georep.plugin.dest;

/** More streams are stored in a segment than its watermarks may hold: deduplication there would not be safe. */
public final class WatermarksFullException extends RuntimeException {
    private static final long serialVersionUID = 1L;

    public WatermarksFullException(String message, Throwable cause) {
        super(message, cause);
    }
}
