// SPDX-License-Identifier: Apache-2.0
package georep.demo;

import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.time.Duration;

/** What the plugin says of itself in a broker's /metrics, added up over remotes. */
final class Metrics {
    private static final HttpClient HTTP = HttpClient.newBuilder().followRedirects(HttpClient.Redirect.NORMAL).build();

    private final HttpRequest request;

    Metrics(String webServiceAddress) {
        request = HttpRequest.newBuilder(URI.create(webServiceAddress + "/metrics/")).timeout(Duration.ofSeconds(20))
                .build();
    }

    /**
     * One scrape.
     *
     * @param verbatim  entries that were sent unopened: verbatim, single and unkeyed ones
     * @param rebatched entries that were cut
     * @param parts     what they were cut into
     * @param parked    entries that wait for an operator
     * @param backlog   entries behind the replication cursors
     */
    record Sample(long verbatim, long rebatched, long parts, long parked, long backlog) {
    }

    Sample sample() throws Exception {
        String text = HTTP.send(request, HttpResponse.BodyHandlers.ofString()).body();
        long[] n = new long[5];
        text.lines().filter(l -> l.startsWith("pulsar_georep_")).forEach(l -> {
            long v = (long) Double.parseDouble(l.substring(l.lastIndexOf(' ') + 1));
            if (l.startsWith("pulsar_georep_entries_total")) {
                if (l.contains("path=\"verbatim\"") || l.contains("path=\"single\"")
                        || l.contains("path=\"unkeyed\"")) {
                    n[0] += v;
                } else if (l.contains("path=\"rebatched\"")) {
                    n[1] += v;
                }
            } else if (l.startsWith("pulsar_georep_parts_total")) {
                n[2] += v;
            } else if (l.startsWith("pulsar_georep_parked{")) {
                n[3] += v;
            } else if (l.startsWith("pulsar_georep_backlog{")) {
                n[4] += v;
            }
        });
        return new Sample(n[0], n[1], n[2], n[3], n[4]);
    }
}
