// SPDX-License-Identifier: Apache-2.0
package georep.plugin;

import java.lang.reflect.Field;

/** A private field of the broker that the plugin needs. Looked up once; absent in other broker versions. */
public final class BrokerField {
    private final String name;
    private final Field field;

    BrokerField(Class<?> owner, String field) {
        this.name = owner.getName() + "#" + field;
        Field f = null;
        try {
            f = owner.getDeclaredField(field);
            f.setAccessible(true);
        } catch (NoSuchFieldException | RuntimeException e) {
            f = null; // reported by the start-up check
        }
        this.field = f;
    }

    boolean exists() {
        return field != null;
    }

    String name() {
        return name;
    }

    public Object get(Object target) {
        try {
            return present().get(target);
        } catch (IllegalAccessException e) {
            throw new IllegalStateException(name, e);
        }
    }

    public void set(Object target, Object value) {
        try {
            present().set(target, value);
        } catch (IllegalAccessException e) {
            throw new IllegalStateException(name, e);
        }
    }

    private Field present() {
        if (field == null) {
            throw new IllegalStateException("this broker has no " + name);
        }
        return field;
    }
}
