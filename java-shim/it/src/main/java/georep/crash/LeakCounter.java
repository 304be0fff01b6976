// SPDX-License-Identifier: Apache-2.0
package georep.crash;

import io.netty.util.ResourceLeakDetector;
import io.netty.util.ResourceLeakDetectorFactory;
import java.util.concurrent.atomic.AtomicInteger;

/** Counts what Netty's leak detector finds in this process, and prints each find to standard error. */
final class LeakCounter extends ResourceLeakDetectorFactory {
    private static final AtomicInteger FOUND = new AtomicInteger();

    private LeakCounter() {
    }

    /** Before the first buffer. */
    static void install() {
        ResourceLeakDetector.setLevel(ResourceLeakDetector.Level.PARANOID);
        ResourceLeakDetectorFactory.setResourceLeakDetectorFactory(new LeakCounter());
    }

    static int found() {
        return FOUND.get();
    }

    @Override
    public <T> ResourceLeakDetector<T> newResourceLeakDetector(Class<T> resource, int interval, long maxActive) {
        return new Detector<>(resource, interval);
    }

    private static final class Detector<T> extends ResourceLeakDetector<T> {
        Detector(Class<T> resource, int interval) {
            super(resource, interval);
        }

        @Override
        protected boolean needReport() {
            return true; // not only where a logger asks for it
        }

        @Override
        protected void reportTracedLeak(String type, String records) {
            found(type, records);
        }

        @Override
        protected void reportUntracedLeak(String type) {
            found(type, "");
        }

        private static void found(String type, String records) {
            FOUND.incrementAndGet();
            System.err.println("LEAK " + type + records);
        }
    }
}
