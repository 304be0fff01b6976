// SPDX-License-Identifier: Apache-2.0
package org.apache.pulsar.client.impl;

import java.util.Optional;
import org.apache.pulsar.client.api.Schema;
import org.apache.pulsar.common.schema.SchemaInfo;

/** Bytes in, bytes out; only the schema info that CreateProducer announces is its own. Immutable. */
final class AnnouncedSchema implements Schema<byte[]> {
    private final SchemaInfo info;

    /** @param info what to announce; null announces none */
    AnnouncedSchema(SchemaInfo info) {
        this.info = info;
    }

    @Override
    public byte[] encode(byte[] message) {
        return message;
    }

    @Override
    public byte[] decode(byte[] bytes) {
        return bytes;
    }

    @Override
    public SchemaInfo getSchemaInfo() {
        return info;
    }

    @Override
    public Optional<Object> getNativeSchema() {
        return Optional.empty();
    }

    @Override
    public Schema<byte[]> clone() {
        return this;
    }
}
