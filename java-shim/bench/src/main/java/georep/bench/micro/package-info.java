// SPDX-License-Identifier: Apache-2.0
/**
 * The core's two paths, called through JNI, beside Java that does the same with Pulsar's own classes in the same JVM:
 * {@link RebatchBench} and {@link VerbatimBench} of JMH, run by {@link Micro}.
 */
package georep.bench.micro;
