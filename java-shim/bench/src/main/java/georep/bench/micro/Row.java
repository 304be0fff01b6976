// SPDX-License-Identifier: Apache-2.0
package georep.bench.micro;

import com.fasterxml.jackson.annotation.JsonInclude;
import java.util.Arrays;
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
        double[] ratios = new double[ours.length];
        for (int i = 0; i < ratios.length; i++) {
            ratios[i] = ours[i] == peer[i] ? 1 : peer[i] / ours[i];
        }
        double middle = quantile(ratios, 0.5);
        return new Row(name, unit, round(quantile(ours, 0.5)), round(quantile(peer, 0.5)), peerName, round(middle),
                target, round((quantile(ratios, 0.75) - quantile(ratios, 0.25)) / middle), ours.length, oursOutBytes,
                peerOutBytes, note);
    }

    /** Between the two values beside it where it falls between. */
    static double quantile(double[] values, double q) {
        double[] sorted = values.clone();
        Arrays.sort(sorted);
        double at = q * (sorted.length - 1);
        int low = (int) at;
        int high = Math.min(low + 1, sorted.length - 1);
        return sorted[low] + (at - low) * (sorted[high] - sorted[low]);
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
