// SPDX-License-Identifier: Apache-2.0

// Package verify compares the logs of one topic in two clusters: what was
// published in each must be stored in the other, once, unchanged, and per key in
// the order of its origin.
//
// It looks at nothing but stored entries. A [Log] keeps of every message its
// key's number and a digest, and of every entry where it comes from:
//
//	log of A                              log of B
//	segment, L:E  [k1 d][k2 d][k1 d]      segment, L:E, copied from A's segment, L:E  [k2 d]
//	                                      segment, L:E, copied from A's segment, L:E  [k1 d][k1 d]
//
// An entry of A that arrived in parts is found by its source position; a message
// in it by its digest. A message's place in its key's sequence counts along the
// segments of A in rising id, which is an order in which children follow their
// parents. Lost is what was never met, a duplicate what was met again, an order
// violation a first meeting behind a later message of the same key; different
// keys may be mixed in any way.
//
// Logs are filled by one goroutine; [Compare] only reads them. 30 bytes are held
// for a message, about 90 for an entry, and each key once.
package verify
