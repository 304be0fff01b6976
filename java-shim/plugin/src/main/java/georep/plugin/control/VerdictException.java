// SPDX-License-Identifier: Apache-2.0
package georep.plugin.control;

/** A wish that did not come true, or not yet. */
public final class VerdictException extends RuntimeException {
    private static final long serialVersionUID = 1;

    private final String code;

    /** {@code code}: name of a ConvergeCode. */
    VerdictException(String code, String text) {
        super(readable(code) + (text.isEmpty() ? "" : ": " + text));
        this.code = code;
    }

    public String code() {
        return code;
    }

    private static String readable(String code) {
        return code.replace("CONVERGE_CODE_", "").toLowerCase(java.util.Locale.ROOT).replace('_', '-');
    }
}
