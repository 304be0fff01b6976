// SPDX-License-Identifier: Apache-2.0
package georep.nativelib;

import java.nio.charset.StandardCharsets;

/** An immutable layout of one topic in one cluster: the whole DAG, sealed segments too. Any thread may use it. */
public final class Layout extends NativeHandle {
    private Layout(long handle) {
        super(handle);
    }

    /** From Pulsar's ScalableTopicMetadata JSON, as stored or as an admin prints it; the profile is guessed. */
    public static Layout fromPulsarJson(String json) {
        return fromPulsarJson(json, 0);
    }

    /**
     * The same with the profile of segments that record none.
     *
     * @param profile {@link Peer#PROFILE_M1}, {@link Peer#PROFILE_PIP486}, or 0 to guess
     */
    public static Layout fromPulsarJson(String json, int profile) {
        return make(json.getBytes(StandardCharsets.UTF_8), (bytes, len, out, err) ->
                Native.layoutNew(bytes, len, profile, out, err));
    }

    /** From the bytes of a georep.v1.Layout. */
    public static Layout fromProto(byte[] layout) {
        return make(layout, Native::layoutFromProto);
    }

    /** From the bytes of a georep.v1.PeerState. */
    public static Layout fromState(byte[] peerState) {
        return make(peerState, Native::layoutFromState);
    }

    /** The bytes of the georep.v1.Layout. */
    public byte[] toProto() {
        return Scratch.local().bytes(4096, (out, cap, len, err) -> Native.layoutToProto(handle(), out, cap, len, err));
    }

    /** The proto3 JSON of the georep.v1.Layout. */
    public String toJson() {
        return Json.fromProto("Layout", toProto());
    }

    @FunctionalInterface
    private interface Maker {
        int make(long bytes, int len, long out, long err);
    }

    private static Layout make(byte[] bytes, Maker m) {
        Scratch s = Scratch.local();
        s.throwUnlessOk(Scratch.with(bytes, (in, n) -> m.make(in, n, s.at(0), s.err)));
        return new Layout(s.getLong(0));
    }

    @Override
    int free(long handle) {
        return Native.layoutFree(handle);
    }
}
