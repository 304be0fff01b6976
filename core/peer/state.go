// SPDX-License-Identifier: Apache-2.0

package peer

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"georep/core/keyhash"
	"georep/core/layout"
	"georep/core/pb"
)

// Topic properties that the controller leader writes into Pulsar's record.
const (
	InstanceProperty   = "georep.instance"    // 128-bit id of this life of the topic, hexadecimal
	GenerationProperty = "georep.generation." // + remote cluster: decimal counter
)

// Features that this build has, in the order of their addition.
var features = []string{"origin-record-1", "parts", "watermark"}

// BuildState returns what this cluster says about a topic, from Pulsar's own
// record of it. Without an instance property the instance stays empty: the state
// may be shown, but Check lets nobody write by it. Errors wrap layout.ErrSyntax,
// layout.ErrInvalid or [ErrMessage] and name the field.
func BuildState(r *pb.StateRequest) (*pb.PeerState, error) {
	var profile keyhash.Profile // 0: as the record suggests
	if r.GetDefaultProfile() != pb.Profile_PROFILE_UNSPECIFIED {
		var err error
		if profile, err = ToProfile(r.GetDefaultProfile()); err != nil {
			return nil, fmt.Errorf("%w: defaultProfile: %w", ErrMessage, err)
		}
	}
	switch {
	case r.GetCluster() == "":
		return nil, fmt.Errorf("%w: cluster: absent", ErrMessage)
	case !strings.HasPrefix(r.GetTopic(), "topic://"):
		return nil, fmt.Errorf("%w: topic: %q is no topic:// name", ErrMessage, r.GetTopic())
	}
	l, err := layout.ParsePulsarAs([]byte(r.GetMetadataJson()), profile)
	if err != nil {
		return nil, err
	}
	var record struct {
		Properties map[string]string `json:"properties"`
	}
	if err := json.Unmarshal([]byte(r.GetMetadataJson()), &record); err != nil {
		return nil, fmt.Errorf("%w: metadataJson: %w", ErrMessage, err)
	}
	generations, err := generationsOf(record.Properties)
	if err != nil {
		return nil, err
	}
	return &pb.PeerState{
		ProtocolVersion: ProtocolVersion,
		PluginVersion:   r.GetPluginVersion(),
		Cluster:         r.GetCluster(),
		Topic:           r.GetTopic(),
		Instance:        record.Properties[InstanceProperty],
		LeaderTerm:      r.GetLeaderTerm(),
		Counter:         r.GetCounter(),
		Layout:          FromLayout(l),
		MaxMessageBytes: r.GetMaxMessageBytes(),
		Features:        slices.Clone(features),
		Generations:     generations,
	}, nil
}

func generationsOf(properties map[string]string) (map[string]uint64, error) {
	out := make(map[string]uint64)
	for _, key := range slices.Sorted(maps.Keys(properties)) { // the same error every time
		cluster, ok := strings.CutPrefix(key, GenerationProperty)
		if !ok {
			continue
		}
		n, err := strconv.ParseUint(properties[key], 10, 64)
		if err != nil {
			return nil, fmt.Errorf("%w: properties.%s: %q is no number", ErrMessage, key, properties[key])
		}
		out[cluster] = n
	}
	return out, nil
}
