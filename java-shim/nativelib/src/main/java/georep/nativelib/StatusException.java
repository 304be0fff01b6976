// SPDX-License-Identifier: Apache-2.0
package georep.nativelib;

/** A native call that did not end with GEOREP_OK: the status number of georep.h and the library's text. */
public final class StatusException extends RuntimeException {
    private static final long serialVersionUID = 1L;
    private static final String[] NAMES = {"ok", "argument", "handle", "format", "limit", "space", "panic", "abi",
        "unsupported", "state", "event", "fault"};

    private final int code;

    StatusException(int code, String text) {
        super("georep: " + name(code) + (text == null || text.isEmpty() ? "" : ": " + text));
        this.code = code;
    }

    /** One of {@link Status}'s numbers. */
    public int code() {
        return code;
    }

    static String name(int code) {
        return code >= 0 && code < NAMES.length ? NAMES[code] : "status " + code;
    }
}
