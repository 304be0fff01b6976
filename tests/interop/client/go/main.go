// SPDX-License-Identifier: Apache-2.0

// Command interopclient is the Go client behind standard input and output; see
// tests/interop/README.md. It is a module of its own: the product does not
// depend on the client.
package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"runtime/debug"
	"time"

	"github.com/apache/pulsar-client-go/pulsar"
	"github.com/apache/pulsar-client-go/pulsar/crypto"
	"github.com/apache/pulsar-client-go/pulsar/log"
	"github.com/sirupsen/logrus"
)

const end = "__end" // key of the message that ends a topic

type message struct {
	Key       string            `json:"key,omitempty"`
	Ordering  []byte            `json:"ordering,omitempty"`
	Props     map[string]string `json:"props"`
	At        int64             `json:"at"`
	Seq       *int64            `json:"seq,omitempty"`
	Value     []byte            `json:"value"`
	Schema    []byte            `json:"schema,omitempty"`
	Producer  string            `json:"producer"`
	Published int64             `json:"published"`
	From      string            `json:"from,omitempty"`
}

type request struct {
	Op         string
	Topic      string
	Codec      string
	Batched    bool
	Chunk      uint
	Schema     string
	PublicKey  string
	PrivateKey string
	Ends       int
	Messages   []message
}

type answer struct {
	Version  string     `json:"version,omitempty"`
	Messages []*message `json:"messages,omitempty"`
	Error    string     `json:"error,omitempty"`
}

var codecs = map[string]pulsar.CompressionType{
	"none": pulsar.NoCompression, "lz4": pulsar.LZ4, "zlib": pulsar.ZLib, "zstd": pulsar.ZSTD, "snappy": pulsar.SNAPPY,
}

func produce(c pulsar.Client, q *request) error {
	o := pulsar.ProducerOptions{
		Topic: q.Topic, CompressionType: codecs[q.Codec], DisableBatching: !q.Batched,
		BatchingMaxMessages: 1000, BatchingMaxSize: 1 << 20, BatchingMaxPublishDelay: 10 * time.Minute,
	}
	if q.Schema != "" {
		o.Schema = pulsar.NewJSONSchema(q.Schema, nil)
	}
	if q.Chunk > 0 {
		o.EnableChunking, o.ChunkMaxMessageSize = true, q.Chunk
	}
	if q.PublicKey != "" {
		o.Encryption = &pulsar.ProducerEncryptionInfo{KeyReader: crypto.NewFileKeyReader(q.PublicKey, ""), Keys: []string{"k"}}
	}
	p, err := c.CreateProducer(o)
	if err != nil {
		return err
	}
	defer p.Close()
	sent := make(chan error, len(q.Messages))
	for i := range q.Messages {
		m := &q.Messages[i]
		out := &pulsar.ProducerMessage{
			Payload: m.Value, Key: m.Key, OrderingKey: string(m.Ordering), Properties: m.Props, SequenceID: m.Seq,
		}
		if m.At != 0 {
			out.EventTime = time.UnixMilli(m.At)
		}
		p.SendAsync(context.Background(), out, func(_ pulsar.MessageID, _ *pulsar.ProducerMessage, err error) { sent <- err })
	}
	if err := p.Flush(); err != nil {
		return err
	}
	for range q.Messages {
		if err := <-sent; err != nil {
			return err
		}
	}
	return nil
}

func consume(c pulsar.Client, q *request) ([]*message, error) {
	r, err := c.CreateReader(pulsar.ReaderOptions{
		Topic: q.Topic, StartMessageID: pulsar.EarliestMessageID(),
		Decryption: &pulsar.MessageDecryptionInfo{KeyReader: crypto.NewFileKeyReader("", q.PrivateKey)},
	})
	if err != nil {
		return nil, err
	}
	defer r.Close()
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	var out []*message
	for ends := 0; ends < max(q.Ends, 1); {
		m, err := r.Next(ctx)
		if err != nil {
			return nil, fmt.Errorf("after %d messages: %w", len(out), err)
		}
		got := &message{
			Key: m.Key(), Ordering: []byte(m.OrderingKey()), Props: m.Properties(), Value: m.Payload(), Schema: m.SchemaVersion(),
			Producer: m.ProducerName(), Published: m.PublishTime().UnixMilli(), From: m.GetReplicatedFrom(),
		}
		if t := m.EventTime(); t.Unix() > 0 {
			got.At = t.UnixMilli()
		}
		if out = append(out, got); m.Key() == end {
			ends++
		}
	}
	return out, nil
}

func version() string {
	if b, ok := debug.ReadBuildInfo(); ok {
		for _, d := range b.Deps {
			if d.Path == "github.com/apache/pulsar-client-go" {
				return d.Version
			}
		}
	}
	return "unknown"
}

func run() error {
	quiet := logrus.New()
	quiet.SetLevel(logrus.ErrorLevel)
	c, err := pulsar.NewClient(pulsar.ClientOptions{URL: os.Args[1], Logger: log.NewLoggerWithLogrus(quiet)})
	if err != nil {
		return err
	}
	defer c.Close()
	out := json.NewEncoder(os.Stdout)
	if err := out.Encode(answer{Version: version()}); err != nil {
		return err
	}
	in := bufio.NewScanner(os.Stdin)
	in.Buffer(nil, 64<<20)
	for in.Scan() {
		var q request
		var a answer
		err := json.Unmarshal(in.Bytes(), &q)
		if err == nil && q.Op == "produce" {
			err = produce(c, &q)
		} else if err == nil {
			a.Messages, err = consume(c, &q)
		}
		if err != nil {
			a.Error = err.Error()
		}
		if err := out.Encode(&a); err != nil {
			return err
		}
	}
	return in.Err()
}

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
