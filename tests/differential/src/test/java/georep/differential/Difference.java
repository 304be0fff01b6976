// SPDX-License-Identifier: Apache-2.0
package georep.differential;

import java.util.Locale;

/**
 * Kinds of differences between Pulsar's classes and the core. Each has a row with its reason in the README of this
 * module; nothing else may differ.
 */
enum Difference {
    // bytes that only a broken or hostile writer makes
    PAST_END, LONG_VARINT, FIELD_ZERO, WIDE_TAG, WIDE_LENGTH,
    // declared sizes and counts
    DECLARED_SIZE, NO_DECLARED_SIZE, NONE_DECLARED_SIZE, OVER_THE_CAP, COUNT_NOT_POSITIVE, COUNT_IMPLAUSIBLE,
    BYTES_LEFT_OVER,
    // codecs
    UNKNOWN_CODEC, ZLIB_END, ZLIB_TAIL, ZSTD_REFERENCE, LZ4_LAST_TOKEN,
    // what the core does not read
    NOT_OPENED, CHECKSUM_TRAVELS,
    // text
    KEY_NOT_UTF8, CHUNK_ID_ALONE;

    /** The name in the table. */
    String label() {
        return name().toLowerCase(Locale.ROOT).replace('_', '-');
    }
}
