// SPDX-License-Identifier: Apache-2.0

package interop

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"testing"
)

// sent is a message that a client is told to send. A nil Value is no value.
type sent struct {
	Key      *string           `json:"key,omitempty"`
	KeyBytes []byte            `json:"keyBytes,omitempty"`
	Ordering []byte            `json:"ordering,omitempty"`
	Props    map[string]string `json:"props"`
	At       int64             `json:"at,omitempty"` // event time, milliseconds
	Seq      *int64            `json:"seq,omitempty"`
	Value    []byte            `json:"value"`
}

// received is a message as a client shows it; what the client does not show is
// absent.
type received struct {
	Key        string            `json:"key,omitempty"`
	KeyIsBytes bool              `json:"keyIsBytes,omitempty"`
	Ordering   []byte            `json:"ordering,omitempty"`
	Props      map[string]string `json:"props"`
	At         int64             `json:"at"`
	Seq        *int64            `json:"seq,omitempty"`
	Value      []byte            `json:"value"`
	Schema     []byte            `json:"schema,omitempty"`
	Producer   string            `json:"producer"`
	Published  int64             `json:"published"`
	From       string            `json:"from,omitempty"`
	Size       int               `json:"size,omitempty"`
}

type request struct {
	Op         string   `json:"op"`
	Client     string   `json:"client,omitempty"`
	Topic      string   `json:"topic"`
	Codec      string   `json:"codec,omitempty"`
	Batched    bool     `json:"batched"`
	Chunk      int      `json:"chunk,omitempty"` // bytes
	Schema     string   `json:"schema,omitempty"`
	KeyValue   bool     `json:"keyValue,omitempty"`
	PublicKey  string   `json:"publicKey,omitempty"`
	PrivateKey string   `json:"privateKey,omitempty"`
	Ends       int      `json:"ends,omitempty"`
	Segments   int      `json:"segments,omitempty"`
	Messages   []sent   `json:"messages,omitempty"`
	Entries    []string `json:"entries,omitempty"` // hex
}

type answer struct {
	URL      string     `json:"url"`
	Version  string     `json:"version"`
	Messages []received `json:"messages"`
	Entries  []string   `json:"entries"`
	Segments []string   `json:"segments"`
	Layout   string     `json:"layout"`
	Error    string     `json:"error"`
}

// process is a child that answers one JSON line with another.
type process struct {
	name  string
	hello answer
	in    io.WriteCloser
	out   *bufio.Reader
}

func start(t *testing.T, dir, name string, command ...string) (*process, error) {
	t.Helper()
	cmd := exec.Command(command[0], command[1:]...)
	log, err := os.Create(dir + "/" + name + ".log")
	if err != nil {
		return nil, err
	}
	cmd.Stderr = log
	p := &process{name: name}
	if p.in, err = cmd.StdinPipe(); err != nil {
		return nil, err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	p.out = bufio.NewReader(out)
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	t.Cleanup(func() {
		_ = p.in.Close()
		if err := cmd.Wait(); err != nil {
			t.Errorf("%s: %v, see %s", name, err, log.Name())
		}
		_ = log.Close()
	})
	p.hello, err = p.read()
	return p, err
}

func (p *process) read() (a answer, err error) {
	line, err := p.out.ReadString('\n')
	for err == nil && !strings.HasPrefix(line, "{") { // a library that prints
		line, err = p.out.ReadString('\n')
	}
	if err != nil {
		return a, fmt.Errorf("%s: %w", p.name, err)
	}
	if err := json.Unmarshal([]byte(line), &a); err != nil {
		return a, fmt.Errorf("%s: %w", p.name, err)
	}
	if a.Error != "" {
		err = fmt.Errorf("%s: %w", p.name, errors.New(a.Error))
	}
	return a, err
}

// ask fails the test where the process fails.
func (p *process) ask(t *testing.T, q *request) answer {
	t.Helper()
	b, err := json.Marshal(q)
	if err == nil {
		_, err = p.in.Write(append(b, '\n'))
	}
	var a answer
	if err == nil {
		a, err = p.read()
	}
	if err != nil {
		t.Fatalf("%s %s: %v", q.Op, q.Topic, err)
	}
	return a
}
