// SPDX-License-Identifier: Apache-2.0
package georep.nativelib;

import java.nio.charset.StandardCharsets;

/** Conversions between the bytes and the proto3 JSON of georep.proto's messages, named without package. */
public final class Json {
    private Json() {}

    /** The JSON of a message, for example {@code fromProto("PeerState", bytes)}. */
    public static String fromProto(String message, byte[] bytes) {
        return new String(convert(message, bytes, Native::protoToJson), StandardCharsets.UTF_8);
    }

    /** The bytes of a message given as JSON; an unknown field is an error that names it, but in what peers say. */
    public static byte[] toProto(String message, String json) {
        return convert(message, json.getBytes(StandardCharsets.UTF_8), Native::protoFromJson);
    }

    @FunctionalInterface
    private interface Converter {
        int convert(long name, int nameLen, long in, int n, long out, long cap, long lenOut, long err);
    }

    private static byte[] convert(String message, byte[] in, Converter c) {
        byte[] name = message.getBytes(StandardCharsets.UTF_8);
        return Scratch.local().bytes(Math.max(1024, in.length * 2), (out, cap, len, err) ->
                Scratch.with(name, (n, nLen) -> Scratch.with(in, (b, bLen) ->
                        c.convert(n, nLen, b, bLen, out, cap, len, err))));
    }
}
