// SPDX-License-Identifier: Apache-2.0

package entry

// keyValue reads a KeyValue (1 key, 2 value; both required, the last of each
// wins; EncryptionKeys has the same two).
func keyValue(b []byte) (key, value []byte, err error) {
	var seen uint
	r := reader{b: b}
	for r.next() {
		switch {
		case r.is(1, wireBytes):
			key, seen = r.data, seen|1
		case r.is(2, wireBytes):
			value, seen = r.data, seen|2
		}
	}
	switch {
	case r.err != nil:
		return nil, nil, r.err
	case seen&1 == 0:
		return nil, nil, malformed(len(b), "key", "required and absent")
	case seen&2 == 0:
		return nil, nil, malformed(len(b), "value", "required and absent")
	}
	return key, value, nil
}

func checkKeyValue(b []byte) error {
	_, _, err := keyValue(b)
	return err
}

// checkEncryptionKey checks an EncryptionKeys: a KeyValue whose field 3 holds
// further ones.
func checkEncryptionKey(b []byte) error {
	if err := checkKeyValue(b); err != nil {
		return err
	}
	r := reader{b: b}
	for r.next() {
		if !r.is(3, wireBytes) {
			continue
		}
		if err := checkKeyValue(r.data); err != nil {
			return shifted(err, r.pos-len(r.data))
		}
	}
	return r.err
}

// EachProperty calls fn for every property of a MessageMetadata, in order,
// repeated keys included, until fn returns false. key and value alias meta.
func EachProperty(meta []byte, fn func(key, value []byte) bool) error {
	return eachProperty(meta, fieldProperties, fn)
}

func eachProperty(meta []byte, field int, fn func(key, value []byte) bool) error {
	r := reader{b: meta}
	for r.next() {
		if !r.is(field, wireBytes) {
			continue
		}
		key, value, err := keyValue(r.data)
		if err != nil {
			return shifted(err, r.pos-len(r.data))
		}
		if !fn(key, value) {
			return nil
		}
	}
	return r.err
}

// EachReplicateTo calls fn for every cluster in replicate_to, in order, until
// fn returns false. cluster aliases meta.
func EachReplicateTo(meta []byte, fn func(cluster []byte) bool) error {
	r := reader{b: meta}
	for r.next() {
		if r.is(fieldReplicateTo, wireBytes) && !fn(r.data) {
			return nil
		}
	}
	return r.err
}

// EachEncryptionKey calls fn for the name and the value of every encryption
// key, in order, until fn returns false. Both alias meta.
func EachEncryptionKey(meta []byte, fn func(name, value []byte) bool) error {
	return eachProperty(meta, fieldEncryptionKeys, fn)
}

// EachCompactedIndex calls fn for every number in compacted_batch_indexes, in
// order, packed or not, until fn returns false.
func EachCompactedIndex(meta []byte, fn func(index int32) bool) error {
	r := reader{b: meta}
	for r.next() {
		switch {
		case r.is(fieldCompactedIndexes, wireVarint):
			if !fn(int32(r.v)) {
				return nil
			}
		case r.is(fieldCompactedIndexes, wireBytes):
			more := true
			err := eachPacked(r.data, func(v int32) bool { more = fn(v); return more })
			if err != nil || !more {
				return shifted(err, r.pos-len(r.data))
			}
		}
	}
	return r.err
}

// eachPacked calls fn for the numbers of a packed int32 field until it returns
// false.
func eachPacked(b []byte, fn func(v int32) bool) error {
	for p := b; len(p) > 0; {
		v, n := uvarint(p)
		if n <= 0 {
			return malformed(len(b)-len(p), fieldNames[fieldCompactedIndexes], "bad varint")
		}
		if p = p[n:]; !fn(int32(v)) {
			return nil
		}
	}
	return nil
}

// ReplicatesTo reports whether the entry names the clusters that it may be
// copied to (present), and whether cluster is among them (listed). Absent means
// all clusters; ["__local__"] means none. meta has been parsed before: what is
// malformed counts as absent.
func ReplicatesTo(meta []byte, cluster string) (present, listed bool) {
	r := reader{b: meta}
	for r.next() {
		if r.is(fieldReplicateTo, wireBytes) {
			present = true
			if string(r.data) == cluster {
				return true, true
			}
		}
	}
	return present, false
}

// isOwnProperty reports whether a KeyValue is one that replication writes.
func isOwnProperty(kv []byte) bool {
	r := reader{b: kv}
	var key []byte
	for r.next() {
		if r.is(1, wireBytes) {
			key = r.data
		}
	}
	return isOwnKey(key)
}

func isOwnKey(key []byte) bool {
	return string(key) == OriginProperty || string(key) == SourcePositionProperty
}
