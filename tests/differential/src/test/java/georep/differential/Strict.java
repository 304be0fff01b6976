// SPDX-License-Identifier: Apache-2.0
package georep.differential;

/**
 * Walks over a protobuf message with every bound that the format has, and names the first thing that breaks one. This
 * is what the core refuses and Pulsar's generated classes, which check against the end of the buffer alone, may not.
 */
final class Strict {
    /** Messages with messages inside. */
    enum Shape { METADATA, SINGLE, KEY_VALUE, ENCRYPTION_KEY, PACKED }

    private final byte[] b;
    private int at;
    private final int end;

    private Strict(byte[] b, int at, int end) {
        this.b = b;
        this.at = at;
        this.end = end;
    }

    /** The first oddity of a message, or null. */
    static Difference oddity(byte[] message, Shape shape) {
        return new Strict(message, 0, message.length).walk(shape);
    }

    private Difference walk(Shape shape) {
        while (at < end) {
            if (shape == Shape.PACKED) {
                Difference d = skipVarint();
                if (d != null) {
                    return d;
                }
                continue;
            }
            Difference d = field(shape);
            if (d != null) {
                return d;
            }
        }
        return null;
    }

    private Difference field(Shape shape) {
        int start = at;
        Difference d = skipVarint();
        if (d != null) {
            return d;
        }
        long tag = Fields.varint(b, start);
        if (tag >>> 3 == 0) {
            return Difference.FIELD_ZERO;
        }
        if (tag >>> 32 != 0) {
            return Difference.WIDE_TAG;
        }
        return switch ((int) tag & 7) {
            case Fields.VARINT -> skipVarint();
            case Fields.FIXED64 -> skip(8);
            case Fields.FIXED32 -> skip(4);
            case Fields.BYTES -> delimited(inner(shape, (int) (tag >>> 3)));
            default -> null; // groups: both refuse
        };
    }

    private static Shape inner(Shape outer, int field) {
        return switch (outer) {
            case METADATA -> switch (field) {
                case 4 -> Shape.KEY_VALUE;
                case 13 -> Shape.ENCRYPTION_KEY;
                case 31 -> Shape.PACKED;
                default -> null;
            };
            case SINGLE -> field == 1 ? Shape.KEY_VALUE : null;
            case ENCRYPTION_KEY -> field == 3 ? Shape.KEY_VALUE : null;
            default -> null;
        };
    }

    private Difference delimited(Shape inner) {
        int start = at;
        Difference d = skipVarint();
        if (d != null) {
            return d;
        }
        long n = Fields.varint(b, start);
        if (n < 0 || n > Integer.MAX_VALUE) {
            return Difference.WIDE_LENGTH;
        }
        if (n > end - at) {
            return Difference.PAST_END;
        }
        if (inner != null) {
            d = new Strict(b, at, at + (int) n).walk(inner);
        }
        at += (int) n;
        return d;
    }

    private Difference skip(int n) {
        if (n > end - at) {
            return Difference.PAST_END;
        }
        at += n;
        return null;
    }

    private Difference skipVarint() {
        for (int i = 0; i < 10; i++) {
            if (at >= end) {
                return Difference.PAST_END;
            }
            if (b[at++] >= 0) {
                return null;
            }
        }
        return Difference.LONG_VARINT;
    }
}
