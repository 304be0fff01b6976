// SPDX-License-Identifier: Apache-2.0
package georep.it;

import java.util.List;
import java.util.Map;
import java.util.concurrent.CopyOnWriteArrayList;
import org.apache.logging.log4j.Level;
import org.apache.logging.log4j.LogManager;
import org.apache.logging.log4j.core.LogEvent;
import org.apache.logging.log4j.core.LoggerContext;
import org.apache.logging.log4j.core.appender.AbstractAppender;
import org.apache.logging.log4j.core.config.Configuration;
import org.apache.logging.log4j.core.config.LoggerConfig;
import org.apache.logging.log4j.core.config.Property;

/** What one logger writes while this is open. */
final class LogLines extends AbstractAppender implements AutoCloseable {
    private final List<String> lines = new CopyOnWriteArrayList<>();
    private final String logger;

    private LogLines(String logger) {
        super("lines of " + logger, null, null, true, Property.EMPTY_ARRAY);
        this.logger = logger;
    }

    static LogLines of(String logger, Level level) {
        LogLines l = new LogLines(logger);
        l.start();
        LoggerConfig c = new LoggerConfig(logger, level, true);
        c.addAppender(l, level, null);
        context().getConfiguration().addLogger(logger, c);
        context().updateLoggers();
        return l;
    }

    private static LoggerContext context() {
        return (LoggerContext) LogManager.getContext(false);
    }

    @Override
    public void append(LogEvent e) {
        Map<String, String> attributes = e.getContextData().toMap();
        lines.add(e.getLevel() + " " + e.getMessage().getFormattedMessage()
                + (attributes.isEmpty() ? "" : " " + attributes));
    }

    /** Those with this text in them, or in their attributes. */
    List<String> with(String text) {
        return lines.stream().filter(l -> l.contains(text)).toList();
    }

    @Override
    public void close() {
        Configuration c = context().getConfiguration();
        c.removeLogger(logger);
        context().updateLoggers();
        stop();
    }
}
