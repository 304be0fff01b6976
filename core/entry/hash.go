// SPDX-License-Identifier: Apache-2.0

package entry

import "georep/core/keyhash"

// KeyHash returns the hash that selects a message's segment: of the key's text
// as it is on the wire (base64 not decoded), 0 without a key.
func KeyHash(hasKey bool, key []byte) uint32 {
	if !hasKey {
		return 0
	}
	return keyhash.Sum(key)
}

// BucketHash returns the hash whose low half selects a message's bucket: of the
// ordering key where there is one, else of the key's text, else 0.
func BucketHash(hasOrdering bool, ordering []byte, hasKey bool, key []byte) uint32 {
	if hasOrdering {
		return keyhash.Sum(ordering)
	}
	return KeyHash(hasKey, key)
}

// KeyHash returns the hash of the message's key text, 0 without a key.
func (s *Single) KeyHash() uint32 { return KeyHash(s.HasPartitionKey, s.PartitionKey) }

// BucketHash returns the hash whose low half selects the message's bucket.
func (s *Single) BucketHash() uint32 {
	return BucketHash(s.HasOrderingKey, s.OrderingKey, s.HasPartitionKey, s.PartitionKey)
}

// KeyHash returns the hash of the entry's outer key text, 0 without a key.
func (m *Metadata) KeyHash() uint32 { return KeyHash(m.HasPartitionKey, m.PartitionKey) }

// BucketHash returns the hash of the entry's outer ordering key, else key.
func (m *Metadata) BucketHash() uint32 {
	return BucketHash(m.HasOrderingKey, m.OrderingKey, m.HasPartitionKey, m.PartitionKey)
}
