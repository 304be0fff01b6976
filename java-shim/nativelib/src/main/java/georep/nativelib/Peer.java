// SPDX-License-Identifier: Apache-2.0
package georep.nativelib;

/** Handshake: what this cluster says about a topic, and whether it may write to a remote. */
public final class Peer {
    /** Routing profiles of georep.proto. */
    public static final int PROFILE_M1 = 1;
    public static final int PROFILE_PIP486 = 2;

    /** The answers of {@link #check}. */
    public enum Verdict { UNSPECIFIED, SUPPORTED, UNSUPPORTED, INCOMPATIBLE }

    /**
     * @param verdict whether the local cluster may write to the remote
     * @param reason kebab-case, empty when supported
     * @param detail one sentence for people
     * @param prepare nothing is in the way but what the remote's controller leader has not written yet
     */
    public record Check(Verdict verdict, String reason, String detail, boolean prepare) {}

    private Peer() {}

    /**
     * The bytes of this cluster's PeerState.
     *
     * @param metadataJson Pulsar's ScalableTopicMetadata JSON as stored, with its properties
     * @param topic topic://tenant/namespace/name
     * @param defaultProfile for segments without a record of their own
     */
    public static byte[] buildState(String metadataJson, String cluster, String topic, long leaderTerm, long counter,
                                    int maxMessageBytes, int defaultProfile, String pluginVersion) {
        byte[] request = new Wire().string(1, metadataJson).string(2, cluster).string(3, topic).varint(4, leaderTerm)
                .varint(5, counter).varint(6, maxMessageBytes).varint(7, defaultProfile)
                .string(8, pluginVersion).bytes();
        return Scratch.local().bytes(8192, (out, cap, len, err) ->
                Scratch.with(request, (in, n) -> Native.stateBuild(in, n, out, cap, len, err)));
    }

    /** May the cluster of the first PeerState write to that of the second? */
    public static Check check(byte[] local, byte[] remote) {
        byte[] b = Scratch.local().bytes(1024, (out, cap, len, err) ->
                Scratch.with(local, (l, lLen) -> Scratch.with(remote, (r, rLen) ->
                        Native.peerCheck(l, lLen, r, rLen, out, cap, len, err))));
        Wire.Reader in = new Wire.Reader(b);
        Verdict verdict = Verdict.UNSPECIFIED;
        String reason = "";
        String detail = "";
        boolean prepare = false;
        while (in.next()) {
            switch (in.field()) {
                case 1 -> verdict = Verdict.values()[(int) in.varint()];
                case 2 -> reason = in.string();
                case 3 -> detail = in.string();
                case 4 -> prepare = in.varint() != 0;
                default -> in.skip();
            }
        }
        return new Check(verdict, reason, detail, prepare);
    }

    /**
     * OriginKeys: streams of the cluster of the PeerState that a remote holds (DedupStatus) and may forget. The state
     * must have been read after the remote's answer.
     */
    public static byte[] gone(byte[] state, byte[] held) {
        return Scratch.local().bytes(1024, (out, cap, len, err) ->
                Scratch.with(state, (s, sLen) -> Scratch.with(held, (h, hLen) ->
                        Native.peerGone(s, sLen, h, hLen, out, cap, len, err))));
    }
}
