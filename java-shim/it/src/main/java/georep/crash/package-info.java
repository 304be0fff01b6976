// SPDX-License-Identifier: Apache-2.0
/**
 * The crash loop: two clusters of two brokers, each broker a process of its own that is killed and started again while
 * both clusters publish and change their layouts. Bookies and ZooKeeper live in the parent, so what is stored stays.
 *
 * <pre>
 *   CrashLoop (parent) -- ZooKeeper, bookie A, bookie B, load at A and B, layout changes, kills, georep verify
 *      |-- BrokerProcess -> BrokerMain   A/0  A/1     Netty's leak detector at its highest level
 *      `-- BrokerProcess -> BrokerMain   B/0  B/1
 * </pre>
 */
package georep.crash;
