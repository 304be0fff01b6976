// SPDX-License-Identifier: Apache-2.0
package georep.crash;

import java.util.List;
import java.util.Random;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import org.apache.pulsar.client.admin.PulsarAdmin;
import org.apache.pulsar.common.policies.data.ScalableTopicMetadata;
import org.apache.pulsar.common.policies.data.ScalableTopicMetadata.SegmentInfo;

/** Splits and merges segments of either cluster at random, as often as the brokers that are up let it. */
final class LayoutChanges implements AutoCloseable {
    private static final int MOST_SEGMENTS = 6;
    private static final int PAUSE_MILLIS = 8000;
    private static final int CALL_SECONDS = 30;

    private final List<CrashCluster> clusters;
    private final String topic;
    private final Random random;
    private final AtomicInteger splits = new AtomicInteger();
    private final AtomicInteger merges = new AtomicInteger();
    private final Thread thread = new Thread(this::loop, "layouts");
    private volatile boolean running;

    LayoutChanges(List<CrashCluster> clusters, String topic, long seed) {
        this.clusters = clusters;
        this.topic = topic;
        this.random = new Random(seed);
        thread.setDaemon(true);
        thread.start();
    }

    private void loop() {
        try {
            while (true) {
                Thread.sleep(PAUSE_MILLIS / 2 + random.nextInt(PAUSE_MILLIS));
                CrashCluster c = clusters.get(random.nextInt(clusters.size()));
                if (running) {
                    change(c);
                }
            }
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }

    private void change(CrashCluster c) throws InterruptedException {
        try {
            PulsarAdmin admin = c.admin();
            List<SegmentInfo> active = active(admin);
            int i = random.nextInt(active.size());
            if (active.size() < MOST_SEGMENTS && (active.size() < 2 || random.nextBoolean())) {
                admin.scalableTopics().splitSegmentAsync(topic, active.get(i).getSegmentId())
                        .get(CALL_SECONDS, TimeUnit.SECONDS);
                splits.incrementAndGet();
            } else if (active.size() > 1) {
                int left = Math.min(i, active.size() - 2);
                admin.scalableTopics().mergeSegmentsAsync(topic, active.get(left).getSegmentId(),
                        active.get(left + 1).getSegmentId()).get(CALL_SECONDS, TimeUnit.SECONDS);
                merges.incrementAndGet();
            }
        } catch (InterruptedException e) {
            throw e;
        } catch (Exception e) {
            // no broker was up, or the one that led the topic died under way: another time
        }
    }

    private List<SegmentInfo> active(PulsarAdmin admin) throws Exception {
        ScalableTopicMetadata m = admin.scalableTopics().getMetadataAsync(topic).get(CALL_SECONDS, TimeUnit.SECONDS);
        return m.getSegments().values().stream().filter(SegmentInfo::isActive)
                .sorted((x, y) -> Integer.compare(x.getHashRange().getStart(), y.getHashRange().getStart())).toList();
    }

    void run(boolean on) {
        running = on;
    }

    int splits() {
        return splits.get();
    }

    int merges() {
        return merges.get();
    }

    @Override
    public void close() {
        thread.interrupt();
    }
}
