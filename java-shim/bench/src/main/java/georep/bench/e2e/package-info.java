// SPDX-License-Identifier: Apache-2.0
/**
 * End to end: two real clusters in one JVM, and between them Georep, the classic replicator and a mirror that a Java
 * client makes, in turn.
 */
package georep.bench.e2e;
