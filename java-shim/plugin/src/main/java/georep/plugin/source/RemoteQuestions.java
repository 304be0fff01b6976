// SPDX-License-Identifier: Apache-2.0
package georep.plugin.source;

import com.fasterxml.jackson.databind.JsonNode;
import georep.nativelib.Georep;
import georep.nativelib.Window;
import java.io.IOException;
import java.util.concurrent.CompletableFuture;
import org.apache.pulsar.common.util.ObjectMapperFactory;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** What one window asks its remote: final watermarks of sealed segments, and schema versions. Thread-safe. */
final class RemoteQuestions {
    private static final Logger LOG = LoggerFactory.getLogger(RemoteQuestions.class);

    /** Receives the answers, on any thread. */
    interface Asker {
        /** Status is one of Window's WATERMARK numbers. */
        void watermark(long segment, int status, long ledger, long entry, long part);

        void schemaMapped(byte[] local, byte[] there);

        void schemaFailed(byte[] local, String why);
    }

    private final RemoteTopic remote;
    private final String cluster;
    private final SourceIdentity self;
    private final String localSegment;
    private final String producerName;
    private final Asker asker;

    RemoteQuestions(RemoteTopic remote, String cluster, SourceIdentity self, String localSegment, String producerName,
                    Asker asker) {
        this.remote = remote;
        this.cluster = cluster;
        this.self = self;
        this.localSegment = localSegment;
        this.producerName = producerName;
        this.asker = asker;
    }

    /** Asks for the last position of this window's stream that a sealed remote segment has. */
    void watermark(long segment) {
        String json = "{\"topic\":" + quote(self.topic().toString()) + ",\"segment\":\"" + segment
                + "\",\"key\":{\"cluster\":" + quote(cluster) + ",\"instance\":" + quote(self.instance())
                + ",\"segment\":\"" + self.segment() + "\",\"generation\":\"" + self.generation() + "\"}}";
        remote.watermark(json).whenComplete((answer, e) -> {
            Throwable failure = e;
            if (e == null) {
                try {
                    answered(segment, ObjectMapperFactory.getMapper().reader().readTree(answer));
                    return;
                } catch (IOException | RuntimeException bad) {
                    failure = bad;
                }
            }
            remote.failure(failure);
            LOG.debug("[{}] watermark of remote segment {}: {}", localSegment, segment, failure.toString());
            asker.watermark(segment, Window.WATERMARK_FAILED, 0, 0, 0);
        });
    }

    private void answered(long segment, JsonNode n) {
        int status = switch (n.path("status").asText()) {
            case "WATERMARK_STATUS_KNOWN" -> Window.WATERMARK_KNOWN;
            case "WATERMARK_STATUS_NONE" -> Window.WATERMARK_NONE;
            case "WATERMARK_STATUS_NOT_FINAL" -> Window.WATERMARK_NOT_FINAL;
            case "WATERMARK_STATUS_GONE" -> Window.WATERMARK_GONE;
            default -> Window.WATERMARK_FAILED;
        };
        JsonNode p = n.path("position");
        asker.watermark(segment, status, p.path("ledger").asLong(), p.path("entry").asLong(),
                n.has("part") ? n.path("part").asLong() : Georep.WHOLE);
    }

    private static String quote(String s) {
        return '"' + s.replace("\\", "\\\\").replace("\"", "\\\"") + '"';
    }

    /** Asks for the remote's version of a local schema version, registering the schema there if need be. */
    void schema(byte[] version) {
        String any = remote.anyActiveTopic();
        CompletableFuture<byte[]> f = any == null
                ? CompletableFuture.failedFuture(new IllegalStateException("no active remote segment"))
                : remote.schemas().map(version, localSegment, any, producerName);
        f.whenComplete((there, e) -> {
            if (e == null) {
                asker.schemaMapped(version, there);
            } else {
                remote.failure(e);
                LOG.warn("[{}] schema version cannot be used at the remote: {}", localSegment, e.toString());
                asker.schemaFailed(version, e.toString());
            }
        });
    }
}
