package confine

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"strings"
)

// kind says what a frame is.
type kind byte

const (
	helloFrame  kind = 'H' // worker: the Confinement in force, as JSON
	callFrame   kind = 'C' // parent: a method and its request
	askFrame    kind = 'A' // worker: an operation and its request, in the middle of a call
	answerFrame kind = 'R' // parent: what an operation gave
	refuseFrame kind = 'X' // parent: why an operation failed
	doneFrame   kind = 'D' // worker: what a method gave
	failFrame   kind = 'F' // worker: why a method failed
)

// The limits of the protocol.
const (
	// maxFrame is the greatest frame, in bytes.
	maxFrame = 256 << 20
	// maxResult is the greatest result of a method, in bytes: the parent decodes it,
	// which takes several times that.
	maxResult = 64 << 20
	// maxNote is the greatest note or error text, in bytes. More is cut off.
	maxNote = 64 << 10
	// maxAsks is how often a worker may ask within one call.
	maxAsks = 50_000
)

// errFrame is a frame that no worker of ours writes.
var errFrame = errors.New("the frame is malformed")

// frame is one message. call is the number of the call that it belongs to, name the
// method or operation of calls and asks.
type frame struct {
	kind kind
	call uint32
	name string
	body []byte
}

// header is the kind, the number of the call, the length of the name and the length of
// the body.
const header = 1 + 4 + 2 + 4

// write sends a frame in one write, so that frames of several goroutines do not mix.
func (f frame) write(w io.Writer) error {
	if len(f.body) > maxFrame || len(f.name) > 1<<10 {
		return fmt.Errorf("a message of %d MiB is over the limit of %d MiB", len(f.body)>>20, maxFrame>>20)
	}
	out := make([]byte, header, header+len(f.name)+len(f.body))
	out[0] = byte(f.kind)
	binary.BigEndian.PutUint32(out[1:], f.call)
	binary.BigEndian.PutUint16(out[5:], uint16(len(f.name))) //nolint:gosec // checked above
	binary.BigEndian.PutUint32(out[7:], uint32(len(f.body))) //nolint:gosec // checked above
	out = append(out, f.name...)
	out = append(out, f.body...)
	_, err := w.Write(out)
	return err
}

// readFrame reads a frame. It allocates as data arrives, so that a length that is
// a lie costs nothing.
func readFrame(r io.Reader) (frame, error) {
	var head [header]byte
	if _, err := io.ReadFull(r, head[:]); err != nil {
		return frame{}, err
	}
	name, body := int(binary.BigEndian.Uint16(head[5:])), int(binary.BigEndian.Uint32(head[7:]))
	if name > 1<<10 || body > maxFrame {
		return frame{}, errFrame
	}
	text, err := readSome(r, name)
	if err != nil {
		return frame{}, err
	}
	data, err := readSome(r, body)
	return frame{kind(head[0]), binary.BigEndian.Uint32(head[1:]), string(text), data}, err
}

// trusted is how much memory a length is believed to be worth before the data is
// there, in bytes.
const trusted = 4 << 20

func readSome(r io.Reader, n int) ([]byte, error) {
	if n <= trusted {
		data := make([]byte, n)
		_, err := io.ReadFull(r, data)
		return data, err
	}
	var data bytes.Buffer
	data.Grow(trusted)
	_, err := io.CopyN(&data, r, int64(n))
	if errors.Is(err, io.EOF) {
		err = io.ErrUnexpectedEOF
	}
	return data.Bytes(), err
}

// text makes a short valid text of what the other side sent.
func text(data []byte) string {
	return strings.ToValidUTF8(string(data[:min(len(data), maxNote)]), "\uFFFD")
}
