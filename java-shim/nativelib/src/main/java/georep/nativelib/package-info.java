// SPDX-License-Identifier: Apache-2.0
/** Loads {@code libgeorep} and binds its C ABI to Java. No Pulsar class is used here. */
package georep.nativelib;
