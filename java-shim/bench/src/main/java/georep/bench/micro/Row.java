// SPDX-License-Identifier: Apache-2.0
package georep.bench.micro;

import com.fasterxml.jackson.annotation.JsonInclude;
import georep.bench.Paired;
import georep.bench.Paired.Better;
import java.util.Locale;

/**
 * One line of the report; what a row does not have is null and left out.
 *
 * @param ours         median of the rounds
 * @param peer         median of the rounds
 * @param ratio        median of the rounds' own peer / ours: how many times the peer's cost is
 * @param target       what the ratio has to be
 * @param spread       of these ratios, their middle half over the median
 * @param oursOutBytes payload of all parts
 * @param note         what the name does not say
 */
@JsonInclude(JsonInclude.Include.NON_NULL)
record Row(String name, String unit, double ours, double peer, String peerName, double ratio, Double target,
           double spread, int rounds, Long oursOutBytes, Long peerOutBytes, String note) {
    static final double MORE_BYTES = 1.03;

    static Row of(String name, String unit, double[] ours, double[] peer, String peerName, Double target,
                  Long oursOutBytes, Long peerOutBytes, String note) {
        Paired p = new Paired(Better.SMALLER);
        for (int i = 0; i < ours.length; i++) {
            p.add(ours[i], peer[i]);
        }
        return new Row(name, unit, round(p.ours()), round(p.peer()), peerName, round(p.ratio()), target,
                round(p.spread()), p.rounds(), oursOutBytes, peerOutBytes, note);
    }

    private static double round(double v) {
        return Math.round(v * 1000) / 1000.0;
    }

    /** For people; says where a target is missed or the output is too large. */
    String text() {
        StringBuilder s = new StringBuilder(String.format(Locale.ROOT, "%-28s %12.3f %12.3f %-9s %7.2f", name, ours,
                peer, unit, ratio));
        s.append(String.format(Locale.ROOT, " %7s  +-%2.0f%%", target == null ? "" : target, spread * 50));
        if (target != null) {
            s.append(ratio >= target ? "  ok" : "  MISSED");
        }
        if (oursOutBytes != null) {
            double bytes = (double) oursOutBytes / peerOutBytes;
            s.append(String.format(Locale.ROOT, "  bytes x%.3f%s", bytes, bytes > MORE_BYTES ? " TOO MANY" : ""));
        }
        return s.toString();
    }
}
