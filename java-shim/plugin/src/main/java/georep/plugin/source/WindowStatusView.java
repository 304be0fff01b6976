// SPDX-License-Identifier: Apache-2.0
package georep.plugin.source;

import georep.nativelib.Window;
import java.util.concurrent.locks.ReentrantLock;
import java.util.function.IntSupplier;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * A window's status for threads that must not wait: metrics and HTTP. A step may open a large batch, and the library
 * would make a question wait for its end; here it gets the status from before the step instead. Thread-safe.
 */
final class WindowStatusView {
    private static final Logger LOG = LoggerFactory.getLogger(WindowStatusView.class);

    private final Window window;
    private final ReentrantLock inside = new ReentrantLock();
    private volatile String last = "{}";
    private volatile boolean missed;

    WindowStatusView(Window window) {
        this.window = window;
    }

    /** Runs a call that may take long. On the window's executor. */
    int during(IntSupplier call) {
        inside.lock();
        try {
            return call.getAsInt();
        } finally {
            if (missed) { // somebody asks while we are busy: the next answer is not older than this
                missed = false;
                last = window.statusJson();
            }
            inside.unlock();
        }
    }

    /** JSON of georep.v1.WindowStatus, or null when the window is closed. Never waits for a step. */
    String json() {
        if (!inside.tryLock()) {
            missed = true;
            return window.isClosed() ? null : last;
        }
        try {
            last = window.statusJson();
            return last;
        } catch (IllegalStateException e) {
            return null;
        } finally {
            inside.unlock();
        }
    }

    /** What there is to say before the window is closed; of one that failed what was known. On its executor. */
    String last() {
        inside.lock(); // at most for another question
        try {
            last = window.statusJson();
        } catch (RuntimeException e) {
            LOG.debug("last status: {}", e.toString());
        } finally {
            inside.unlock();
        }
        return last;
    }
}
