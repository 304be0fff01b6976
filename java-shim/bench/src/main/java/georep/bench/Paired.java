// SPDX-License-Identifier: Apache-2.0
package georep.bench;

import java.util.ArrayList;
import java.util.Collection;
import java.util.List;

/**
 * What was measured of ours and of a peer, round by round. Rounds are compared one by one, since a machine is not the
 * same for long; of the comparisons the median counts. A ratio is always larger for the better.
 */
public final class Paired {
    /** Whether much or little of it is good. */
    public enum Better { LARGER, SMALLER }

    private final Better better;
    private final List<Double> ours = new ArrayList<>();
    private final List<Double> peer = new ArrayList<>();

    public Paired(Better better) {
        this.better = better;
    }

    public Paired add(double oursNow, double peerNow) {
        ours.add(oursNow);
        peer.add(peerNow);
        return this;
    }

    public int rounds() {
        return ours.size();
    }

    public double ours() {
        return quantile(ours, 0.5);
    }

    public double peer() {
        return quantile(peer, 0.5);
    }

    public double ratio() {
        return quantile(ratios(), 0.5);
    }

    /** Distance of the quartiles of the rounds' ratios, as a share of their median. */
    public double spread() {
        List<Double> r = ratios();
        return (quantile(r, 0.75) - quantile(r, 0.25)) / quantile(r, 0.5);
    }

    private List<Double> ratios() {
        List<Double> r = new ArrayList<>();
        for (int i = 0; i < ours.size(); i++) {
            double a = better == Better.LARGER ? ours.get(i) : peer.get(i);
            double b = better == Better.LARGER ? peer.get(i) : ours.get(i);
            r.add(a == b ? 1 : a / b); // nothing beside nothing, too
        }
        return r;
    }

    /** Linear between the two nearest values. */
    public static double quantile(Collection<Double> values, double q) {
        List<Double> v = values.stream().sorted().toList();
        double at = q * (v.size() - 1);
        int below = (int) at;
        int above = Math.min(below + 1, v.size() - 1);
        return v.get(below) + (v.get(above) - v.get(below)) * (at - below);
    }
}
