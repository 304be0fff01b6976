// SPDX-License-Identifier: Apache-2.0
package georep.plugin.control;

import java.security.SecureRandom;
import java.util.Arrays;
import java.util.Collection;
import java.util.HexFormat;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import org.apache.pulsar.broker.resources.ScalableTopicMetadata;
import org.apache.pulsar.common.scalable.SegmentInfo;

/**
 * What Georep keeps in a scalable topic's record, as topic properties (layout changes keep them):
 *
 * <pre>
 *   georep.instance             128-bit id of this life of the topic name, hexadecimal
 *   georep.term                 raised by every new controller leader
 *   georep.remotes              remotes that replication is enabled for, comma-separated
 *   georep.generation.CLUSTER   raised whenever replication to CLUSTER is enabled or its cursors start anew
 *   georep.joined.CLUSTER       the layout's epoch when replication to CLUSTER was enabled
 *   georep.startAt[.CLUSTER]    an operator's choice of where replication of existing data begins
 *   georep.paused.CLUSTER       an operator has paused replication to CLUSTER: of segments to come as well
 *   georep.create.CLUSTER       the topic is still to be created there
 *   georep.segment.ID           {@link SegmentRecord}
 * </pre>
 *
 * A mutable copy of one record's properties: read, change, write back in the same compare-and-set. Not thread-safe.
 */
public final class TopicRecord {
    public static final String PREFIX = "georep.";
    public static final String INSTANCE = "georep.instance";
    public static final String TERM = "georep.term";
    public static final String REMOTES = "georep.remotes";
    public static final String GENERATION = "georep.generation.";
    public static final String JOINED = "georep.joined.";
    public static final String START_AT = "georep.startAt";
    public static final String PAUSED = "georep.paused.";
    public static final String CREATE = "georep.create.";
    public static final String SEGMENT = "georep.segment.";

    private static final SecureRandom RANDOM = new SecureRandom();

    private final Map<String, String> properties;
    private final Map<String, String> before;

    private TopicRecord(Map<String, String> properties) {
        this.before = properties == null ? Map.of() : properties;
        this.properties = new TreeMap<>(before);
    }

    public static TopicRecord of(ScalableTopicMetadata metadata) {
        return new TopicRecord(metadata.getProperties());
    }

    /** Null before the topic was first replicated. */
    public String instance() {
        return properties.get(INSTANCE);
    }

    public long term() {
        return number(TERM);
    }

    public Set<String> remotes() {
        String v = properties.get(REMOTES);
        return v == null || v.isEmpty() ? Set.of() : new TreeSet<>(Arrays.asList(v.split(",")));
    }

    /** 0 before replication to that remote was first enabled. */
    public long generation(String remote) {
        return number(GENERATION + remote);
    }

    /** The layout's epoch when replication to that remote was enabled; null where an earlier version did that. */
    public Long joined(String remote) {
        return properties.containsKey(JOINED + remote) ? (Long) number(JOINED + remote) : null;
    }

    /** Where replication to the remote begins, in the core's words; null: the topic says nothing. */
    public void setStartAt(String remote, String text) {
        put(properties, START_AT + "." + remote, text);
    }

    static void put(Map<String, String> properties, String name, String value) {
        if (value == null) {
            properties.remove(name);
        } else {
            properties.put(name, value);
        }
    }

    /** Remotes that an operator has paused for the whole topic. */
    public Set<String> paused() {
        return named(PAUSED);
    }

    /** Remotes where the topic is still to be created. */
    public Set<String> toCreate() {
        return named(CREATE);
    }

    public void setToCreate(String remote, boolean on) {
        if (on) {
            properties.put(CREATE + remote, "1");
        } else {
            properties.remove(CREATE + remote);
        }
    }

    /** The ends of the properties' names that begin so. */
    private Set<String> named(String prefix) {
        Set<String> all = new TreeSet<>();
        properties.keySet().stream().filter(k -> k.startsWith(prefix)).forEach(k ->
                all.add(k.substring(prefix.length())));
        return all;
    }

    public void setPaused(String remote, boolean on) {
        if (on) {
            properties.put(PAUSED + remote, "1");
        } else {
            properties.remove(PAUSED + remote);
        }
    }

    /** Null where nothing is recorded. */
    public SegmentRecord segment(long id) {
        String v = properties.get(SEGMENT + id);
        return v == null ? null : SegmentRecord.parse(SEGMENT + id, v);
    }

    public void raiseTerm() {
        properties.put(TERM, Long.toString(term() + 1));
    }

    /** Makes the generation larger than {@code above}; unchanged where it is already. */
    public void raiseGeneration(String remote, long above) {
        if (generation(remote) <= above) {
            properties.put(GENERATION + remote, Long.toString(above + 1));
        }
    }

    /** A topic that only receives needs an id as well: its peers must be able to tell it from one of the same name. */
    public void ensureInstance() {
        properties.computeIfAbsent(INSTANCE, k -> newInstance());
    }

    /**
     * Replication is enabled for exactly these remotes; those that are new start a generation, and nothing is left of
     * those that went: a remote that comes back later is not found paused.
     *
     * @param epoch of the layout
     */
    public void setRemotes(Set<String> remotes, long epoch) {
        Set<String> old = remotes();
        for (String r : remotes) {
            if (!old.contains(r)) {
                raiseGeneration(r, generation(r));
                properties.put(JOINED + r, Long.toString(epoch));
            }
        }
        named(JOINED).stream().filter(r -> !remotes.contains(r)).forEach(r -> properties.remove(JOINED + r));
        paused().stream().filter(p -> !remotes.contains(p)).forEach(p -> setPaused(p, false));
        toCreate().stream().filter(p -> !remotes.contains(p)).forEach(p -> setToCreate(p, false));
        if (remotes.isEmpty()) {
            properties.remove(REMOTES);
        } else {
            properties.put(REMOTES, String.join(",", new TreeSet<>(remotes)));
            ensureInstance();
        }
    }

    /** Every segment of the layout has a record afterwards; records of pruned segments go. */
    public void recordSegments(ScalableTopicMetadata metadata, SegmentRecord first) {
        Map<Long, SegmentInfo> segments = metadata.getSegments();
        segments.values().stream().sorted((a, b) -> Long.compare(a.segmentId(), b.segmentId()))
                .forEach(s -> properties.computeIfAbsent(SEGMENT + s.segmentId(),
                        k -> inherited(s.parentIds(), first).json()));
        properties.keySet().removeIf(k -> {
            if (!k.startsWith(SEGMENT)) {
                return false;
            }
            long id;
            try {
                id = Long.parseLong(k.substring(SEGMENT.length()));
            } catch (NumberFormatException e) {
                return false;
            }
            return id < metadata.getNextSegmentId() && !segments.containsKey(id);
        });
    }

    /** The record of a segment that is about to be created, before its layout is published. */
    public void recordChild(long id, Collection<Long> parents, SegmentRecord first) {
        properties.put(SEGMENT + id, inherited(parents, first).json());
    }

    private SegmentRecord inherited(Collection<Long> parents, SegmentRecord first) {
        return parents.stream().map(this::segment).filter(Objects::nonNull).findFirst().orElse(first);
    }

    public boolean changed() {
        return !properties.equals(before);
    }

    /** The record with these properties and everything else as it was. */
    public ScalableTopicMetadata applyTo(ScalableTopicMetadata m) {
        return ScalableTopicMetadata.builder().epoch(m.getEpoch()).nextSegmentId(m.getNextSegmentId())
                .segments(m.getSegments()).properties(properties).autoScalePolicy(m.getAutoScalePolicy()).build();
    }

    private long number(String name) {
        String v = properties.get(name);
        if (v == null) {
            return 0;
        }
        try {
            return Long.parseUnsignedLong(v);
        } catch (NumberFormatException e) {
            throw new IllegalArgumentException("property " + name + "=" + v + ": not a number", e);
        }
    }

    private static String newInstance() {
        byte[] b = new byte[16];
        RANDOM.nextBytes(b);
        return HexFormat.of().formatHex(b);
    }
}
