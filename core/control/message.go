// SPDX-License-Identifier: Apache-2.0

package control

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"

	"georep/core/pb"
)

// ErrMessage is returned for a name that is no message of georep.proto.
var ErrMessage = errors.New("control: unknown message")

// New returns an empty message by its name without package, "PeerState".
func New(name string) (proto.Message, error) {
	full := pb.File_georep_proto.Package().Append(protoreflect.Name(name))
	t, err := protoregistry.GlobalTypes.FindMessageByName(full)
	if err != nil || strings.Contains(name, ".") {
		return nil, fmt.Errorf("%w %q", ErrMessage, name)
	}
	return t.New().Interface(), nil
}

// ToJSON converts the bytes of the named message into proto3 JSON. Fields that
// have their default value are left out; equal messages give equal texts.
func ToJSON(name string, b []byte) ([]byte, error) {
	m, err := New(name)
	if err != nil {
		return nil, err
	}
	if err := Unmarshal(b, m); err != nil {
		return nil, fmt.Errorf("control: %s: %w", name, err)
	}
	text, err := protojson.Marshal(m)
	if err != nil {
		return nil, fmt.Errorf("control: %s: %w", name, err)
	}
	var out bytes.Buffer // protojson's white space differs from build to build
	if err := json.Compact(&out, text); err != nil {
		return nil, fmt.Errorf("control: %s: %w", name, err)
	}
	return out.Bytes(), nil
}

// spoken are the messages with words of a peer in them. A driver may put a request that
// it received into an event as it is.
var spoken = map[string]bool{"ExchangeRequest": true, "ExchangeResponse": true, "ExchangeEvent": true}

// FromJSON converts proto3 JSON into the bytes of the named message. A field
// that the message does not have is an error that names it, but in a message that
// holds what a peer said, who may be newer.
func FromJSON(name string, text []byte) ([]byte, error) {
	m, err := New(name)
	if err != nil {
		return nil, err
	}
	if err := boundJSON(text); err != nil {
		return nil, fmt.Errorf("control: %s: %w", name, err)
	}
	if err := (protojson.UnmarshalOptions{DiscardUnknown: spoken[name]}).Unmarshal(text, m); err != nil {
		return nil, fmt.Errorf("control: %s: %w", name, err)
	}
	return proto.MarshalOptions{Deterministic: true}.Marshal(m)
}
