// SPDX-License-Identifier: Apache-2.0
package georep.plugin.dest;

/** One stream of replicated entries, as the core counts them: georep.v1.OriginKey. */
public record OriginKey(String cluster, String instance, long segment, long generation) {
}
