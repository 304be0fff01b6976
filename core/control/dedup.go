// SPDX-License-Identifier: Apache-2.0

package control

import (
	"math"

	"google.golang.org/protobuf/proto"

	"georep/core/dedup"
	"georep/core/entry"
	"georep/core/pb"
)

// OriginKey returns the table's key of a message.
func OriginKey(m *pb.OriginKey) dedup.Key {
	return dedup.Key{Cluster: m.GetCluster(), Instance: m.GetInstance(), Segment: m.GetSegment(), Generation: m.GetGeneration()}
}

// DedupStatus lists what is stored of every origin, by key.
func DedupStatus(t *dedup.Table) *pb.DedupStatus {
	out := &pb.DedupStatus{BoundTopic: t.BoundTopic(), MaxKeys: uint32(min(t.MaxKeys(), math.MaxUint32)), Full: t.Full(),
		Refused: t.Refused()}
	t.Each(func(k dedup.Key, pos entry.Position, part int64) bool {
		out.Entries = append(out.Entries, &pb.DedupEntry{
			Key:      &pb.OriginKey{Cluster: k.Cluster, Instance: k.Instance, Segment: k.Segment, Generation: k.Generation},
			Position: Position(pos),
			Part:     Part(part),
		})
		return true
	})
	return out
}

// Part returns the message of a part number: absent for an entry sent whole.
func Part(part int64) *int64 {
	if part == entry.Whole {
		return nil
	}
	return proto.Int64(part)
}
